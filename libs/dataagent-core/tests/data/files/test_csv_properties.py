"""What is written is what is loaded: every cell, every row, in each encoding and dialect."""

from __future__ import annotations

import csv
import datetime as dt
import io
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dataagent_core.data.files.value_formats import NULL_WORDS, PLACEHOLDERS

from .conftest import quick

CHINESE = "的一是在不了有和人这中大为上个国我以要他时来用们生到作地于出就分对成会可主发年动"
WORDS = st.text(st.sampled_from(CHINESE + "abcXYZ 0123,;|\t\"'\n\r.-%\\^~"), max_size=12)
ANY_TEXT = st.text(
    st.characters(exclude_categories=["Cs", "Cc"]) | st.sampled_from("\n\r\t\"',;|\\ "), max_size=12
)
DIGITS = st.text("0123456789", min_size=1, max_size=22)
INTEGERS = st.integers(-(2**70), 2**70).map(str) | st.integers(-999, 999).map(str)
DECIMALS = st.decimals(allow_nan=False, allow_infinity=False, places=3).map(lambda d: f"{d:f}")
MONEY = st.integers(-(10**9), 10**9).map(lambda n: f"{n / 100:,.2f}")
FLOATS = st.floats(allow_nan=False, allow_infinity=False).map(repr)
DATES = st.dates(dt.date(1, 1, 1))
COLUMNS: dict[str, st.SearchStrategy[str]] = {
    "words": WORDS,
    "digits": DIGITS,
    "integers": INTEGERS,
    "small": st.integers(-5, 5).map(str),
    "decimals": DECIMALS,
    "money": MONEY,
    "floats": FLOATS,
    "percent": st.integers(0, 1000).map(lambda n: f"{n / 10}%"),
    "dates": DATES.map(str),
    "slashes": DATES.map(lambda d: f"{d.year:04}/{d.month}/{d.day}"),
    "chinese": DATES.map(lambda d: f"{d.year:04}年{d.month}月{d.day}日"),
    "times": st.datetimes().map(str),
    "truth": st.sampled_from(["true", "false", "TRUE"]),
    "mixed": st.one_of(WORDS, INTEGERS, DECIMALS, DATES.map(str)),
}
GAPS = st.sampled_from(["", "", "NULL", "null", "N/A", "-"])


@dataclass(frozen=True)
class Written:
    header: list[str]
    rows: list[list[str]]
    encoding: str
    delimiter: str
    quoting: Any
    line_end: str

    def content(self) -> bytes:
        out = io.StringIO(newline="")
        writer = csv.writer(
            out, delimiter=self.delimiter, quoting=self.quoting, lineterminator=self.line_end
        )
        writer.writerows([self.header, *self.rows])
        return out.getvalue().encode(self.encoding)


@st.composite
def tables(draw: st.DrawFn) -> Written:
    encoding = draw(st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "gb18030"]))
    kinds = draw(st.lists(st.sampled_from(sorted(COLUMNS)), min_size=1, max_size=5))
    cells = [COLUMNS[kind] for kind in kinds]
    if encoding != "gb18030":
        cells = [
            ANY_TEXT if kind == "words" else cell for kind, cell in zip(kinds, cells, strict=True)
        ]
    if draw(st.booleans()):
        cells = [cell | GAPS for cell in cells]
    rows = draw(st.lists(st.tuples(*cells).map(list), max_size=12))
    has_return = any("\r" in cell for row in rows for cell in row)  # the writer leaves it bare
    # one column of cells like `a;b` is, unquoted, a title above a table, and read as such
    is_quoted = has_return or len(kinds) == 1
    quotings = [csv.QUOTE_ALL] if is_quoted else [csv.QUOTE_MINIMAL, csv.QUOTE_ALL]
    return Written(
        [f"第{index}列的名字 {kind}" for index, kind in enumerate(kinds)],
        rows,
        encoding,
        draw(st.sampled_from([",", "\t", ";", "|"])) if len(kinds) > 1 else ",",
        draw(st.sampled_from(quotings)),
        draw(st.sampled_from(["\n", "\r\n"])),
    )


