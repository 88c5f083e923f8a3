"""`dataagent sources`: listing, registering, looking again, forgetting; and what is never shown."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from tests.services import fresh_database

from .shell import dataagent


def make_database(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


def listed() -> list[str]:
    """The names of the sources there are."""
    return [line.split()[0] for line in dataagent("sources").lines[2:]]


def test_the_sample_is_listed_with_what_it_holds() -> None:
    done = dataagent("sources")
    assert done.code == 0
    assert done.lines[0].split() == ["Name", "Kind", "Dialect", "Tables", "Rows", "About"]
    assert done.lines[2].split()[:4] == ["chinook", "database", "sqlite", "11"]
    assert "hint: register your own: dataagent sources add NAME URL|FOLDER" in done.err
    assert dataagent("sources", "list").out == done.out


def test_a_folder_of_files_becomes_a_source(fresh_home: Path, tmp_path: Path) -> None:
    (tmp_path / "reports").mkdir()
    (tmp_path / "reports" / "sales.csv").write_text("城市,金额\n上海,10\n北京,20\n", encoding="gbk")
    added = dataagent(
        *("sources", "add", "reports", "reports"),
        *("--description", "每月报表", "--grant", "everyone", "--time-zone", "Asia/Shanghai"),
    )
    assert added.code == 0
    assert added.err.startswith("added reports: 1 table, 2 rows (duckdb), at ")
    assert "每月报表" in dataagent("sources").out
    rows = dataagent("sql", 'SELECT "城市", "金额" FROM sales', "--format", "csv")
    assert rows.out.splitlines() == ["城市,金额", "上海,10", "北京,20"]
    assert "reports (duckdb)" in rows.err


@pytest.mark.parametrize("place", ["shop.db", "sqlite:///shop.db"])
def test_a_file_is_found_from_another_folder_too(
    fresh_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    make_database(tmp_path / "shop.db", "CREATE TABLE t AS SELECT 1 AS n")
    assert dataagent("sources", "add", "shop", place).code == 0
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert dataagent("sql", "SELECT n FROM t", "--format", "csv").out == "n\r\n1\r\n"


def test_refresh_says_what_changed_and_remove_forgets(fresh_home: Path, tmp_path: Path) -> None:
    make_database(tmp_path / "shop.db", "CREATE TABLE orders (id INTEGER)")
    dataagent("sources", "add", "shop", "shop.db")
    make_database(tmp_path / "shop.db", "CREATE TABLE customers (id INTEGER)")
    refreshed = dataagent("sources", "refresh", "shop")
    assert refreshed.code == 0
    assert refreshed.err.startswith("shop: 2 tables")
    assert "customers" in refreshed.err
    removed = dataagent("sources", "remove", "shop").err
    assert removed == "removed shop; its data is untouched\nDefault source is now chinook\n"
    assert listed() == ["chinook"]
    gone = dataagent("sources", "refresh", "shop")
    assert (gone.code, gone.err.splitlines()[1]) == (1, "hint: dataagent sources lists them.")


def test_the_default_source_stays_and_a_change_of_it_is_said(
    fresh_home: Path, tmp_path: Path
) -> None:
    def said(*words: str) -> list[str]:
        return [line for line in dataagent(*words).err.splitlines() if line.startswith("Default")]

    for name in ("shop", "archive"):
        make_database(tmp_path / f"{name}.db", f"CREATE TABLE t AS SELECT '{name}' AS name")
    assert said("sources") == ["Default source: chinook"]
    assert said("sources", "add", "shop", "shop.db") == ["Default source is now shop"]
    assert said("sources", "add", "archive", "archive.db") == ["Default source: shop"]
    assert said("sources") == ["Default source: shop"]
    assert dataagent("sql", "SELECT name FROM t", "--format", "csv").out == "name\r\nshop\r\n"
    assert said("sources", "remove", "chinook") == ["Default source: shop"]
    assert said("sources", "remove", "shop") == ["Default source is now archive"]
    assert said("sources", "remove", "archive") == []


def test_the_sample_stays_removed_until_it_is_asked_for(
    fresh_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    removed = dataagent("sources", "remove", "chinook")
    assert "DATAAGENT_SAMPLE_DATA=true restores it" in removed.err
    assert listed() == []
    monkeypatch.setenv("DATAAGENT_SAMPLE_DATA", "true")
    assert listed() == ["chinook"]
    monkeypatch.delenv("DATAAGENT_SAMPLE_DATA")
    assert listed() == ["chinook"]
    dataagent("sources", "remove", "chinook")
    assert listed() == []


def write_sources(file: Path, *names: str) -> None:
    """A configuration file with these sources, each a folder of that name beside it."""
    entries: list[str] = []
    for name in names:
        (file.parent / name).mkdir(exist_ok=True)
        (file.parent / name / "t.csv").write_text("n\n1\n")
        entries.append(f"  - name: {name}\n    folder: ./{name}\n")
    file.write_text(f"sources:\n{''.join(entries)}" if entries else "")


def test_a_source_leaves_with_its_entry_in_the_file(fresh_home: Path, tmp_path: Path) -> None:
    dataagent("sources")  # makes the home
    file = fresh_home / "sources.yaml"
    write_sources(file, "north", "south")
    assert listed() == ["chinook", "north", "south"]
    assert len(list((fresh_home / "sources").glob("*.duckdb"))) == 2
    refused = dataagent("sources", "remove", "south")
    assert refused.code == 1
    assert f"defined in the configuration file {file}" in refused.err
    write_sources(file, "south")
    assert listed() == ["chinook", "south"]
    assert len(list((fresh_home / "sources").glob("*.duckdb"))) == 1
    file.unlink()
    assert dataagent("sources", "remove", "south").code == 0
    assert listed() == ["chinook"]


def test_another_file_leaves_the_sources_of_the_first(
    fresh_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("north", "south"):
        write_sources(tmp_path / f"{name}.yaml", name)
        monkeypatch.setenv("DATAAGENT_SOURCES_CONFIG", f"{name}.yaml")
        dataagent("sources")
    assert listed() == ["chinook", "north", "south"]


def test_a_file_that_is_set_and_missing_is_named(
    fresh_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATAAGENT_SOURCES_CONFIG", str(tmp_path / "none.yaml"))
    done = dataagent("sources")
    assert done.code == 1
    assert f"DATAAGENT_SOURCES_CONFIG names {tmp_path / 'none.yaml'}" in done.err


def test_a_source_that_is_gone_is_listed_and_refreshing_it_fails(
    fresh_home: Path, tmp_path: Path
) -> None:
    make_database(tmp_path / "shop.db", "CREATE TABLE orders (id INTEGER)")
    dataagent("sources", "add", "shop", "shop.db")
    (tmp_path / "shop.db").unlink()
    assert listed() == ["chinook", "shop"]
    for words in (("sources", "refresh"), ("sources", "test"), ("schema", "--diff")):
        done = dataagent(*words, "shop")
        assert done.code == 1
        assert done.err.startswith("error: shop: ")
    statement = dataagent("sql", "SELECT * FROM orders", "--source", "shop")
    assert statement.err.startswith("error: shop: ")


@pytest.mark.parametrize(
    ("argv", "code", "said"),
    [
        (["shop", "no-such-folder"], 2, "There is no file or folder 'no-such-folder'."),
        (["shop", "."], 2, "There are no files to load."),
        (["a b", "sqlite:///x.db"], 2, "A data source's name has"),
        (["shop", "sqlite:///missing.db"], 1, "hint: check the source's address"),
        (["shop", "sqlite:///x.db", "--grant", "nobody"], 2, "hint: write everyone, user:NAME"),
        (["shop", "sqlite:///x.db", "--time-zone", "Mars"], 2, "There is no time zone 'Mars'"),
        (["chinook", "sqlite:///x.db"], 1, "A data source is named 'chinook' already."),
        (["shop", "postgresql://u:${NO_SUCH}@h/d"], 2, "'NO_SUCH' is needed"),
        (["shop", "postgresql://u@h/d", "--ask-password"], 2, "'password' is needed"),
    ],
)
def test_a_source_that_does_not_do_is_not_registered(argv: list[str], code: int, said: str) -> None:
    done = dataagent("sources", "add", *argv)
    assert said in done.err
    assert done.code == code
    assert listed() == ["chinook"]


@pytest.mark.parametrize("place", ["postgresql://u:{}@127.0.0.1:1/d", "postgresql://u:{}@[/d"])
def test_a_password_is_never_shown(place: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_PASSWORD", "s3cr3t@/word")
    for written in ("${SHOP_PASSWORD}", "s3cr3t"):
        done = dataagent("sources", "add", "secretive", place.format(written))
        assert done.code in (1, 2)
        assert "s3cr3t" not in done.err + done.out
    assert "s3cr3t" not in (home / "dataagent.log").read_text()


def test_a_password_of_the_environment_opens_a_server(
    fresh_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_PASSWORD", "p@ss/word")
    with fresh_database("postgres", tmp_path) as url:
        place = url.replace("@", ":${SHOP_PASSWORD}@", 1)
        added = dataagent("sources", "add", "shop", place)
        assert added.code == 0, added.err
        assert "••••@" in added.err
        assert "p@ss" not in added.err
        rows = dataagent("sql", "SELECT 1 AS one", "--source", "shop", "--format", "csv")
        assert rows.out == "one\r\n1\r\n"


def test_a_password_in_clear_is_taken_with_a_hint(fresh_home: Path, tmp_path: Path) -> None:
    with fresh_database("postgres", tmp_path) as url:
        added = dataagent("sources", "add", "shop", url.replace("@", ":visible@", 1))
        assert added.code == 0, added.err
        assert "hint: the password may be in your shell's history" in added.err
        assert "visible" not in added.err
