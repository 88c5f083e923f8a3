"""Cleans, hashes, compares and names the definitions of MCP tools. Pure.

A definition is hostile input that a model will read: invisible characters are removed, long texts
are cut, unusable definitions are refused. The hash is of the cleaned definition, so the reviewed
definition is the one used.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

from dataagent_core.mcp.types import CatalogueTool, JsonObject, RemoteTool
from dataagent_core.storage.database import is_storable

MAX_NAME = 200
MAX_TITLE = 200
MAX_DESCRIPTION = 4096
MAX_SCHEMA_BYTES = 256 * 1024
MAX_SCHEMA_DEPTH = 28
"""MariaDB takes JSON of 32 levels."""
MAX_EXPOSED = 64
_HASH_CHARACTERS = 6
_HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
_TEXTS = ("title", "description", "$comment")
"""Keywords of a schema that say something to people and nothing to a validator."""
_KEPT_CONTROLS = "\n\t"
_NOT_EXPOSED = re.compile(r"[^A-Za-z0-9_-]")


class BadDefinition(Exception):
    """A tool cannot be used as it is defined; the text says why. Not raised out of this package."""


@dataclass(frozen=True, slots=True)
class DefinitionDiff:
    """How a tool's definition differs from the approved one."""

    tool_id: int
    approved: JsonObject | None
    """None if that version is no longer stored."""
    current: JsonObject
    changed: tuple[str, ...]
    """The fields that differ."""
    text: str
    """Line by line, as `diff -u` has it."""


def sanitize(tool: RemoteTool) -> RemoteTool:
    """Return the tool with a definition that is safe to show.

    Raises:
        BadDefinition: its name or a schema cannot be used.
    """
    _check_name(tool.name)
    return RemoteTool(
        name=tool.name,
        title=None if not tool.title else strip_invisible(tool.title, MAX_TITLE) or None,
        description=strip_invisible(tool.description, MAX_DESCRIPTION),
        input_schema=_schema("input", tool.input_schema or {"type": "object"}),
        output_schema=None if tool.output_schema is None else _schema("output", tool.output_schema),
        annotations=_annotations(tool.annotations),
    )


def strip_invisible(text: str, most: int) -> str:
    """Return the text without invisible characters, cut to a length."""
    cleaned = "".join(c for c in text if c in _KEPT_CONTROLS or not _is_hidden(c)).strip()
    return cleaned if len(cleaned) <= most else f"{cleaned[: most - 1]}…"


def _is_hidden(character: str) -> bool:
    """Control, format (zero width, direction, tags), private and unpaired characters; selectors."""
    if character < "\x7f":
        return character < " "
    category = unicodedata.category(character)
    return category[0] == "C" or "\ufe00" <= character <= "\ufe0f" or character >= "\U000e0100"


def _check_name(name: str) -> None:
    if not 0 < len(name) <= MAX_NAME:
        raise BadDefinition(f"its name has not 1 to {MAX_NAME} characters")
    if not is_storable(name) or any(_is_hidden(c) for c in name):
        raise BadDefinition("its name has invisible characters")


def _annotations(given: Mapping[str, Any]) -> JsonObject:
    hints: JsonObject = {name: given[name] for name in _HINTS if isinstance(given.get(name), bool)}
    title = given.get("title")
    if isinstance(title, str) and (shown := strip_invisible(title, MAX_TITLE)):
        hints["title"] = shown
    return hints


def _schema(which: str, schema: JsonObject) -> JsonObject:
    try:
        shown = _sanitize_value(schema, MAX_SCHEMA_DEPTH)
        size = len(json.dumps(shown, allow_nan=False).encode())
    except (ValueError, TypeError, RecursionError) as error:
        raise BadDefinition(f"its {which} schema is nested too deep or is not JSON") from error
    if size > MAX_SCHEMA_BYTES:
        raise BadDefinition(f"its {which} schema is larger than {MAX_SCHEMA_BYTES // 1024} KiB")
    return shown


