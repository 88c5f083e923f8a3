"""SQL over earlier results: stored tables, by name, in a DuckDB of their own.

The tables are Arrow datasets, so the database itself may open no file at all; it lives in the
memory of another process, cannot change its settings and runs SELECT only. This is the last line of
defence: names and functions were checked before.
"""

# pyarrow has no type stubs: this module is a border to it.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dataagent_core.data.arrow import pq
from dataagent_core.data.engines.base import EngineOptions
from dataagent_core.data.engines.duckdb import ProcessEngine, query_error
from dataagent_core.data.engines.duckdb_process import DuckdbDatabase, DuckdbProcesses
from dataagent_core.data.results.artifacts import (
    artifact_id_of,
    no_such_artifact,
    translate_missing_file,
)
from dataagent_core.data.types import Artifact, Catalogue, Column, ResultColumn, Table
from dataagent_core.errors import DataAgentError

SOURCE_ID = "artifacts"
BOUNDS: dict[str, Any] = {  # Any: text and numbers, as DuckDB takes them
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "memory_limit": "1GB",
    "python_enable_replacements": "false",
    "temp_directory": "",
    "threads": 2,
}
"""The configuration of a database that sorts stored rows."""
_TYPES = {  # Arrow's names of types → DuckDB's
    "bool": "BOOLEAN",
    "int8": "TINYINT",
    "int16": "SMALLINT",
    "int32": "INTEGER",
    "int64": "BIGINT",
    "uint8": "UTINYINT",
    "uint16": "USMALLINT",
    "uint32": "UINTEGER",
    "uint64": "UBIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "date32": "DATE",
    "time32": "TIME",
    "time64": "TIME",
    "duration": "INTERVAL",
    "binary": "BLOB",
    "large_binary": "BLOB",
    "fixed_size_binary": "BLOB",
}


def open_artifacts(
    paths: Mapping[str, Path], processes: DuckdbProcesses | None = None
) -> ArtifactEngine:
    """An engine over stored tables: name in the SQL → file that `keep` wrote.

    Statements run in `processes`; without, the engine has its own, which `close` ends.

    Raises:
        ArtifactNotFound: a file is not there.
    """
    for path in paths.values():
        with translate_missing_file(artifact_id_of(path)):
            path.stat()
    return ArtifactEngine(paths, processes)


def catalogue_of(tables: Mapping[str, Artifact]) -> Catalogue:
    """What there is to query: name in the SQL → artefact."""
    described = tuple(
        Table(name, _columns(artifact.columns), row_count=artifact.row_count)
        for name, artifact in tables.items()
    )
    shape = [[table.name, [[c.name, c.type] for c in table.columns]] for table in described]
    digest = hashlib.sha256(json.dumps(shape).encode()).hexdigest()
    return Catalogue(SOURCE_ID, ArtifactEngine.dialect, described, digest, datetime.now(UTC))


def _columns(columns: tuple[ResultColumn, ...]) -> tuple[Column, ...]:
    return tuple(Column(column.name, duckdb_type(column.type)) for column in columns)


def duckdb_type(arrow_type: str) -> str:
    """DuckDB's name of a column's type."""
    base = arrow_type.partition("[")[0].partition("(")[0].partition("<")[0]
    if base.startswith("decimal"):
        width = arrow_type.partition("(")[2]
        return "VARCHAR" if base == "decimal256" else f"DECIMAL({width.replace(' ', '')}"
    if base == "timestamp":
        return "TIMESTAMP WITH TIME ZONE" if "tz=" in arrow_type else "TIMESTAMP"
    if base in ("list", "large_list", "struct", "map"):
        return base.removeprefix("large_").upper()
    return _TYPES.get(base, "VARCHAR")


class ArtifactEngine(ProcessEngine):
    """Stored tables as a source, in a database of their own that lives in memory."""

    def __init__(self, paths: Mapping[str, Path], processes: DuckdbProcesses | None = None) -> None:
        self._paths = dict(paths)
        tables = tuple((name, str(path.absolute())) for name, path in paths.items())
        super().__init__(DuckdbDatabase(tables=tables), EngineOptions(), processes)

    def introspect(self) -> list[Table]:
        """The tables, as their files describe them."""
        return [_described(name, path) for name, path in self._paths.items()]

    def translate_error(self, error: Exception) -> DataAgentError:
        """DuckDB's message, or that an artefact has gone meanwhile."""
        for path in self._paths.values():
            if not path.exists():  # DuckDB's message would name it
                return no_such_artifact(artifact_id_of(path))
        return query_error(error)


def _described(name: str, path: Path) -> Table:
    with pq.ParquetFile(path) as file:
        columns = tuple(Column(f.name, duckdb_type(str(f.type))) for f in file.schema_arrow)
        return Table(name, columns, row_count=int(file.metadata.num_rows))
