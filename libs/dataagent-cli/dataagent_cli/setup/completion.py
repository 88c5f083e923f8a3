"""Completion in the shell: prints the script, and answers its questions through argcomplete.

The script calls the program with what is typed so far, so the answers are those of the parser, with
the current names of sources and conversations.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, cast

import argcomplete
from argcomplete.shell_integration import shellcode

from dataagent_cli.setup import home_reader

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Names = Callable[[str], Mapping[str, str]]

_NAMES: dict[str, Names] = {
    "source": home_reader.sources,
    "sources": home_reader.sources,
    "session_id": home_reader.sessions,
}
_OF_SOURCES = ("remove", "refresh", "test")  # whose `name` is a source's
_MODELS = ("offline", "anthropic:claude-sonnet-4-5", "openai:gpt-5-mini")


def script(shell: str) -> str:
    """The script of a shell."""
    return shellcode(["dataagent"], shell=shell)


def complete(parser: argparse.ArgumentParser) -> None:
    """Answer the shell's question and end the program."""
    _add_completers(parser)
    argcomplete.autocomplete(parser, always_complete_options=False)


def _add_completers(parser: argparse.ArgumentParser) -> None:
    """Give the arguments of the parser and its commands their completers."""
    for action in parser._actions:  # pyright: ignore[reportPrivateUsage] argcomplete walks them too
        # as above
        if isinstance(action, argparse._SubParsersAction):  # pyright: ignore[reportPrivateUsage]
            choices = cast(Any, action).choices  # parsers by name
            commands = cast("dict[str, argparse.ArgumentParser]", choices)
            for each in commands.values():
                _add_completers(each)
            continue
        names = _NAMES.get(action.dest)
        if action.dest == "name" and parser.prog.endswith(_OF_SOURCES):
            names = home_reader.sources
        if names is not None:
            # the attribute argcomplete reads
            action.completer = _completer(names)  # pyright: ignore[reportAttributeAccessIssue]
        elif action.dest == "model":
            action.completer = _models  # pyright: ignore[reportAttributeAccessIssue] as above


def _models(**_: object) -> tuple[str, ...]:
    return _MODELS


def _completer(names: Names):
    def answer(*, parsed_args: argparse.Namespace, **_: object) -> Mapping[str, str]:
        return names(home_reader.home_of(getattr(parsed_args, "home", None)))

    return answer
