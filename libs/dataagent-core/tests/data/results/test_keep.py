# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportUnknownLambdaType=false

from __future__ import annotations

import stat
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataagent_core.data.results import (
    ColumnStatistics,
    StoredResult,
    load_stored_result,
    write_result,
)
from dataagent_core.data.types import QueryLimits
from dataagent_core.errors import QueryFailed, QueryTimedOut, QuotaExceeded

KeepTable = Callable[[pa.Table], tuple[Path, StoredResult]]
MEGABYTE = 1_000_000


def numbers(total: int, *, size: int = 100) -> Iterator[pa.RecordBatch]:
    for start in range(0, total, size):
        count = min(size, total - start)
        yield pa.record_batch({"n": pa.array(range(start, start + count), pa.int64())})


def million(taken: list[int]) -> Iterator[pa.RecordBatch]:
    """A million rows of six columns, and the memory in use after each batch."""
    process = psutil.Process()
    for start in range(0, 1_000_000, 10_000):
        ids = pa.array(range(start, start + 10_000), pa.int64())
        names = pa.array([f"customer {n * 7919 % 1_000_003}" for n in range(start, start + 10_000)])
        cities = pa.array(["Köln", "北京", "a, b", "=x", None] * 2_000)
        amounts = ids.cast(pa.decimal128(20, 0)).cast(pa.decimal128(22, 2))
        times = ids.cast(pa.timestamp("us", "UTC"))
        yield pa.record_batch(
            [ids, names, cities, amounts, ids.cast(pa.float64()), times],
            names=["id", "name", "city", "amount", "score", "at"],
        )
        taken.append(process.memory_info().rss)


@pytest.mark.slow
def test_a_million_rows_are_kept_exactly_in_bounded_memory(tmp_path: Path) -> None:
    path = tmp_path / "r.parquet"
    labels = ["id", "name", "city", "amount", "score", "at"]
    before = psutil.Process().memory_info().rss
    memory: list[int] = []
    result = write_result(million(memory), labels, path, limits=QueryLimits())
    assert max(memory) - before < 150 * MEGABYTE
    assert result.row_count == pq.read_metadata(path).num_rows == 1_000_000
    assert not result.is_truncated
    assert result.statistics[0].total == sum(range(1_000_000))
    assert result.statistics[3].total == Decimal(sum(range(1_000_000)))
    assert result.statistics[2] == ColumnStatistics(
        nulls=200_000, minimum="=x", maximum="北京", distinct=4
    )
    assert pq.read_metadata(path).num_row_groups > 5


def test_a_result_is_known_again_from_its_file_alone(kept: KeepTable) -> None:
    path, result = kept(
        pa.table(
            {
                "id": [1, 2**63 - 1, None],
                "price": pa.array([Decimal("1.10"), None, Decimal("-3.00")], pa.decimal128(9, 2)),
                "note": ["x" * 5_000, "", None],
            }
        )
    )
    assert load_stored_result(path) == result
    assert result.columns[1].type == "decimal128(9, 2)"
    assert result.statistics == (
        ColumnStatistics(1, 1, 2**63 - 1, 2, 2**63, Decimal(2**62)),
        ColumnStatistics(
            1, Decimal("-3.00"), Decimal("1.10"), 2, Decimal("-1.90"), Decimal("-0.95")
        ),
        ColumnStatistics(1, "", "x" * 100 + "…", 2),
    )


@pytest.mark.parametrize(
    ("total", "limit", "rows", "reason"),
    [(250, 250, 250, None), (251, 250, 250, "rows"), (250, 99, 99, "rows"), (5, 0, 0, "rows")],
)
def test_the_row_limit_keeps_exactly_so_many_and_tells_only_if_there_was_more(
    tmp_path: Path, total: int, limit: int, rows: int, reason: str | None
) -> None:
    path = tmp_path / "r.parquet"
    result = write_result(numbers(total), ["n"], path, limits=QueryLimits(max_rows=limit))
    assert (result.row_count, result.truncated_by) == (rows, reason)
    assert result.is_truncated == (reason is not None)
    assert pq.read_table(path).column("n").to_pylist() == list(range(rows))


def test_reading_stops_at_the_limit_instead_of_running_to_the_end(tmp_path: Path) -> None:
    handed_out: list[int] = []

    def endless() -> Iterator[pa.RecordBatch]:
        while True:
            handed_out.append(1)
            yield next(numbers(100))

    result = write_result(
        endless(), ["n"], tmp_path / "r.parquet", limits=QueryLimits(max_rows=1_050)
    )
    assert result.row_count == 1_050
    assert len(handed_out) == 11


