"""Who may not be here any more is out at once: sockets with 4401, event streams with an error."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast
from uuid import uuid4

import httpx
import pytest
from websockets.exceptions import ConnectionClosed

from dataagent_core.events import DoneEvent
from dataagent_core.identity.users import UserStore
from dataagent_server.deps import container
from tests.requirements import requirement
from tests.services import fresh_database, fresh_redis_prefix, redis_url
from tests.tiers import SQL_STORES
from tests.waiting import WAIT_SECONDS

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import LiveServer
    from dataagent_core.identity.users import User


@dataclass
class Account:
    """A user with a login and a key."""

    server: LiveServer
    user: User
    cookie: dict[str, str]
    key: dict[str, str]
    key_id: str


async def make_account(server: LiveServer) -> Account:
    users = server.container.users
    user = await server.on_server(users.create(f"u_{uuid4().hex[:12]}", "password"))
    key, secret = await server.on_server(users.keys.create(user.user_id, "k"))
    token = server.container.tokens.issue(user)
    cookie = {"Cookie": f"access_token={token}", "Origin": server.url}
    return Account(server, user, cookie, {"X-API-Key": secret}, key.key_id)


async def as_admin(account: Account, method: str, path: str, body: Any = None) -> None:
    async with account.server.http("root") as admin:
        url = f"/api/users/{account.user.user_id}{path}"
        answer = await admin.request(method, url, json=body)
        assert answer.status_code in (200, 204), answer.text


async def as_user(account: Account, method: str, path: str, body: Any = None) -> None:
    async with account.server.http(None, headers=account.cookie) as browser:
        answer = await browser.request(method, path, json=body)
        assert answer.status_code in (200, 204), answer.text


Change = Callable[[Account], Awaitable[None]]
CHANGES: dict[str, tuple[Change, set[str]]] = {
    "disabled": (
        lambda a: as_admin(a, "PATCH", "/status", {"status": "disabled"}),
        {"cookie", "key"},
    ),
    "deleted": (lambda a: as_admin(a, "DELETE", ""), {"cookie", "key"}),
    "another role": (
        lambda a: as_admin(a, "PATCH", "/role", {"role": "admin"}),
        {"cookie", "key"},
    ),
    "password reset": (
        lambda a: as_admin(a, "PUT", "/password", {"password": "another"}),
        {"cookie", "key"},
    ),
    "password changed, keys kept": (
        lambda a: as_user(
            a,
            "POST",
            "/api/auth/password",
            {"old_password": "password", "new_password": "another", "keep_keys": True},
        ),
        {"cookie"},
    ),
    "logged out": (lambda a: as_user(a, "POST", "/api/auth/logout"), {"cookie"}),
    "key revoked": (lambda a: as_user(a, "DELETE", f"/api/v1/api-keys/{a.key_id}"), {"key"}),
}


async def test_open_sockets_of_whom_a_change_concerns_are_closed_and_no_others(
    start_server: Callable[..., LiveServer],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(container, "RECHECK_SECONDS", 3600)
    server = start_server()  # so that no round can be what finds them
    for change, (make, expected) in CHANGES.items():
        account = await make_account(server)
        async with (
            server.socket(user=None, headers=account.cookie) as by_cookie,
            server.socket(user=None, headers=account.key) as by_key,
            server.socket() as another,
        ):
            await make(account)
            for name, socket in (("cookie", by_cookie), ("key", by_key), ("another", another)):
                if name in expected:
                    said = await socket.next("error")
                    assert said["data"]["error_code"] == "not_authenticated"
                    assert await socket.closed() == 4401, (change, name)
                else:
                    await socket.say("ping")
                    await socket.next("pong")
        await server.until(lambda: server.container.live_connections.count == 0)


async def ended(stream: httpx.Response) -> list[str]:
    """Read a stream to its end; the lines of it that are not comments."""
    async with asyncio.timeout(WAIT_SECONDS):
        return [line async for line in stream.aiter_lines() if line and not line.startswith(":")]


async def test_an_open_event_stream_ends_and_says_why(
    start_server: Callable[..., LiveServer],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(container, "RECHECK_SECONDS", 3600)
    server = start_server()
    for change in ("disabled", "deleted", "password reset", "logged out"):
        account = await make_account(server)
        async with server.http(None, headers=account.cookie) as browser:
            session = (await browser.post("/api/v1/sessions", json={})).json()
            url = f"/api/v1/sessions/{session['session_id']}/events"
            async with browser.stream("GET", url) as stream:
                assert stream.status_code == 200
                await CHANGES[change][0](account)
                lines = await ended(stream)
            assert lines[0] == "event: stream_error", change
            said = json.loads(lines[1].removeprefix("data: "))
            assert said["error_code"] == "not_authenticated"
            assert (await browser.get(url)).status_code == 401
    await server.until(lambda: server.container.live_connections.count == 0)


async def test_a_client_that_does_not_read_is_not_heard_any_more(
    start_server: Callable[..., LiveServer],
) -> None:
    server = start_server()
    server.hold_little()
    account = await make_account(server)
    async with server.socket(user=None, headers=account.key) as socket:
        reading = socket.raw.transport
        # asyncio's transports of sockets have it
        reading.pause_reading()  # pyright: ignore[reportAttributeAccessIssue]
        await CHANGES["disabled"][0](account)
        with_messages = [socket.say("chat", {"message": "!echo too late"}) for _ in range(3)]
        await asyncio.gather(*with_messages, return_exceptions=True)
        reading.resume_reading()  # pyright: ignore[reportAttributeAccessIssue] as above
        await socket.next("error")
        with pytest.raises(ConnectionClosed):
            await socket.receive()
        assert socket.raw.close_code == 4401
    service = {"X-API-Key": "service-key-0b1c2d", "X-User-Id": account.user.user_id}
    async with server.http(None, headers=service) as client:
        messages = await client.get(f"/api/v1/sessions/{socket.session_id}/messages")
    assert messages.json() == {"items": [], "total": 0}


async def status_of(server: LiveServer, run_id: str) -> str:
    """A run's status, once it has ended."""
    runs = server.container.core.runs

    async def look() -> str:
        [done] = [entry async for entry in runs.read(run_id) if entry.event_type == "done"]
        assert isinstance(done.event, DoneEvent)
        return "cancelled" if done.event.cancelled else done.event.reason

    return await asyncio.wait_for(server.on_server(look()), WAIT_SECONDS)


