from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiohttp import web
from langchain_core.tools import BaseTool
from pydantic import SecretStr

from dataagent_core import tools
from dataagent_core.config import Settings
from dataagent_core.errors import HostNotAllowed, ToolFailed
from dataagent_core.tools import (
    FetchUrlTool,
    HttpRequestTool,
    OutboundClient,
    ThinkTool,
    ToolContext,
    WebSearchTool,
    builtin_tools,
)
from dataagent_core.tools.builtin import standalone_tool
from tests.requirements import requirement

PAGE = """<!doctype html><html><head><title>T</title><style>p{}</style></head><body>
<script>steal()</script><h1>Prices</h1><p>All <b>good</b> <a href="/x">here</a>.</p>
<ul><li>one</li><li>two</li></ul><noscript>no js</noscript>
<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table></body></html>"""


@dataclass
class Site:
    url: str = ""
    searches: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    async def page(self, request: web.Request) -> web.Response:
        return web.Response(text=PAGE, content_type="text/html")

    async def deep(self, request: web.Request) -> web.Response:
        return web.Response(text="<div>" * 30_000, content_type="text/html")

    async def picture(self, request: web.Request) -> web.Response:
        return web.Response(body=b"\x89PNG", content_type="image/png")

    async def missing(self, request: web.Request) -> web.Response:
        return web.Response(status=404)

    async def echo(self, request: web.Request) -> web.Response:
        return web.json_response(
            {"method": request.method, "type": request.content_type, "body": await request.text()},
            headers={"Set-Cookie": "a=b"},
        )

    async def search(self, request: web.Request) -> web.Response:
        if request.headers["Authorization"] != "Bearer tvly-key":
            return web.Response(status=401)
        self.searches.append(await request.json())
        return web.json_response(
            {"results": [{"title": "A", "url": "https://a.example", "content": "about a"}]}
        )


@pytest.fixture
async def site() -> AsyncGenerator[Site]:
    site = Site()
    app = web.Application()
    app.router.add_get("/page", site.page)
    app.router.add_get("/deep", site.deep)
    app.router.add_get("/picture", site.picture)
    app.router.add_get("/missing", site.missing)
    app.router.add_post("/search", site.search)
    app.router.add_route("*", "/echo", site.echo)
    runner = web.AppRunner(app)
    await runner.setup()
    listener = web.TCPSite(runner, "127.0.0.1", 0)
    await listener.start()
    site.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield site
    await runner.cleanup()


@pytest.fixture
async def client() -> AsyncGenerator[OutboundClient]:
    async with OutboundClient(allow_private_hosts=["127.0.0.1"]) as client:
        yield client


