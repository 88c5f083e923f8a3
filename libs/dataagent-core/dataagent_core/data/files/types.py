"""The types of a load: limits, open files, raw and loaded tables."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from dataagent_core.data.dialects import dialect_of
from dataagent_core.data.types import Column

DUCKDB = dialect_of("duckdb")
"""The dialect of the database that files are loaded into."""

_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class FileLimits:
    """How much one load may take. What is over a limit is refused, never cut."""

    max_files: int = 500
    max_file_bytes: int = 2048 * _MIB
    max_tables: int = 1000
    max_rows: int = 50_000_000  # a table
    max_columns: int = 2000
    max_row_bytes: int = 4 * _MIB  # a line, or an object of JSON lines
    max_unpacked_bytes: int = 400 * _MIB  # of a workbook
    max_pack_ratio: int = 200  # of a workbook that unpacks to more than a few MiB
    max_json_depth: int = 64
    max_database_bytes: int = 8192 * _MIB
    memory_bytes: int = 2048 * _MIB  # of the process that reads
    cpu_seconds: int = 600
    timeout_seconds: float = 900.0
    threads: int = 2


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file to read. `path` opens it (`/dev/fd/7`); `name` is what people call it."""

    name: str
    path: str
    byte_size: int


@dataclass(frozen=True, slots=True)
class LoadedTable:
    """A table that a file or one of its sheets became. `notes` say what was taken for what."""

    name: str
    file: str
    sheet: str | None
    row_count: int
    columns: tuple[Column, ...]
    notes: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()  # a sentence on rows of the file that are not in the table


@dataclass(frozen=True, slots=True)
class LoadResult:
    """What came of a folder: its tables, and a sentence for each file that is none."""

    tables: tuple[LoadedTable, ...]
    left_out: tuple[str, ...] = ()


Guess = Literal["any", "dates", "none"]
"""Which types a text column may turn out to be: JSON says itself what is a number."""


@dataclass(frozen=True, slots=True)
class RawTable:
    """A table as read: a relation that can be scanned twice, and what is known of its columns.

    `relation` is SQL after FROM. Its columns are `c1` … `cN`; `names` are those the file gives,
    None where it gives none.
    """

    relation: str
    names: tuple[str | None, ...]
    types: tuple[str, ...]
    guesses: tuple[Guess, ...]
    sheet: str | None = None
    label: str | None = None  # what tells this table from the file's others
    notes: list[str] = field(default_factory=list[str])
    left_out: list[str] = field(default_factory=list[str])
    may_have_decimal_comma: bool = False
