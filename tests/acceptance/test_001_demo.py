"""000 R36 and 001 DataAgentServerDemo: the page, run against a real server."""

from __future__ import annotations

import inspect
import json
import re
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from tests.acceptance.running import Running, running
from tests.acceptance.states import states
from tests.standins.mcp_server import stdio_command
from tests.waiting import WAIT_SECONDS

USER, KEY = "alice", "alice-key"
ENGLISH_OR_CHINESE = {
    "chat": "对话|Chat",
    "mcp": "MCP",
    "name": "名称|Name",
    "command": "命令|Command",
    "args": "参数|Arguments",
    "env": "环境变量|Environment",
    "disabled": "禁用|Disabled",
    "add": "添加|Add",
    "delete": "删除|Delete",
    "examples": "示例|Example",
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("server"), DATAAGENT_MCP_STDIO="any") as started:
        yield started


@pytest.fixture
def clean(server: Running) -> Iterator[Running]:
    """The server, whose user has no servers before and after."""
    forget(server)
    yield server
    forget(server)


def forget(server: Running) -> None:
    path = f"/api/v1/users/{USER}/mcp-servers"
    for each in server.get(path).json()["items"]:
        server.send("DELETE", f"{path}/{each['name']}")


@pytest.fixture
def visit(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], AppTest]]:
    """Opens the page of a server."""
    app = Path(import_module("dataagent_server_demo").__file__ or "").with_name("app.py")

    def open_page(url: str) -> AppTest:
        monkeypatch.setenv("DATAAGENT_SERVER_URL", url)
        monkeypatch.setenv("DATAAGENT_API_KEY", KEY)
        page = AppTest.from_file(app, default_timeout=WAIT_SECONDS)
        return page.run()

    yield open_page
    st.cache_resource.clear()
    st.cache_data.clear()


def labels(page: Any) -> list[str]:
    """The labels of everything a person fills in or presses."""
    kinds = ("text_input", "text_area", "checkbox", "toggle", "button", "expander", "tabs", "radio")
    return [each.label for kind in kinds for each in getattr(page, kind)]


def fits(page: Any, what: str) -> list[str]:
    """The labels that say something, in English or Chinese."""
    return [each for each in labels(page) if re.search(ENGLISH_OR_CHINESE[what], each)]


def words(page: AppTest) -> str:
    """What the page says."""
    said = [*page.markdown, *page.caption, *page.text, *page.code, *page.subheader]
    said += [*page.success, *page.info, *page.warning, *page.error]
    return "\n".join([*(str(each.value) for each in said), *labels(page)])


def add(server: Running, name: str, **fields: Any) -> None:
    body = {"name": name, **stdio_command(), **fields}
    assert server.post(f"/api/v1/users/{USER}/mcp-servers", body).is_success


# -- R36 --------------------------------------------------------------------------------------


@states("R36.1", "a tab for MCP servers", "beside the chat")
@states("P55", "the tab is there when the page opens")
def test_the_tab_stands_beside_the_chat(clean: Running, visit: Callable[[str], AppTest]) -> None:
    page = visit(clean.url)
    assert not page.exception
    chat, mcp = (each.label for each in page.tabs)
    assert re.search(ENGLISH_OR_CHINESE["chat"], chat)
    assert "MCP" in mcp


@states("R36.2", "the user's servers are listed")
@states("R36.5", "connected, disconnected or error")
@states("P55", "the list")
def test_the_servers_are_listed_with_their_status(
    clean: Running, visit: Callable[[str], AppTest]
) -> None:
    add(clean, "first", disabled=True)
    add(clean, "second", command="no-such-program-anywhere", args=[])
    clean.post(f"/api/v1/users/{USER}/mcp-servers/second/test")
    add(clean, "third")
    assert clean.post(f"/api/v1/users/{USER}/mcp-servers/third/test").json()["ok"]
    shown = words(visit(clean.url))
    wanted = {"first": "disconnected", "second": "error", "third": "connected"}
    for name, status in wanted.items():
        assert re.search(rf"{name}\W+{status}\b", shown), name


