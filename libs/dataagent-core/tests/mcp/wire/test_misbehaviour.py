"""Servers that break the rules: each harms its own call, at worst its own session, never us."""

from __future__ import annotations

import asyncio
import gzip
from dataclasses import replace

import pytest

from dataagent_core.mcp.types import CallFailed
from dataagent_core.mcp.wire import WireLimits
from tests.waiting import WAIT_SECONDS, until

from ..conftest import Keep
from ..raw import EVENTS, Answer, Asked, RawServer, answered, on_call, response, sse_server
from ..running import QUICK, failure_of, raw_spec

JSON = b"HTTP/1.1 200 X\r\ncontent-type: application/json\r\n"


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (response(200, b"<html>hello</html>", content_type="text/html"), "MCP_TOOL_ERROR"),
        (response(200, b"{not json", content_type="application/json"), "MCP_TOOL_ERROR"),
        (response(202), "MCP_TOOL_ERROR"),
        (response(302, location="http://127.0.0.1:1/mcp"), "MCP_TOOL_ERROR"),
        (response(503, b"busy"), "MCP_SERVER_UNAVAILABLE"),
        (
            response(
                200,
                gzip.compress(b"x" * 10_000_000),
                content_type="application/json",
                content_encoding="gzip",
            ),
            "MCP_SERVER_UNAVAILABLE",
        ),
    ],
)
async def test_a_strange_answer_fails_its_call_and_the_session_goes_on(
    answer: bytes, code: str, keep: Keep
) -> None:
    async with RawServer() as server:
        connection = await keep(raw_spec(server)).ready()
        server.on_request = on_call(answer)
        assert (await failure_of(connection)).failure.code == code
        server.on_request = None
        await connection.call("echo", {}, timeout_seconds=WAIT_SECONDS)
        assert connection.status.generation == 1


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 X\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n{",
        b"HTTP/1.1 200 X\r\n",
        b"\x00\x01\x02 nonsense\r\n\r\n",
        EVENTS + b"data: {",
        EVENTS + b"id: 7\nretry: 10\ndata: \n\n",
        b"",
    ],
)
async def test_an_answer_that_breaks_off_fails_its_call_within_a_second(
    answer: bytes, keep: Keep
) -> None:
    """F2: and since the server lives, it is not given up."""
    async with RawServer() as server:
        connection = await keep(raw_spec(server)).ready()
        server.on_request = on_call(answer, closes=True)
        began = asyncio.get_running_loop().time()
        failed = await failure_of(connection)
        assert (failed.failure.code, failed.was_sent) == ("MCP_SERVER_UNAVAILABLE", True)
        assert asyncio.get_running_loop().time() - began < 1
        server.on_request = None
        await connection.call("echo", {}, timeout_seconds=WAIT_SECONDS)
        assert connection.status.generation == 1


async def test_a_flood_of_bytes_is_cut_off_at_the_limit(keep: Keep) -> None:
    """F7: in one piece and as an event, with the length told and without."""
    limits = WireLimits(max_message_bytes=100_000)
    sent = 0

    def flood(head: bytes) -> Answer:
        async def handle(asked: Asked, writer: asyncio.StreamWriter) -> bool:
            nonlocal sent
            if asked.method != "POST" or asked.message.get("method") != "tools/call":
                return False
            writer.write(head)
            for _ in range(1000):
                writer.write(b"x" * 100_000)
                sent += 100_000
                await writer.drain()
            return True

        return handle

    async with RawServer() as server:
        connection = await keep(raw_spec(server), replace(QUICK, wire=limits)).ready()
        for head in (
            JSON + b"\r\n",
            JSON + b"content-length: 900000000\r\n\r\n",
            EVENTS + b"data: ",
        ):
            sent = 0
            server.on_request = flood(head)
            assert (await failure_of(connection)).failure.code == "MCP_RESULT_TOO_LARGE"
            assert sent < 20_000_000  # the rest was never taken
        server.on_request = None
        await connection.call("echo", {}, timeout_seconds=WAIT_SECONDS)
        assert connection.status.generation == 1


async def test_lists_have_limits(keep: Keep) -> None:
    """More than a thousand tools, five megabytes, or pages without end: no connection."""
    many = [{"name": f"t{n}", "inputSchema": {"type": "object"}} for n in range(1001)]
    fat = [{"name": "fat", "description": "x" * 6_000_000, "inputSchema": {"type": "object"}}]
    for tools in (many, fat):
        async with RawServer(tools=tools) as server:
            kept = keep(raw_spec(server))
            kept.connection.start()
            await until(lambda kept=kept: kept.connection.status.state == "backoff")
            assert "more than allowed" in kept.connection.status.reason
            assert kept.lists == []

    async def endless(asked: Asked, writer: asyncio.StreamWriter) -> bool:
        if asked.method != "POST" or asked.message.get("method") != "tools/list":
            return False
        writer.write(answered(asked.message, {"tools": [], "nextCursor": "on"}))
        return True

    async with RawServer(endless) as server:
        kept = keep(raw_spec(server))
        kept.connection.start()
        await until(lambda: kept.connection.status.state == "backoff")
        assert "too many pages" in kept.connection.status.reason
        assert sum(asked.message.get("method") == "tools/list" for asked in server.asked) == 50


