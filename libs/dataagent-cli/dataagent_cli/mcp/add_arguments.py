"""The words of `/mcp add`, as an entry of a file of servers. Pure.

`NAME URL [--header KEY=VALUE]…` or `NAME [--env KEY=VALUE]… COMMAND [ARGUMENT]…`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dataagent_core.errors import BadInput

USAGE = (
    "/mcp add NAME URL [--header KEY=VALUE]…\n"
    "       /mcp add NAME [--env KEY=VALUE]… COMMAND [ARGUMENT]…"
)
_OPTIONS = {"--header": "headers", "--env": "env"}


def parse_add(words: Sequence[str]) -> tuple[str, dict[str, Any]]:
    """The name and the entry.

    Raises:
        BadInput: the words make no sense.
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
