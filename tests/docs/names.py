"""What the product calls things: settings, routes, options, slash commands, events."""

from __future__ import annotations

import argparse
import re
from functools import cache

from dataagent_cli.commands import builtin_commands
from dataagent_core.config import Settings
from dataagent_core.config.settings import variables
from dataagent_core.events import EVENT_CLASSES
from dataagent_server.api.web.chat import chat_event
from dataagent_server.config import ServerSettings
from dataagent_server.ws import protocol
from scripts.reference import api, commands
from scripts.reference.events import examples
from scripts.tree import ROOT

_PARAMETER = re.compile(r"\{[^}]*\}")
_OTHER_VARIABLES = {
    "DATAAGENT_API_KEY": "clients",
    "DATAAGENT_SERVER_URL": "the Streamlit demo",
    "DATAAGENT_URL": "the web app's development server",
}
"""Variables that are no settings, each with its reader; a test checks that it is read."""
OTHER_ADDRESSES = ("/ws/chat/{session_id}", "/mcp", "/metrics", "/login", "/docs", "/redoc")


@cache
def settings() -> frozenset[str]:
    """Every variable that sets a setting."""
    return frozenset(
        name
        for kind in (Settings, ServerSettings)
        for field in kind.model_fields
        for name in variables(kind, field)
    )


def other_variables() -> dict[str, str]:
    """Variables that are read and are no settings."""
    return _OTHER_VARIABLES


@cache
def routes() -> frozenset[tuple[str, str]]:
    """Every operation: its method and its path, with `{}` for each parameter."""
    return frozenset((method, template(path)) for method, path, _ in api.operations())


@cache
def paths() -> frozenset[str]:
    """Every path, with `{}` for each parameter."""
    others = {template(path) for path in (*OTHER_ADDRESSES, "/openapi.json")}
    return frozenset({path for _, path in routes()} | others)


def is_other_address(path: str) -> bool:
    """Whether it is an address that the OpenAPI document does not have."""
    return any(
        fits(template(path), template(each)) for each in (*OTHER_ADDRESSES, "/openapi.json", "/")
    )


def template(path: str) -> str:
    """A path with `{}` for each of its parameters."""
    return _PARAMETER.sub("{}", path)


def fits(path: str, known: str) -> bool:
    """Whether a path in a page is a known one; a parameter may be filled in."""
    pattern = re.escape(known).replace(re.escape("{}"), "[^/]+")
    return re.fullmatch(pattern, path) is not None


@cache
def parsers() -> dict[str, argparse.ArgumentParser]:
    """The programs and their commands, by how they are called."""
    every = [each for parser in commands.parsers() for each in (parser, *commands.below(parser))]
    return {parser.prog: parser for parser in every}


@cache
def options() -> frozenset[str]:
    """Every option of every program."""
    return frozenset(
        option
        for parser in parsers().values()
        # argparse has no other way
        for action in parser._actions  # pyright: ignore[reportPrivateUsage]
        for option in action.option_strings
    )


@cache
def slash_commands() -> frozenset[str]:
    """Every name that may follow a slash."""
    return frozenset(
        name for each in builtin_commands().all() for name in (each.name, *each.aliases)
    )


@cache
def skills() -> frozenset[str]:
    """The names of the skills that are shipped."""
    return frozenset(path.parent.name for path in ROOT.glob("*/**/SKILL.md"))


@cache
def events() -> frozenset[str]:
    """Every name of an event, on every transport, and of the messages of a socket."""
    frames = {name.removesuffix("_frame") for name in vars(protocol) if name.endswith("_frame")}
    on_chat = {chat_event(each)[0] for each in examples()}
    return frozenset({each.event_type for each in EVENT_CLASSES} | on_chat | frames)
