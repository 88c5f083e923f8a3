"""A server put into a file of servers, or taken out; everything else in it stays as it is.

Each shape is kept: `{"servers": [{"name": …}]}`, `{"mcpServers": {"name": {…}}}`, and `servers` by
name. Pure but for `edit_config`. Above: `/mcp add` and `/mcp remove`.

Which files name MCP servers: the assistant's own, the project's, or the one that was asked for.

`~/.deepagents/{assistant_id}/mcp.json` is the person's, `.mcp.json` comes with the folder and has
to be trusted first. `--mcp-config FILE` stands in the place of both. Pure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
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


PROJECT_FILE = ".mcp.json"
_ASSISTANT_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


@dataclass(frozen=True, slots=True)
class ConfigLocation:
    """A file that may name servers."""

    path: Path
    is_trusted: bool = True
    """False: it came with the folder, and whoever wrote it may not be the person here."""
    is_asked_for: bool = False
    """It was named on the command line, so it has to be there."""


def config_locations(
    *, agents_home: Path, assistant_id: str, folder: Path, asked_for: str | None
) -> tuple[ConfigLocation, ...]:
    """The files in the order they are read; of two servers of one name the later counts.

    The first is the one that `/mcp add` writes to.
    """
    if asked_for is not None:
        return (ConfigLocation(folder / Path(asked_for).expanduser(), is_asked_for=True),)
    known = _ASSISTANT_ID.fullmatch(assistant_id) is not None
    own = agents_home / (assistant_id if known else "agent") / "mcp.json"
    return ConfigLocation(own), ConfigLocation(folder / PROJECT_FILE, is_trusted=False)
