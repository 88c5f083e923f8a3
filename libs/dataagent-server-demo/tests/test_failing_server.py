"""Whatever the server answers, or if there is none: the page stays and says so in words."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Generator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import httpx
import pytest

from tests.end_to_end.server import Server, free_port
from tests.requirements import requirement

if TYPE_CHECKING:
    from conftest import Page, Visit

TABS = ["💬 对话", "🔌 MCP 配置"]
NO_MCP = "此服务器不提供 MCP 配置。"


@dataclass
class Proxy:
    """Stands before a server and answers for the MCP part of its API, if told to."""

    port: int
    target: str
    answer: tuple[int, str] | None = None
    methods: tuple[str, ...] = ("GET", "POST", "PUT", "DELETE")

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def passes(self, method: str, path: str) -> tuple[int, bytes]:
        if self.answer is not None and "mcp-servers" in path and method in self.methods:
            return self.answer[0], self.answer[1].encode()
        raise LookupError


def _handler(proxy: Proxy) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def _serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            kind = "application/json"
            try:
                status, content = proxy.passes(self.command, self.path)
            except LookupError:
                headers = {"X-API-Key": self.headers["X-API-Key"]}
                headers["Content-Type"] = "application/json"
                answer = httpx.request(
                    self.command, proxy.target + self.path, headers=headers, content=body
                )
                status, content = answer.status_code, answer.content
                kind = answer.headers.get("Content-Type", kind)
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PUT = do_DELETE = _serve  # noqa: N815 names of the base class

        # as in the base class
        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            del format, args

    return Handler


@pytest.fixture(scope="module")
def server(start: Callable[..., Server]) -> Server:
    return start(DATAAGENT_ALLOW_PRIVATE_HOSTS="127.0.0.1")


@pytest.fixture
def proxy(server: Server) -> Generator[Proxy]:
    made = Proxy(free_port(), server.url)
    with ThreadingHTTPServer(("127.0.0.1", made.port), _handler(made)) as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield made
        running.shutdown()
        thread.join()


def tabs(page: Page) -> list[str]:
    return [tab.label for tab in page.app.tabs]


def add(page: Page, name: str) -> Page:
    page.app.radio(key="mcp-form-transport").set_value("streamable_http")
    page.run()
    page.app.text_input(key="mcp-form-name").set_value(name)
    page.app.text_input(key="mcp-form-url").set_value("http://127.0.0.1:9/mcp")
    return page.press("FormSubmitter:mcp-form")


@requirement("R36.7", "P56")
@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (404, '{"error_code": "not_found", "message": "Not Found"}', NO_MCP),
        (404, "<html>nothing here</html>", NO_MCP),
        (405, "", NO_MCP),
        (501, "", NO_MCP),
        (403, '{"error_code": "feature_off", "message": "MCP is off."}', "MCP is off."),
        (401, '{"error_code": "not_authenticated"}', "服务器不认识这个密钥。"),
        (422, '{"error_code": "invalid", "message": "No such field."}', "No such field."),
        (429, '{"error_code": "limit", "message": "Too many."}', "已达到上限。"),
        (500, "Traceback (most recent call last)", "服务器出错 (500)。"),
        (502, "<html>bad gateway</html>", "The server answered 502."),
        (200, "<html>a captive portal</html>", "的响应不像是 DataAgent 服务器的响应"),
        (200, '{"items": [{}], "total": 1}', "的响应不像是 DataAgent 服务器的响应"),
    ],
)
def test_a_list_that_cannot_be_read_is_told_in_words(
    proxy: Proxy, visit: Visit, status: int, body: str, said: str
) -> None:
    proxy.answer = (status, body)
    page = visit(proxy.url)
    assert said in page.words.replace("\\", "")
    assert tabs(page) == TABS
    assert "Traceback" not in page.words
    assert not page.app.error
    assert page.app.text_input(key="mcp-form-name")  # the form is there all the same
    assert page.is_ready


@requirement("R36.7", "P56")
def test_without_mcp_the_hint_is_no_error(proxy: Proxy, visit: Visit) -> None:
    proxy.answer = (404, "")
    page = visit(proxy.url)
    assert [NO_MCP in each.value for each in page.app.info] == [True]
    assert not page.app.error
    assert not page.app.warning


@requirement("P56")
@pytest.mark.parametrize("status", [404, 409, 429, 500, 503])
def test_every_action_that_fails_is_told_and_can_be_tried_again(
    proxy: Proxy, visit: Visit, status: int
) -> None:
    body = json.dumps({"error_code": "refused", "message": "It cannot be done now."})
    page = add(visit(proxy.url), f"site-{status}")
    assert "已添加" in page.words
    proxy.answer, proxy.methods = (status, body), ("POST", "PUT", "DELETE")
    for action in ("mcp-test-", "mcp-delete-", "disabled", "add"):
        page.press("mcp-refresh")
        if action == "add":
            add(page, "another")
        elif action == "disabled":
            page.app.toggle(key=f"mcp-disabled-site-{status}").set_value(True)
            page.run()
            assert not page.app.toggle(key=f"mcp-disabled-site-{status}").value
        else:
            page.press(action)
        assert [*page.app.warning, *page.app.info], action
        assert not page.app.error
    assert page.app.text_input(key="mcp-form-name").value == "another"
    proxy.answer = None
    page.press(f"mcp-delete-site-{status}")
    assert "已删除。" in page.words


@requirement("P56")
def test_the_chat_works_where_mcp_does_not(proxy: Proxy, visit: Visit) -> None:
    proxy.answer = (500, "")
    page = visit(proxy.url).ask("!echo still here").until(lambda page: page.is_ready)
    assert page.said == ["!echo still here", "still here"]


@pytest.mark.slow
@requirement("P56")
def test_a_server_that_is_not_there_is_told_and_found_once_it_is(
    visit: Visit, prepare: Callable[..., Server]
) -> None:
    server = prepare()
    page = visit(server.url)
    assert f"{server.url} 的 DataAgent 服务器没有响应。" in page.words.replace("\\", "")
    assert tabs(page) == TABS
    page.ask("!echo hello")
    assert page.buttons("send-again") == ["send-again"]
    asyncio.run(server.start())
    page.press("send-again").until(lambda page: page.is_ready)
    assert page.said == ["!echo hello", "hello"]
    assert not page.app.warning


@pytest.mark.slow
@requirement("P56")
def test_an_answer_that_was_cut_off_is_read_on(
    visit: Visit, prepare: Callable[..., Server]
) -> None:
    server = prepare(DATAAGENT_HITL_TIMEOUT="300")
    asyncio.run(server.start())
    ask = '!echo before\n!tool write_file {"file_path": "/a.txt", "content": "a"}\n!echo after'
    page = visit(server.url).ask(ask).until(lambda page: bool(page.buttons("approve-")))
    asyncio.run(server.signal())
    page.until(lambda page: bool(page.buttons("read-on")))
    assert "没有响应" in page.words
    asyncio.run(server.start())
    page.press("read-on").until(lambda page: bool(page.buttons("stop")))
    page.press("approve-").until(lambda page: page.is_ready)
    assert "after" in [each.value for each in page.app.markdown]


@requirement("P56")
@pytest.mark.parametrize("key", ["wrong", None])
def test_a_wrong_key_is_told_and_not_repeated(
    server: Server, visit: Visit, key: str | None
) -> None:
    page = visit(server.url, key)
    assert "服务器不认识这个密钥。" in page.words
    assert "DATAAGENT_API_KEY" in page.words.replace("\\", "")
    assert tabs(page) == TABS
    page.ask("!echo hello")
    assert "服务器不认识这个密钥。" in page.words
    assert "wrong" not in page.words


def test_settings_that_cannot_be_used_are_told(visit: Visit) -> None:
    page = visit("ftp://somewhere")
    [told] = page.app.error
    assert "DATAAGENT_SERVER_URL" in told.value.replace("\\", "")
    assert not page.app.tabs
