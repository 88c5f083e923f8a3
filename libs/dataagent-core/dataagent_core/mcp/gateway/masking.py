"""Takes a server's own credentials out of what it answers.

A tool that prints its environment, or an error that repeats a header, must not carry a secret to a
model, a reader or a log. Only the very values the server was given are replaced: results are data,
and nothing else of them changes. Above: `gateway.py`. Below: nothing.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from dataclasses import replace
from typing import Any, cast

from dataagent_core.identity.sealing import MASK
from dataagent_core.mcp.types import RemoteResult, ServerSpec

_SHORTEST = 6
_KEPT = 4_096


class Masks:
    """The masks of servers, each made once for a registration."""

    def __init__(self) -> None:
        self._made: OrderedDict[tuple[str, str], tuple[tuple[str, ...], re.Pattern[str] | None]] = (
            OrderedDict()
        )

    def text(self, spec: ServerSpec, text: str) -> str:
        """The text without the server's secrets."""
        pattern = self._pattern(spec)
        return text if pattern is None else pattern.sub(MASK, text)

    def result(self, spec: ServerSpec, result: RemoteResult) -> RemoteResult:
        """The answer without the server's secrets; the very same if it has none to give away."""
        pattern = self._pattern(spec)
        if pattern is None:
            return result
        content = tuple(_mask_value(block, pattern) for block in result.content)
        return replace(result, content=content, structured=_mask_value(result.structured, pattern))

    def _pattern(self, spec: ServerSpec) -> re.Pattern[str] | None:
        if not spec.env and not spec.headers:
            return None
        secrets = _secrets(spec)
        key = (spec.server_id, spec.user_id)
        kept = self._made.get(key)
        if kept is None or kept[0] != secrets:
            kept = self._made[key] = (secrets, _compile_pattern(secrets))
            while len(self._made) > _KEPT:
                self._made.popitem(last=False)
        return kept[1]


def _secrets(spec: ServerSpec) -> tuple[str, ...]:
    """Values long enough to be secrets, and what follows a scheme such as `Bearer` in them."""
    values = [value.get_secret_value() for value in (*spec.env.values(), *spec.headers.values())]
    values += [value.split(" ", 1)[1] for value in values if " " in value]
    return tuple(sorted({value for value in values if len(value) >= _SHORTEST}))


def _compile_pattern(secrets: tuple[str, ...]) -> re.Pattern[str] | None:
    longest_first = sorted(secrets, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, longest_first))) if longest_first else None


def _mask_value(value: Any, pattern: re.Pattern[str]) -> Any:
    """JSON with every text masked; keys too, because a server may put anything there."""
    match value:
        case str():
            return pattern.sub(MASK, value)
        case dict():
            fields = cast("dict[object, object]", value)  # of whatever JSON holds
            return {pattern.sub(MASK, str(k)): _mask_value(v, pattern) for k, v in fields.items()}
        case list():
            items = cast("list[object]", value)  # of any shape
            return [_mask_value(item, pattern) for item in items]
        case _:
            return value
