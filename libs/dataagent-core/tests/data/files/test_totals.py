"""A row that sums up others is no data; a row that is only called so is."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path

import pytest

from dataagent_core.data.service import DataService, QueryContext
from dataagent_core.data.sources import EVERYONE, NewSource

from .books import Cell, xlsx
from .conftest import Loaded, quick

Rows = Sequence[Sequence[Cell]]
HEADER = ["地区", "产品", "数量", "金额"]
DATA: Rows = [["华东", "苹果", 1, 10.5], ["华东", "梨", 2, 20], ["华南", "苹果", 3, 5.25]]


def loaded(folder: Path, kind: str, rows: Rows) -> Loaded:
    if kind == "xlsx":
        return quick(folder, {"sales.xlsx": xlsx({"S": rows})})
    lines = [",".join("" if cell is None else str(cell) for cell in row) for row in rows]
    return quick(folder, {"sales.csv": "\n".join(lines) + "\n"})


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
@pytest.mark.parametrize(
    "total",
    [
        ["合计", None, 6, 35.75],
        [None, "总 计：", 6, 35.75],
        ["Grand Total", None, None, 35.75],
        ["TOTAL:", None, 6, 35.75],
        ["Summe", None, 6, None],
        ["合计", None, 7, 36],  # wrong, but no data either
        ["Total", None, None, 12],  # of another column, say
    ],
)
def test_a_total_at_the_end_is_left_out_and_named(
    tmp_path: Path, kind: str, total: list[Cell]
) -> None:
    found = loaded(tmp_path, kind, [HEADER, *DATA, total])
    assert [row[:3] for row in found.cells] == [list(row[:3]) for row in DATA]
    assert found.types["数量"] == "BIGINT"
    assert found.types["金额"] == "DECIMAL(18,2)"
    [sentence] = found.table.left_out
    assert sentence.startswith(f"'sales.{kind}', table sales: 1 row that sums up others, no data: ")
    assert str(next(cell for cell in total if cell)) in sentence


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
def test_subtotals_at_every_level_are_left_out(tmp_path: Path, kind: str) -> None:
    rows: Rows = [
        HEADER,
        ["华东", "苹果", 1, 10.5],
        ["华东", "梨", 2, 20],
        ["华东", "小计", 3, 30.5],
        ["华北", "梨", 5, 2],
        ["华北", "小计", 5, 2],
        ["华南", "苹果", 3, 5.25],
        ["华南", "梨", 4, 1],
        ["华南 汇总", None, 7, 6.25],
        ["总计", None, 15, 38.75],
    ]
    found = loaded(tmp_path, kind, rows)
    assert [row[2] for row in found.cells] == [1, 2, 5, 3, 4]
    [sentence] = found.table.left_out
    assert "4 rows that sum up others" in sentence


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
def test_a_label_does_not_turn_dates_and_numbers_into_text(tmp_path: Path, kind: str) -> None:
    day = dt.date(2026, 1, 5)
    rows: Rows = [["日期", "金额"], [day, 1.5], [day, 2.25], ["合计", 3.75]]
    found = loaded(tmp_path, kind, rows)
    assert found.types == {"日期": "DATE", "金额": "DECIMAL(18,2)"}
    assert found.cells == [[day, Decimal("1.50")], [day, Decimal("2.25")]]


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
@pytest.mark.parametrize(
    "rows",
    [
        [["brand", "country", "sales"], ["Shell", "UK", 7], ["Total", "FR", 5], ["BP", "UK", 3]],
        [["brand", "country", "sales"], ["Shell", "UK", 7], ["BP", "UK", 3], ["Total", "FR", 5]],
        [["brand", "sales"], ["Shell", 7], ["BP", 3], ["Total", 5]],
        [["id", "brand", "sales"], [1, "Shell", 7], [2, "BP", 3], [3, "Total", 5]],
        [["brand", "country", "sales"], ["Shell", "UK", 5], ["Total", "FR", 5], ["BP", "UK", 3]],
        [["task", "note"], ["a", "x"], ["write the total report", "y"], ["b", "z"]],
        [["word"], ["sum"], ["total"]],
    ],
)
def test_a_row_that_is_only_called_so_stays(tmp_path: Path, kind: str, rows: Rows) -> None:
    found = loaded(tmp_path, kind, rows)
    assert found.cells == [list(row) for row in rows[1:]]
    assert found.table.left_out == ()


def test_numbers_are_compared_as_they_are_written(tmp_path: Path) -> None:
    comma = "name;menge;preis\na;1;1.234,50\nb;2;0,25\nSumme;3;1.234,75\n"
    grouped = 'name\tprice\tshare\na\t"1,000"\t40%\nb\t"1,500"\t60%\ntotal\t"2,500"\t100%\n'
    found = quick(tmp_path, {"de.csv": comma, "en.tsv": grouped})
    assert [table.row_count for table in found.tables] == [2, 2]
    assert found.rows["en"][0] == ["a", 1000, Decimal("0.40")]


async def test_who_asks_for_the_sum_gets_it_once_and_the_catalogue_says_why(
    tmp_path: Path, service: DataService, asked: QueryContext
) -> None:
    folder = tmp_path / "drop"
    folder.mkdir()
    (folder / "sales.xlsx").write_bytes(xlsx({"S": [HEADER, *DATA, ["合计", None, 6, 35.75]]}))
    source = await service.register(NewSource("files", folder=str(folder), grants=(EVERYONE,)))
    answered = await service.query(source, 'SELECT SUM("金额") AS t FROM sales', asked)
    assert answered.result.preview_rows == (("35.75",),)
    state = await service.catalogue_state(source, asked.reader)
    assert state.left_out == (
        "'sales.xlsx', table sales: 1 row that sums up others, no data: “合计 · 6 · 35.75”.",
    )
