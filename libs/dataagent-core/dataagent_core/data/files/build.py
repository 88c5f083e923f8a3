"""Reads open files into one new DuckDB database, in the process that reads hostile files.

For each file: kind → raw tables → without totals → types → `CREATE TABLE`. Starts no process and
opens no file by a name that people chose.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import assert_never

import duckdb
from duckdb import DuckDBPyConnection

from dataagent_core.data.files.columns import column_names, infer_types, table_name
from dataagent_core.data.files.delimited import (
    check_width,
    outline_csv,
    read_row_by_row,
    scan_csv,
)
from dataagent_core.data.files.encodings import as_utf8
from dataagent_core.data.files.json_rows import read_json
from dataagent_core.data.files.kinds import kind_of
from dataagent_core.data.files.totals import without_totals
from dataagent_core.data.files.types import DUCKDB, FileLimits, InputFile, LoadedTable, RawTable
from dataagent_core.data.files.workbook import read_workbook
from dataagent_core.data.types import Column
from dataagent_core.errors import BadInput, DataAgentError, LimitReached

_INTO = "_raw"  # no table of a file is called so: their names begin with no underscore
_logger = logging.getLogger(__name__)


def build(
    files: Sequence[InputFile],
    database: Path,
    scratch: Path,
    limits: FileLimits,
    *,
    on_file: Callable[[int], None] = lambda _: None,
    on_bad: Callable[[DataAgentError], None] | None = None,
) -> list[LoadedTable]:
    """Fill `database`, which must not exist; `scratch` is an empty folder for passing files.

    With `on_bad`, a file that cannot be a table is reported there and left out.

    Raises:
        BadInput: a file cannot be a table; the message names it.
        LimitReached: a file is over a limit.
    """
    with duckdb.connect(str(database), config=_config(scratch, limits)) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        builder = _Builder(connection, scratch, limits)
        for number, file in enumerate(files):
            on_file(number)
            try:
                builder.add(file)
            except DataAgentError as error:
                if on_bad is None:
                    raise
                on_bad(error)
        connection.execute("CHECKPOINT")
    return builder.tables


def _config(scratch: Path, limits: FileLimits) -> dict[str, str | bool | int | float | list[str]]:
    return {
        "memory_limit": f"{limits.memory_bytes // 2}B",
        "threads": limits.threads,
        "temp_directory": str(scratch / "spill"),
        "max_temp_directory_size": f"{limits.max_database_bytes}B",
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
    }


class _Builder:
    """The tables made so far."""

    def __init__(self, connection: DuckDBPyConnection, scratch: Path, limits: FileLimits) -> None:
        self._connection = connection
        self._scratch = scratch
        self._limits = limits
        rows = connection.execute(
            "SELECT keyword_name FROM duckdb_keywords() WHERE keyword_category = 'reserved'"
        ).fetchall()
        self._keywords = {str(word) for (word,) in rows}
        self.tables: list[LoadedTable] = []

    def add(self, file: InputFile) -> None:
        """Read one file, whole or not at all; every error names it.

        Raises:
            BadInput, LimitReached: as `build`.
        """
        made = len(self.tables)
        try:
            self._add_whole(file)
        except DataAgentError:
            for table in self.tables[made:]:
                self._connection.execute(f"DROP TABLE {DUCKDB.quoted(table.name)}")
            del self.tables[made:]
            raise

    def _add_whole(self, file: InputFile) -> None:
        try:
            self._add(file)
        except DataAgentError:
            raise
        except (MemoryError, duckdb.OutOfMemoryException) as error:
            raise LimitReached(
                f"'{file.name}' needs more memory than a load may use. Split it, or load Parquet."
            ) from error
        except (duckdb.Error, OSError) as error:
            raise _translated(file, error) from error

    def _add(self, file: InputFile) -> None:
        kind = kind_of(file, self._limits)
        match kind:
            case "parquet":
                self._store(file, self._parquet(file))
            case "workbook":
                for raw in read_workbook(self._connection, file, self._limits, into=_INTO):
                    self._store(file, without_totals(self._connection, raw))
            case "json":
                self._add_json(file)
            case "text":
                self._add_text(file)
            case _:
                assert_never(kind)

    def _add_json(self, file: InputFile) -> None:
        text = as_utf8(file, self._scratch)
        for raw in read_json(self._connection, file, text.path, self._limits, into=_INTO):
            raw.notes.extend(text.notes)
            self._store(file, raw)

    def _add_text(self, file: InputFile) -> None:
        """By DuckDB's reader where the file is even to its end, else row by row."""
        text = as_utf8(file, self._scratch)
        one = outline_csv(file.name, text.path, self._limits)
        if one.is_even:
            try:
                raw = without_totals(self._connection, scan_csv(one, self._limits))
                self._store(file, raw, notes=text.notes)
            except duckdb.OutOfMemoryException:
                raise
            except duckdb.Error:
                _logger.info("A text file is not even to its end; it is read row by row.")
            else:
                return
        raw = read_row_by_row(self._connection, one, self._limits, into=_INTO)
        self._store(file, without_totals(self._connection, raw), notes=text.notes)

    def _parquet(self, file: InputFile) -> RawTable:
        described = self._connection.execute(
            f"DESCRIBE SELECT * FROM read_parquet('{file.path}')"  # noqa: S608 our own path
        ).fetchall()
        check_width(file.name, len(described), self._limits)
        aliases = ", ".join(f"c{number}" for number in range(1, len(described) + 1))
        self._check_rows(file, f"read_parquet('{file.path}')")
        return RawTable(
            f"read_parquet('{file.path}') AS file({aliases})",
            tuple(str(row[0]) for row in described),
            types=tuple(str(row[1]) for row in described),
            guesses=("none",) * len(described),
        )

    def _check_rows(self, file: InputFile, relation: str) -> int:
        row = self._connection.execute(f"SELECT count(*) FROM {relation}").fetchone()  # noqa: S608
        count = int(row[0]) if row else 0
        if count > self._limits.max_rows:
            raise LimitReached(
                f"'{file.name}' has {count:,} rows; {self._limits.max_rows:,} are allowed. "
                "Split it."
            )
        return count

    def _store(self, file: InputFile, raw: RawTable, *, notes: Sequence[str] = ()) -> None:
        """Make the table: columns with a name or with cells, each with its type."""
        if len(self.tables) >= self._limits.max_tables:
            raise LimitReached(f"There are more than {self._limits.max_tables:,} tables.")
        names, renamed = column_names(raw.names)
        columns = infer_types(self._connection, raw, names)
        columns_to_store = [
            one
            for one, written in zip(columns, raw.names, strict=True)
            if written or not one.is_empty
        ] or columns
        taken = [table.name for table in self.tables]
        name = table_name(file.name, raw.label, taken, self._keywords)
        chosen = ", ".join(f"{one.value} AS {DUCKDB.quoted(one.name)}" for one in columns_to_store)
        made = f"SELECT {chosen} FROM {raw.relation}"  # noqa: S608 quoted names
        self._connection.execute(f"CREATE OR REPLACE TABLE {DUCKDB.quoted(name)} AS {made}")
        count = self._check_rows(file, DUCKDB.quoted(name))
        described = self._connection.execute(f"DESCRIBE {DUCKDB.quoted(name)}").fetchall()
        self.tables.append(
            LoadedTable(
                name,
                file.name,
                raw.sheet,
                count,
                tuple(Column(str(row[0]), str(row[1])) for row in described),
                (*notes, *raw.notes, *renamed),
                tuple(f"'{file.name}', table {name}: {sentence}" for sentence in raw.left_out),
            )
        )


def _translated(file: InputFile, error: Exception) -> DataAgentError:
    """What DuckDB or the system says, in our words and without paths of the host."""
    text = str(error).partition("\n")[0].replace(file.path, file.name)[:300]
    if "File too large" in str(error) or "No space left" in str(error):
        return LimitReached(f"'{file.name}' takes more space than a load may use. Split it.")
    return BadInput(f"'{file.name}' cannot be read: {text}")
