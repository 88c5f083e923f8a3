"""What the MCP tab shows of a server, what a form means, and that the examples are right."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from dataagent_client import McpServer, McpTool, McpTrial
from dataagent_server_demo.servers import (
    EXAMPLES,
    TRANSPORTS,
    ServerExample,
    ServerForm,
    ToolLine,
    card_of,
    read_form,
    trial_text,
)
from tests.requirements import requirement

SERVER = McpServer(
    name="orders",
    scope="user",
    transport="stdio",
    command="npx",
    args=("-y", "orders"),
    env={"KEY": "••••"},
    url=None,
    headers={},
    template=None,
    timeout=30,
    call_timeout=30,
    disabled=False,
    has_credentials=False,
    status="connected",
    status_detail="",
    tools=(
        McpTool(1, "find", "orders__find", "Finds.", "active", True),
        McpTool(2, "drop", "orders__drop", "Drops.", "quarantined", True),
        McpTool(3, "keep", "orders__keep", "Keeps.", "active", False),
    ),
)
TRIAL = McpTrial(
    ok=True,
    status="connected",
    status_detail="",
    protocol_version="2025-06-18",
    server_info=None,
    duration_ms=12.4,
    tools=SERVER.tools,
)


@requirement("R36.2", "R36.5")
@pytest.mark.parametrize(
    ("status", "label"),
    [
        ("connected", "🔧 orders 🟢 connected"),
        ("disconnected", "🔧 orders 🔴 disconnected"),
        ("error", "🔧 orders ⚠️ error"),
        ("unheard-of", "🔧 orders ⚪ unheard-of"),
    ],
)
def test_a_server_is_shown_with_its_status(status: str, label: str) -> None:
    assert card_of(replace(SERVER, status=status)).label == label


def test_a_card_has_the_configuration_and_the_tools() -> None:
    card = card_of(SERVER)
    assert json.loads(card.config) == {
        "name": "orders",
        "transport": "stdio",
        "command": "npx",
        "args": ["-y", "orders"],
        "env": {"KEY": "••••"},
        "disabled": False,
    }
    assert card.tools == (
        ToolLine("find", "Finds.", ""),
        ToolLine("drop", "Drops.", "等待管理员确认"),
        ToolLine("keep", "Keeps.", "已停用"),
    )


@pytest.mark.parametrize(
    ("status", "disabled", "detail"),
    [
        ("error", False, "refused"),
        ("disconnected", False, "refused"),
        ("disconnected", True, ""),
        ("connected", False, ""),
    ],
)
def test_a_card_says_why_a_server_is_not_connected(
    status: str, *, disabled: bool, detail: str
) -> None:
    server = replace(SERVER, status=status, disabled=disabled, status_detail="refused")
    assert card_of(server).detail == detail


def test_a_shared_server_cannot_be_changed_here() -> None:
    shared = replace(SERVER, scope="global", command=None, args=(), env={}, disabled=True)
    card = card_of(shared)
    assert not card.is_own
    assert "command" not in card.config
    assert card.label == "🔧 orders 🟢 connected :gray-badge[已禁用] :blue-badge[共享]"


def test_a_trial_is_told_in_a_sentence() -> None:
    assert trial_text("orders", TRIAL) == "orders 有响应（12 ms），提供 3 个工具。"
    failed = replace(TRIAL, ok=False, status="error", status_detail="refused")
    assert trial_text("orders", failed) == "orders 没有响应（12 ms）：refused"
    assert trial_text("orders", replace(failed, status_detail="")).endswith("：error")


@requirement("R36.3")
def test_a_form_becomes_what_is_sent() -> None:
    form = ServerForm(" a ", "stdio", " npx ", '["-y"]', '{"K": "v"}', is_disabled=True)
    new = read_form(form)
    assert (new.name, new.problems) == ("a", ())
    assert new.settings == {
        "transport": "stdio",
        "disabled": True,
        "command": "npx",
        "args": ["-y"],
        "env": {"K": "v"},
    }
    site = read_form(ServerForm("a", "sse", "left over", url="https://x/sse", headers=""))
    assert site.settings == {"transport": "sse", "disabled": False, "url": "https://x/sse"}


@pytest.mark.parametrize(
    ("form", "problem"),
    [
        (ServerForm("", "stdio", "npx"), "名称："),
        (ServerForm("a", "stdio", ""), "命令："),
        (ServerForm("a", "stdio", "npx", "-y"), "参数："),
        (ServerForm("a", "stdio", "npx", '{"a": 1}'), "参数："),
        (ServerForm("a", "stdio", "npx", "[1]"), "参数："),
        (ServerForm("a", "stdio", "npx", "", "K=v"), "环境变量："),
        (ServerForm("a", "stdio", "npx", "", '{"K": 1}'), "环境变量："),
        (ServerForm("a", "sse"), "地址："),
        (ServerForm("a", "sse", url="https://x", headers="[]"), "请求头："),
    ],
)
def test_what_is_wrong_is_said_of_its_field(form: ServerForm, problem: str) -> None:
    new = read_form(form)
    assert [each.startswith(problem) for each in new.problems] == [True]
    assert new.settings == {}


@requirement("R36.6")
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.form.name)
def test_an_example_is_a_form_that_can_be_sent(example: ServerExample) -> None:
    new = read_form(example.form)
    assert new.problems == ()
    shown = json.loads(example.text)
    assert shown.pop("name") == new.name
    assert {**shown, "disabled": False} == new.settings


@requirement("R36.6")
def test_there_is_an_example_of_each_transport() -> None:
    assert {example.form.transport for example in EXAMPLES} == set(TRANSPORTS)
