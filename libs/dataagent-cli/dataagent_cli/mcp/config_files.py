"""The files that name MCP servers: where they are, and adding or removing a server.

`~/.deepagents/{assistant_id}/mcp.json` is the user's own, `.mcp.json` comes with the folder and has
to be trusted first; `--mcp-config FILE` replaces both. A change leaves the rest of a file as it is,
in each of its shapes: `{"servers": [{"name": …}]}`, `{"mcpServers": {"name": {…}}}`, `servers` by
name.
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
    """Change a file of servers; a missing file starts empty.

    Raises:
        BadInput: it is not JSON of a known shape, or the change is not possible.
        OSError: it cannot be read or written.
    """
    try:
        found: Any = json.loads(path.read_bytes() if path.exists() else "{}")
    except (ValueError, RecursionError):  # also for bytes that are not text
        raise BadInput(f"{path} is not valid JSON. Correct it first.") from None
    if not isinstance(found, dict):
        raise BadInput(f"{path} is not an object with `servers` in it. Correct it first.")
    changed = change(cast("Json", found))  # JSON objects have text keys
    write_private(path, json.dumps(changed, indent=2, ensure_ascii=False))


def with_server(name: str, entry: Json) -> ConfigEdit:
    """An edit that adds a server; it raises `BadInput` if there is one of that name."""

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
    """An edit that removes a server; it raises `BadInput` if there is none of that name."""

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
    """The names of a file's servers, in any shape."""
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
    """False: it came with the folder, so its author may be someone else."""
    is_required: bool = False
    """Whether it was named on the command line, so that it must exist."""


def config_locations(
    *, agents_home: Path, assistant_id: str, folder: Path, named: str | None
) -> tuple[ConfigLocation, ...]:
    """The files in the order they are read; of two servers of one name the later one counts.

    `/mcp add` writes to the first. `named` is the file of `--mcp-config`.
    """
    if named is not None:
        return (ConfigLocation(folder / Path(named).expanduser(), is_required=True),)
    known = _ASSISTANT_ID.fullmatch(assistant_id) is not None
    own = agents_home / (assistant_id if known else "agent") / "mcp.json"
    return ConfigLocation(own), ConfigLocation(folder / PROJECT_FILE, is_trusted=False)
