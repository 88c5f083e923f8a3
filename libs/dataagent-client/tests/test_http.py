"""What is sent again and what never is, against an HTTP server that fails on purpose."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web

from dataagent_client import (
    ApiError,
    Backoff,
    ClientError,
    ConnectionFailed,
    DataAgentClient,
    Decision,
    ProtocolError,
    TimedOut,
    UnavailableError,
)
from tests.requirements import requirement
from tests.waiting import WAIT_SECONDS

QUICK = Backoff(first_seconds=0.001, most_seconds=0.002, attempts=4)
Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def serving(
    answer: Answer, *, timeout_seconds: float = 30.0
) -> AsyncGenerator[DataAgentClient]:
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        async with DataAgentClient(
            site.name, "k", backoff=QUICK, timeout_seconds=timeout_seconds
        ) as client:
            yield client
    finally:
        await runner.cleanup()


class Failing:
    """Fails some times, as it is told to, then answers; counts what it is asked."""

    def __init__(self, times: int, how: str) -> None:
        self.asked = 0
        self._times = times
        self._how = how

    async def answer(self, request: web.Request) -> web.Response:
        self.asked += 1
        if self.asked > self._times:
            body = {"status": "ok", "version": "1", "uptime": 1, "session_id": "s"}
            body |= {"run_id": "r", "checks": {}}
            return web.json_response(body)
        if self._how == "cut":
            assert request.transport is not None
            request.transport.abort()
        return web.json_response({"error_code": "unavailable", "message": "Later."}, status=503)


REPEATED: dict[str, Callable[[DataAgentClient], Awaitable[object]]] = {
    "a question": lambda client: client.health(),
    "a stop": lambda client: client.cancel("s"),
    "a decision": lambda client: client.decide("r", "q", Decision("approve")),
    "a message, which has an id": lambda client: client.start("hi", "s"),
}
ONCE: dict[str, Callable[[DataAgentClient], Awaitable[object]]] = {
    "a new session": lambda client: client.create_session(),
    "a statement": lambda client: client.data.query("s", "select 1"),
    "a file": lambda client: client.files.upload(b"a", filename="a.txt"),
    "a key": lambda client: client.keys.create("k"),
    "an account": lambda client: client.admin.users.create("someone", "some-word-77"),
    "an end": lambda client: client.files.delete("f"),
    "a trial": lambda client: client.mcp.test("u", "s"),
}


@requirement("G15")
@pytest.mark.parametrize("how", ["cut", "refused"])
@pytest.mark.parametrize("what", REPEATED)
async def test_what_can_be_sent_twice_is_sent_again(what: str, how: str) -> None:
    server = Failing(2, how)
    async with serving(server.answer) as client:
        await REPEATED[what](client)
    assert server.asked == 3


@requirement("G15")
@pytest.mark.parametrize("how", ["cut", "refused"])
@pytest.mark.parametrize("what", ONCE)
async def test_what_may_have_been_done_is_never_sent_again(what: str, how: str) -> None:
    server = Failing(2, how)
    async with serving(server.answer) as client:
        with pytest.raises((ConnectionFailed, UnavailableError)):
            await ONCE[what](client)
    assert server.asked == 1


async def test_it_gives_up_after_as_many_attempts_as_it_is_told() -> None:
    server = Failing(99, "refused")
    async with serving(server.answer) as client:
        with pytest.raises(UnavailableError) as refused:
            await client.health()
    assert (server.asked, refused.value.message) == (QUICK.attempts, "Later.")


async def test_a_server_that_says_nothing_times_out() -> None:
    async def silent(request: web.Request) -> web.Response:
        await asyncio.Event().wait()
        return web.Response()

    async with serving(silent, timeout_seconds=0.05) as client:
        with pytest.raises(TimedOut, match="in time"):
            await client.create_session()


async def test_a_download_that_is_cut_off_leaves_no_file(tmp_path: Path) -> None:
    async def cut(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": "1000"})
        await response.prepare(request)
        await response.write(b"half")
        assert request.transport is not None
        request.transport.close()
        return response

    async with serving(cut) as client:
        with pytest.raises(ConnectionFailed):
            await client.files.download("f", tmp_path / "file.bin")
    assert list(tmp_path.iterdir()) == []


async def test_downloads_to_one_place_do_not_meet(tmp_path: Path) -> None:
    is_half, may_go_on = asyncio.Event(), asyncio.Event()

    async def halves(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        if "slow" in request.path:
            await response.write(b"slow ")
            is_half.set()
            await may_go_on.wait()
        await response.write(b"whole")
        return response

    beside = tmp_path / "file.bin.partial"
    beside.write_text("mine")
    async with asyncio.timeout(WAIT_SECONDS), serving(halves) as client:
        slow = asyncio.create_task(client.files.download("slow", tmp_path / "file.bin"))
        await is_half.wait()
        await client.files.download("quick", tmp_path / "file.bin")
        assert (tmp_path / "file.bin").read_bytes() == b"whole"
        may_go_on.set()
        await slow
    assert (tmp_path / "file.bin").read_bytes() == b"slow whole"
    assert beside.read_text() == "mine"
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize(
    "body", ['{"status": "ready"}', '{"status": 1, "checks": {}}', "[]", "no JSON"]
)
async def test_an_answer_that_is_no_answer_is_said_to_be_none(body: str) -> None:
    async def odd(request: web.Request) -> web.Response:
        return web.Response(text=body, content_type="application/json")

    async with serving(odd) as client:
        with pytest.raises(ProtocolError, match="server's"):
            await client.ready()


@pytest.mark.parametrize("what", ["stop", "download"])
async def test_a_redirect_is_an_error_that_says_where_to(what: str, tmp_path: Path) -> None:
    async def moved(request: web.Request) -> web.Response:
        return web.Response(status=301, headers={"Location": "https://data.example/"})

    work: dict[str, Callable[[DataAgentClient], Awaitable[object]]] = {
        "stop": lambda client: client.cancel_run("r"),
        "download": lambda client: client.files.download("f", tmp_path / "f"),
    }
    async with serving(moved) as client:
        with pytest.raises(ApiError, match=r"301: it is at https://data\.example/\."):
            await work[what](client)
    assert list(tmp_path.iterdir()) == []


async def test_an_answer_that_cannot_be_unpacked_is_a_protocol_error() -> None:
    async def broken(request: web.Request) -> web.Response:
        return web.Response(body=b"no gzip", headers={"Content-Encoding": "gzip"})

    async with serving(broken) as client:
        with pytest.raises(ProtocolError, match="cannot be unpacked"):
            await client.health()


@pytest.mark.parametrize(
    "address", ["ftp://host", "host", "http://", "http://host:abc", "http://[::1", "http://a\0b"]
)
def test_what_is_no_address_is_refused_at_once(address: str) -> None:
    with pytest.raises(ClientError, match=r"is no server address\. Use http:// or https://\."):
        DataAgentClient(address, "k")


@pytest.mark.parametrize("door", ["chat", "chat_sse"])
async def test_half_a_character_is_refused_before_it_is_sent(door: str) -> None:
    async with DataAgentClient("http://127.0.0.1:9", "k", backoff=QUICK) as client:
        with pytest.raises(ClientError, match="cannot be written as JSON"):
            async for _ in getattr(client, door)("\ud83d"):
                pass
