"""`dataagent sql` on the sample database: what is printed, written and said."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any, cast

import pyarrow.parquet as pq  # pyright: ignore[reportMissingTypeStubs] it has none
import pytest
import python_calamine

from .shell import dataagent

ALL_GENRES = "SELECT GenreId, Name FROM Genre ORDER BY GenreId"
MIXED = (
    "SELECT 1 AS n, 2.50 AS price, NULL AS missing, 'NULL' AS word, '' AS empty, "
    "'a|b\nc' AS text, '音乐' AS 种类"
)


def test_rows_are_an_aligned_table_and_the_receipt_stands_beside_them() -> None:
    done = dataagent("sql", "SELECT Name, GenreId * 1000 AS n FROM Genre ORDER BY GenreId LIMIT 2")
    assert done.code == 0
    head, line, first, second = done.lines
    assert head.split() == ["Name", "n"]
    assert set(line) == {"─", " "}
    assert first.endswith("1000")
    assert second.endswith("2000")
    assert len(first) == len(second) == len(line)
    receipt, kept = done.err.splitlines()
    assert receipt.startswith("2 rows · chinook (sqlite) · ")
    assert receipt.endswith(" ms · no policy applied")
    assert kept.startswith("artefact ")


def test_null_is_visible_and_is_not_the_word() -> None:
    done = dataagent("sql", MIXED)
    cells = done.lines[2].split()
    assert cells == ["1", "2.5", "NULL", '"NULL"', "a|b↵c", "音乐"]


def test_wide_characters_are_two_columns_wide() -> None:
    done = dataagent("sql", "SELECT '音乐' AS a, 'x' AS b UNION ALL SELECT 'abcd', 'y'")
    assert done.lines == ["a     b", "────  ─", "音乐  x", "abcd  y"]


def test_a_large_result_shows_twenty_rows_and_how_to_get_all() -> None:
    done = dataagent("sql", "SELECT InvoiceId FROM Invoice")
    assert len(done.lines) == 22
    assert done.err.startswith("20 of 1,428 rows · chinook")
    hint = f"hint: all 1,428 rows: dataagent export {done.artifact_id} --output FILE.csv\n"
    assert done.err.endswith(hint)


def test_a_limit_stops_the_reading_and_is_said() -> None:
    done = dataagent("sql", "SELECT InvoiceId FROM Invoice", "--limit", "30")
    assert len(done.lines) == 32
    assert done.err.startswith("30 rows · ")
    assert "stopped at the row limit: the source has more rows than these\n" in done.err


def test_long_cells_are_cut_and_numbers_never_are() -> None:
    done = dataagent("sql", f"SELECT '{'0' * 300}' AS text, 9007199254740993 AS n")
    text, number = done.lines[2].split()
    assert text == "0" * 199 + "…"
    assert number == "9007199254740993"


def test_no_rows_is_a_heading_and_zero() -> None:
    done = dataagent("sql", "SELECT Name FROM Genre WHERE 1 = 0")
    assert done.lines == ["Name", "────"]
    assert done.err.startswith("0 rows · ")


def test_csv_json_and_jsonl_hold_every_row() -> None:
    as_csv = dataagent("sql", ALL_GENRES, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(as_csv.out)))
    assert len(rows) == 25
    as_json = json.loads(dataagent("sql", ALL_GENRES, "--format", "json").out)
    assert [{key: str(value) for key, value in row.items()} for row in as_json] == rows
    as_lines = dataagent("sql", ALL_GENRES, "--format", "jsonl").out.splitlines()
    assert [json.loads(line) for line in as_lines] == as_json
    assert as_csv.err.startswith("25 rows · chinook (sqlite)")


def test_markdown_escapes_what_would_break_its_table() -> None:
    done = dataagent("sql", MIXED, "--format", "markdown")
    assert done.lines == [
        "| n | price | missing | word | empty | text | 种类 |",
        "| ---: | ---: | --- | --- | --- | --- | --- |",
        "| 1 | 2.5 | NULL | NULL |  | a\\|b<br>c | 音乐 |",
    ]


def test_an_empty_result_is_empty_in_every_text_format() -> None:
    nothing = "SELECT Name FROM Genre WHERE 1 = 0"
    assert dataagent("sql", nothing, "--format", "jsonl").out == ""
    assert dataagent("sql", nothing, "--format", "json").out == "[]\n"
    assert dataagent("sql", nothing, "--format", "csv").out == "Name\r\n"
    assert dataagent("sql", nothing, "--format", "markdown").out == "| Name |\n| --- |\n"


def test_the_ending_of_the_file_says_the_format(tmp_path: Path) -> None:
    done = dataagent("sql", ALL_GENRES, "--output", "genres.parquet")
    assert (done.code, done.out) == (0, "")
    assert done.err.startswith("wrote genres.parquet (parquet, ")
    assert cast(Any, pq).read_table(tmp_path / "genres.parquet").num_rows == 25
    dataagent("sql", ALL_GENRES, "--output", "genres.XLSX")
    # its PathLike has no parameter
    book = python_calamine.load_workbook(  # pyright: ignore[reportUnknownMemberType]
        str(tmp_path / "genres.XLSX")
    )
    assert len(book.get_sheet_by_index(0).to_python()) == 26
    dataagent("sql", ALL_GENRES, "--output", "genres.md")
    assert (tmp_path / "genres.md").read_text().startswith("| GenreId | Name |\n")
    dataagent("sql", ALL_GENRES, "--format", "table", "--output", "genres")
    assert len((tmp_path / "genres").read_text().splitlines()) == 27
    assert not list(tmp_path.glob(".*.part"))


def test_a_binary_format_goes_into_a_pipe_as_it_is() -> None:
    done = dataagent("sql", ALL_GENRES, "--format", "parquet")
    assert done.data[:4] == done.data[-4:] == b"PAR1"


def test_a_statement_comes_from_standard_input() -> None:
    done = dataagent("sql", "-", "--format", "csv", piped=b"SELECT 1 AS one\n-- the end\n")
    assert done.out == "one\r\n1\r\n"


@pytest.mark.parametrize(
    ("sql", "error", "hint"),
    [
        (
            "DELETE FROM Customer",
            "A statement that starts with DELETE changes data or the schema.",
            "Send one SELECT, WITH or VALUES query.",
        ),
        (
            "SELECT * FROM Custmer",
            "There is no table 'Custmer' in this data source. Nearest: Customer.",
            "dataagent schema shows the tables and columns.",
        ),
        ("SELECT abs(-9223372036854775807 - 1)", "SQLite: integer overflow", None),
    ],
)
def test_what_is_refused_or_fails_is_one_line_with_the_source_and_status_1(
    sql: str, error: str, hint: str | None
) -> None:
    done = dataagent("sql", sql)
    expected = f"error: chinook: {error}\n" + (f"hint: {hint}\n" if hint else "")
    assert (done.code, done.out, done.err) == (1, "", expected)


@pytest.mark.parametrize(
    ("argv", "code", "said"),
    [
        (["sql", "SELECT 1", "--source", "nope"], 1, "hint: dataagent sources lists them."),
        (["sql", "SELECT 1", "--output", "no/such/x.csv"], 1, "error: Cannot write no/such/x.csv"),
        (["sql", "SELECT 1", "--output", "x.doc"], 2, "hint: name it with --format"),
        (["sql", "SELECT 1", "--output", "x.png"], 2, "A chart is drawn by the agent"),
        (["sql", "-"], 2, "Nothing is piped in"),
        (["sql", " "], 1, "There is no statement."),
    ],
)
def test_a_mistake_is_told_with_its_way_out(argv: list[str], code: int, said: str) -> None:
    done = dataagent(*argv)
    assert done.code == code
    assert said in done.err
    assert done.out == ""
    assert "Traceback" not in done.err


def test_a_file_that_cannot_be_written_stays_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "folder.csv").mkdir()
    done = dataagent("sql", "SELECT 1", "--output", "folder.csv")
    assert done.code == 1
    assert "hint: choose another place with --output FILE." in done.err
    assert list(tmp_path.iterdir()) == [tmp_path / "folder.csv"]


def test_a_file_that_was_there_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "old.csv").write_text("older and much longer than what comes")
    dataagent("sql", "SELECT 1 AS n", "--output", "old.csv")
    assert (tmp_path / "old.csv").read_bytes() == b"n\r\n1\r\n"


def test_the_rules_that_shaped_a_result_are_said(fresh_home: Path) -> None:
    dataagent("sources")  # makes the sample
    (fresh_home / "sources.yaml").write_text(
        f"""
sources:
  - name: shop
    url: sqlite:///{fresh_home}/sample/chinook.sqlite
    grants: [everyone]
    policies:
      - name: few genres
        subjects: everyone
        tables:
          Genre: {{row_filter: "GenreId <= 3"}}
"""
    )
    done = dataagent("sql", "SELECT count(*) AS n FROM Genre", "--source", "shop")
    assert done.lines[2] == "3"
    assert "policy: Genre: " in done.err
    assert "no policy applied" not in done.err
