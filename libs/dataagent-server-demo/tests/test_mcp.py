"""The MCP tab, run by AppTest against a real server with a real MCP server behind it."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING

import pytest

from dataagent_client import SyncDataAgentClient
from tests.end_to_end.server import KEY, USER, Server
from tests.requirements import requirement
from tests.standins.mcp_server import HttpServer, http_server, stdio_command

if TYPE_CHECKING:
    from conftest import Page, Visit

SECRET = "canary-41c7"


@pytest.fixture(scope="module")
def server(start: Callable[..., Server]) -> Server:
    return start(DATAAGENT_ALLOW_PRIVATE_HOSTS="127.0.0.1", DATAAGENT_MCP_STDIO="any")


@pytest.fixture
def client(server: Server) -> Generator[SyncDataAgentClient]:
    with SyncDataAgentClient(server.url, KEY) as made:
        yield made
        for each in made.mcp.servers(USER).items:
            made.mcp.delete(USER, each.name)


@pytest.fixture(scope="module")
def site() -> Generator[HttpServer]:
    with http_server() as running:
        yield running


@pytest.fixture
def page(client: SyncDataAgentClient, server: Server, visit: Visit) -> Page:
    del client  # cleans up
    return visit(server.url)


def fill(page: Page, **fields: str) -> Page:
    for name, text in fields.items():
        key = f"mcp-form-{name}"
        inputs = [*page.app.text_input, *page.app.text_area, *page.app.radio]
        [field] = [each for each in inputs if each.key == key]
        field.set_value(text)
        if name == "transport":
            page.run()
    return page


def submit(page: Page) -> Page:
    return page.press("FormSubmitter:mcp-form")


def add_site(page: Page, url: str, name: str = "my-site") -> Page:
    headers = json.dumps({"X-Key": SECRET})
    fill(page, transport="streamable_http", name=name, url=url, headers=headers)
    return submit(page)


def shows(text: str) -> Callable[[Page], bool]:
    return lambda page: text in page.words


@requirement("R36.1", "R36.2", "R36.3", "R36.6", "P55")
def test_the_tab_stands_beside_the_chat_with_list_form_and_examples(page: Page) -> None:
    assert [tab.label for tab in page.app.tabs] == ["💬 对话", "🔌 MCP 配置"]
    tab = page.app.tabs[1]
    assert "还没有 MCP Server，请在下方添加。" in [each.value for each in tab.caption]
    labels = [each.label for each in (*tab.text_input, *tab.checkbox)]
    assert labels == ["名称", "命令", "参数 (JSON 数组)", "环境变量 (JSON 对象)", "禁用"]
    assert "📖 配置示例" in [each.label for each in tab.expander]
    examples = [json.loads(each.value) for each in tab.expander[-1].code]
    assert {each["transport"] for each in examples} == {"stdio", "sse", "streamable_http"}


@requirement("R36.2", "R36.3", "R36.5", "P55")
def test_a_server_is_added_with_its_address_and_shown_connected_with_its_tools(
    page: Page, site: HttpServer, client: SyncDataAgentClient
) -> None:
    add_site(page, site.url)
    assert "my-site 已添加" in page.words
    assert not [each for each in page.app.text_input if each.value]
    page.press("mcp-test-")
    assert "my-site 有响应" in page.words
    page.until(shows("🔧 my-site 🟢 connected"))
    shown = page.words
    assert f'"url": "{site.url}"' in shown
    assert '"X-Key": "••••"' in shown
    assert "配置 · 3 个工具" in shown
    assert "Adds two numbers." in shown
    assert SECRET not in shown
    assert client.mcp.server(USER, "my-site").headers == {"X-Key": "••••"}


@requirement("R36.3", "R36.5", "P55")
def test_a_server_is_added_with_its_command_arguments_and_environment(page: Page) -> None:
    command = stdio_command()
    fill(
        page,
        name="calc",
        command=command["command"],
        args=json.dumps(command["args"]),
        env=json.dumps({"STANDIN_TOKEN": SECRET}),
    )
    submit(page).press("mcp-test-")
    assert "calc 有响应" in page.words
    page.until(shows("🔧 calc 🟢 connected"))
    assert "STANDIN_TOKEN" in page.words
    assert SECRET not in page.words


@requirement("R36.4", "P55")
def test_a_server_is_deleted(page: Page, site: HttpServer, client: SyncDataAgentClient) -> None:
    add_site(page, site.url, "first")
    add_site(page, site.url, "second")
    page.press("mcp-delete-first")
    assert "first 已删除。" in page.words
    assert page.buttons("mcp-delete-") == ["mcp-delete-second"]
    assert [each.name for each in client.mcp.servers(USER).items] == ["second"]


@requirement("R36.5")
def test_a_server_that_does_not_answer_is_shown_with_its_error(page: Page) -> None:
    add_site(page, "http://127.0.0.1:9/mcp", "gone")
    page.press("mcp-test-")
    assert "gone 没有响应" in page.words
    page.until(shows("🔧 gone ⚠️ error"))


@requirement("R36.5")
def test_a_server_is_switched_off_and_on(
    page: Page, site: HttpServer, client: SyncDataAgentClient
) -> None:
    add_site(page, site.url)
    page.app.toggle(key="mcp-disabled-my-site").set_value(True)
    page.run()
    assert "🔴 disconnected :gray-badge[已禁用]" in page.words
    assert client.mcp.server(USER, "my-site").disabled
    client.mcp.update(USER, "my-site", disabled=False)  # somewhere else
    page.press("mcp-refresh")
    assert not page.app.toggle(key="mcp-disabled-my-site").value
    assert "已禁用" not in page.words


@requirement("R36.6")
def test_an_example_fills_the_form(page: Page) -> None:
    page.press("mcp-example-database")
    assert page.app.text_input(key="mcp-form-command").value == "uvx"
    page.press("mcp-example-orders-sse")
    assert page.app.radio(key="mcp-form-transport").value == "sse"
    assert page.app.text_input(key="mcp-form-url").value == "https://mcp.example.com/sse"


@requirement("R36.3", "P56")
def test_what_cannot_be_right_is_told_and_what_was_typed_stays(page: Page) -> None:
    fill(page, name="calc", args="-m server")
    submit(page)
    assert "命令：请填写，例如 npx" in page.words
    assert "参数：请填写由文本组成的 JSON 数组" in page.words
    assert page.app.text_input(key="mcp-form-name").value == "calc"
    assert "还没有 MCP Server" in page.words


@requirement("R36.7", "P56")
def test_what_the_server_refuses_is_told_and_what_was_typed_stays(
    page: Page, site: HttpServer
) -> None:
    add_site(page, site.url)
    add_site(page, site.url)
    assert "与现有内容冲突" in page.words
    assert page.app.text_input(key="mcp-form-name").value == "my-site"
    fill(page, name="two words", url="http://169.254.169.254/latest")
    assert page.app.text_input(key="mcp-form-name").value == "two words"
    submit(page)
    assert page.app.warning
