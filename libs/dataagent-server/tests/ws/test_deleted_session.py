"""A deleted session's id stays closed: over every transport, for everyone, after a restart too."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from tests.homes import prepared_home
from tests.requirements import requirement
from tests.services import fresh_database, fresh_redis_prefix, redis_url
from tests.waiting import WAIT_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import httpx

    from conftest import LiveServer, Socket

SECRET = "the-figure-nobody-else-may-see"


async def answered_and_deleted(live: LiveServer, socket: Socket, path: str) -> None:
    """Alice asks on an open socket, is answered, and deletes the session over REST."""
    await socket.chat(f"!echo {SECRET}")
    await socket.until("done")
    async with live.http("alice") as alice:
        deleted = await alice.delete(f"{path}/{socket.session_id}")
    assert deleted.status_code == 204


async def refused_everywhere(live: LiveServer, session_id: str, user: str) -> None:
    """No transport lets the user into the session, or shows anything of it."""
    async with live.socket(session_id, user=user, after=0, is_greeted=False) as socket:
        error = await socket.next("error")
        assert error["data"]["error_code"] == "session_not_found"
        assert await socket.closed() == 4404
    body = {"message": "!echo mine", "session_id": session_id}
    async with live.http(user) as client:
        for request in (
            client.post("/api/v1/chat", json=body),
            client.get(f"/api/v1/sessions/{session_id}"),
            client.get(f"/api/v1/sessions/{session_id}/messages"),
            client.get(f"/api/v1/sessions/{session_id}/events"),
            client.delete(f"/api/v1/sessions/{session_id}"),
            client.get(f"/api/conversations/{session_id}"),
        ):
            response = await request
            assert response.status_code == 404, response.request.url
            assert SECRET not in response.text


@requirement("R32.1")
async def test_the_id_of_a_deleted_session_is_closed_for_everyone(live: LiveServer) -> None:
    for path in ("/api/v1/sessions", "/api/conversations"):
        async with live.socket() as socket:
            await answered_and_deleted(live, socket, path)
            for user in ("bob", "alice"):
                await refused_everywhere(live, socket.session_id, user)


DELETING = {"/api/v1/sessions": "for good", "/api/conversations": "restorable"}


@pytest.mark.parametrize("path", DELETING)
async def test_readers_of_a_deleted_session_are_ended(live: LiveServer, path: str) -> None:
    async with live.socket() as socket, live.http("alice") as alice:
        url = f"/api/v1/sessions/{socket.session_id}/events"
        async with alice.stream("GET", url) as stream:
            await answered_and_deleted(live, socket, path)
            assert await socket.closed() == 4404
            assert "event: stream_error" in await lines_of(stream)


async def lines_of(stream: httpx.Response) -> list[str]:
    """The lines of an event stream, once it has ended."""
    async with asyncio.timeout(WAIT_SECONDS):
        return [line async for line in stream.aiter_lines()]


@pytest.mark.parametrize("path", DELETING)
async def test_a_chat_request_ends_when_its_session_is_deleted(live: LiveServer, path: str) -> None:
    async with live.http("alice") as alice:
        session_id = (await alice.post("/api/v1/sessions", json={})).json()["session_id"]
        body = {"message": "!slow 100000 20", "session_id": session_id}
        answer = asyncio.create_task(alice.post("/api/v1/chat", json=body))
        await live.until(lambda: live.container.core.worker.active > 0)
        assert (await alice.delete(f"{path}/{session_id}")).status_code == 204
        assert (await asyncio.wait_for(answer, WAIT_SECONDS)).status_code == 404


@requirement("R32.1")
async def test_only_the_owner_restores_a_deleted_session(live: LiveServer) -> None:
    async with live.socket() as socket:
        await answered_and_deleted(live, socket, "/api/conversations")
    restore = f"/api/conversations/{socket.session_id}/restore"
    async with live.http("bob") as bob:
        assert (await bob.post(restore)).status_code == 404
    async with live.http("alice") as alice:
        assert (await alice.post(restore)).status_code == 200
    async with live.socket(socket.session_id, after=0) as again:
        assert SECRET in str(await again.until("done"))
        await again.chat("!echo and on")
        assert "and on" in str(await again.until("done"))


async def test_a_deleted_id_stays_closed_after_a_restart(
    start_server: Callable[..., LiveServer], tmp_path: Path
) -> None:
    home = prepared_home(tmp_path / "restarted")
    first = start_server(home=home)
    closed: list[str] = []
    for path in DELETING:
        async with first.socket() as socket:
            await answered_and_deleted(first, socket, path)
        closed.append(socket.session_id)
    first.stop()
    second = start_server(home=home)
    for session_id in closed:
        await refused_everywhere(second, session_id, "bob")


@requirement("R32.1", "G10")
async def test_a_session_deleted_in_one_process_is_closed_in_all(
    start_server: Callable[..., LiveServer], tmp_path: Path
) -> None:
    with fresh_database("postgres", tmp_path) as url, fresh_redis_prefix() as prefix:
        shared = {"database_url": url, "redis_url": redis_url(), "redis_prefix": prefix}
        here = start_server(**shared)
        elsewhere = start_server(**shared)
        for path in DELETING:
            async with here.socket() as socket:
                async with elsewhere.socket(socket.session_id) as same:
                    await answered_and_deleted(here, socket, path)
                    assert await same.closed() == 4404
                assert await socket.closed() == 4404
                await refused_everywhere(elsewhere, socket.session_id, "bob")
        here.stop()
        elsewhere.stop()
