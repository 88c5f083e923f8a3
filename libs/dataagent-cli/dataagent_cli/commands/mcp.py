"""`/mcp`: lists, adds, removes and reloads the MCP servers of this terminal."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dataagent_cli.commands.registry import CommandContext, CommandOutcome, command
from dataagent_cli.ui.clean import one_line
from dataagent_cli.ui.tables import Heading, draw
from dataagent_core.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dataagent_cli.conversation import Conversation
    from dataagent_cli.mcp.servers import ServerRow, TerminalServers
    from dataagent_cli.streams import Streams
    from dataagent_core.mcp.hub import ReloadReport


USAGE = (
    "/mcp add NAME URL [--header KEY=VALUE]…\n"
    "       /mcp add NAME [--env KEY=VALUE]… COMMAND [ARGUMENT]…"
)
_OPTIONS = {"--header": "headers", "--env": "env"}


def parse_add(words: Sequence[str]) -> tuple[str, dict[str, Any]]:
    """The name and the entry in a file of servers, from the words of `/mcp add`.

    Raises:
        BadInput: the words are not as in `USAGE`.
    """
    name, *rest = words or [""]
    pairs, rest = _options(rest)
    if not name or name.startswith("-") or not rest:
        raise BadInput(f"usage: {USAGE}")
    target, *words_after = rest
    if not target.startswith(("http://", "https://")):
        if "headers" in pairs:
            raise BadInput("A header goes to a URL; a command has --env.")
        return name, {"command": target, "args": words_after, **pairs}
    more, words_left = _options(words_after)
    if words_left or "env" in pairs or "env" in more:
        raise BadInput("A URL has --header and nothing else behind it.")
    headers = {**pairs.get("headers", {}), **more.get("headers", {})}
    return name, {"url": target, **({"headers": headers} if headers else {})}


def _options(words: Sequence[str]) -> tuple[dict[str, dict[str, str]], list[str]]:
    """The options at the beginning, and the words after them."""
    found: dict[str, dict[str, str]] = {}
    at = 0
    while at < len(words) and words[at].partition("=")[0] in _OPTIONS:
        option, equals, pair = words[at].partition("=")
        if not equals:
            at += 1
            pair = words[at] if at < len(words) else ""
        key, equals, value = pair.partition("=")
        if not key or not equals:
            raise BadInput(f"{option} takes KEY=VALUE.")
        found.setdefault(_OPTIONS[option], {})[key] = value
        at += 1
    return found, list(words[at:])


_HEADINGS = (
    Heading("Name", is_whole=True),
    Heading("Status"),
    Heading("Transport"),
    Heading("Tools", is_number=True),
    Heading("From"),
)
_USAGE = f"usage: /mcp [list | reload | remove NAME]\n       {USAGE}"


async def _words(_: Conversation) -> Iterable[tuple[str, str]]:
    verbs = ("list", "show the servers"), ("reload", "read their files again")
    return [*verbs, ("add", "add a server"), ("remove", "remove a server")]


@command(
    "mcp",
    "list MCP servers; add, remove or reload them",
    group="agent",
    takes="[list|reload|add|remove]",
    words=_words,
    is_local=True,
)
async def manage_servers(context: CommandContext, rest: str) -> CommandOutcome:
    """Do what the first word says; without one, list."""
    servers = context.require_local("mcp").servers
    try:
        words = shlex.split(rest)
    except ValueError as error:
        context.view.note(f"error: {error}\nhint: close the quotation mark.")
        return CommandOutcome()
    if not words or words == ["list"]:
        await _list(servers, context.streams)
    else:
        context.view.note(await _dispatch(servers, words))
    return CommandOutcome()


async def _list(servers: TerminalServers, streams: Streams) -> None:
    rows = await servers.rows()
    if rows:
        streams.print(draw(_HEADINGS, [cells(row) for row in rows], width=streams.width))
        return
    streams.say("no MCP servers yet")
    streams.say("hint: /mcp add NAME URL, or /mcp add NAME COMMAND [ARGUMENT]…")


def cells(row: ServerRow) -> tuple[str, ...]:
    """A server as a line of the table."""
    status = row.status.state if row.status.status == "disconnected" else row.status.status
    if row.status.status == "error":
        status = f"error: {one_line(row.status.reason or row.status.state)}"
    if row.spec.disabled:
        status = "disabled"
    tools = str(row.tools) if row.status.status == "connected" else "-"
    return row.spec.name, status, row.spec.transport, tools, row.source


async def _dispatch(servers: TerminalServers, words: list[str]) -> str:
    match words:
        case ["reload"]:
            return reload_summary(await servers.load())
        case ["remove", name]:
            servers.remove(name)
            await servers.load()
            return f"removed {one_line(name)} from {servers.own_file}"
        case ["add", *rest]:
            return await _add(servers, rest)
        case _:
            return _USAGE


async def _add(servers: TerminalServers, words: list[str]) -> str:
    name, entry = parse_add(words)
    servers.add(name, entry)
    await servers.load()
    lines = [f"added {one_line(name)} to {servers.own_file}; /mcp shows whether it connects"]
    if entry.get("env") or entry.get("headers"):
        lines.append("hint: write a secret as ${NAME}, so that it is read from the environment.")
    return "\n".join(lines)


def reload_summary(report: ReloadReport) -> str:
    """What a reload changed."""
    parts = [
        f"{word} {', '.join(map(one_line, sorted(names)))}"
        for word, names in (
            ("added", report.added),
            ("changed", report.changed),
            ("removed", report.removed),
        )
        if names
    ]
    return "; ".join(parts) or "nothing changed"