@states("R36.3", "a form", "name", "command", "arguments", "environment variables")
@states("P55", "adding")
def test_a_server_is_added_with_the_form(clean: Running, visit: Callable[[str], AppTest]) -> None:
    page = visit(clean.url)
    command = stdio_command()
    values = {
        "name": "filled",
        "command": command["command"],
        "args": json.dumps(command["args"]),
        "env": '{"TOKEN": "abc"}',
    }
    for what, value in values.items():
        fields = [*page.text_input, *page.text_area]
        [field] = [each for each in fields if re.search(ENGLISH_OR_CHINESE[what], each.label)]
        field.set_value(value)
    [submit] = [each for each in page.button if re.search(ENGLISH_OR_CHINESE["add"], each.label)]
    submit.click()
    page.run()
    assert not page.exception
    items = clean.get(f"/api/v1/users/{USER}/mcp-servers").json()["items"]
    assert [each["name"] for each in items] == ["filled"]
    assert (items[0]["command"], items[0]["args"]) == (command["command"], command["args"])
    assert list(items[0]["env"]) == ["TOKEN"]


@states("R36.4", "a server is deleted")
@states("P55", "deleting")
def test_a_server_is_deleted(clean: Running, visit: Callable[[str], AppTest]) -> None:
    add(clean, "gone", disabled=True)
    page = visit(clean.url)
    delete = [each for each in page.button if re.search("(删除|Delete) gone", each.label)]
    assert delete
    delete[0].click()
    page.run()
    assert clean.get(f"/api/v1/users/{USER}/mcp-servers").json()["items"] == []


@states("R36.6", "examples of configurations")
def test_there_are_examples(clean: Running, visit: Callable[[str], AppTest]) -> None:
    page = visit(clean.url)
    assert fits(page, "examples")
    assert len([each for each in page.code if "command" in str(each.value)]) >= 3


class _NoMcp(BaseHTTPRequestHandler):
    """A server without the MCP routes."""

    def do_GET(self) -> None:
        known = {"/api/auth/me": {"id": USER, "user_id": USER, "username": USER, "role": "user"}}
        path = self.path.partition("?")[0]
        missing = {"error_code": "not_found", "message": "Not Found"}
        body = json.dumps(known.get(path, missing)).encode()
        self.send_response(200 if path in known else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        self.do_GET()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        del format, args


@pytest.fixture(scope="module")
def without_mcp() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), _NoMcp)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


@states("R36.7", "a server without the MCP API gives a friendly hint")
@states("P56", "a failing API is a hint and no crash")
def test_a_server_without_mcp_gives_a_hint(
    without_mcp: str, visit: Callable[[str], AppTest]
) -> None:
    page = visit(without_mcp)
    assert not page.exception
    assert [*page.info, *page.warning]
    assert not page.error


@states("P56", "a server that is not there is a hint and no crash")
def test_a_server_that_is_not_there_gives_a_hint(visit: Callable[[str], AppTest]) -> None:
    page = visit("http://127.0.0.1:1")
    assert not page.exception
    assert [*page.info, *page.warning, *page.error]


# -- 001: its functions and texts -------------------------------------------------------------


def demo() -> Any:
    return import_module("dataagent_server_demo")


@states(
    "001 §Demo MCP API 客户端函数",
    "get_mcp_servers(http_url, user_id, api_key=None) -> list",
    "add_mcp_server(http_url, user_id, server_config, api_key=None) -> bool",
    "delete_mcp_server(http_url, user_id, server_name, api_key=None) -> bool",
)
async def test_the_functions_of_the_demo_manage_servers(tmp_path: Path, server: Running) -> None:
    del tmp_path
    url, config = server.url, {"name": "by-function", **stdio_command(), "disabled": True}
    assert await demo().add_mcp_server(url, USER, config, KEY) is True
    found: list[Any] = await demo().get_mcp_servers(url, USER, KEY)
    assert type(found) is list
    assert "by-function" in {each["name"] for each in found}
    assert await demo().delete_mcp_server(url, USER, "by-function", api_key=KEY) is True
    assert await demo().get_mcp_servers(url, USER, api_key=KEY) == []


