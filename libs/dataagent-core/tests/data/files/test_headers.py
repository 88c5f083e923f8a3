from __future__ import annotations

from pathlib import Path

import pytest

from dataagent_core.data.files.columns import column_names, table_name
from dataagent_core.data.files.headers import find_header

from .conftest import quick


def names(tmp_path: Path, text: str) -> tuple[list[str], int]:
    table = quick(tmp_path, {"data.csv": text}).table
    return [column.name for column in table.columns], table.row_count


@pytest.mark.parametrize(
    ("text", "columns", "rows"),
    [
        ("name,age\nAnn,30\nBob,25\n", ["name", "age"], 2),
        ("Ann,30\nBob,25\n", ["column_1", "column_2"], 2),
        ("name,city\nAnn,Paris\nBob,Rome\n", ["name", "city"], 2),
        ("1,2\n3,4\n", ["column_1", "column_2"], 2),
        ("country,2023,2024\nFR,10,20\nDE,30,40\n", ["country", "2023", "2024"], 2),
        ("FR,2023\nDE,2024\n", ["column_1", "column_2"], 2),
        ("Report of 2026,,\n,,\nid,name,total\n1,a,5\n2,b,6\n", ["id", "name", "total"], 2),
        ("\n\n\nid,name\n1,a\n\n2,b\n\n", ["id", "name"], 2),
        ("id,name\n", ["id", "name"], 0),
        ("id,name,\n1,a,\n2,b,\n", ["id", "name"], 2),
        ("id,,total\n1,a,5\n2,b,6\n", ["id", "column_2", "total"], 2),
        ("a,a,A,a_2\n1,2,3,4\n", ["a", "a_3", "A_4", "a_2"], 1),
        ("客户,国家,金额\n李,中国,5\n", ["客户", "国家", "金额"], 1),
        ("a,b\n1,2\n3\n4,5,6\n", ["a", "b", "column_3"], 3),
        ('"a\nb",c\n1,2\n', ["a b", "c"], 1),
        ("a,b\r1,2\r3,4\r", ["a", "b"], 2),
        ("a,b\r\n1,2\n3,4\r5,6\n", ["a", "b"], 3),
        ('a, b\n1, "x, y"\n2, "z"\n', ["a", "b"], 2),
        ("a\n1\n2\n", ["a"], 2),
    ],
)  # fmt: skip
def test_the_header_is_found_and_every_row_kept(
    tmp_path: Path, text: str, columns: list[str], rows: int
) -> None:
    assert names(tmp_path, text) == (columns, rows)


def test_titles_above_the_header_are_said(tmp_path: Path) -> None:
    text = "Sales of the north,,\nas of,2026-01-05,\n\nid,name,total\n1,a,5\n2,b,6\n"
    notes = quick(tmp_path, {"data.csv": text}).table.notes
    assert notes == (
        "Rows above the header were skipped: “Sales of the north”; “as of 2026-01-05”.",
    )


def test_a_file_without_header_says_so(tmp_path: Path) -> None:
    assert quick(tmp_path, {"data.csv": "1,2\n3,4\n"}).table.notes == (
        "There is no header row; the columns are column_1, column_2, …",
    )


def test_rows_of_different_length_are_said_and_quotes_inside_cells_survive(tmp_path: Path) -> None:
    loaded = quick(tmp_path, {"data.csv": 'a,b\n1,say "hi"\n2\n3,x,y\n'})
    assert loaded.cells == [[1, 'say "hi"', None], [2, None, None], [3, "x", "y"]]
    assert loaded.table.notes == ("Rows differ in length (1 to 3 cells); missing cells are empty.",)


def test_backslashes_before_quotes_are_understood(tmp_path: Path) -> None:
    loaded = quick(tmp_path, {"data.csv": 'a,b\n1,"say \\"hi\\", twice"\n2,"x"\n'})
    assert loaded.cells == [[1, 'say "hi", twice'], [2, "x"]]


def test_over_long_names_are_cut_and_said() -> None:
    names, notes = column_names(["x" * 500, "x" * 500, "y"])
    assert [len(name) for name in names] == [128, 130, 1]
    assert len(set(names)) == 3
    assert len(notes) == 1


def test_a_name_that_stands_again_is_numbered_past_those_the_file_writes() -> None:
    names, notes = column_names(["a", "A", " a\n", "a_2", None, "column_5", ""])
    assert names == ("a", "A_3", "a_4", "a_2", "column_5", "column_5_2", "column_7")
    assert notes == ["Columns were renamed: A → A_3, a → a_4, column_5 → column_5_2."]


def test_an_empty_table_has_no_header() -> None:
    assert find_header([["", ""], []]).names is None


@pytest.mark.parametrize(
    ("file", "sheet", "name"),
    [
        ("sales.csv", None, "sales"),
        ("2025/销售 数据.xlsx", "一月", "销售_数据_一月"),
        ("2025 sales.csv", None, "t_2025_sales"),
        ("order.csv", None, "order_table"),
        ("Sales.json", None, "Sales"),
        ("--.csv", None, "table_table"),
        ('a"; DROP TABLE x.csv', None, "a_DROP_TABLE_x"),
        (".csv", None, "csv"),
    ],
)
def test_tables_are_named_after_files_and_sheets(file: str, sheet: str | None, name: str) -> None:
    assert table_name(file, sheet, [], {"order"}) == name


def test_no_two_tables_share_a_name() -> None:
    assert table_name("b/Sales.csv", None, ["sales", "SALES_2"], set()) == "Sales_3"
