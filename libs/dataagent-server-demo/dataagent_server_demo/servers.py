"""The MCP tab as data: what is shown of a server, what a filled form means, and examples. Pure.

Above: `mcp_tab.py` draws it and talks to the server.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Literal

from dataagent_client import McpServer, McpTrial
from dataagent_server_demo.page_text import plain

Transport = Literal["stdio", "sse", "streamable_http"]
TRANSPORTS: tuple[Transport, ...] = ("stdio", "sse", "streamable_http")
_COLOURS = {"connected": "green", "disconnected": "gray", "error": "red"}


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
    reached_by: str
    tools: tuple[ToolLine, ...]
    is_own: bool
    is_disabled: bool

    @property
    def label(self) -> str:
        """The line that stands for the server, in Markdown."""
        badge = f":{_COLOURS.get(self.status, 'orange')}-badge[{plain(self.status)}]"
        off = " :gray-badge[switched off]" if self.is_disabled else ""
        shared = "" if self.is_own else " :blue-badge[shared]"
        return f"**{plain(self.name)}** {badge}{off}{shared}"


def card_of(server: McpServer) -> ServerCard:
    """A server as the page shows it."""
    return ServerCard(
        name=server.name,
        status=server.status,
        detail=server.status_detail,
        reached_by=_reached_by(server),
        tools=tuple(
            ToolLine(tool.name, tool.description, _tool_note(tool.status, is_on=tool.enabled))
            for tool in server.tools
        ),
        is_own=server.scope == "user",
        is_disabled=server.disabled,
    )


def _reached_by(server: McpServer) -> str:
    """The command or address with the names of its secrets; their values never come back."""
    reached = " ".join([server.command, *server.args]) if server.command else server.url or ""
    names = ", ".join([*server.env, *server.headers])
    said = f"{server.transport}: {reached}" if reached else server.transport
    return f"{said} (with {names})" if names else said


def _tool_note(status: str, *, is_on: bool) -> str:
    if status != "active":
        return status
    return "" if is_on else "off"


def trial_text(name: str, trial: McpTrial) -> str:
    """What came of a test."""
    took = f"{trial.duration_ms:.0f} ms"
    if trial.ok:
        return f"{name} answers ({took}) and offers {len(trial.tools)} tools."
    return f"{name} does not answer ({took}): {trial.status_detail or trial.status}"


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
class NewServer:
    """A form that was read: what to send, or what is wrong with it, field by field."""

    name: str
    settings: dict[str, Any] = field(default_factory=dict[str, Any])  # `UserServerSettings`
    problems: tuple[str, ...] = ()


def read_form(form: ServerForm) -> NewServer:
    """What the form asks for. What can be known to be wrong is said before anything is sent."""
    problems: list[str] = []
    if not form.name.strip():
        problems.append("Name: it is missing.")
    settings: dict[str, Any] = {"transport": form.transport, "disabled": form.is_disabled}
    if form.transport == "stdio":
        settings["command"] = _needed("Command", form.command, "npx", problems)
        settings["args"] = _strings("Arguments", form.args, problems)
        settings["env"] = _pairs("Environment", form.env, problems)
    else:
        example = "https://mcp.example.com/mcp"
        settings["url"] = _needed("Address", form.url, example, problems)
        settings["headers"] = _pairs("Headers", form.headers, problems)
    given = {name: value for name, value in settings.items() if value not in ([], {})}
    return NewServer(form.name.strip(), {} if problems else given, tuple(problems))


def _needed(label: str, text: str, example: str, problems: list[str]) -> str:
    if not text.strip():
        problems.append(f"{label}: it is missing. Write something such as {example}.")
    return text.strip()


def _strings(label: str, text: str, problems: list[str]) -> list[str]:
    found = _json(text, [])
    # JSON
    if not isinstance(found, list) or not all(
        isinstance(each, str)
        for each in found  # pyright: ignore[reportUnknownVariableType]
    ):
        problems.append(f'{label}: write a JSON list of texts, such as ["-m", "my_server"].')
        return []
    return found  # pyright: ignore[reportUnknownVariableType] all are text


def _pairs(label: str, text: str, problems: list[str]) -> dict[str, str]:
    found = _json(text, {})
    # JSON
    if not isinstance(found, dict) or not all(
        isinstance(each, str)
        for each in found.values()  # pyright: ignore[reportUnknownVariableType]
    ):
        problems.append(f'{label}: write a JSON object of texts, such as {{"NAME": "value"}}.')
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
class Example:
    """A server somebody may want, as the form takes it."""

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


_STDIO = "Starts a program on the server's machine, where its administrator allows that."
EXAMPLES = (
    Example(
        "File system",
        _STDIO,
        ServerForm(
            "filesystem",
            "stdio",
            "npx",
            '["-y", "@modelcontextprotocol/server-filesystem", "/srv/shared"]',
        ),
    ),
    Example(
        "Database",
        f"{_STDIO} The address with its password is kept secret.",
        ServerForm(
            "database",
            "stdio",
            "uvx",
            '["postgres-mcp", "--access-mode=restricted"]',
            '{"DATABASE_URI": "postgresql://reader:password@db.example.com/shop"}',
        ),
    ),
    Example(
        "Your own Python server",
        _STDIO,
        ServerForm(
            "my-tools", "stdio", "python", '["-m", "my_mcp_server"]', '{"LOG_LEVEL": "info"}'
        ),
    ),
    Example(
        "A server with SSE",
        "The older way over HTTP: one long answer of events.",
        ServerForm("orders-sse", "sse", url="https://mcp.example.com/sse"),
    ),
    Example(
        "A server with streamable HTTP",
        "The usual way over HTTP. The key goes into a header and is kept secret.",
        ServerForm(
            "orders",
            "streamable_http",
            url="https://mcp.example.com/mcp",
            headers='{"Authorization": "Bearer YOUR-KEY"}',
        ),
    ),
)
