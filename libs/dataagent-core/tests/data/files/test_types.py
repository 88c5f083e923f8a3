from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from .conftest import quick


def column(tmp_path: Path, cells: list[str], *, name: str = "data.csv") -> tuple[str, list[Any]]:
    """A column of a tab-separated file, its type and its values."""
    text = "wert\tk\n" + "".join(f"{cell}\tx\n" for cell in cells)
    loaded = quick(tmp_path, {name: text})
    return loaded.table.columns[0].type, [row[0] for row in loaded.cells]


D = Decimal
UTC = dt.UTC


@pytest.mark.parametrize(
    ("cells", "sql_type", "values"),
    [
        (["1", "-2", ""], "BIGINT", [1, -2, None]),
        (["9223372036854775807"], "BIGINT", [2**63 - 1]),
        (["9223372036854775808"], "VARCHAR", ["9223372036854775808"]),
        (["01234", "99999"], "VARCHAR", ["01234", "99999"]),
        (["+4915112345", "5"], "VARCHAR", ["+4915112345", "5"]),
        (["1,234.50", "7"], "DECIMAL(18,2)", [D("1234.50"), D("7.00")]),
        (["1,234", "12,000,000"], "BIGINT", [1234, 12000000]),
        (["12,34", "1,234"], "VARCHAR", ["12,34", "1,234"]),
        (["0.10", "0.200"], "DECIMAL(18,3)", [D("0.100"), D("0.200")]),
        (["1.5", "2.25", "3"], "DECIMAL(18,2)", [D("1.50"), D("2.25"), D("3.00")]),
        (["52.5200066", "13.4"], "DECIMAL(18,7)", [D("52.5200066"), D("13.4000000")]),
        (["1234567890123.5", "0.000123"], "DECIMAL(38,6)",
         [D("1234567890123.500000"), D("0.000123")]),
        (["12345678901234.56", "0.5"], "DECIMAL(18,2)", [D("12345678901234.56"), D("0.50")]),
        (["1.5", "2.5e-3"], "DOUBLE", [1.5, 0.0025]),
        (["0.30000000000000004", "1"], "DOUBLE", [0.30000000000000004, 1.0]),
        (["0.12345678901234567890123"], "DECIMAL(38,23)", [D("0.12345678901234567890123")]),
        (["1e3", "2.5E-3"], "DOUBLE", [1000.0, 0.0025]),
        (["1e999"], "VARCHAR", ["1e999"]),
        (["12.5%", "-3%"], "DECIMAL(18,3)", [D("0.125"), D("-0.030")]),
        (["12.5%", "3"], "VARCHAR", ["12.5%", "3"]),
        (["TRUE", "false"], "BOOLEAN", [True, False]),
        (["yes", "no"], "VARCHAR", ["yes", "no"]),
        (["2026-01-05"], "DATE", [dt.date(2026, 1, 5)]),
        (["2026/1/5", "2026年1月6日"], "DATE", [dt.date(2026, 1, 5), dt.date(2026, 1, 6)]),
        (["2026-02-30", "2026-02-01"], "VARCHAR", ["2026-02-30", "2026-02-01"]),
        (["31/12/2025", "1/2/2026"], "DATE", [dt.date(2025, 12, 31), dt.date(2026, 2, 1)]),
        (["12/31/2025", "1/2/2026"], "DATE", [dt.date(2025, 12, 31), dt.date(2026, 1, 2)]),
        (["1/2/2026", "3/4/2026"], "VARCHAR", ["1/2/2026", "3/4/2026"]),
        (["20260105"], "BIGINT", [20260105]),
        (["2026-01-05 10:30:00"], "TIMESTAMP", [dt.datetime.fromisoformat("2026-01-05T10:30")]),
        (["2026/1/5 9:30"], "TIMESTAMP", [dt.datetime.fromisoformat("2026-01-05T09:30")]),
        (["2026-01-05T10:30:00.1234567"], "VARCHAR", ["2026-01-05T10:30:00.1234567"]),
        (["10:30:00", "23:59:59"], "TIME", [dt.time(10, 30), dt.time(23, 59, 59)]),
        (["25:30:00"], "VARCHAR", ["25:30:00"]),
        (["1", "NULL", "null"], "BIGINT", [1, None, None]),
        (["a", "NULL"], "VARCHAR", ["a", None]),
        (["1", "2", "3", "N/A", "-"], "BIGINT", [1, 2, 3, None, None]),
        (["1", "N/A"], "VARCHAR", ["1", "N/A"]),
        (["a", "b", "NA"], "VARCHAR", ["a", "b", "NA"]),
        ([" 1", "2 "], "BIGINT", [1, 2]),
        ([" a", "b "], "VARCHAR", [" a", "b "]),
        (["", ""], "VARCHAR", [None, None]),
    ],
)  # fmt: skip
def test_a_column_has_the_type_that_fits_all_its_cells(
    tmp_path: Path, cells: list[str], sql_type: str, values: list[Any]
) -> None:
    assert column(tmp_path, cells) == (sql_type, values)