@requirement("G6")
@pytest.mark.parametrize("message", ["!slow 100000 20", '!tool write_file {"file_path": "/a"}'])
@pytest.mark.parametrize("change", ["disabled", "deleted"])
async def test_the_runs_of_a_user_who_is_disabled_or_deleted_are_cancelled(
    live: LiveServer, change: str, message: str
) -> None:
    account = await make_account(live)
    async with live.socket(user=None, headers=account.key) as socket, live.socket() as another:
        accepted = await socket.chat(message)
        others = await another.chat("!slow 20 10")
        await socket.receive()
        await CHANGES[change][0](account)
        assert await socket.closed() == 4401
    assert await status_of(live, accepted["run_id"]) == "cancelled"
    assert await status_of(live, others["run_id"]) == "completed"


@pytest.mark.parametrize("change", ["another role", "password reset", "logged out", "key revoked"])
async def test_the_run_of_someone_who_has_to_log_in_again_goes_on(
    live: LiveServer, change: str
) -> None:
    account = await make_account(live)
    async with live.socket(user=None, headers=account.cookie) as socket:
        accepted = await socket.chat("!slow 20 10")
        await CHANGES[change][0](account)
    assert await status_of(live, accepted["run_id"]) == "completed"


async def test_a_run_that_begins_while_its_user_is_deleted_is_cancelled(
    start_server: Callable[..., LiveServer],
) -> None:
    """The account goes without a word to the server, as by a command in another process."""
    server = start_server(lease_seconds=0.5)
    for action in ("disable", "delete"):
        account = await make_account(server)
        async with server.http(None, headers=account.key) as client:
            body = {"message": "!slow 100000 20"}
            waiting = asyncio.create_task(client.post("/api/v1/chat", json=body))
            await server.until(lambda: server.container.core.worker.active == 1)
            silent = UserStore(server.container.core.database)
            change = (
                silent.set_status(account.user.user_id, "disabled")
                if action == "disable"
                else silent.delete(account.user.user_id)
            )
            await server.on_server(cast("Any", change))
            answer = await asyncio.wait_for(waiting, WAIT_SECONDS)
            assert answer.json()["status"] == "cancelled", action


@requirement("G10")
async def test_a_user_disabled_in_one_process_is_out_of_all(
    start_server: Callable[..., LiveServer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with fresh_database("postgres", tmp_path) as url, fresh_redis_prefix() as prefix:
        shared = {"database_url": url, "redis_url": redis_url(), "redis_prefix": prefix}
        monkeypatch.setattr(container, "RECHECK_SECONDS", 3600)
        here = start_server(**shared)
        elsewhere = start_server(**shared)
        for change in ("disabled", "deleted"):
            account = await make_account(here)
            async with here.socket(user=None, headers=account.key) as socket:
                accepted = await socket.chat("!slow 100000 20")
                await socket.next("text")
                there = Account(elsewhere, account.user, {}, {}, "")
                await CHANGES[change][0](there)
                assert await socket.closed() == 4401
            assert await status_of(elsewhere, accepted["run_id"]) == "cancelled"
        elsewhere.stop()
        here.stop()


@pytest.mark.slow
@pytest.mark.parametrize("kind", SQL_STORES)
async def test_a_change_in_another_process_puts_out_here(
    start_server: Callable[..., LiveServer],
    tmp_path: Path,
    kind: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with fresh_database(kind, tmp_path) as url:
        monkeypatch.setattr(container, "RECHECK_SECONDS", 0.1)
        here = start_server(database_url=url)
        account = await make_account(here)
        elsewhere = start_server(database_url=url)
        async with (
            here.socket(user=None, headers=account.cookie) as by_cookie,
            here.socket(user=None, headers=account.key) as by_key,
            here.socket() as another,
        ):
            await as_admin(
                Account(elsewhere, account.user, {}, {}, ""),
                "PATCH",
                "/status",
                {"status": "disabled"},
            )
            assert await by_cookie.closed() == 4401
            assert await by_key.closed() == 4401
            await another.say("ping")
            await another.next("pong")
        elsewhere.stop()
        here.stop()
