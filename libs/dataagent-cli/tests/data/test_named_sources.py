"""Files named on the command line are sources of that one command, and of nothing else."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from dataagent_cli.arguments import parse

from .shell import dataagent


@pytest.fixture
def sales(tmp_path: Path) -> Path:
    path = tmp_path / "sales.csv"
    path.write_text("region,amount,shop_id\nNorth,0.10,1\nNorth,0.20,2\nSouth,5,1\n")
    return path


def test_a_statement_reads_a_file(sales: Path) -> None:
    statement = "SELECT region, sum(amount) AS total FROM sales GROUP BY 1 ORDER BY 1"
    done = dataagent("sql", statement, "--source", str(sales), "--format", "csv")
    assert done.out == "region,total\r\nNorth,0.30\r\nSouth,5.00\r\n"


def test_files_are_one_source_and_can_be_joined(sales: Path, tmp_path: Path) -> None:
    (tmp_path / "shops.jsonl").write_text('{"id": 1, "name": "Kiel"}\n{"id": 2, "name": "Ulm"}\n')
    statement = (
        "SELECT name, count(*) AS n FROM sales JOIN shops ON id = shop_id GROUP BY 1 ORDER BY 1"
    )
    done = dataagent(
        "sql", statement, "--source", "sales.csv", "--source", "shops.jsonl", "--format", "csv"
    )
    assert done.out == "name,n\r\nKiel,2\r\nUlm,1\r\n", done.err


def test_a_database_file_is_read_and_not_written(tmp_path: Path) -> None:
    path = tmp_path / "shop.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE item (name TEXT)")
        connection.execute("INSERT INTO item VALUES ('pen')")
    connection.close()
    assert dataagent("sql", "SELECT * FROM item", "--source", str(path)).lines[2] == "pen"
    refused = dataagent("sql", "DELETE FROM item", "--source", str(path))
    assert (refused.code, refused.data) == (1, b"")


def test_nothing_of_it_is_left(sales: Path, fresh_home: Path) -> None:
    assert dataagent("schema", str(sales)).lines[2].startswith("sales")
    assert "sales" not in dataagent("sources").out
    assert list((fresh_home / "sources").iterdir()) == []


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("none.csv", "There is no file or folder 'none.csv'"),
        ("empty.csv", "'empty.csv' is empty"),
        ("nobody", "There is no data source 'nobody'"),
    ],
)
def test_what_cannot_be_read_is_said(tmp_path: Path, place: str, said: str) -> None:
    (tmp_path / "empty.csv").touch()
    done = dataagent("sql", "SELECT 1", "--source", place)
    assert done.code in (1, 2)
    assert said in done.err
    assert "Traceback" not in done.err


def test_files_before_a_command_and_alone_are_sources() -> None:
    assert parse(["sales.csv", "shop.sqlite"]).sources == ["sales.csv", "shop.sqlite"]
    assert parse(["--model", "offline", "a.xlsx", "sql", "SELECT 1"]).sources == ["a.xlsx"]
    assert parse(["--mcp-config", "mcp.json", "a.csv"]).sources == ["a.csv"]


def test_a_source_is_tried_out(sales: Path) -> None:
    assert "chinook answers: 11 tables" in dataagent("sources", "test", "chinook").err
    assert "sales answers: 1 table, 3 rows (duckdb)" in dataagent("sources", "test", str(sales)).err
    assert dataagent("sources", "test", "nobody").code == 1


def test_what_changed_in_a_schema_is_shown_as_a_difference(
    tmp_path: Path, fresh_home: Path
) -> None:
    path = tmp_path / "shop.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE item (name TEXT, old TEXT)")
    assert dataagent("sources", "add", "shop", str(path)).code == 0
    assert "nothing has changed" in dataagent("schema", "shop", "--diff").err
    with sqlite3.connect(path) as connection:
        connection.execute("ALTER TABLE item DROP COLUMN old")
        connection.execute("ALTER TABLE item ADD COLUMN price NUMERIC")
        connection.execute("CREATE TABLE extra (n INTEGER)")
    connection.close()
    assert dataagent("schema", "shop", "--diff").lines == [
        "+ Table extra was added (1 columns).",
        "+ Column item.price was added (NUMERIC).",
        "- Column item.old is gone.",
    ]
    assert "nothing has changed" in dataagent("schema", "shop", "--diff").err