def test_the_byte_limit_keeps_as_many_whole_rows_as_fit(tmp_path: Path) -> None:
    result = write_result(
        numbers(1_000), ["n"], tmp_path / "r.parquet", limits=QueryLimits(max_bytes=8 * 150 + 3)
    )
    assert (result.row_count, result.truncated_by) == (150, "bytes")


def test_the_time_limit_keeps_what_came_in_time(tmp_path: Path) -> None:
    now = [0.0]

    def slow() -> Iterator[pa.RecordBatch]:
        for batch in numbers(1_000):
            now[0] += 1.0
            yield batch

    result = write_result(
        slow(),
        ["n"],
        tmp_path / "r.parquet",
        limits=QueryLimits(timeout_seconds=3.5),
        clock=lambda: now[0],
    )
    assert (result.row_count, result.truncated_by) == (300, "time")


def test_a_first_batch_that_comes_late_is_kept(tmp_path: Path) -> None:
    times = iter([0.0, 100.0, 101.0])
    result = write_result(
        numbers(100), ["n"], tmp_path / "r.parquet", limits=QueryLimits(), clock=lambda: next(times)
    )
    assert (result.row_count, result.truncated_by) == (100, None)


def test_an_engine_that_gives_up_leaves_the_rows_so_far_and_says_so(tmp_path: Path) -> None:
    def timing_out(rows: int) -> Iterator[pa.RecordBatch]:
        yield from numbers(rows)
        raise QueryTimedOut("Too long.")

    result = write_result(timing_out(200), ["n"], tmp_path / "r.parquet", limits=QueryLimits())
    assert (result.row_count, result.truncated_by) == (200, "time")
    with pytest.raises(QueryTimedOut):
        write_result(timing_out(0), ["n"], tmp_path / "none.parquet", limits=QueryLimits())
    assert [one.name for one in tmp_path.iterdir()] == ["r.parquet"]


@pytest.mark.parametrize("problem", [QueryFailed("gone"), KeyboardInterrupt(), MemoryError()])
@pytest.mark.parametrize("rows", [0, 50, 200_000])
def test_an_interrupted_read_leaves_nothing_behind(
    tmp_path: Path, problem: BaseException, rows: int
) -> None:
    def failing() -> Iterator[pa.RecordBatch]:
        yield from numbers(rows, size=10_000)
        raise problem

    with pytest.raises(type(problem)):
        write_result(failing(), ["n"], tmp_path / "r.parquet", limits=QueryLimits())
    assert list(tmp_path.iterdir()) == []


def test_a_refused_size_leaves_nothing_behind(tmp_path: Path) -> None:
    told: list[int] = []

    def refuse(size: int) -> None:
        told.append(size)
        if len(told) == 2:
            raise QuotaExceeded("Full.")

    with pytest.raises(QuotaExceeded):
        write_result(
            numbers(400_000, size=10_000),
            ["n"],
            tmp_path / "r.parquet",
            limits=QueryLimits(),
            on_bytes=refuse,
        )
    assert told == sorted(told)
    assert list(tmp_path.iterdir()) == []


def test_the_last_size_told_is_the_file_s_size_and_the_file_is_its_owner_s_alone(
    tmp_path: Path,
) -> None:
    told: list[int] = []
    path = tmp_path / "r.parquet"
    result = write_result(numbers(10), ["n"], path, limits=QueryLimits(), on_bytes=told.append)
    assert told[-1] == result.byte_size == path.stat().st_size
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_no_rows_and_no_batches_are_results_too(tmp_path: Path) -> None:
    empty = pa.RecordBatch.from_pylist([], pa.schema([("n", pa.int64())]))
    first = write_result(iter([empty]), ["n"], tmp_path / "a.parquet", limits=QueryLimits())
    second = write_result(iter([]), ["n"], tmp_path / "b.parquet", limits=QueryLimits())
    assert (first.row_count, first.columns[0].type, first.preview_rows) == (0, "int64", ())
    assert (second.row_count, second.columns[0].type) == (0, "null")
    assert first.statistics == (ColumnStatistics(0, distinct=0),)


def test_a_statement_without_columns_is_refused(tmp_path: Path) -> None:
    with pytest.raises(QueryFailed, match="no columns"):
        write_result(iter([]), [], tmp_path / "r.parquet", limits=QueryLimits())


def test_early_batches_of_nulls_take_the_type_that_comes_later(tmp_path: Path) -> None:
    batches = [pa.record_batch({"n": pa.nulls(2)}), pa.record_batch({"n": ["text"]})]
    write_result(iter(batches), ["n"], tmp_path / "r.parquet", limits=QueryLimits())
    assert pq.read_table(tmp_path / "r.parquet").column("n").to_pylist() == [None, None, "text"]


