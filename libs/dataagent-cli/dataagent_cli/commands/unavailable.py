"""Commands over what is in this process, when a server answers: they say so."""

from __future__ import annotations

from dataagent_cli.commands.registry import Command, CommandContext, CommandOutcome, Group
from dataagent_cli.hosts import UnsupportedOnServer

_GROUPS: dict[str, Group] = {
    "memory": "agent",
    "mcp": "agent",
    "init": "agent",
    "sources": "data",
    "schema": "data",
    "sql": "data",
    "chart": "data",
    "explain": "data",
    "export": "data",
}


def unavailable_commands() -> tuple[Command, ...]:
    """The commands that are not to be had with a server."""
    return tuple(_unavailable(name, group) for name, group in _GROUPS.items())


def _unavailable(name: str, group: Group) -> Command:
    async def run(context: CommandContext, rest: str) -> CommandOutcome:
        del context, rest
        raise UnsupportedOnServer(f"/{name}")

    return Command(name, "not with a server: it needs this machine's own data", run, group=group)
