from __future__ import annotations

import datetime as dt
from pathlib import Path

import duckdb
import pytest

from dataagent_core.data.files import FileLimits, load_files

pytestmark = pytest.mark.slow

ROWS = 1_000_000


@pytest.fixture(scope="module")
def million(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A million rows; the last decides that `code` is text."""
    path = tmp_path_factory.mktemp("large") / "million.csv"
    start = dt.date(2021, 1, 1)
    days = [str(start + dt.timedelta(number)) for number in range(1500)]
    with path.open("w", encoding="utf-8") as file:
        file.write("id,客户,amount,quantity,ordered_on,updated_at,is_paid,code,note\n")
        file.writelines(
            f"{i},客户 {i % 5000},{i % 99991}.{i % 100:02},{i % 20},{days[i % 1500]},"
            f"{days[i % 1500]} 10:20:{i % 60:02},{'true' if i % 3 else 'false'},"
            f'{i if i < ROWS - 1 else "007"},"x, {i % 1000}"\n'
            for i in range(ROWS)
        )
    return path


def test_a_million_rows_are_loaded_in_full(million: Path, tmp_path: Path) -> None:
    [table] = load_files([million], tmp_path / "x.duckdb", limits=FileLimits())
    assert table.row_count == ROWS
    assert {column.name: column.type for column in table.columns} == {
        "id": "BIGINT",
        "客户": "VARCHAR",
        "amount": "DECIMAL(18,2)",
        "quantity": "BIGINT",
        "ordered_on": "DATE",
        "updated_at": "TIMESTAMP",
        "is_paid": "BOOLEAN",
        "code": "VARCHAR",
        "note": "VARCHAR",
    }
    with duckdb.connect(str(tmp_path / "x.duckdb"), read_only=True) as connection:
        row = connection.execute(
            "SELECT count(*), sum(id), sum(amount), count(DISTINCT note), max(rowid - id) "
            "FROM million"
        ).fetchone()
    assert row is not None
    cents = sum(i % 99991 * 100 + i % 100 for i in range(ROWS))
    assert (row[0], row[1], int(row[2] * 100), row[3], row[4]) == (
        ROWS,
        ROWS * (ROWS - 1) // 2,
        cents,
        1000,
        0,
    )
