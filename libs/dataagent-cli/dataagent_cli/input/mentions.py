"""Files of the folder and tables of the data sources that a message names with `@`.

`@notes.md`, `@"my notes.md"`, `@sales.orders`, `@orders`, `@sales."Order details"`. Small files and
the columns of tables are attached to the message, other files by their path. A word that names
nothing stays a word.
"""

from __future__ import annotations

import asyncio
import heapq
import os
import re
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dataagent_cli.project import git_output
from dataagent_core.errors import DataAgentError

if TYPE_CHECKING:
    from dataagent_cli.data.context import DataCommandContext
    from dataagent_core.data.types import Table


_FILES_FRESH_SECONDS = 10.0
_MOST_FILES = 100_000
_LEFT_OUT = frozenset({"node_modules", "__pycache__", "venv", "dist", "build", "target"})
_LISTING = ("ls-files", "--cached", "--others", "--exclude-standard", "-z")


class ProjectFiles:
    """The names of a folder's files, read again after some seconds.

    Git lists them, so that ignored files are left out; without Git the folder is walked. A folder
    may have tens of thousands of files, so this is done in threads.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._names: list[tuple[str, str]] = []
        self._looked_at = -_FILES_FRESH_SECONDS
        self._looking = asyncio.Lock()

    async def matching(self, typed: str, *, limit: int) -> list[str]:
        """The names that match what was typed, best first."""
        async with self._looking:
            if time.monotonic() - self._looked_at > _FILES_FRESH_SECONDS:
                self._names = await asyncio.to_thread(_list_files, self.folder)
                self._looked_at = time.monotonic()
        return await asyncio.to_thread(best_matches, self._names, typed, limit)


def best_matches(names: list[tuple[str, str]], typed: str, limit: int) -> list[str]:
    """The names (each paired with itself in lower case) that match, best first."""
    wanted = typed.lower()
    ranked = ((_rank(low, wanted), name) for name, low in names)
    fits = ((rank, len(name), name) for rank, name in ranked if rank is not None)
    return [name for _, _, name in heapq.nsmallest(limit, fits)]


def _rank(name: str, wanted: str) -> int | None:
    """How well a name matches: at its start, in its last part, anywhere, or letter by letter."""
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


_MENTION = re.compile(r"""(?<![\w.%+-])@((?:[^\s"@]*"[^"\n]+"|[^\s"@]+))""")
_LOOSE = ".,;:!?)]}。，；：！？）"
_MOST_BYTES = 16_000
_MOST_COLUMNS = 100
_TABLES_FRESH_SECONDS = 30.0
_SHOWN = 20
_PLAIN = re.compile(r"[\w$-]+")


@dataclass(frozen=True, slots=True)
class NamedTable:
    """A table and its source."""

    source: str
    table: Table

    @property
    def name(self) -> str:
        """As it is typed after the `@`."""
        plain = self.table.name
        return f"{self.source}.{plain}" if _PLAIN.fullmatch(plain) else f'{self.source}."{plain}"'


@dataclass(frozen=True, slots=True)
class Attachment:
    """What is attached to a message, and a line about it."""

    text: str
    note: str


Tables = Callable[[], Awaitable[list[NamedTable]]]


class Mentions:
    """Finds what a message names."""

    def __init__(self, folder: Path, tables: Tables | None = None) -> None:
        """Without `tables` only files are found."""
        self._files = ProjectFiles(folder)
        self._look = tables
        self._tables: list[NamedTable] = []
        self._looked_at = -_TABLES_FRESH_SECONDS
        self._looking = asyncio.Lock()

    async def completions(self, typed: str) -> list[tuple[str, str]]:
        """Names that start so, each with its kind; tables first."""
        wanted = typed.strip('"').lower()
        tables = [
            (each.name, "table")
            for each in await self._known_tables()
            if each.name.lower().startswith(wanted) or each.table.name.lower().startswith(wanted)
        ]
        files = await self._files.matching(typed.strip('"'), limit=_SHOWN)
        return [*tables[:_SHOWN], *((_quoted(name), "file") for name in files)]

    async def attach(self, message: str) -> list[Attachment]:
        """The attachments of a message, each once."""
        found: list[Attachment] = []
        for name in dict.fromkeys(match[1] for match in _MENTION.finditer(message)):
            thing = await self._resolve(name) or await self._resolve(name.rstrip(_LOOSE))
            if thing is not None and thing not in found:
                found.append(thing)
        return found

    async def _resolve(self, name: str) -> Attachment | None:
        if not name:
            return None
        return await asyncio.to_thread(
            _file, self._files.folder, name.strip('"')
        ) or await self._table(name)

    async def _table(self, name: str) -> Attachment | None:
        plain = name.replace('"', "").lower()
        tables = await self._known_tables()
        whole = [each for each in tables if each.name.replace('"', "").lower() == plain]
        found = whole or [each for each in tables if each.table.name.lower() == plain]
        return _described(found[0]) if len(found) == 1 else None

    async def _known_tables(self) -> list[NamedTable]:
        if self._look is None:
            return []
        async with self._looking:
            if time.monotonic() - self._looked_at > _TABLES_FRESH_SECONDS:
                self._tables = await self._look()
                self._looked_at = time.monotonic()
        return self._tables


def tables_of_sources(data_context: DataCommandContext) -> Tables:
    """The tables of all sources; a source that cannot be read has none."""

    async def look() -> list[NamedTable]:
        reader = await data_context.reader()
        found: list[NamedTable] = []
        for source in await data_context.service.sources.list_for(reader):
            try:
                catalogue = await data_context.service.catalogue(source, reader)
            except DataAgentError:
                continue
            found += [NamedTable(source.name, table) for table in catalogue.tables]
        return found

    return look


def _file(folder: Path, name: str) -> Attachment | None:
    """A file or folder inside the folder; by its path if it is long or not text."""
    try:
        path = (folder / name).resolve()
        if not path.is_relative_to(folder.resolve()) or not path.exists():
            return None
        text = _text(path)
    except (OSError, ValueError):  # not readable, or not a file name
        return None
    if text is not None:
        return Attachment(
            _wrapped("file", name, text), f"attached: {name} ({len(text):,} characters)"
        )
    kind = "folder" if path.is_dir() else "file"
    return Attachment(
        f'<attached {kind}="{name}" />', f"named: {kind} {name}; its content is not attached"
    )


def _text(path: Path) -> str | None:
    """The content of a short text file; else None."""
    if not path.is_file() or path.stat().st_size > _MOST_BYTES:
        return None
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return None


def _described(named: NamedTable) -> Attachment:
    table = named.table
    columns = [f"{each.name} {each.type}" for each in table.columns[:_MOST_COLUMNS]]
    if len(table.columns) > _MOST_COLUMNS:
        columns.append(f"… {len(table.columns) - _MOST_COLUMNS} more columns")
    rows = "" if table.row_count is None else f"{table.row_count} rows\n"
    keys = f"primary key: {', '.join(table.primary_key)}\n" if table.primary_key else ""
    text = f"{rows}{keys}{_lines(columns)}"
    return Attachment(
        _wrapped("table", named.name.replace('"', ""), text),
        f"attached: the columns of {named.name}",
    )


def _lines(columns: Iterable[str]) -> str:
    return "\n".join(columns)


def _wrapped(kind: str, name: str, text: str) -> str:
    return f'<attached {kind}="{name}">\n{text.rstrip()}\n</attached>'


def _quoted(name: str) -> str:
    return f'"{name}"' if " " in name else name
