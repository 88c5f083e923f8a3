"""`kept`: a table, kept as a query's result would be."""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownParameterType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
import pytest

from dataagent_core.data.results import StoredResult, write_result
from dataagent_core.data.types import QueryLimits

KeepTable = Callable[[pa.Table], tuple[Path, StoredResult]]


@pytest.fixture(scope="session")
def kept(tmp_path_factory: pytest.TempPathFactory) -> KeepTable:
    folder = tmp_path_factory.mktemp("results")

    def keep_table(table: pa.Table) -> tuple[Path, StoredResult]:
        path = folder / f"{uuid4().hex}.parquet"
        batches = iter(table.to_batches() or [pa.RecordBatch.from_pylist([], table.schema)])
        return path, write_result(batches, table.schema.names, path, limits=QueryLimits())

    return keep_table