@requirement("R8.1", "R8.4", "S2.2.5.1b")
async def test_web_search_is_there_only_with_a_key(
    client: OutboundClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TAVILY_API_KEY", raising=False)
    # from the environment
    without = builtin_tools(ToolContext(settings=Settings(), client=client))
    monkeypatch.setenv("TAVILY_API_KEY", "tvly-key")
    # from the environment
    tools = builtin_tools(ToolContext(settings=Settings(), client=client))
    assert [tool.name for tool in without] == ["fetch_url", "http_request", "think_tool"]
    assert [tool.name for tool in tools] == [
        *(tool.name for tool in without),
        "web_search",
        "tavily_search",
    ]
    for tool in tools:
        assert isinstance(tool, BaseTool)
        assert type(tool)._arun is not BaseTool._arun
        assert tool.description
    assert "tvly-key" not in repr(tools)


@requirement("R8.1", "R8.4")
async def test_http_request_gives_status_headers_and_json(
    client: OutboundClient, site: Site
) -> None:
    tool = HttpRequestTool(client=client)
    asked = {"url": f"{site.url}/echo", "method": "POST", "body": {"a": [1]}}
    answer = json.loads(await tool.ainvoke(asked))
    assert answer == {
        "status": 200,
        "url": f"{site.url}/echo",
        "headers": {
            "Content-Type": "application/json; charset=utf-8",
            "Content-Length": answer["headers"]["Content-Length"],
            "Date": answer["headers"]["Date"],
        },
        "json": {"method": "POST", "type": "application/json", "body": '{"a":[1]}'},
    }


async def test_http_request_gives_json_and_its_figures_as_they_were_sent(
    client: OutboundClient,
) -> None:
    sent = b'{"id": 12345678901234567890123, "total": 12345678901234567.80}'

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        head = b'Content-Type: application/json\r\nETag: "\xe9"\r\nConnection: close\r\n'
        writer.write(b"HTTP/1.1 200 OK\r\n" + head + b"\r\n" + sent)
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        url = f"http://127.0.0.1:{port}/"
        found = await HttpRequestTool(client=client).ainvoke({"url": url})

    assert f'"json":{sent.decode()}' in found
    assert json.loads(found)["headers"]["Etag"] == '"?"'  # a byte that is no text


@requirement("R8.4")
async def test_blocking_calls_work_inside_a_running_loop(client: OutboundClient) -> None:
    assert ThinkTool().invoke({"reflection": "hm"}) == "Noted: hm"
    assert await ThinkTool().ainvoke({"reflection": "hm"}) == "Noted: hm"
    with pytest.raises(ToolFailed, match="cannot be reached"):
        HttpRequestTool(client=client).invoke({"url": "http://127.0.0.1:1/"})


@requirement("R8.1")
async def test_fetch_url_gives_what_a_reader_sees_as_markdown(
    client: OutboundClient, site: Site
) -> None:
    text = await FetchUrlTool(client=client).ainvoke({"url": f"{site.url}/page"})
    assert "# Prices" in text
    assert text.startswith(f"[1] T\n{site.url}/page\n")
    assert f"All **good** [here]({site.url}/x)." in text
    assert "- one\n- two" in text
    assert "| a | b |" in text
    assert not any(hidden in text for hidden in ("steal", "p{}", "no js"))


@pytest.mark.parametrize("kind", ["text/html", "text/html; charset=nonsense"])
async def test_fetch_url_reads_a_page_in_the_encoding_the_page_names(
    client: OutboundClient, kind: str
) -> None:
    page = "<html><head><meta charset='gbk'><title>销售</title></head><p>销售额</p></html>"

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nConnection: close\r\n\r\n"
        writer.write(head.encode() + page.encode("gbk"))
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        found = await FetchUrlTool(client=client).ainvoke({"url": f"http://127.0.0.1:{port}/"})
    assert found == f"[1] 销售\nhttp://127.0.0.1:{port}/\n\n销售额"


@requirement("R8.1")
@pytest.mark.parametrize(
    ("path", "why"), [("missing", "status 404"), ("picture", "image/png"), ("deep", "too deeply")]
)
async def test_fetch_url_says_why_a_page_cannot_be_read(
    client: OutboundClient, site: Site, path: str, why: str
) -> None:
    with pytest.raises(ToolFailed, match=why):
        await FetchUrlTool(client=client).ainvoke({"url": f"{site.url}/{path}"})


@requirement("R8.1")
async def test_web_search_gives_numbered_titles_addresses_and_excerpts(
    client: OutboundClient, site: Site
) -> None:
    tool = WebSearchTool(client=client, api_key=SecretStr("tvly-key"), base_url=site.url)
    assert await tool.ainvoke({"query": "a"}) == "[1] A\nhttps://a.example\nabout a"
    assert site.searches == [{"query": "a", "max_results": 5, "topic": "general"}]
    wrong = WebSearchTool(client=client, api_key=SecretStr("no"), base_url=site.url)
    with pytest.raises(ToolFailed, match="status 401"):
        await wrong.ainvoke({"query": "a"})


@requirement("R8.1")
async def test_web_search_without_a_key_says_what_to_set(client: OutboundClient) -> None:
    with pytest.raises(ToolFailed, match="TAVILY_API_KEY"):
        await WebSearchTool(client=client).ainvoke({"query": "a"})


@requirement("R8.1")
@pytest.mark.parametrize("tool_class", [HttpRequestTool, FetchUrlTool])
async def test_tools_cannot_reach_the_inner_network(tool_class: type[Any], site: Site) -> None:
    async with OutboundClient() as closed:
        with pytest.raises(HostNotAllowed):
            await tool_class(client=closed).ainvoke({"url": f"{site.url}/page"})


# -- each by itself -------------------------------------------------------------------------------


@requirement("R8.1", "R8.4")
@pytest.mark.parametrize("name", ["http_request", "fetch_url", "web_search"])
def test_tools_that_go_out_are_exported_as_langchain_tools(name: str) -> None:
    exported = getattr(tools, name)
    assert isinstance(exported, BaseTool)
    assert exported.name == name
    assert getattr(tools, name) is exported
    assert name in tools.__all__


@requirement("R8.1")
async def test_search_without_a_key_says_what_to_set() -> None:
    search = standalone_tool("web_search")
    assert "TAVILY_API_KEY" in await search.ainvoke({"query": "weather"})
    assert "TAVILY_API_KEY" in search.invoke({"query": "weather"})


@requirement("R8.1")
async def test_what_goes_wrong_in_a_tool_by_itself_is_its_result() -> None:
    fetch = standalone_tool("fetch_url")
    assert (await fetch.ainvoke({"url": "http://127.0.0.1:1/"})).startswith("Error: ")


def test_there_are_no_others_by_themselves() -> None:
    with pytest.raises(AttributeError):
        getattr(tools, "no" + "_such_tool")


def test_importing_makes_no_tool() -> None:
    code = "import dataagent_core.tools as t; print('http_request' in vars(t))"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout == "False\n"
