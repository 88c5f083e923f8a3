# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false
"""Files are written, loaded and read back; `load` goes through the door, `quick` stays inside."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import duckdb
import pytest

from dataagent_core.data.files import FileLimits, LoadedTable, load_files
from dataagent_core.data.files.build import build
from dataagent_core.data.files.types import InputFile

LIMITS = FileLimits(timeout_seconds=60, threads=1)


@dataclass(frozen=True)
class Loaded:
    tables: list[LoadedTable]
    rows: dict[str, list[list[Any]]]

    @property
    def table(self) -> LoadedTable:
        assert len(self.tables) == 1
        return self.tables[0]

    @property
    def cells(self) -> list[list[Any]]:
        return self.rows[self.table.name]

    @property
    def types(self) -> dict[str, str]:
        return {column.name: column.type for column in self.table.columns}


def read_back(database: Path, tables: Sequence[LoadedTable]) -> Loaded:
    rows: dict[str, list[list[Any]]] = {}
    with duckdb.connect(str(database), read_only=True) as connection:
        for table in tables:
            found = connection.sql(f'SELECT * FROM "{table.name}"').to_arrow_table()
            rows[table.name] = [list(row) for row in zip(*found.to_pydict().values(), strict=True)]
            assert len(rows[table.name]) == table.row_count
    return Loaded(list(tables), rows)


def as_bytes(content: bytes | str) -> bytes:
    return content.encode() if isinstance(content, str) else content


Load = Callable[..., Loaded]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Write files, load them as a caller would, read the tables back."""

    def run(files: Mapping[str, bytes | str], **limits: Any) -> Loaded:
        folder = tmp_path / "files"
        folder.mkdir(exist_ok=True)
        for name, content in files.items():
            (folder / name).write_bytes(as_bytes(content))
        database = tmp_path / "out.duckdb"
        paths = [folder / name for name in files]
        tables = load_files(paths, database, limits=replace(LIMITS, **limits))
        return read_back(database, tables)

    return run


def quick(folder: Path, files: Mapping[str, bytes | str]) -> Loaded:
    """The same without a process of its own, for tests with many examples."""
    scratch = folder / "scratch"
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir()
    opened: list[InputFile] = []
    for number, (name, content) in enumerate(files.items()):
        path = scratch / f"input-{number}"
        path.write_bytes(as_bytes(content))
        opened.append(InputFile(name, str(path), path.stat().st_size))
    tables = build(opened, scratch / "x.duckdb", scratch, LIMITS)
    return read_back(scratch / "x.duckdb", tables)
