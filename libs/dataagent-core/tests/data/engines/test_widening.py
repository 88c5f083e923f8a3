"""Columns that turn out wider than their first rows: nothing is lost, rounded or mixed up."""

# pyarrow has no type stubs: this module is a border to it.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportUnknownLambdaType=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataagent_core.data.engines import EngineOptions, SchemaChanged, open_engine
from dataagent_core.data.engines.column_builders import NumericColumn, ValueColumn

FEW = EngineOptions(batch_rows=3)
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=5)
DAY = st.dates().map(str)
VALUES = st.one_of(
    st.none(),
    st.integers(-(2**63), 2**63 - 1),
    st.integers(-5, 5),
    st.floats(allow_nan=False),
    TEXT,
    DAY,
    st.datetimes().map(lambda moment: moment.isoformat(" ", "seconds")),
    st.binary(max_size=3),
)
DECLARED = st.sampled_from(
    ["", "INTEGER", "TEXT", "REAL", "NUMERIC(10,2)", "DATE", "DATETIME", "BLOB"]
)


def as_read(value: Any, kind: pa.DataType) -> Any:
    """What the database gave, in the type the column has."""
    if value is None or not pa.types.is_string(kind):
        if isinstance(value, str):
            return (
                date.fromisoformat(value) if kind == pa.date32() else datetime.fromisoformat(value)
            )
        return value
    if isinstance(value, bytes):
        return f"X'{value.hex().upper()}'"
    return str(value)


@given(st.lists(st.tuples(VALUES, VALUES), max_size=25), st.tuples(DECLARED, DECLARED))
def test_every_value_of_sqlite_is_read_as_it_is_held(
    rows: list[tuple[Any, Any]], declared: tuple[str, str]
) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "values.db"
        with closing(sqlite3.connect(path)) as owner:
            owner.execute(f"CREATE TABLE v (a {declared[0]}, b {declared[1]})")
            owner.executemany("INSERT INTO v VALUES (?, ?)", rows)
            owner.commit()
            held = owner.execute("SELECT a, b FROM v ORDER BY rowid").fetchall()
        engine = open_engine(f"sqlite:///{path}", options=FEW)
        with engine.statement("SELECT a, b FROM v ORDER BY rowid", timeout_seconds=60) as statement:
            table = statement.read(lambda batches: pa.Table.from_batches(list(batches)))
        engine.close()
    for column, values in zip(
        table.columns, zip(*held, strict=True) if held else [(), ()], strict=True
    ):
        assert column.to_pylist() == [as_read(value, column.type) for value in values]
        kinds = {type(value) for value in values if value is not None}
        if pa.types.is_string(column.type) and kinds == {int}:
            pytest.fail("whole numbers alone became text")


@given(
    st.lists(
        st.lists(
            st.decimals(allow_nan=False, allow_infinity=False, places=None)
            | st.integers(-(10**45), 10**45).map(Decimal),
            min_size=1,
            max_size=5,
        ),
        min_size=1,
        max_size=5,
    )
)
def test_exact_numbers_stay_exact_however_many_digits_they_have(
    chunks: list[list[Decimal]],
) -> None:
    texts = [pa.array([f"{value:f}" for value in chunk], pa.string()) for chunk in chunks]
    column = NumericColumn()
    for values in texts:
        if column.fit(values) is None:
            column.widen(values)
    found = [column.fit(values) for values in texts]
    if any(array is None for array in found):  # what a second reading is for
        for values in texts:
            if column.fit(values) is None:
                column.widen(values)
        found = [column.fit(values) for values in texts]
    for array, chunk in zip(found, chunks, strict=True):
        assert array is not None
        assert [Decimal(value) for value in array.to_pylist()] == chunk


