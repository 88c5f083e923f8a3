# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportUnknownLambdaType=false

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import orjson
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dataagent_core.data.results import StoredResult, load_stored_result, preview, preview_text

KeepTable = Callable[[pa.Table], tuple[Path, StoredResult]]


SMALL = {
    "row_count": 2,
    "truncated": None,
    "columns": [
        {
            "name": "id", "type": "int64", "nulls": 0, "min": 1, "max": 2**60,
            "distinct": 2, "sum": 2**60 + 1, "mean": "576460752303423488.5",
        },
        {
            "name": "price", "type": "decimal128(9, 2)", "nulls": 1, "min": "10.50",
            "max": "10.50", "distinct": 1, "sum": "10.50", "mean": "10.50",
        },
        {
            "name": "城市", "type": "string", "nulls": 0, "min": "", "max": "北京",
            "distinct": 2,
        },
        {
            "name": "at", "type": "timestamp[us, tz=Asia/Shanghai]", "nulls": 1,
            "min": "1970-01-01T08:00:00+08:00", "max": "1970-01-01T08:00:00+08:00",
            "distinct": 1,
        },
        {
            "name": "raw", "type": "binary", "nulls": 1, "min": "0x00ff", "max": "0x00ff",
            "distinct": 1,
        },
        {
            "name": "ratio", "type": "double", "nulls": 0, "min": "-Infinity",
            "max": "-Infinity", "distinct": 2, "sum": "NaN", "mean": "NaN",
        },
    ],
    "rows": [
        [1, "10.50", "北京", "1970-01-01T08:00:00+08:00", "0x00ff", "NaN"],
        [2**60, None, "", None, None, "-Infinity"],
    ],
}  # fmt: skip


def test_a_small_result_is_shown_whole_with_its_statistics(kept: KeepTable) -> None:
    path, result = kept(
        pa.table(
            {
                "id": pa.array([1, 2**60], pa.int64()),
                "price": pa.array([Decimal("10.50"), None], pa.decimal128(9, 2)),
                "城市": ["北京", ""],
                "at": pa.array([0, None], pa.timestamp("us", "Asia/Shanghai")),
                "raw": [b"\x00\xff", None],
                "ratio": [float("nan"), float("-inf")],
            }
        )
    )
    shown = preview(result)
    assert shown == SMALL
    assert preview(load_stored_result(path)) == shown


@pytest.mark.parametrize("sign", [1, -1])
def test_a_sum_longer_than_64_bits_is_text_with_all_its_digits(kept: KeepTable, sign: int) -> None:
    ids = [sign * (2**63 - 1)] * 5
    _path, result = kept(pa.table({"id": pa.array(ids, pa.int64())}))

    shown = preview(result)

    assert shown["columns"][0]["sum"] == str(sum(ids))
    assert shown["columns"][0]["max"] == ids[0]
    assert orjson.loads(orjson.dumps(shown)) == shown  # as the model and the ledger get it


@pytest.mark.parametrize("reason", ["rows", "bytes", "time"])
def test_a_read_that_was_cut_short_says_why(kept: KeepTable, reason: str) -> None:
    _path, result = kept(pa.table({"n": [1, 2, 3]}))
    cut = replace(result, is_truncated=True, truncated_by=reason)
    words = {"rows": "row limit", "bytes": "size limit", "time": "time limit"}
    assert words[reason] in preview(cut)["truncated"]
    assert "more rows than these 3" in preview(cut)["truncated"]


def test_long_cells_are_cut_and_say_how_much_is_missing(kept: KeepTable) -> None:
    _path, result = kept(pa.table({"text": ["x" * 1_000_000] * 20}))
    shown = preview(result)
    assert len(shown["rows"]) == 20
    cell = shown["rows"][0][0]
    start, _mark, missing = cell.partition("…[+")
    assert len(start) + int(missing.rstrip("]")) == 1_000_000
    assert len(start) >= 40


def test_numbers_and_times_are_never_cut(kept: KeepTable) -> None:
    digits = Decimal("1234567890123456789012345678.0123456789")
    _path, result = kept(
        pa.table(
            {
                "amount": pa.array([digits] * 20, pa.decimal128(38, 10)),
                "at": pa.array([1] * 20, pa.timestamp("ns", "America/New_York")),
                "text": ["y" * 500] * 20,
            }
        )
    )
    shown = preview(result)
    assert len(shown["rows"]) >= 10
    for amount, at, _text in shown["rows"]:
        assert amount == str(digits)
        assert at == "1969-12-31T19:00:00.000000001-05:00"


def test_columns_beyond_the_room_are_counted_and_named(kept: KeepTable) -> None:
    _path, result = kept(pa.table({f"column_{n}": [n, n] for n in range(2_000)}))
    shown = preview(result)
    others = shown["other_columns"]
    assert others["count"] + len(shown["columns"]) == 2_000
    assert others["first_names"][0] == f"column_{len(shown['columns'])}"
    assert len(shown["columns"]) > 20
    assert all(len(row) == len(shown["columns"]) for row in shown["rows"])
    assert len(shown["rows"]) == 2
    assert len(preview_text(shown).encode()) < 4_000


NAMES = st.text(st.characters(codec="utf-8"), max_size=200)
CELLS = st.one_of(
    st.none(),
    st.text(st.characters(codec="utf-8"), max_size=50),
    st.sampled_from(["北京" * 300, '"' * 300, "\x01\n\\" * 200, "😀" * 500, "=1+1"]),
)
COLUMNS = st.one_of(
    st.lists(CELLS, min_size=25, max_size=25).map(lambda cells: pa.array(cells, pa.string())),
    st.lists(st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1)), min_size=25, max_size=25).map(
        lambda cells: pa.array(cells, pa.int64())
    ),
    st.sampled_from(
        [
            pa.array([Decimal("9" * 76)] * 25, pa.decimal256(76, 0)),
            pa.array(["北京" * 200_000, *["x"] * 24]),
            pa.array([b"\x00" * 10_000] * 25),
            pa.array([["深" * 100] * 50] * 25),
            pa.array([{"很长的名字" * 30: 1}] * 25),
            pa.array([-1e-300] * 25),
        ]
    ),
)


@given(
    columns=st.lists(st.tuples(NAMES, COLUMNS), min_size=1, max_size=4),
    copies=st.sampled_from([1, 1, 1, 40]),
    max_bytes=st.sampled_from([1_000, 4_000, 4_000]),
)
@settings(
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
def test_a_preview_stays_within_its_bytes_whatever_the_table(
    kept: KeepTable, columns: list[tuple[str, pa.Array]], copies: int, max_bytes: int
) -> None:
    if copies > 1:
        columns = [(name, column.slice(0, 2)) for name, column in columns]
    table = pa.Table.from_arrays(
        [column for _name, column in columns] * copies,
        names=[name for name, _column in columns] * copies,
    )
    path, result = kept(table)
    path.unlink()
    shown = preview(result, max_bytes=max_bytes)
    text = preview_text(shown)
    assert len(text.encode()) < max_bytes
    assert json.loads(text) == shown
    assert shown["row_count"] == table.num_rows
    hidden = shown.get("other_columns", {"count": 0})["count"]
    assert hidden + len(shown["columns"]) == table.num_columns
    assert len(shown["columns"]) >= 1
