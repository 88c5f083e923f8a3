# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
from __future__ import annotations

import datetime as dt
import io
import json
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from .books import ods, xlsx
from .conftest import quick

at = dt.datetime.fromisoformat
CHINESE_CSV = "客户,国家,金额\n李雷,中国,12.50\n韩梅梅,德国,3.00\n"


@pytest.mark.parametrize(
    ("encoding", "notes"),
    [
        ("utf-8", ()),
        ("utf-8-sig", ()),
        ("utf-16", ("Read as UTF-16 by its mark.",)),
        ("utf-16-be", ("Read as UTF-16.",)),
        ("gbk", ("Read as GB18030 (GBK).",)),
        ("gb18030", ("Read as GB18030 (GBK).",)),
    ],
)
def test_each_encoding_gives_the_same_table(
    tmp_path: Path, encoding: str, notes: tuple[str, ...]
) -> None:
    text = CHINESE_CSV if encoding != "utf-16-be" else CHINESE_CSV + "Anna,Deutschland,1.00\n" * 5
    loaded = quick(tmp_path, {"数据.csv": text.encode(encoding)})
    assert loaded.table.name == "数据"
    assert loaded.types == {"客户": "VARCHAR", "国家": "VARCHAR", "金额": "DECIMAL(18,2)"}
    assert loaded.cells[:2] == [
        ["李雷", "中国", Decimal("12.50")],
        ["韩梅梅", "德国", Decimal("3.00")],
    ]
    assert loaded.table.notes == notes


def test_a_western_file_is_not_taken_for_chinese(tmp_path: Path) -> None:
    text = "Name;Straße\n" + "Müller;Größe älter\nJosé;Äpfel für Übung\n" * 3
    loaded = quick(tmp_path, {"de.csv": text.encode("cp1252")})
    assert loaded.cells[0] == ["Müller", "Größe älter"]
    assert loaded.table.notes[0].startswith("The encoding is a guess: ")


def test_each_sheet_of_a_workbook_is_a_table_with_true_types(tmp_path: Path) -> None:
    day, moment = dt.date(2026, 1, 5), at("2026-01-05T10:30:15")
    book = xlsx(
        {
            "销售": [
                ["编号", "金额", "日期", "时间", "付款", "邮编", "混合"],
                [1, 12.5, day, moment, True, "01234", "x"],
                [2, 3, day, moment, False, "99999", 7],
                [None, None, None, None, None, None, None],
                [3, None, None, at("2026-01-06"), True, None, day],
            ],
            "Empty": [],
            "Other": [["a"], [1]],
        }
    )
    loaded = quick(tmp_path, {"book.xlsx": book})
    assert [(table.name, table.sheet) for table in loaded.tables] == [
        ("book_销售", "销售"),
        ("book_Other", "Other"),
    ]
    types = [column.type for column in loaded.tables[0].columns]
    assert types == [
        "BIGINT",
        "DECIMAL(18,1)",
        "DATE",
        "TIMESTAMP",
        "BOOLEAN",
        "VARCHAR",
        "VARCHAR",
    ]
    assert loaded.rows["book_销售"] == [
        [1, 12.5, day, moment, True, "01234", "x"],
        [2, 3.0, day, moment, False, "99999", "7"],
        [3, None, None, at("2026-01-06"), True, None, "2026-01-05"],
    ]


def test_errors_formulas_titles_and_merged_headers_of_a_workbook(tmp_path: Path) -> None:
    book = xlsx(
        {"S": [["Sales report"], [], ["id"], ["", "sales", "cost"], [1, None, 2.5], [2, 5, 2.5]]},
        merged=[(2, 1, 2, 2, "2025")],
        errors=[(4, 1)],
        formulas={(5, 2): ("=B6/2", 2.5)},
    )
    loaded = quick(tmp_path, {"report.xlsx": book})
    assert [column.name for column in loaded.table.columns] == ["id", "2025 sales", "2025 cost"]
    assert loaded.cells == [[1, None, 2.5], [2, 5, 2.5]]
    assert loaded.table.notes == (
        "Rows above the header were skipped: “Sales report”.",
        "1 cells of the workbook hold an error (#N/A, …): no value.",
    )