def test_a_late_word_among_numbers_makes_the_column_text_from_its_start(
    make_database: Callable[[str], Any],
) -> None:
    database = make_database("sqlite")
    database.run(
        "CREATE TABLE late (x INTEGER)",
        "INSERT INTO late WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n "
        "WHERE i < 30000) SELECT CASE WHEN i = 29999 THEN 'n/a' ELSE i END FROM n",
    )
    with database.engine.statement("SELECT x FROM late", timeout_seconds=60) as statement:
        batches = statement.batches()
        assert next(batches).schema.field(0).type == pa.int64()
        with pytest.raises(SchemaChanged):
            for _ in batches:
                pass
        again = list(statement.batches())
    assert {batch.schema.field(0).type for batch in again} == {pa.string()}
    values = [value for batch in again for value in batch.column(0).to_pylist()]
    assert values == [*map(str, range(1, 29999)), "n/a", "30000"]


@pytest.mark.parametrize(
    ("kind", "sql", "expected"),
    [
        (
            "postgres",
            "SELECT CASE WHEN a = 20000 THEN 1.23456789::numeric ELSE a::numeric END "
            "FROM generate_series(1, 20000) a",
            ("decimal128(38, 8)", Decimal("1.23456789")),
        ),
        (
            "postgres",
            "SELECT CASE WHEN a = 20000 THEN 'infinity' ELSE '2020-01-01' END::date "
            "FROM generate_series(1, 20000) a",
            ("string", "infinity"),
        ),
        (
            "mysql",
            "SELECT CAST(IF(seq = 20000, '100:00:00', '10:00:00') AS TIME) FROM seq_1_to_20000",
            ("string", "100:00:00"),
        ),
        (
            "duckdb",
            "SELECT CASE WHEN x = 19999 THEN DATE 'infinity' ELSE DATE '2020-01-01' END "
            "FROM range(20000) t(x)",
            ("string", "infinity"),
        ),
    ],
    ids=["postgres-numeric", "postgres-date", "mysql-time", "duckdb-date"],
)
def test_a_late_value_that_does_not_fit_is_kept_whole(
    make_database: Callable[[str], Any], kind: str, sql: str, expected: tuple[str, Any]
) -> None:
    database = make_database(kind)
    database.limit(batch_rows=5_000)
    rows = database.read(sql)
    assert len(rows) == 20_000
    assert rows[-1] == (expected[1],)
    assert database.schema(sql)[0][1] == expected[0]


def test_many_columns_that_all_widen_late_do_not_read_for_ever(
    make_database: Callable[[str], Any],
) -> None:
    database = make_database("sqlite")
    database.limit(batch_rows=10)
    columns = ", ".join(
        f"CASE WHEN i = {20 + 10 * n} THEN 'x' ELSE i END AS c{n}" for n in range(20)
    )
    sql = (
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300) "
        f"SELECT {columns} FROM n"
    )
    begun = 0

    def consume(batches: Iterator[pa.RecordBatch]) -> int:
        nonlocal begun
        begun += 1
        return sum(batch.num_rows for batch in batches)

    with database.engine.statement(sql, timeout_seconds=60) as statement:
        assert statement.read(consume) == 300
    assert begun <= 4


def test_whole_and_broken_numbers_become_floats_only_without_loss() -> None:
    column = ValueColumn()
    column.widen([1, 2.5])
    assert column.type == pa.float64()
    column = ValueColumn()
    column.widen([2**53 + 1, 2.5])
    assert column.type == pa.string()
    assert column.fit([2**53 + 1, 2.5]) == pa.array(["9007199254740993", "2.5"])


def test_prices_are_floats_even_if_the_first_are_whole() -> None:
    column = ValueColumn("NUMERIC(10,2)")
    column.widen([1, 2])
    assert column.type == pa.float64()
    assert column.fit([3, 2.5]) == pa.array([3.0, 2.5])


def test_moments_with_and_without_a_zone_are_not_mixed_up() -> None:
    naive, zoned = datetime.fromisoformat("2020-01-01"), datetime(2020, 1, 1, tzinfo=UTC)
    for values, kind in (
        ([naive, None], pa.timestamp("us")),
        ([zoned], pa.timestamp("us", tz="UTC")),
        ([naive, zoned], pa.string()),
    ):
        column = ValueColumn()
        column.widen(values)
        assert column.type == kind