def test_moments_with_zones_are_kept_as_moments(tmp_path: Path) -> None:
    cells = ["2026-01-05T10:00:00+08:00", "2026-01-05 10:00:00Z", "2026-01-05 10:00:00-0530"]
    sql_type, values = column(tmp_path, cells)
    assert sql_type == "TIMESTAMP WITH TIME ZONE"
    assert [value.astimezone(UTC).isoformat() for value in values] == [
        "2026-01-05T02:00:00+00:00",
        "2026-01-05T10:00:00+00:00",
        "2026-01-05T15:30:00+00:00",
    ]


def test_the_last_of_many_rows_decides_as_much_as_the_first(tmp_path: Path) -> None:
    numbers = [str(number) for number in range(1, 30_001)]
    assert column(tmp_path, numbers)[0] == "BIGINT"
    assert column(tmp_path, [*numbers, "0042"])[0] == "VARCHAR"
    assert column(tmp_path, [*numbers, "1.5"]) == (
        "DECIMAL(18,1)",
        [*map(Decimal, numbers), Decimal("1.5")],
    )
    assert column(tmp_path, [*numbers, " 7 "])[0] == "BIGINT"


def test_a_decimal_comma_is_read_where_semicolons_separate(tmp_path: Path) -> None:
    text = "preis;menge;unklar\n1.234,50;1;1,234\n7,5;2;2,500\n"
    table = quick(tmp_path, {"de.csv": text})
    assert table.types == {"preis": "DECIMAL(18,2)", "menge": "BIGINT", "unklar": "VARCHAR"}
    assert [row[0] for row in table.cells] == [Decimal("1234.50"), Decimal("7.50")]
    assert table.table.notes == (
        "Commas were read as decimal points: 'preis'.",
        "Kept as text, a comma may separate thousands or decimals: 'unklar'.",
    )


def test_the_notes_say_what_was_taken_for_what(tmp_path: Path) -> None:
    text = (
        "plz\tpct\ttotal\tday\tgap\tstamp\n"
        "01234\t5%\t1,000\t1/2/2026\tNULL\t2026-01-05T10:00:00Z\n"
        "99999\t6%\t5\t1/3/2026\tx\t2026-01-05T10:00:00Z\n"
    )
    assert quick(tmp_path, {"n.tsv": text}).table.notes == (
        "Kept as text for the leading zeros: 'plz'.",
        "Percentages became fractions (12.5% is 0.125): 'pct'.",
        "Commas were read as thousands separators: 'total'.",
        "Kept as text, day and month cannot be told apart: 'day'.",
        "The word NULL was read as no value: 'gap'.",
        "Times with an offset are kept as moments in UTC: 'stamp'.",
    )