def test_an_open_document_sheet_is_a_table(tmp_path: Path) -> None:
    book = ods(
        [
            [("string", "name"), ("string", "total"), ("string", "day")],
            [("string", "李"), ("float", "1.5"), ("date", "2026-01-05")],
        ]
    )
    loaded = quick(tmp_path, {"sheet.ods": book})
    assert loaded.cells == [["李", 1.5, dt.date(2026, 1, 5)]]


CELLS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**50), 2**50),
    st.floats(allow_nan=False, allow_infinity=False, min_value=-1e15, max_value=1e15),
    st.text(st.sampled_from("abc李雷 .,0"), min_size=1, max_size=6),
    st.dates(dt.date(1950, 1, 1), dt.date(2100, 1, 1)),
)


@pytest.mark.slow
@settings(
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(
    rows=st.lists(st.lists(CELLS, min_size=3, max_size=3), max_size=15),
)
def test_every_cell_of_a_workbook_survives(rows: list[list[object]], tmp_path: Path) -> None:
    filled = [row for row in rows if any(cell is not None for cell in row)]
    # cells as drawn
    book = xlsx({"S": [["name one", "name two", "name three"], *rows]})  # type: ignore[arg-type]
    loaded = quick(tmp_path, {"book.xlsx": book})
    assert loaded.table.row_count == len(filled)
    for row, values in zip(filled, loaded.cells, strict=True):
        for cell, value in zip(row, values, strict=True):
            assert is_same_cell(cell, value), (cell, value)


def is_same_cell(cell: object, value: object) -> bool:
    if not isinstance(value, str) or cell is None:
        if isinstance(cell, str):
            return value == Decimal(cell.strip().replace(",", ""))
        if isinstance(cell, float) and isinstance(value, float | Decimal | int):
            return float(value) == float(f"{cell:.16G}")
        return cell == value
    match cell:
        case bool():
            return value == str(cell).lower()
        case float():
            return float(value) == float(f"{cell:.16G}")
        case _:
            return value == str(cell)


def test_parquet_keeps_its_types_and_every_value(tmp_path: Path) -> None:
    table = pa.table(
        {
            "id": pa.array([1, 2**63 - 1, None], pa.int64()),
            "amount": pa.array([Decimal("1.10"), Decimal("-2.25"), None], pa.decimal128(12, 2)),
            "at": pa.array([dt.datetime(2026, 1, 5, tzinfo=dt.UTC)] * 3, pa.timestamp("us", "UTC")),
            "text": pa.array(["NULL", "007", ""], pa.string()),
            "列表": pa.array([[1, 2], [], None], pa.list_(pa.int32())),
        }
    )
    out = io.BytesIO()
    pq.write_table(table, out)
    loaded = quick(tmp_path, {"facts.parquet": out.getvalue()})
    assert loaded.types == {
        "id": "BIGINT",
        "amount": "DECIMAL(12,2)",
        "at": "TIMESTAMP WITH TIME ZONE",
        "text": "VARCHAR",
        "列表": "INTEGER[]",
    }
    assert [row[:2] + row[3:] for row in loaded.cells] == [
        [1, Decimal("1.10"), "NULL", [1, 2]],
        [2**63 - 1, Decimal("-2.25"), "007", []],
        [None, None, "", None],
    ]


def test_a_file_may_have_the_name_of_what_is_read_on_the_way(tmp_path: Path) -> None:
    uneven, even = "x,y\n1,2\n3,4,5\n", "p,q\n1,hello\n2,you\n3,all\n"
    loaded = quick(tmp_path, {"a.csv": uneven, "raw.csv": even, "_raw.csv": even})
    [_, *others] = loaded.tables
    for table in others:
        assert [column.name for column in table.columns] == ["p", "q"]
        assert (table.row_count, len(loaded.rows[table.name])) == (3, 3)


def test_json_arrays_lines_and_wrapped_lists_give_the_same_table(tmp_path: Path) -> None:
    rows = [
        {"id": 1, "name": "李", "when": "2026-01-05", "code": "007", "address": {"city": "上海"}},
        {"id": 2, "name": None, "when": "2026-01-06", "tags": ["a", {"b": 1}], "extra": True},
    ]
    files = {
        "a.json": json.dumps(rows, indent=1),
        "b.jsonl": "\n".join(json.dumps(row, ensure_ascii=False) for row in rows),
        "c.json": "\ufeff" + json.dumps({"data": rows}, ensure_ascii=False),
    }
    loaded = quick(tmp_path, files)
    for table in loaded.tables:
        assert {column.name: column.type for column in table.columns} == {
            "id": "BIGINT",
            "name": "VARCHAR",
            "when": "DATE",
            "code": "VARCHAR",
            "address_city": "VARCHAR",
            "tags": "VARCHAR",
            "extra": "BOOLEAN",
        }
        assert loaded.rows[table.name] == [
            [1, "李", dt.date(2026, 1, 5), "007", "上海", None, None],
            [2, None, dt.date(2026, 1, 6), None, None, '["a",{"b":1}]', True],
        ]
        assert table.notes == ("Kept as JSON text: 'tags'.",)


def test_json_of_other_shapes(tmp_path: Path) -> None:
    loaded = quick(
        tmp_path,
        {
            "rows.json": "[[1, 2.5], [3, null, 4]]",
            "values.json": '["a", "NULL", ""]',
            "one.json": '{"a": 1, "b": {"c": [1]}}',
            "two.json": '{"left": [{"x": 1}], "right": [{"y": 2}], "n": 3}',
            "big.json": '[{"n": 123456789012345678901234567890, "f": 0.1}]',
        },
    )
    assert loaded.rows == {
        "rows": [[1, Decimal("2.5"), None], [3, None, 4]],
        "values": [["a"], ["NULL"], [""]],
        "one": [[1, "[1]"]],
        "two_left": [[1]],
        "two_right": [[2]],
        "big": [["123456789012345678901234567890", Decimal("0.1")]],
    }


def test_numbers_of_json_that_a_double_would_change_are_text_with_all_their_digits(
    tmp_path: Path,
) -> None:
    loaded = quick(
        tmp_path,
        {
            "money.json": '[{"b": 1234567890123456.78, "t": "é \\ud83d\\ude00 1.00000000000000001"}'
            ', {"b": 2.5}]',
            "lines.jsonl": '{"b": 2.5, "b": 1}\n{"b": 0.10000000000000000555, "b": 1}\n',
            "inside.json": '{"rows": [{"n": {"b": -1e-7, "c": [9876543210987654.32]}}]}',
            "even.json": '[{"b": 100000000000000.50, "c": 0.30000000000000004}]',
        },
    )
    assert loaded.rows == {
        "money": [["1234567890123456.78", "é 😀 1.00000000000000001"], ["2.5", None]],
        "lines": [["2.5"], ["0.10000000000000000555"]],
        "inside": [[-1e-7, '["9876543210987654.32"]']],
        "even": [[Decimal("100000000000000.5"), 0.30000000000000004]],
    }
    noted = {table.name for table in loaded.tables if "more digits" in " ".join(table.notes)}
    assert noted == {"money", "lines", "inside"}


JSON_VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**62), 2**62),
    st.text(st.characters(exclude_categories=["C", "Zl", "Zp"]), max_size=8),
)


@pytest.mark.slow
@settings(
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(
    rows=st.lists(
        st.dictionaries(st.sampled_from(["a", "b/c", "d~e", 'f"g', "$.h", "列"]), JSON_VALUES),
        min_size=1,
        max_size=12,
    ).filter(any)
)
def test_every_value_of_json_survives(rows: list[dict[str, object]], tmp_path: Path) -> None:
    loaded = quick(tmp_path, {"data.json": json.dumps(rows)})
    names = [column.name for column in loaded.table.columns]
    assert loaded.table.row_count == len(rows)
    assert set(names) == {key for row in rows for key in row}
    for row, values in zip(rows, loaded.cells, strict=True):
        for name, value in zip(names, values, strict=True):
            cell = row.get(name)
            is_text = isinstance(value, str) and not isinstance(cell, str)
            assert (json.loads(value) if is_text else value) == cell
