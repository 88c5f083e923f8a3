"""The files of the folder a person stands in, as they are named after an `@`.

Git says which they are, so what it ignores is left out; without Git the folder is walked. Looking
and matching are done in threads: a folder may hold tens of thousands.
"""

from __future__ import annotations

import asyncio
import heapq
import os
import time
from pathlib import Path

from dataagent_cli.git import git_output

_FRESH_SECONDS = 10.0
_MOST_FILES = 100_000
_LEFT_OUT = frozenset({"node_modules", "__pycache__", "venv", "dist", "build", "target"})
_LISTING = ("ls-files", "--cached", "--others", "--exclude-standard", "-z")


class ProjectFiles:
    """The names of a folder's files, looked at again when they are asked for later."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._names: list[tuple[str, str]] = []
        self._looked_at = -_FRESH_SECONDS
        self._looking = asyncio.Lock()

    async def matching(self, typed: str, *, limit: int) -> list[str]:
        """The names that fit what was typed, the best first."""
        async with self._looking:
            if time.monotonic() - self._looked_at > _FRESH_SECONDS:
                self._names = await asyncio.to_thread(_list_files, self.folder)
                self._looked_at = time.monotonic()
        return await asyncio.to_thread(best_matches, self._names, typed, limit)


def best_matches(names: list[tuple[str, str]], typed: str, limit: int) -> list[str]:
    """The names (each with itself in lower case) that fit, the best first."""
    wanted = typed.lower()
    ranked = ((_rank(low, wanted), name) for name, low in names)
    fits = ((rank, len(name), name) for rank, name in ranked if rank is not None)
    return [name for _, _, name in heapq.nsmallest(limit, fits)]


def _rank(name: str, wanted: str) -> int | None:
    """How well a name fits: its beginning, its last part, anywhere, or letter by letter."""
    if name.startswith(wanted):
        return 0
    at = name.rfind("/") + 1
    if name.startswith(wanted, at):
        return 1
    if wanted in name:
        return 2 if name.find(wanted, at) >= 0 else 3
    letters = iter(name)
    return 4 if all(letter in letters for letter in wanted) else None


def _list_files(folder: Path) -> list[tuple[str, str]]:
    names = _git_files(folder)
    names = _walk(folder) if names is None else names
    return [(name, name.lower()) for name in names[:_MOST_FILES]]


def _git_files(folder: Path) -> list[str] | None:
    said = git_output(folder, *_LISTING)
    return None if said is None else [name for name in said.split("\0") if name]


def _walk(folder: Path) -> list[str]:
    names: list[str] = []
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(
            name for name in folders if not name.startswith(".") and name not in _LEFT_OUT
        )
        below = os.path.relpath(place, folder)
        start = "" if below == "." else f"{below}/"
        names += [f"{start}{name}" for name in sorted(files) if not name.startswith(".")]
        if len(names) > _MOST_FILES:
            break
    return names
