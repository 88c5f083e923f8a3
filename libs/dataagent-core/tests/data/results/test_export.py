# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportUnknownLambdaType=false

from __future__ import annotations

import csv
import io
import json
import math
import zipfile
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import psutil
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from python_calamine import CalamineWorkbook

from dataagent_core.data.results import StoredResult, export, write_result
from dataagent_core.data.results import xlsx_file as xlsx
from dataagent_core.data.types import ExportFormat, QueryLimits, ResultColumn
from dataagent_core.errors import BadInput

KeepTable = Callable[[pa.Table], tuple[Path, StoredResult]]

SHANGHAI = ZoneInfo("Asia/Shanghai")
NEW_YORK = ZoneInfo("America/New_York")
FORMULAS = ["=1+1", "+cmd|x", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1", "'=1", "''@x"]
TEXTS = st.one_of(
    st.text(st.characters(codec="utf-8"), max_size=12),
    st.text("\",;\r\n\t '=+-@\\<>&_x0", max_size=8),
    st.sampled_from([*FORMULAS, "", " ", "-5", "+1.5e3", "NULL", "北京", "<r>x</r>", "_x0041_"]),
)


def columns_of(kind: pa.DataType, values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    cells = st.lists(st.one_of(st.none(), values), min_size=7, max_size=7)
    return cells.map(lambda found: pa.array(found, kind))


def decimals(digits: int, places: int) -> st.SearchStrategy[Decimal]:
    bound = 10**digits - 1
    return st.integers(-bound, bound).map(lambda n: Decimal(f"{n}E-{places}"))


# wall time is what is tested
TIMES = st.datetimes(datetime(1800, 1, 1), datetime(2200, 1, 1))  # noqa: DTZ001
COLUMNS = st.one_of(
    columns_of(pa.string(), TEXTS),
    columns_of(pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    columns_of(pa.uint64(), st.integers(0, 2**64 - 1)),
    columns_of(pa.decimal128(38, 10), decimals(38, 10)),
    columns_of(pa.decimal128(9, 2), decimals(9, 2)),
    columns_of(pa.decimal256(76, 30), decimals(76, 30)),
    columns_of(pa.float64(), st.floats(allow_nan=False)),
    columns_of(pa.bool_(), st.booleans()),
    columns_of(pa.date32(), st.dates()),
    columns_of(pa.time64("us"), st.times()),
    columns_of(pa.timestamp("us"), TIMES),
    columns_of(pa.timestamp("us", "UTC"), TIMES.map(lambda at: at.replace(tzinfo=UTC))),
    columns_of(
        pa.timestamp("us", "Asia/Shanghai"), TIMES.map(lambda at: at.replace(tzinfo=SHANGHAI))
    ),
    columns_of(
        pa.timestamp("us", "America/New_York"), TIMES.map(lambda at: at.replace(tzinfo=NEW_YORK))
    ),
    columns_of(pa.binary(), st.binary(max_size=6)),
    columns_of(pa.list_(pa.string()), st.lists(TEXTS, max_size=3)),
)
NAMES = st.sampled_from(["id", "ID", "金额", "a,b", 'q"q', "=x", "", "line\nbreak"])
TABLES = st.lists(st.tuples(NAMES, COLUMNS), min_size=1, max_size=4).map(
    lambda found: pa.Table.from_arrays([c for _n, c in found], names=[n for n, _c in found])
)


def exported(path: Path, columns: tuple[ResultColumn, ...], fmt: ExportFormat) -> bytes:
    return b"".join(export(path, columns, fmt))


def read_text(text: str, kind: pa.DataType) -> Any:
    """What a text stands for, read with Python's own parsers."""
    types = pa.types
    if types.is_integer(kind):
        return int(text)
    if types.is_floating(kind):
        return float(text)
    if types.is_decimal(kind):
        return Decimal(text)
    if types.is_boolean(kind):
        return {"true": True, "false": False}[text]
    if types.is_date(kind):
        return date.fromisoformat(text)
    if types.is_time(kind):
        return time.fromisoformat(text)
    if types.is_timestamp(kind):
        return datetime.fromisoformat(text)
    if types.is_binary(kind):
        assert text.startswith("0x")
        return bytes.fromhex(text[2:])
    return json.loads(text) if types.is_list(kind) else text


def as_shown(value: Any) -> Any:
    """A double with 15 significant digits unless it is whole; any other value as it is."""
    if not isinstance(value, float) or not math.isfinite(value):
        return value
    if value.is_integer() and abs(value) <= 2**53:
        return value
    rounded = float(f"{value:.15g}")
    return rounded if math.isfinite(rounded) else value


def unescaped(cell: str, kind: pa.DataType) -> str:
    """A cell as it was before formulas were made harmless."""
    is_escaped = cell.startswith("'") and cell.lstrip("'")[:1] in set("=+-@\t\r\n＝＋－＠")
    is_text = not (pa.types.is_integer(kind) or pa.types.is_decimal(kind))
    return cell[1:] if is_escaped and cell.lstrip("'") and is_text else cell


@given(table=TABLES)
def test_csv_gives_every_value_back(kept: KeepTable, table: pa.Table) -> None:
    path, result = kept(table)
    data = exported(path, result.columns, "csv")
    path.unlink()
    rows = list(csv.reader(io.StringIO(data.decode(), newline=""), strict=True))
    assert len(rows) == table.num_rows + 1
    names = [unescaped(cell, pa.string()) for cell in rows[0]]
    assert names == [column.name for column in result.columns]
    found = pyarrow.csv.read_csv(
        io.BytesIO(data),
        read_options=pyarrow.csv.ReadOptions(skip_rows_after_names=0),
        parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True),
        convert_options=pyarrow.csv.ConvertOptions(
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            null_values=[""],
            column_types=dict.fromkeys(rows[0], pa.string()),
        ),
    )
    assert found.num_columns == table.num_columns
    for got, expected in zip(found.columns, table.columns, strict=True):
        cells = got.to_pylist()
        if table.num_columns == 1:  # a line with nothing on it would be no row
            cells = [c if e.is_valid else None for c, e in zip(cells, expected, strict=True)]
        values = [
            None if c is None else read_text(unescaped(c, expected.type), expected.type)
            for c in cells
        ]
        assert values == [as_shown(value) for value in expected.to_pylist()]


@given(table=TABLES)
def test_json_gives_every_value_back(kept: KeepTable, table: pa.Table) -> None:
    path, result = kept(table)
    rows = json.loads(exported(path, result.columns, "json"))
    path.unlink()
    assert [list(row) for row in rows] == [[c.name for c in result.columns]] * table.num_rows
    for name, expected in zip([c.name for c in result.columns], table.columns, strict=True):
        cells = [row[name] for row in rows]
        values = [read_text(c, expected.type) if isinstance(c, str) else c for c in cells]
        assert values == [as_shown(value) for value in expected.to_pylist()]
        if pa.types.is_decimal(expected.type) or pa.types.is_timestamp(expected.type):
            assert all(c is None or isinstance(c, str) for c in cells)


@given(table=TABLES)
def test_parquet_gives_every_value_and_type_back(kept: KeepTable, table: pa.Table) -> None:
    path, result = kept(table)
    found = pq.read_table(io.BytesIO(exported(path, result.columns, "parquet")))
    path.unlink()
    assert found.schema.types == table.schema.types
    assert found.columns == table.columns
    assert found.column_names == [column.name for column in result.columns]


def excel_value(cell: Any, kind: pa.DataType) -> Any:
    """What a cell of a workbook stands for, given what the column holds."""
    types = pa.types
    if isinstance(cell, str):
        return read_text(cell, kind)
    if types.is_integer(kind):
        return int(cell)
    if types.is_decimal(kind):
        return Decimal(repr(cell))
    if types.is_timestamp(kind) and not isinstance(cell, datetime):
        return datetime.combine(cell, time())
    return cell


@given(table=TABLES)
def test_xlsx_gives_every_value_back(kept: KeepTable, table: pa.Table) -> None:
    path, result = kept(table)
    data = exported(path, result.columns, "xlsx")
    path.unlink()
    sheet = CalamineWorkbook.from_filelike(io.BytesIO(data)).get_sheet_by_index(0)
    header, *rows = sheet.to_python()
    assert header == [column.name for column in result.columns]
    rows += [[""] * len(header)] * (table.num_rows - len(rows))
    for position, expected in enumerate(table.columns):
        for row, value in zip(rows, expected.to_pylist(), strict=True):
            if value is None or value == "":
                assert row[position] == ""
            else:
                _assert_same(excel_value(row[position], expected.type), as_shown(value))


def _assert_same(found: Any, value: Any) -> None:
    if isinstance(value, datetime | time):  # the reader rounds to milliseconds
        day = date(2000, 1, 1)
        a = found if isinstance(found, datetime) else datetime.combine(day, found)
        b = value if isinstance(value, datetime) else datetime.combine(day, value)
        assert abs(a - b) <= timedelta(milliseconds=1)
    else:
        assert found == value


def sheet_xml(data: bytes, number: int = 1) -> str:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return archive.read(f"xl/worksheets/sheet{number}.xml").decode()


def test_xlsx_leaves_null_out_and_writes_the_empty_text_and_never_a_formula(
    kept: KeepTable,
) -> None:
    path, result = kept(
        pa.table({"t": ["", None, "=1+1", "https://x.example", "{=A1}", "<r><evil/></r>"]})
    )
    xml = sheet_xml(exported(path, result.columns, "xlsx"))
    assert '<c r="A2"' in xml
    assert '<c r="A3"' not in xml
    assert "<f>" not in xml
    assert "<hyperlink" not in xml
    assert "<evil" not in xml


def test_xlsx_keeps_fifteen_digits_of_a_float_and_the_microsecond_of_a_time(
    kept: KeepTable,
) -> None:
    at = datetime(2024, 2, 29, 12, 30, 15, 123457)  # noqa: DTZ001  # wall time
    path, result = kept(pa.table({"f": [1 / 3], "t": [at]}))
    xml = sheet_xml(exported(path, result.columns, "xlsx"))
    assert "<v>0.333333333333333</v>" in xml
    serial = float(xml.split('<c r="B2"')[1].split("<v>")[1].split("</v>")[0])
    assert datetime(1899, 12, 30) + timedelta(days=serial) == at  # noqa: DTZ001  # wall time


def test_xlsx_writes_numbers_of_more_than_fifteen_digits_as_text(kept: KeepTable) -> None:
    amounts = [Decimal("9999999999999.99"), Decimal("99999999999999.99")]
    path, result = kept(
        pa.table({"n": [10**15 - 1, 10**15], "d": pa.array(amounts, pa.decimal128(20, 2))})
    )
    sheet = CalamineWorkbook.from_filelike(
        io.BytesIO(exported(path, result.columns, "xlsx"))
    ).get_sheet_by_index(0)
    assert sheet.to_python()[1:] == [
        [float(10**15 - 1), 9999999999999.99],
        [str(10**15), "99999999999999.99"],
    ]


def test_xlsx_goes_on_in_the_next_sheet(kept: KeepTable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xlsx, "MAX_ROWS", 101)  # a full sheet takes a minute to fill
    path, result = kept(pa.table({"n": list(range(250))}))
    book = CalamineWorkbook.from_filelike(io.BytesIO(exported(path, result.columns, "xlsx")))
    sheets = [book.get_sheet_by_index(i).to_python() for i in range(3)]
    assert [len(sheet) for sheet in sheets] == [101, 101, 51]
    assert all(sheet[0] == ["n"] for sheet in sheets)
    assert [row[0] for sheet in sheets for row in sheet[1:]] == list(range(250))


def test_xlsx_cuts_a_text_that_no_cell_can_hold_and_says_so(kept: KeepTable) -> None:
    path, result = kept(pa.table({"t": ["😀" * 20_000, "x" * 32_767]}))
    sheet = CalamineWorkbook.from_filelike(
        io.BytesIO(exported(path, result.columns, "xlsx"))
    ).get_sheet_by_index(0)
    first, second = (row[0] for row in sheet.to_python()[1:])
    assert str(first).endswith("…[cut: 20000 characters]")
    assert second == "x" * 32_767


def test_xlsx_refuses_more_columns_than_a_sheet_has(tmp_path: Path) -> None:
    columns = tuple(ResultColumn(f"c{n}", f"c{n}", "int64") for n in range(16_385))
    with pytest.raises(BadInput, match="Export it as csv"):
        export(tmp_path / "none.parquet", columns, "xlsx")


def test_an_export_that_is_given_up_leaves_no_files(kept: KeepTable) -> None:
    path, result = kept(pa.table({"n": list(range(1_000))}))
    stream = export(path, result.columns, "xlsx")
    next(stream)
    before = set(path.parent.iterdir())
    stream.close()  # pyright: ignore[reportAttributeAccessIssue]  # it is a generator
    assert before - set(path.parent.iterdir()) != set()
    assert not [one for one in path.parent.iterdir() if one.is_dir()]


def test_csv_escapes_formulas_in_texts_and_leaves_numbers_alone(kept: KeepTable) -> None:
    path, result = kept(
        pa.table(
            {
                "=t": ["=1+1", "-5", "+1.5", "-5-cmd", "@x", None, "a"],
                "n": [-1, -2, -3, -4, -5, -6, -7],
                "d": pa.array([Decimal("-1.5")] * 7, pa.decimal128(5, 1)),
                "f": [-1.5, float("-inf"), float("nan"), 1e300, -0.0, 0.1, None],
            }
        )
    )
    assert exported(path, result.columns, "csv").decode() == (
        "'=t,n,d,f\r\n"
        "'=1+1,-1,-1.5,-1.5\r\n"
        "-5,-2,-1.5,-Infinity\r\n"
        "+1.5,-3,-1.5,NaN\r\n"
        "'-5-cmd,-4,-1.5,1e+300\r\n"
        "'@x,-5,-1.5,-0\r\n"
        ",-6,-1.5,0.1\r\n"
        "a,-7,-1.5,\r\n"
    )


def test_csv_begins_with_a_mark_for_excel_only_when_asked(kept: KeepTable) -> None:
    path, result = kept(pa.table({"城市": ["北京"]}))
    plain = exported(path, result.columns, "csv")
    marked = b"".join(export(path, result.columns, "csv", has_bom=True))
    assert marked == b"\xef\xbb\xbf" + plain
    assert plain.decode() == "城市\r\n北京\r\n"


@pytest.mark.parametrize("fmt", ["csv", "json", "parquet", "xlsx"])
@given(offset=st.integers(0, 12), limit=st.one_of(st.none(), st.integers(1, 12)))
def test_a_part_of_a_result_is_the_same_rows_in_every_format(
    tmp_path_factory: pytest.TempPathFactory, fmt: ExportFormat, offset: int, limit: int | None
) -> None:
    rows = [{"n": n, "t": None if n % 4 == 0 else f'"{n},\n'} for n in range(10)]
    path = tmp_path_factory.getbasetemp() / f"part-{fmt}.parquet"
    pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=3)
    columns = (ResultColumn("n", "n", "int64"), ResultColumn("t", "t", "string"))
    wanted = rows[offset:] if limit is None else rows[offset : offset + limit]
    data = b"".join(export(path, columns, fmt, limit=limit, offset=offset))
    assert rows_of(data, fmt) == wanted
    assert [one.name for one in path.parent.iterdir() if one.name.startswith(".rows")] == []


def rows_of(data: bytes, fmt: ExportFormat) -> list[dict[str, Any]]:
    match fmt:
        case "csv":
            lines = csv.DictReader(io.StringIO(data.decode(), newline=""))
            return [{"n": int(line["n"]), "t": line["t"] or None} for line in lines]
        case "json":
            return json.loads(data)
        case "parquet":
            return pq.read_table(io.BytesIO(data)).to_pylist()
        case _:
            sheet = CalamineWorkbook.from_filelike(io.BytesIO(data)).get_sheet_by_index(0)
            return [{"n": n, "t": t or None} for n, t in sheet.to_python()[1:]]


@pytest.mark.parametrize("fmt", ["csv", "json", "parquet", "xlsx"])
def test_a_result_without_rows_is_exported_with_its_columns(
    kept: KeepTable, fmt: ExportFormat
) -> None:
    path, result = kept(pa.table({"a": pa.array([], pa.int64()), "b": pa.array([], pa.string())}))
    data = exported(path, result.columns, fmt)
    match fmt:
        case "csv":
            assert data == b"a,b\r\n"
        case "json":
            assert json.loads(data) == []
        case "parquet":
            assert pq.read_table(io.BytesIO(data)).column_names == ["a", "b"]
        case "xlsx":
            book = CalamineWorkbook.from_filelike(io.BytesIO(data))
            assert book.get_sheet_by_index(0).to_python() == [["a", "b"]]


@pytest.mark.slow
def test_a_million_rows_are_exported_whole_in_bounded_memory(tmp_path: Path) -> None:
    def million() -> Any:
        for start in range(0, 1_000_000, 20_000):
            ids = pa.array(range(start, start + 20_000), pa.int64())
            texts = pa.array(["a, b", "北京", '"q"', "=x", None] * 4_000)
            yield pa.record_batch(
                [ids, ids.cast(pa.decimal128(24, 0)), texts, ids.cast(pa.timestamp("us", "UTC"))],
                names=["id", "d", "t", "at"],
            )

    path = tmp_path / "r.parquet"
    result = write_result(million(), ["id", "d", "t", "at"], path, limits=QueryLimits())
    process = psutil.Process()
    before = process.memory_info().rss
    peak, lines, last = 0, 0, b""
    for piece in export(path, result.columns, "csv"):
        lines += piece.count(b"\r\n")
        last = piece
        peak = max(peak, process.memory_info().rss)
    assert lines == 1_000_001
    assert last.endswith(b"999999,999999,,1970-01-01 00:00:00.999999Z\r\n")
    assert peak - before < 150_000_000
