"""The MCP tab as data: how a server is shown, what a filled form means, and examples."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Literal

from dataagent_client import McpServer, McpTrial
from dataagent_server_demo.page_text import escape_markdown

Transport = Literal["stdio", "sse", "streamable_http"]
TRANSPORTS: tuple[Transport, ...] = ("stdio", "sse", "streamable_http")
_ICONS = {"connected": "🟢", "disconnected": "🔴", "error": "⚠️"}
_TOOL_STATES = {"quarantined": "等待管理员确认", "removed": "已移除"}


@dataclass(frozen=True, slots=True)
class ToolLine:
    """A tool in the list of a server."""

    name: str
    description: str
    note: str


@dataclass(frozen=True, slots=True)
class ServerCard:
    """What is shown of a server. One that is shared cannot be changed here."""

    name: str
    status: str
    detail: str
    config: str
    tools: tuple[ToolLine, ...]
    is_own: bool
    is_disabled: bool

    @property
    def label(self) -> str:
        """The server as a line of Markdown."""
        off = " :gray-badge[已禁用]" if self.is_disabled else ""
        shared = "" if self.is_own else " :blue-badge[共享]"
        icon = _ICONS.get(self.status, "⚪")
        return f"🔧 {escape_markdown(self.name)} {icon} {escape_markdown(self.status)}{off}{shared}"


def card_of(server: McpServer) -> ServerCard:
    """A server as the page shows it."""
    return ServerCard(
        name=server.name,
        status=server.status,
        detail="" if server.disabled or server.status == "connected" else server.status_detail,
        config=_config(server),
        tools=tuple(
            ToolLine(tool.name, tool.description, _tool_note(tool.status, is_on=tool.enabled))
            for tool in server.tools
        ),
        is_own=server.scope == "user",
        is_disabled=server.disabled,
    )


def _config(server: McpServer) -> str:
    """The configuration as JSON; the server sends dots for the values of secrets."""
    config = {
        "name": server.name,
        "transport": server.transport,
        "command": server.command,
        "args": list(server.args),
        "env": server.env,
        "url": server.url,
        "headers": server.headers,
        "template": server.template,
        "disabled": server.disabled,
    }
    given = {name: value for name, value in config.items() if value not in (None, [], {})}
    return json.dumps(given, indent=2, ensure_ascii=False)


def _tool_note(status: str, *, is_on: bool) -> str:
    if status != "active":
        return _TOOL_STATES.get(status, status)
    return "" if is_on else "已停用"


def trial_text(name: str, trial: McpTrial) -> str:
    """What came of a test."""
    took = f"{trial.duration_ms:.0f} ms"
    if trial.ok:
        return f"{name} 有响应（{took}），提供 {len(trial.tools)} 个工具。"
    return f"{name} 没有响应（{took}）：{trial.status_detail or trial.status}"


@dataclass(frozen=True, slots=True)
class ServerForm:
    """What a person typed. Lists and objects are JSON."""

    name: str = ""
    transport: Transport = "stdio"
    command: str = ""
    args: str = ""
    env: str = ""
    url: str = ""
    headers: str = ""
    is_disabled: bool = False


@dataclass(frozen=True, slots=True)
class ParsedServerForm:
    """A form that was read: what to send, or what is wrong with it, field by field."""

    name: str
    settings: dict[str, Any] = field(default_factory=dict[str, Any])  # `UserServerSettings`
    problems: tuple[str, ...] = ()


def read_form(form: ServerForm) -> ParsedServerForm:
    """What the form asks for. What can be known to be wrong is said before anything is sent."""
    problems: list[str] = []
    if not form.name.strip():
        problems.append("名称：请填写")
    settings: dict[str, Any] = {"transport": form.transport, "disabled": form.is_disabled}
    if form.transport == "stdio":
        settings["command"] = _needed("命令", form.command, "npx", problems)
        settings["args"] = _strings("参数", form.args, problems)
        settings["env"] = _pairs("环境变量", form.env, problems)
    else:
        example = "https://mcp.example.com/mcp"
        settings["url"] = _needed("地址", form.url, example, problems)
        settings["headers"] = _pairs("请求头", form.headers, problems)
    given = {name: value for name, value in settings.items() if value not in ([], {})}
    return ParsedServerForm(form.name.strip(), {} if problems else given, tuple(problems))


def _needed(label: str, text: str, example: str, problems: list[str]) -> str:
    if not text.strip():
        problems.append(f"{label}：请填写，例如 {example}")
    return text.strip()


def _strings(label: str, text: str, problems: list[str]) -> list[str]:
    found = _json(text, [])
    # JSON
    if not isinstance(found, list) or not all(
        isinstance(each, str)
        for each in found  # pyright: ignore[reportUnknownVariableType]
    ):
        problems.append(f'{label}：请填写由文本组成的 JSON 数组，例如 ["-m", "my_server"]')
        return []
    return found  # pyright: ignore[reportUnknownVariableType] all are text


def _pairs(label: str, text: str, problems: list[str]) -> dict[str, str]:
    found = _json(text, {})
    # JSON
    if not isinstance(found, dict) or not all(
        isinstance(each, str)
        for each in found.values()  # pyright: ignore[reportUnknownVariableType]
    ):
        problems.append(f'{label}：请填写值为文本的 JSON 对象，例如 {{"NAME": "value"}}')
        return {}
    return found  # pyright: ignore[reportUnknownVariableType] all are text


def _json(text: str, empty: Any) -> Any:
    """The JSON in a field; None if it is none."""
    if not text.strip():
        return empty
    try:
        return json.loads(text)
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class ServerExample:
    """An example of a server, as the values of the form."""

    title: str
    about: str
    form: ServerForm

    @property
    def text(self) -> str:
        """What would be sent, as JSON."""
        new = read_form(self.form)
        shown = {"name": new.name, **new.settings}
        del shown["disabled"]
        return json.dumps(shown, indent=2, ensure_ascii=False)


_STDIO = "在服务器的机器上启动一个程序，需要管理员允许。"
EXAMPLES = (
    ServerExample(
        "文件系统 MCP Server",
        _STDIO,
        ServerForm(
            "filesystem",
            "stdio",
            "npx",
            '["-y", "@modelcontextprotocol/server-filesystem", "/srv/shared"]',
        ),
    ),
    ServerExample(
        "数据库 MCP Server",
        f"{_STDIO}含密码的地址会保密。",
        ServerForm(
            "database",
            "stdio",
            "uvx",
            '["postgres-mcp", "--access-mode=restricted"]',
            '{"DATABASE_URI": "postgresql://reader:password@db.example.com/shop"}',
        ),
    ),
    ServerExample(
        "自定义 Python MCP Server",
        _STDIO,
        ServerForm(
            "my-tools", "stdio", "python", '["-m", "my_mcp_server"]', '{"LOG_LEVEL": "info"}'
        ),
    ),
    ServerExample(
        "SSE MCP Server",
        "较旧的 HTTP 方式：以一个持续的事件流作答。",
        ServerForm("orders-sse", "sse", url="https://mcp.example.com/sse"),
    ),
    ServerExample(
        "Streamable HTTP MCP Server",
        "常用的 HTTP 方式。密钥放在请求头中，会保密。",
        ServerForm(
            "orders",
            "streamable_http",
            url="https://mcp.example.com/mcp",
            headers='{"Authorization": "Bearer YOUR-KEY"}',
        ),
    ),
)
