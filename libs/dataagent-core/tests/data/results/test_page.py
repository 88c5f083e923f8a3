# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataagent_core.data.results import StoredResult, page, write_result
from dataagent_core.data.results.query import BOUNDS
from dataagent_core.data.types import QueryLimits
from dataagent_core.errors import BadInput, QueryFailed

KeepTable = Callable[[pa.Table], tuple[Path, StoredResult]]


def test_a_page_has_its_rows_the_total_and_where_to_go_on(kept: KeepTable) -> None:
    path, _result = kept(pa.table({"n": list(range(10))}))
    middle = page(path, limit=3, offset=4)
    assert (middle.rows, middle.total, middle.next_offset) == ([[4], [5], [6]], 10, 7)
    last = page(path, limit=3, offset=7)
    assert (last.rows, last.next_offset) == ([[7], [8], [9]], None)
    assert page(path, offset=99).rows == []


def test_pages_cross_row_groups_in_the_file_s_order(tmp_path: Path) -> None:
    path = tmp_path / "r.parquet"
    batches = (pa.record_batch({"n": range(s, s + 50_000)}) for s in range(0, 200_000, 50_000))
    write_result(batches, ["n"], path, limits=QueryLimits())
    assert page(path, limit=1_000, offset=99_500).rows == [[n] for n in range(99_500, 100_500)]
    assert page(path, limit=3, offset=100_000, sort=["-n"]).rows == [[99_999], [99_998], [99_997]]


def test_sorting_has_a_bounded_memory_and_says_when_it_is_too_little(
    kept: KeepTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bound is set lower: what needs a gigabyte takes long to make."""
    path, _result = kept(pa.table({"t": [f"{n % 9_973:040}" for n in range(300_000)]}))
    assert len(page(path, offset=299_990, sort=["t"]).rows) == 10
    monkeypatch.setitem(BOUNDS, "memory_limit", "16MB")
    with pytest.raises(QueryFailed, match="more memory than it may have"):
        page(path, offset=299_990, sort=["t"])


def test_sorting_puts_nulls_last_and_compares_decimals_as_numbers(kept: KeepTable) -> None:
    prices = [Decimal("9.00"), None, Decimal("10.00"), Decimal("-1.50")]
    path, _result = kept(
        pa.table({"id": [1, 2, 3, 4], "price": pa.array(prices, pa.decimal128(30, 2))})
    )
    ascending = page(path, sort=["price"]).rows
    assert ascending == [[4, "-1.50"], [1, "9.00"], [3, "10.00"], [2, None]]
    descending = page(path, sort=["-price"]).rows
    assert descending == [[3, "10.00"], [1, "9.00"], [4, "-1.50"], [2, None]]


def test_integers_that_a_browser_would_change_are_text(kept: KeepTable) -> None:
    values = [2**53 - 1, 2**53, -(2**63), None]
    path, _result = kept(pa.table({"n": values, "l": [[2**60], [1], [], None]}))
    assert page(path).rows == [
        [2**53 - 1, [str(2**60)]],
        [str(2**53), [1]],
        [str(-(2**63)), []],
        [None, None],
    ]


ROWS = st.lists(
    st.tuples(st.one_of(st.none(), st.integers(0, 3)), st.sampled_from(["a", "b", "", None])),
    max_size=30,
)


@given(
    rows=ROWS,
    sort=st.lists(
        st.sampled_from(["number", "-number", 'te"xt', '-te"xt']), max_size=2, unique=True
    ),
    limit=st.integers(1, 10),
    offset=st.integers(0, 30),
)
def test_a_sorted_page_equals_python_s_stable_sort(
    kept: KeepTable, rows: list[tuple[Any, Any]], sort: list[str], limit: int, offset: int
) -> None:
    table = pa.table(
        {
            "number": pa.array([n for n, _t in rows], pa.int64()),
            'te"xt': pa.array([t for _n, t in rows], pa.string()),
        }
    )
    path, _result = kept(table)
    found = page(path, limit=limit, offset=offset, sort=sort)
    path.unlink()
    expected = [list(row) for row in rows]
    for term in reversed(sort):
        position = ["number", 'te"xt'].index(term.removeprefix("-"))
        present = [row for row in expected if row[position] is not None]
        absent = [row for row in expected if row[position] is None]
        present.sort(key=lambda row, p=position: row[p], reverse=term.startswith("-"))
        expected = present + absent
    assert found.rows == expected[offset : offset + limit]
    assert found.total == len(rows)


def test_an_unknown_column_is_refused_with_the_nearest_names(kept: KeepTable) -> None:
    path, _result = kept(pa.table({"customer_id": [1], "Country": ["x"]}))
    with pytest.raises(BadInput, match="Nearest: customer_id") as caught:
        page(path, sort=["-custmer_id"])
    assert caught.value.details == {"nearest": ["customer_id"]}
    with pytest.raises(BadInput, match="Nearest: Country"):
        page(path, sort=["country"])
    with pytest.raises(BadInput, match="no column"):
        page(path, sort=['n" DESC; DROP TABLE x; --'])


@pytest.mark.parametrize(("limit", "offset"), [(0, 0), (1_001, 0), (1, -1)])
def test_bounds_outside_their_range_are_refused(kept: KeepTable, limit: int, offset: int) -> None:
    path, _result = kept(pa.table({"n": [1]}))
    with pytest.raises(BadInput, match="must"):
        page(path, limit=limit, offset=offset)


def test_a_page_of_very_long_texts_ends_early_and_goes_on_where_it_ended(
    kept: KeepTable,
) -> None:
    cells = [str(n) * 4_000_000 for n in range(10)]
    path, _result = kept(pa.table({"text": cells}))
    seen: list[str] = []
    offset: int | None = 0
    pages = 0
    while offset is not None:
        found = page(path, limit=10, offset=offset)
        seen += [row[0] for row in found.rows]
        offset, pages = found.next_offset, pages + 1
    assert seen == cells
    assert pages > 1