def test_a_column_that_mixes_types_is_an_error_that_names_it(tmp_path: Path) -> None:
    batches = [pa.record_batch({"n": [[1]]}), pa.record_batch({"n": ["text"]})]
    with pytest.raises(QueryFailed, match="'n' mixes types"):
        write_result(iter(batches), ["n"], tmp_path / "r.parquet", limits=QueryLimits())
    assert list(tmp_path.iterdir()) == []


def test_types_that_parquet_lacks_become_text_or_their_nearest_type(kept: KeepTable) -> None:
    interval = pa.array([pa.MonthDayNano([1, 2, 3_500_000_000]), pa.MonthDayNano([0, 0, -1])])
    union = pa.UnionArray.from_sparse(
        pa.array([0, 1], pa.int8()), [pa.array([1, 2]), pa.array(["a", "b"])]
    )
    _path, result = kept(
        pa.table(
            {
                "enum": pa.array(["x", "y"]).dictionary_encode(),
                "interval": interval,
                "union": union,
                "uuid": pa.array([b"0" * 16, None], pa.uuid()),
                "half": pa.array([1.5, None], pa.float16()),
                "view": pa.array(["a", None], pa.string_view()),
                "nothing": pa.array([{}, None], pa.struct([])),
            }
        )
    )
    assert [column.type for column in result.columns] == [
        "string", "string", "string", "string", "float", "string", "string",
    ]  # fmt: skip
    assert result.preview_rows == (
        ("x", "P1M2DT3.5S", "1", "30303030-3030-3030-3030-303030303030", 1.5, "a", "{}"),
        ("y", "PT-0.000000001S", '"b"', None, None, None, None),
    )


def test_times_beyond_python_s_calendar_are_kept_and_shown(kept: KeepTable) -> None:
    _path, result = kept(
        pa.table(
            {
                "day": pa.array([-719_529, 2_932_897], pa.date32()),
                "at": pa.array([-62_167_219_201, 253_402_300_800], pa.timestamp("s", "UTC")),
                "fine": pa.array([1, 10**18 + 1], pa.timestamp("ns")),
            }
        )
    )
    assert result.preview_rows == (
        ("-0001-12-31", "-0001-12-31T23:59:59Z", "1970-01-01T00:00:00.000000001"),
        ("10000-01-01", "10000-01-01T00:00:00Z", "2001-09-09T01:46:40.000000001"),
    )
    assert result.statistics[0].minimum == "-0001-12-31"


INTEGERS = st.integers(-(2**63), 2**63 - 1)
DECIMALS = st.decimals(
    min_value=-(10**33), max_value=10**33, places=4, allow_nan=False, allow_infinity=False
)


@given(
    st.lists(st.lists(st.one_of(st.none(), INTEGERS), max_size=8), max_size=6),
    st.lists(st.one_of(st.none(), DECIMALS), max_size=20),
)
def test_statistics_equal_what_python_computes(
    pieces: list[list[int | None]], decimals: list[Decimal | None]
) -> None:
    from dataagent_core.data.results.stored_result import ColumnMeter

    meter = ColumnMeter(pa.int64())
    for piece in pieces:
        meter.add(pa.array(piece, pa.int64()))
    _compare(meter.result(), [value for piece in pieces for value in piece])
    kind = pa.decimal128(38, 4)
    meter = ColumnMeter(kind)
    meter.add(pa.array(decimals, kind))
    _compare(meter.result(), decimals)


def _compare(found: ColumnStatistics, values: list[Any]) -> None:
    present = [value for value in values if value is not None]
    assert found.nulls == len(values) - len(present)
    assert found.distinct == len(set(present))
    assert found.minimum == min(present, default=None)
    assert found.maximum == max(present, default=None)
    total = sum((Fraction(value) for value in present), Fraction())
    assert found.total == total if present else found.total is None
    if present:
        assert found.mean is not None
        error = abs(Fraction(found.mean) - total / len(present))
        assert error <= abs(total) / 10**27


@pytest.mark.parametrize(("count", "distinct"), [(1_000, 1_000), (1_001, "many")])
def test_distinct_values_are_counted_up_to_a_thousand(
    tmp_path: Path, count: int, distinct: int | str
) -> None:
    cells = [f"{'long ' * 20}{n % count}" for n in range(3 * count)]
    batches = (pa.record_batch({"x": cells[n : n + 77]}) for n in range(0, len(cells), 77))
    result = write_result(batches, ["x"], tmp_path / "r.parquet", limits=QueryLimits())
    assert result.statistics[0].distinct == distinct
