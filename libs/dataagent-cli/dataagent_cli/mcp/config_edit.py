"""A server put into a file of servers, or taken out; everything else in it stays as it is.

Each shape is kept: `{"servers": [{"name": …}]}`, `{"mcpServers": {"name": {…}}}`, and `servers` by
name. Pure but for `edit_config`. Above: `/mcp add` and `/mcp remove`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from dataagent_core.config.private_files import write_private
from dataagent_core.errors import BadInput

Json = dict[str, Any]
ConfigEdit = Callable[[Json], Json]
_BY_NAME = ("mcpServers", "servers")


def edit_config(path: Path, change: ConfigEdit) -> None:
    """Change a file of servers; one that is not there begins empty.

    Raises:
        BadInput: it is not JSON of a known shape, or the change does not fit.
        OSError: it cannot be read or written.
    """
    try:
        found: Any = json.loads(path.read_bytes() if path.exists() else "{}")
    except (ValueError, RecursionError):  # bytes that are no text are a ValueError, too
        raise BadInput(f"{path} is not valid JSON. Correct it first.") from None
    if not isinstance(found, dict):
        raise BadInput(f"{path} is not an object with `servers` in it. Correct it first.")
    changed = change(cast("Json", found))  # JSON objects have text keys
    write_private(path, json.dumps(changed, indent=2, ensure_ascii=False))


def with_server(name: str, entry: Json) -> ConfigEdit:
    """Adds a server. Raises: `BadInput` if there is one of that name."""

    def change(file: Json) -> Json:
        if name in names_in(file):
            raise BadInput(f"There is a server {name!r} already. Remove it first.")
        for shape in _BY_NAME:
            if isinstance(file.get(shape), dict):
                return {**file, shape: {**file[shape], name: entry}}
        listed: Any = file.get("servers") or []
        if not isinstance(listed, list):
            raise BadInput("`servers` in your file is neither a list nor an object. Correct it.")
        # JSON list
        return {
            **file,
            "servers": [*listed, {"name": name, **entry}],
        }

    return change


def without_server(name: str) -> ConfigEdit:
    """Removes a server. Raises: `BadInput` if there is none of that name."""

    def change(file: Json) -> Json:
        if name not in names_in(file):
            raise BadInput(f"There is no server {name!r} in your file.")
        kept = dict(file)
        for shape in _BY_NAME:
            if isinstance(kept.get(shape), dict):
                kept[shape] = {key: value for key, value in kept[shape].items() if key != name}
        if isinstance(kept.get("servers"), list):
            kept["servers"] = [each for each in kept["servers"] if _name(each) != name]
        return kept

    return change


def names_in(file: Json) -> set[str]:
    """The names of a file's servers, in whichever shape."""
    names = set[str]()
    for shape in _BY_NAME:
        by_name: Any = file.get(shape)
        if isinstance(by_name, dict):
            names |= set[str](by_name)  # pyright: ignore[reportUnknownArgumentType] JSON object
    listed: Any = file.get("servers")
    if isinstance(listed, list):
        entries = cast("list[Any]", listed)  # JSON list
        names |= {found for each in entries if (found := _name(each))}
    return names


def _name(entry: Any) -> str | None:  # Any: JSON of unknown shape
    match entry:
        case {"name": str(name)}:
            return name
        case _:
            return None