@states("001 §Demo MCP API 客户端函数", "a failure is [] or False, never an exception")
async def test_the_functions_of_the_demo_do_not_raise() -> None:
    nowhere = "http://127.0.0.1:1"
    assert await demo().get_mcp_servers(nowhere, USER) == []
    assert await demo().add_mcp_server(nowhere, USER, {"name": "a", "command": "b"}) is False
    assert await demo().delete_mcp_server(nowhere, USER, "a") is False


@states("001 §Demo MCP 配置界面组件", "render_mcp_config(http_url, api_key)")
def test_the_panel_is_a_function() -> None:
    parameters = inspect.signature(demo().render_mcp_config).parameters
    assert list(parameters)[:2] == ["http_url", "api_key"]


@states(
    "001 §Demo MCP 配置界面架构",
    "tab 💬 对话",
    "tab 🔌 MCP 配置",
    "已配置的 MCP Servers",
    "添加新的 MCP Server",
    "📖 配置示例",
    "文件系统 MCP Server",
    "数据库 MCP Server",
    "自定义 Python MCP Server",
    "禁用",
)
@states(
    "001 §Demo MCP 配置界面组件",
    "名称",
    "命令",
    "参数 (JSON 数组)",
    "环境变量 (JSON 对象)",
    "➕ 添加",
    "🔌 MCP Server 配置",
)
def test_the_page_has_the_texts(clean: Running, visit: Callable[[str], AppTest]) -> None:
    shown = words(visit(clean.url))
    wanted = (
        *("💬 对话", "🔌 MCP 配置", "已配置的 MCP Servers", "添加新的 MCP Server", "📖 配置示例"),
        *("文件系统 MCP Server", "数据库 MCP Server", "自定义 Python MCP Server", "禁用"),
        *(
            "名称",
            "命令",
            "参数 (JSON 数组)",
            "环境变量 (JSON 对象)",
            "➕ 添加",
            "🔌 MCP Server 配置",
        ),
    )
    assert [text for text in wanted if text not in shown] == []


@states(
    "001 §Demo MCP 配置界面架构",
    "🔧 filesystem 🟢 connected",
    "🔧 database 🔴 disconnected",
)
@states("001 §Demo MCP 配置界面组件", "each server's configuration as JSON")
def test_each_server_has_its_signs_and_configuration(
    clean: Running, visit: Callable[[str], AppTest]
) -> None:
    add(clean, "filesystem")
    add(clean, "database", disabled=True)
    clean.post(f"/api/v1/users/{USER}/mcp-servers/filesystem/test")
    page = visit(clean.url)
    shown = words(page)
    assert re.search("🔧 filesystem\\s+🟢 connected", shown)
    assert re.search("🔧 database\\s+🔴 disconnected", shown)
    codes = [json.loads(str(each.value)) for each in page.code if each.language == "json"]
    assert {"filesystem", "database"} <= {each.get("name") for each in codes}


@states("001 §Demo MCP 配置界面架构", "➕ 添加 MCP Server")
@states("001 §Demo MCP 配置界面组件", "st.button: 删除 {name}")
def test_the_buttons_have_their_texts(clean: Running, visit: Callable[[str], AppTest]) -> None:
    add(clean, "filesystem", disabled=True)
    page = visit(clean.url)
    texts = {each.label for each in page.button}
    assert {"➕ 添加 MCP Server", "删除 filesystem"} <= texts


@states("001 §Demo MCP 配置界面架构", "each server with a button 删除")
def test_each_server_has_a_button(clean: Running, visit: Callable[[str], AppTest]) -> None:
    add(clean, "filesystem", disabled=True)
    page = visit(clean.url)
    assert [each for each in page.button if each.label.startswith("删除")]