def _sanitize_value(value: Any, depth: int) -> Any:
    """Return a part of a schema with texts that are safe to show."""
    if depth < 0:
        raise ValueError("too deep")
    match value:
        case dict():
            return _sanitize_object(cast("dict[Any, Any]", value), depth - 1)  # JSON of any shape
        case list():
            items = cast("list[object]", value)  # of any shape
            return [_sanitize_value(item, depth - 1) for item in items]
        case str():
            if not is_storable(value):
                raise ValueError("not storable")
            return value
        case _:
            return value


def _sanitize_object(value: dict[Any, Any], depth: int) -> JsonObject:
    return {key: _sanitize_item(key, item, depth) for key, item in value.items()}


def _sanitize_item(key: Any, item: Any, depth: int) -> Any:
    if not isinstance(key, str) or not is_storable(key):
        raise ValueError("not JSON")
    if key in _TEXTS and isinstance(item, str):
        return strip_invisible(item, MAX_DESCRIPTION)
    return _sanitize_value(item, depth)


# -- telling definitions apart --------------------------------------------------------------------


def as_json(tool: RemoteTool) -> JsonObject:
    """Return a definition as it is stored, compared and hashed."""
    return {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "inputSchema": tool.input_schema,
        "outputSchema": tool.output_schema,
        "annotations": tool.annotations,
    }


def from_json(stored: JsonObject) -> RemoteTool:
    """Return the definition that `as_json` serialised."""
    return RemoteTool(
        name=stored["name"],
        title=stored["title"],
        description=stored["description"],
        input_schema=stored["inputSchema"],
        output_schema=stored["outputSchema"],
        annotations=stored["annotations"],
    )


def hash_of(tool: RemoteTool) -> str:
    """Return a hash that is equal for definitions that differ only in the order of keys."""
    text = json.dumps(as_json(tool), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def difference(tool_id: int, approved: JsonObject | None, current: JsonObject) -> DefinitionDiff:
    """Compare two definitions."""
    before = approved or {}
    changed = tuple(name for name in current if before.get(name) != current[name])
    lines = difflib.unified_diff(
        _lines(approved), _lines(current), "approved", "current", lineterm=""
    )
    return DefinitionDiff(tool_id, approved, current, changed, "\n".join(lines))


def _lines(definition: JsonObject | None) -> list[str]:
    if definition is None:
        return []
    return json.dumps(definition, indent=2, sort_keys=True, ensure_ascii=False).splitlines()


# -- names ----------------------------------------------------------------------------------------


def exposed_name(alias: str, name: str, taken: Collection[str] = ()) -> str:
    """Return the name the model calls: `{alias}__{tool}`, with a hash if too long or taken.

    It fits `^[A-Za-z0-9_-]{1,64}$`.
    """
    plain = f"{alias}__{_NOT_EXPOSED.sub('_', name)}"
    if len(plain) <= MAX_EXPOSED and plain not in taken:
        return plain
    number = 0
    while True:
        text = f"{alias}\x00{name}\x00{number or ''}"
        end = f"_{hashlib.sha256(text.encode()).hexdigest()[:_HASH_CHARACTERS]}"
        exposed = plain[: MAX_EXPOSED - len(end)] + end
        if exposed not in taken:
            return exposed
        number += 1


def with_unique_names(
    tools: Iterable[CatalogueTool], taken: Collection[str] = ()
) -> tuple[CatalogueTool, ...]:
    """Return the tools of a run, each with a name that no other has.

    Servers of different people may have one alias; the tool with the lower number keeps its name.
    """
    names = set(taken)
    found: dict[int, CatalogueTool] = {}
    ordered = list(tools)
    for tool in sorted(ordered, key=lambda each: (each.tool_id < 0, abs(each.tool_id))):
        name = tool.exposed_name
        if name in names:
            alias, _, rest = name.partition("__")
            name = exposed_name(alias, f"{rest}_{tool.server_id}_{tool.name}"[:MAX_EXPOSED], names)
        names.add(name)
        found[tool.tool_id] = replace(tool, exposed_name=name)
    return tuple(found[tool.tool_id] for tool in ordered)