async def test_pages_are_put_together(keep: Keep) -> None:
    async def paged(asked: Asked, writer: asyncio.StreamWriter) -> bool:
        if asked.method != "POST" or asked.message.get("method") != "tools/list":
            return False
        page = int(asked.message.get("params", {}).get("cursor", "0"))
        tool = {"name": f"t{page}", "inputSchema": {"type": "object"}}
        more = {"nextCursor": str(page + 1)} if page < 2 else {}
        writer.write(answered(asked.message, {"tools": [tool], **more}))
        return True

    async with RawServer(paged) as server:
        connection = await keep(raw_spec(server)).ready()
        assert [tool.name for tool in connection.tools] == ["t0", "t1", "t2"]


async def test_redirects_are_followed_within_the_origin_only(keep: Keep) -> None:
    """Credentials never leave for another place."""

    def to(location: str) -> Answer:
        async def handle(asked: Asked, writer: asyncio.StreamWriter) -> bool:
            if asked.target != "/old":
                return False
            writer.write(response(307, location=location))
            return True

        return handle

    async with RawServer() as elsewhere, RawServer(to("/mcp")) as server:
        old = f"http://127.0.0.1:{server.port}/old"
        spec = raw_spec(server, url=old, headers={"Authorization": "Bearer secret"})
        connection = await keep(spec).ready()
        await connection.call("echo", {}, timeout_seconds=WAIT_SECONDS)
        server.on_request = to(elsewhere.url)
        kept = keep(spec)
        kept.connection.start()
        await until(lambda: kept.connection.status.state == "backoff")
        assert elsewhere.asked == []


async def test_a_hanging_notice_holds_up_no_call(keep: Keep) -> None:
    """A server of the older era that never answers what it is told, only what it is asked."""

    async def hang(asked: Asked, writer: asyncio.StreamWriter) -> bool:
        method = asked.message.get("method") if asked.method == "POST" else None
        if method == "notifications/cancelled":
            await asyncio.sleep(30)
        if method == "tools/call" and asked.message["params"]["arguments"].get("hang"):
            await asyncio.sleep(30)
        return False

    async with RawServer(hang) as server:
        connection = await keep(raw_spec(server)).ready()
        with pytest.raises(CallFailed):
            await connection.call("echo", {"hang": True}, timeout_seconds=0.2)
        await until(lambda: any(b"cancelled" in asked.body for asked in server.asked))
        await connection.call("echo", {}, timeout_seconds=2)


# -- the transport of 2024 --


HUGE = b"x" * 400_000


@pytest.mark.parametrize(
    "event",
    [
        b'data: {"jsonrpc":"2.0","id":ID,"result":{"content":[{"text":"' + HUGE + b'"}]}}\n\n',
        b'data: {"result":{"content":[{"text":"' + HUGE + b'"}]},"jsonrpc":"2.0","id":ID}\n\n',
        b'data: {"result":{"content":[{"text":"' + HUGE + b'"}]},"id":ID,"jsonrpc":"2.0"}\n\n',
        b'data: {"jsonrpc":"2.0","id":ID,\n' + b"data: " + HUGE + b"\n" * 2,
        b'data: {"id": ID, "x":\n'
        + b"".join(b"data: " + b"y" * 1000 + b"\n" for _ in range(300))
        + b"\n",
    ],
)
async def test_over_sse_a_huge_result_fails_its_own_call(event: bytes, keep: Keep) -> None:
    """F7: wherever the server puts the id; the library's own transport would end the session."""
    server, _ = sse_server("/mcp", event)
    async with server:
        rules = replace(QUICK, wire=WireLimits(max_message_bytes=100_000))
        connection = await keep(raw_spec(server, transport="sse"), rules).ready()
        failed = await failure_of(connection, big=True)
        assert failed.failure.code == "MCP_RESULT_TOO_LARGE"
        await connection.call("echo", {}, timeout_seconds=WAIT_SECONDS)
        assert connection.status.generation == 1


async def test_the_address_for_messages_is_the_servers_own(keep: Keep) -> None:
    """A stream that points elsewhere gets no credentials sent there."""
    async with RawServer() as elsewhere:
        server, _ = sse_server(elsewhere.url)
        async with server:
            kept = keep(raw_spec(server, transport="sse", headers={"X-Key": "secret"}))
            kept.connection.start()
            await until(lambda: kept.connection.status.state == "backoff")
            assert "not its own" in kept.connection.status.reason
        assert elsewhere.asked == []


async def test_the_older_transport_is_found_by_itself(keep: Keep) -> None:
    """`auto`: a server that refuses a POST is asked for its event stream."""
    server, _ = sse_server("/mcp")
    events = server.on_request
    assert events is not None

    async def older(asked: Asked, writer: asyncio.StreamWriter) -> bool:
        if asked.method == "POST" and asked.target == "/sse":
            writer.write(response(405))
            return True
        return await events(asked, writer)

    server.on_request = older
    async with server:
        url = f"http://127.0.0.1:{server.port}/sse"
        connection = await keep(raw_spec(server, transport="auto", url=url)).ready()
        await connection.call("echo", {}, timeout_seconds=WAIT_SECONDS)
    async with RawServer() as newer:
        await keep(raw_spec(newer, transport="auto")).ready()
        assert {asked.method for asked in newer.asked} <= {"POST", "GET"}
