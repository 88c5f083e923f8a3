"""Which files name MCP servers: the assistant's own, the project's, or the one that was asked for.

`~/.deepagents/{assistant_id}/mcp.json` is the person's, `.mcp.json` comes with the folder and has
to be trusted first. `--mcp-config FILE` stands in the place of both. Pure.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

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
