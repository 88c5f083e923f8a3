"""The outbound client against a real server on loopback, which it may reach only when told so."""

from __future__ import annotations

import asyncio
import tracemalloc
import zlib
from collections.abc import AsyncGenerator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypedDict

import pytest
from aiohttp import web
from langchain_core.tools import BaseTool
from langgraph.graph import StateGraph  # pyright: ignore[reportMissingTypeStubs] it has none

from dataagent_core.errors import HostNotAllowed, ToolFailed
from dataagent_core.identity import RunContext
from dataagent_core.tools.fetch import FetchUrlTool
from dataagent_core.tools.http import HttpRequestTool
from dataagent_core.tools.outbound import OutboundClient, Request
from tests.requirements import requirement

LOOPBACKS = [
    "127.0.0.1",
    "127.1",
    "127.0.1",
    "127.000.000.001",
    "0177.0.0.1",
    "0x7f.0.0.1",
    "0x7f000001",
    "0X7F000001",
    "2130706433",
    "017700000001",
    "127.0.0.1.",
    "127.127.127.127",
    "0",
    "0.0.0.0",
    "localhost",
    "LOCALHOST",
    "localhost.",
    "[::1]",
    "[::]",
    "[0:0:0:0:0:0:0:1]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[::127.0.0.1]",
    "[64:ff9b::7f00:1]",
    "[2002:7f00:1::]",
    "１２７.０.０.１",
    "127。0。0。1",
    "①②⑦.⓪.⓪.①",
    "[::1%25lo]",
    "user@127.0.0.1",
    "example.com@127.0.0.1",
    "127.0.0.1\\@example.com",
]


@dataclass
class Site:
    """A server that remembers who came."""

    port: int = 0
    seen: list[web.Request] = field(default_factory=list[web.Request])
    hold: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.seen.append(request)
        match request.path:
            case "/to":
                code = int(request.query.get("code", "302"))
                return web.Response(status=code, headers={"Location": request.query["url"]})
            case "/big":
                return web.Response(body=b"x" * 300_000)
            case "/hang":
                await self.hold.wait()
                return web.Response()
            case "/bomb":
                packed = _packed(request.query["how"])
                headers = {"Content-Encoding": request.query["how"], "Content-Type": "text/html"}
                return web.Response(body=packed, headers=headers)
            case "/drip":
                return await self.drip(request)
            case "/echo":
                body = await request.text()
                return web.json_response(
                    {"method": request.method, "body": body, "headers": dict(request.headers)}
                )
            case _:
                return web.Response(text="inside")

    async def drip(self, request: web.Request) -> web.StreamResponse:
        """A byte now and then, for ever."""
        response = web.StreamResponse()
        await response.prepare(request)
        with suppress(ConnectionError):
            while not self.hold.is_set():
                await response.write(b"x")
                await asyncio.sleep(0.02)
        return response


def _packed(how: str) -> bytes:
    """200 MB of nothing in 200 kB."""
    packer = zlib.compressobj(9, wbits=31 if how == "gzip" else 15)
    block = bytes(1_000_000)
    return b"".join(packer.compress(block) for _ in range(200)) + packer.flush()