def is_same(cell: str, value: object, sql_type: str) -> bool:
    """Whether a loaded value is what the cell says, by Python's own reading of it."""
    if value is None:
        gaps = ("", *NULL_WORDS) if sql_type == "VARCHAR" else ("", *NULL_WORDS, *PLACEHOLDERS)
        return cell.strip() in gaps
    text = cell.strip()
    match value:
        case str():
            return value == cell
        case bool():
            return text.lower() == str(value).lower()
        case Decimal() if text.endswith("%"):
            return Decimal(text[:-1]) / 100 == value
        case int() | Decimal():
            return value in numbers(text)
        case float():
            return float(text.replace(",", "")) == value
        case dt.datetime():
            return dt.datetime.fromisoformat(text) == value
        case dt.date():
            parts = text.replace("年", "-").replace("月", "-").replace("日", "").replace("/", "-")
            return dt.date(*map(int, parts.split("-"))) == value
        case _:
            return False


def numbers(text: str) -> list[Decimal]:
    """What a number can mean: with commas between thousands, or for the decimal point."""
    found: list[Decimal] = []
    for plain in (text.replace(",", ""), text.replace(".", "").replace(",", ".")):
        with suppress(InvalidOperation):
            found.append(Decimal(plain))
    return found


PROPERTY = settings(
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


@pytest.mark.slow
@PROPERTY
@given(several=st.lists(tables(), min_size=1, max_size=3))
def test_every_cell_and_row_survives(several: list[Written], tmp_path: Path) -> None:
    loaded = quick(tmp_path, {f"data {i}.csv": one.content() for i, one in enumerate(several)})
    for written, table in zip(several, loaded.tables, strict=True):
        assert [column.name for column in table.columns] == written.header
        assert table.row_count == len(written.rows)
        types = [column.type for column in table.columns]
        for row, values in zip(written.rows, loaded.rows[table.name], strict=True):
            for cell, value, sql_type in zip(row, values, types, strict=True):
                assert is_same(cell, value, sql_type), (cell, value, sql_type)


QUOTED = ['\\"', "a\\", 'x"', '"x', "'a", "b'", '"', '" "', "a;b", "~", "^a"]


@pytest.mark.parametrize("delimiter", [",", ";", "|", "\t"])
@pytest.mark.parametrize("quoting", [csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
def test_quotes_and_backslashes_inside_cells_do_not_mislead(
    delimiter: str, quoting: Any, tmp_path: Path
) -> None:
    files: dict[str, bytes | str] = {}
    for number, cell in enumerate(QUOTED):
        rows = [["name one", "name two"], *[[cell, f"{row},{row}x"] for row in range(3)]]
        written = Written(rows[0], rows[1:], "utf-8", delimiter, quoting, "\r\n")
        files[f"{number:02}.csv"] = written.content()
    loaded = quick(tmp_path, files)
    for cell, table in zip(QUOTED, loaded.tables, strict=True):
        assert [column.name for column in table.columns] == ["name one", "name two"], cell
        assert loaded.rows[table.name] == [[cell, f"{row},{row}x"] for row in range(3)]


def test_one_column_with_odd_characters_is_one_column(tmp_path: Path) -> None:
    loaded = quick(tmp_path, {"a.csv": "name\n~a\n~b\n~c\n", "b.csv": "name\nx^2\ny^2\nz^2\n"})
    assert loaded.rows == {"a": [["~a"], ["~b"], ["~c"]], "b": [["x^2"], ["y^2"], ["z^2"]]}


TYPES = {
    "small": "BIGINT",
    "dates": "DATE",
    "slashes": "DATE",
    "chinese": "DATE",
    "money": "DECIMAL(18,2)",
    "truth": "BOOLEAN",
    "times": "TIMESTAMP",
}


@pytest.mark.slow
@PROPERTY
@given(kind=st.sampled_from(sorted(TYPES)), data=st.data())
def test_a_column_of_one_kind_gets_its_type_and_one_odd_cell_takes_it_away(
    kind: str, data: st.DataObject, tmp_path: Path
) -> None:
    cells = data.draw(st.lists(COLUMNS[kind], min_size=1, max_size=30))
    odd = data.draw(st.sampled_from(["x", "1.2.3", "12 apples", "2026-02-30", "tru", "1,2,3"]))
    files: dict[str, bytes | str] = {}
    for name, column in (("even.csv", cells), ("odd.csv", [*cells, odd])):
        out = io.StringIO(newline="")
        csv.writer(out).writerows([["名字", "wert"], *([cell, "k"] for cell in column)])
        files[name] = out.getvalue()
    even, uneven = quick(tmp_path, files).tables
    assert even.columns[0].type == TYPES[kind]
    assert uneven.columns[0].type == "VARCHAR"
    assert (even.row_count, uneven.row_count) == (len(cells), len(cells) + 1)
