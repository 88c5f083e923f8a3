"""docs/reference/commands.md, from the programs' argument parsers and the slash commands."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any, cast

from dataagent_cli.arguments import build_parser as terminal_parser
from dataagent_cli.commands import Command, builtin_commands
from dataagent_cli.commands.registry import GROUPS
from dataagent_harbor.arguments import build_parser as harbor_parser
from dataagent_server.cli import build_parser as server_parser
from scripts.reference.tables import code, in_cell, table

_INTRO = """\
# Commands

Every program, command and option. `--help` after any of them says the same. This page is generated
from the code: `make docs` writes it.
"""
_TALK_INTRO = """\
## In a conversation

What can be typed after `❯` in `dataagent`; [the guide](../guides/terminal.md) says more. A skill's
name works in the same way: `/NAME TASK`.
"""
_SETTINGS_NOTE = """\
Every [setting](settings.md) is an option, too: `DATAAGENT_MAX_CONNECTIONS` is `--max-connections`.
What is secret has no option of its own: `--database-url-file PATH` reads it from a file, `-` is
standard input.
"""
_SETTING = ("setting:", "secret:")


def parsers() -> list[argparse.ArgumentParser]:
    """The parsers of all programs."""
    return [terminal_parser(), server_parser(), harbor_parser()]


def page() -> str:
    """The whole page."""
    parts = [_INTRO]
    for parser in parsers():
        parts += [_program(parser)]
        if parser.prog == "dataagent-server":
            parts.append(_SETTINGS_NOTE)
        parts += [_command(each) for each in below(parser)]
        if parser.prog == "dataagent":
            parts += [_TALK_INTRO, *_slash_groups()]
    return "\n".join(parts)


def below(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """The commands of a parser, and their commands."""
    for action in parser._actions:  # pyright: ignore[reportPrivateUsage] argparse has no other way
        # as above
        if isinstance(action, argparse._SubParsersAction):  # pyright: ignore[reportPrivateUsage]
            choices = cast(Any, action).choices  # parsers by name
            named = cast("dict[str, argparse.ArgumentParser]", choices)
            for each in dict.fromkeys(named.values()):
                yield each
                yield from below(each)


def _program(parser: argparse.ArgumentParser) -> str:
    return "\n".join([f"## {parser.prog}", "", parser.description or "", "", *_options(parser)])


def _command(parser: argparse.ArgumentParser) -> str:
    text = (parser.description or "").rstrip(".")
    lines = [f"### {parser.prog}", ""]
    if text:
        lines += [f"{text[0].upper()}{text[1:]}.", ""]
    return "\n".join([*lines, *_options(parser)])


def _options(parser: argparse.ArgumentParser) -> list[str]:
    rows = [
        (_written(action), in_cell(_help(action, parser)))
        # argparse has no other way
        for action in parser._actions  # pyright: ignore[reportPrivateUsage]
        if _is_shown(action)
    ]
    return [*table(["", "what it does"], rows), ""]


def _is_shown(action: argparse.Action) -> bool:
    is_setting = action.dest.startswith(_SETTING)
    # as above
    is_command = isinstance(
        action,
        argparse._SubParsersAction,  # pyright: ignore[reportPrivateUsage]
    )
    return not is_setting and not is_command and action.dest != "help"


def _written(action: argparse.Action) -> str:
    value = action.metavar if isinstance(action.metavar, str) else action.dest.upper()
    if action.choices is not None and action.metavar is None:
        value = "|".join(map(str, action.choices))
    if not action.option_strings:
        return code(value)
    is_flag = action.nargs == 0
    names = ", ".join(code(each) for each in action.option_strings)
    return names if is_flag else f"{names} {code(value)}"


def _help(action: argparse.Action, parser: argparse.ArgumentParser) -> str:
    text = action.help or ""
    return text % {"prog": parser.prog, "default": action.default} if "%" in text else text


def _slash_groups() -> list[str]:
    commands = builtin_commands().all()
    lines: list[str] = []
    for group in GROUPS:
        rows = [(_slash(each), in_cell(each.summary)) for each in commands if each.group == group]
        lines += [f"### {group.capitalize()}", "", *table(["command", "what it does"], rows), ""]
    return lines


def _slash(command: Command) -> str:
    names = ", ".join(code(f"/{name}") for name in (command.name, *command.aliases))
    return f"{names} {code(command.takes)}".strip()