@pytest.fixture
async def site() -> AsyncGenerator[Site]:
    site = Site()
    app = web.Application()
    app.router.add_route("*", "/{tail:.*}", site.answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    listener = web.TCPSite(runner, "127.0.0.1", 0)
    await listener.start()
    site.port = runner.addresses[0][1]
    yield site
    site.hold.set()
    await runner.cleanup()


@pytest.mark.parametrize("host", LOOPBACKS)
async def test_no_spelling_of_loopback_is_reached(site: Site, host: str) -> None:
    async with OutboundClient(allow_private_hosts=["elsewhere"]) as client:
        with pytest.raises(HostNotAllowed):
            await client.send(Request(f"http://{host}:{site.port}/"))
    assert site.seen == []


@pytest.mark.parametrize("path", ["/", "/latest/meta-data"])
@pytest.mark.parametrize("host", ["169.254.169.254", "10.0.0.1", "192.168.0.1", "100.100.100.200"])
async def test_inner_networks_and_metadata_are_closed(host: str, path: str) -> None:
    async with OutboundClient() as client:
        with pytest.raises(HostNotAllowed, match="DATAAGENT_ALLOW_PRIVATE_HOSTS"):
            await client.send(Request(f"http://{host}{path}"))


async def test_a_name_with_one_closed_address_among_its_addresses_is_refused(site: Site) -> None:
    def lookup(host: str, port: int) -> list[str]:
        return ["93.184.216.34", "127.0.0.1"]

    async with OutboundClient(lookup=lookup) as client:
        with pytest.raises(HostNotAllowed):
            await client.send(Request(f"http://mixed.example:{site.port}/"))
    assert site.seen == []


async def test_a_name_that_changes_its_address_is_checked_at_each_connection(site: Site) -> None:
    answers = iter([["127.0.0.1"], ["127.0.0.1"]])
    asked: list[str] = []

    def lookup(host: str, port: int) -> list[str]:
        asked.append(host)
        return next(answers)

    origin = f"first.example:{site.port}"
    async with OutboundClient(lookup=lookup, allow_private_hosts=[origin]) as client:
        url = f"http://second.example:{site.port}/"
        with pytest.raises(HostNotAllowed):
            await client.send(Request(f"http://{origin}/to?url={url}"))
    assert asked == ["first.example", "second.example"]
    assert [request.path for request in site.seen] == ["/to"]


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
@pytest.mark.parametrize(
    "inward",
    [
        "http://localhost:{port}/",
        "http://169.254.169.254/",
        "//[::1]:{port}/",
        "file:///etc/passwd",
    ],
)
async def test_an_allowed_server_cannot_redirect_inward(site: Site, code: int, inward: str) -> None:
    async with OutboundClient(allow_private_hosts=[site.host]) as client:
        url = inward.format(port=site.port)
        with pytest.raises(HostNotAllowed):
            await client.send(Request(f"http://{site.host}/to?code={code}&url={url}"))
    assert [request.path for request in site.seen] == ["/to"]


async def test_a_host_let_through_is_let_through_exactly(site: Site) -> None:
    async with OutboundClient(allow_private_hosts=["127.0.0.1"]) as client:
        assert (await client.send(Request(f"http://{site.host}/"))).text() == "inside"
        with pytest.raises(HostNotAllowed):
            await client.send(Request(f"http://localhost:{site.port}/"))
    async with OutboundClient(allow_private_hosts=["127.0.0.1:1"]) as client:
        with pytest.raises(HostNotAllowed):
            await client.send(Request(f"http://{site.host}/"))


async def test_redirects_are_followed_five_times(site: Site) -> None:
    async with OutboundClient(allow_private_hosts=[site.host]) as client:
        reply = await client.send(Request(f"http://{site.host}/to?url=/echo", "POST", {}, b"x"))
        assert b'"method": "GET"' in reply.body
        kept = await client.send(
            Request(f"http://{site.host}/to?code=307&url=/echo", "POST", {}, b"x")
        )
        assert b'"method": "POST", "body": "x"' in kept.body
        site.seen.clear()
        with pytest.raises(ToolFailed, match="More than 5 redirects"):
            await client.send(
                Request(
                    f"http://{site.host}/to?url=/to%3Furl=/to%253Furl=/to%25253Furl=/"
                    "to%2525253Furl=/to%252525253Furl=/to%25252525253Furl=/"
                )
            )
    assert len(site.seen) == 6


async def test_credentials_stay_with_their_origin(site: Site) -> None:
    both = [site.host, f"localhost:{site.port}"]
    keys = [
        "Authorization",
        "cookie",
        "Proxy-Authorization",
        "X-API-Key",
        "api-key",
        "X-Auth-Token",
    ]
    secret = {**dict.fromkeys(keys, "s3cret"), "X-Team": "s3cret", "Host": "evil"}
    plain = {"accept": "text/csv", "User-Agent": "me", "Accept-Language": "de"}
    async with OutboundClient(allow_private_hosts=both) as client:
        away = f"http://{site.host}/to?url=http://localhost:{site.port}/echo"
        reply = (await client.send(Request(away, headers={**secret, **plain}))).text()
        assert "s3cret" not in reply
        assert "evil" not in reply
        assert [value for value in plain.values() if f'"{value}"' not in reply] == []
        here = (
            await client.send(Request(f"http://{site.host}/to?url=/echo", headers=secret))
        ).text()
        assert here.count("s3cret") == len(keys) + 1


async def test_a_long_answer_is_cut_and_says_so(site: Site) -> None:
    async with OutboundClient(allow_private_hosts=[site.host], max_bytes=1000) as client:
        reply = await client.send(Request(f"http://{site.host}/big"))
        assert (len(reply.body), reply.is_cut) == (1000, True)


async def test_an_answer_that_does_not_come_is_given_up(site: Site) -> None:
    async with OutboundClient(allow_private_hosts=[site.host], timeout_seconds=0.2) as client:
        with pytest.raises(ToolFailed, match=r"within 0\.2 seconds"):
            await client.send(Request(f"http://{site.host}/hang"))


async def test_failures_are_told_without_internals(site: Site) -> None:
    async with OutboundClient(allow_private_hosts=["127.0.0.1"]) as client:
        with pytest.raises(ToolFailed, match="cannot be reached"):
            await client.send(Request("http://127.0.0.1:1/"))
        with pytest.raises(ToolFailed, match="not valid"):
            await client.send(Request(f"http://{site.host}/", headers={"X": "a\r\nY: b"}))

    def nothing(host: str, port: int) -> list[str]:
        raise OSError("Name or service not known")

    async with OutboundClient(lookup=nothing) as client:
        with pytest.raises(ToolFailed, match="the host name is unknown"):
            await client.send(Request("http://nowhere.example/"))


async def test_proxies_of_the_environment_are_not_used(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", f"http://{site.host}")
    monkeypatch.setenv("http_proxy", f"http://{site.host}")

    def nothing(host: str, port: int) -> list[str]:
        raise OSError("Name or service not known")

    async with OutboundClient(lookup=nothing) as client:
        with pytest.raises(ToolFailed):
            await client.send(Request("http://nowhere.example/"))
    assert site.seen == []


@requirement("G13")
@pytest.mark.parametrize("how", ["gzip", "deflate"])
async def test_an_answer_that_unpacks_to_far_more_is_cut_as_it_is_unpacked(
    site: Site, how: str
) -> None:
    async with OutboundClient(allow_private_hosts=[site.host]) as client:
        url = f"http://{site.host}/bomb?how={how}"
        await client.send(Request(f"http://{site.host}/"))
        tracemalloc.start()
        reply = await client.send(Request(url))
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert (len(reply.body), reply.is_cut) == (5_000_000, True)
    assert peak < 40_000_000  # never a tenth of what it would unpack to; the server packs here too


async def test_an_answer_that_never_ends_is_given_up_in_time(site: Site) -> None:
    async with OutboundClient(allow_private_hosts=[site.host], timeout_seconds=0.3) as client:
        with pytest.raises(ToolFailed, match=r"within 0\.3 seconds"):
            await client.send(Request(f"http://{site.host}/drip"))


async def test_the_address_that_was_checked_is_the_one_that_is_reached(site: Site) -> None:
    """A name is looked up once; whatever it means a moment later, the first answer is dialled."""
    answers = iter([["93.184.216.34"], ["127.0.0.1"], ["127.0.0.1"]])

    def lookup(host: str, port: int) -> list[str]:
        return next(answers)

    async with OutboundClient(lookup=lookup) as client:
        with pytest.raises(RuntimeError, match=r"not 93\.184\.216\.34"):  # stopped by conftest.py
            await client.send(Request(f"http://rebind.example:{site.port}/"))
        with pytest.raises(HostNotAllowed):
            await client.send(Request(f"http://rebind.example:{site.port}/"))
    assert site.seen == []


# -- redirects in a run that asks a person --------------------------------------------------------


class Graph(TypedDict):
    """The state of a graph that makes one call."""

    result: str


async def called(tool: BaseTool, *, auto_approve: bool = False, **arguments: Any) -> str:
    """What a tool answers in a run."""

    async def call(_: Graph) -> Graph:
        return {"result": await tool.ainvoke(arguments)}

    context = RunContext("u", "s", "r", "a", auto_approve=auto_approve)
    graph: Any = StateGraph(Graph, context_schema=RunContext)
    graph.add_node("call", call)
    graph.set_entry_point("call")
    return (await graph.compile().ainvoke({"result": ""}, context=context))["result"]


@pytest.mark.parametrize("tool", [HttpRequestTool, FetchUrlTool])
async def test_what_was_approved_for_one_server_does_not_go_on_to_another(
    site: Site, tool: type[HttpRequestTool | FetchUrlTool]
) -> None:
    here, there = f"first.example:{site.port}", f"second.example:{site.port}"

    def lookup(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    async with OutboundClient(allow_private_hosts=[here, there], lookup=lookup) as client:
        made = tool(client=client)
        address = f"http://{here}/to?code=307&url=http://{there}/echo"
        with pytest.raises(ToolFailed, match=r"redirects to another one.*second\.example"):
            await called(made, url=address)
        assert [request.host for request in site.seen] == [here]
        await called(made, url=f"http://{here}/to?url=/inside")
        assert {request.host for request in site.seen} == {here}
        await called(made, url=address, auto_approve=True)  # a run that asks nobody
        assert site.seen[-1].host == there


async def test_a_page_redirects_to_a_host_that_is_allowed(site: Site) -> None:
    here, there = f"first.example:{site.port}", f"second.example:{site.port}"

    def lookup(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    async with OutboundClient(allow_private_hosts=[here, there], lookup=lookup) as client:
        made = FetchUrlTool(client=client, allowed_hosts=("second.example",))
        await called(made, url=f"http://{here}/to?url=http://{there}/inside")
    assert site.seen[-1].host == there
