"""The database or Redis goes away in mid-turn: the turn ends visibly, the server recovers."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
import redis
from sqlalchemy import make_url

from tests.end_to_end.conftest import StartServer
from tests.end_to_end.fault_proxy import FaultProxy
from tests.end_to_end.server import Server, receive, receive_until, send
from tests.requirements import requirement
from tests.services import fresh_database, redis_url
from tests.waiting import WAIT_SECONDS

pytestmark = pytest.mark.slow

AWAY_SECONDS = 3.0
REDIS_DATABASE = 9


@contextmanager
def store(kind: str, folder: Path) -> Generator[tuple[str, str, int]]:
    """The setting's name, a URL of a fresh store, and the port behind it."""
    if kind != "redis":
        with fresh_database(kind, folder) as url:
            parsed = make_url(url)
            yield "DATAAGENT_DATABASE_URL", url, parsed.port or 0
        return
    url = f"{redis_url().rstrip('/')}/{REDIS_DATABASE}"
    yield "DATAAGENT_REDIS_URL", url, make_url(redis_url()).port or 6379
    with redis.Redis.from_url(url) as client:  # pyright: ignore[reportUnknownMemberType] untyped
        client.flushdb()  # pyright: ignore[reportUnknownMemberType] untyped


def through(url: str, port: int) -> str:
    """The URL with another port."""
    return make_url(url).set(port=port, host="127.0.0.1").render_as_string(hide_password=False)


@pytest.mark.parametrize("kind", ["postgres", "mysql", "redis"])
@requirement("G17", "R25.3")
async def test_a_store_that_is_away_for_three_seconds_costs_no_answer(
    kind: str, start_server: StartServer, tmp_path: Path
) -> None:
    with store(kind, tmp_path) as (setting, url, port):
        proxy = FaultProxy(port)
        await proxy.mend()
        server = await start_server(
            **{setting: through(url, proxy.port), "DATAAGENT_SESSION_STORE": kind}
        )
        try:
            await survive(server, proxy)
        finally:
            await server.signal()
            await proxy.cut()


async def survive(server: Server, proxy: FaultProxy) -> None:
    """Cut the store in mid-turn, mend it, and see the turn end and the next one work."""
    session_id = str(uuid.uuid4())
    async with server.socket(session_id, after=0) as socket:
        await receive_until(socket, "connected")
        await send(socket, "chat", message="!slow 80 20")
        await receive_until(socket, "text")
        await proxy.cut()
        await asyncio.sleep(AWAY_SECONDS)
        await proxy.mend()
        async with asyncio.timeout(WAIT_SECONDS):
            while (await socket_event(socket)) != "done":
                pass
    messages = await server.get(f"/sessions/{session_id}/messages")
    assert [m["role"] for m in messages["items"]] == ["user", "assistant"]
    assert messages["items"][1]["status"] in ("complete", "failed")
    status, answer = await server.post("/chat", {"message": "again", "session_id": session_id})
    assert (status, answer.get("status")) == (200, "done"), answer


async def socket_event(socket: object) -> str:
    """The next event's type; patient, because the store is away for a while."""
    while True:
        try:
            # a connection
            return (await receive(socket))["event_type"]  # pyright: ignore[reportArgumentType]
        except TimeoutError:
            continue
