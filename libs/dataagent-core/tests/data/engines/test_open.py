"""From an address to an engine, or to an error that helps."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import make_url

from dataagent_core.data.engines import EngineOptions, open_engine
from dataagent_core.errors import Misconfigured, QueryFailed, SourceUnavailable


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_a_file_that_is_not_there_is_named_and_not_created(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "nowhere.db"
    with pytest.raises(SourceUnavailable, match=r"no \w+ file 'nowhere\.db'") as caught:
        open_engine(f"{kind}:///{path}")
    assert str(tmp_path) not in caught.value.message
    assert not path.exists()


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_a_file_of_another_kind_is_refused(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "letter.txt"
    path.write_text("Dear Sir, " * 1000, encoding="utf-8")
    with pytest.raises(SourceUnavailable, match=r"letter\.txt"):
        open_engine(f"{kind}:///{path}")


@pytest.mark.parametrize("address", ["sqlite://", "sqlite:///:memory:", "duckdb:///:memory:"])
def test_a_file_source_needs_a_file(address: str) -> None:
    with pytest.raises(Misconfigured, match="path of a file"):
        open_engine(address)


def test_an_address_that_cannot_be_read_is_not_repeated() -> None:
    with pytest.raises(Misconfigured) as caught:
        open_engine("postgresql//user:hunter2@host")
    assert "hunter2" not in caught.value.message
    assert caught.value.__cause__ is None


def test_an_unknown_kind_of_database_is_refused_with_those_there_are() -> None:
    with pytest.raises(Misconfigured, match="'oracle' source cannot be protected from writes"):
        open_engine("oracle://user@host/db")
    allowed = EngineOptions(is_unprotected_allowed=True)
    with pytest.raises(Misconfigured, match="No dialect 'nonesuch'"):
        open_engine("nonesuch://host/db", options=allowed)
    with pytest.raises(Misconfigured, match="driver for 'oracle' is not installed"):
        open_engine("oracle+oracledb://user@host/db", options=allowed)


def test_a_mysql_source_needs_a_database() -> None:
    with pytest.raises(Misconfigured, match="needs a database"):
        open_engine("mysql://root@127.0.0.1")


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://someone:hunter2@127.0.0.1:9/db",
        "mysql://someone:hunter2@127.0.0.1:9/db",
        "mariadb+pymysql://someone:hunter2@127.0.0.1:9/db",
    ],
)
def test_a_server_that_is_away_is_told_without_the_password(address: str) -> None:
    engine = open_engine(address)
    for ask in (engine.ping, engine.introspect):
        with pytest.raises(SourceUnavailable, match=r"127\.0\.0\.1") as caught:
            ask()
        assert "hunter2" not in caught.value.message
        assert "someone" not in caught.value.message
    engine.close()


def test_a_path_with_odd_characters_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "数据 100%?#.db"
    with closing(sqlite3.connect(path)) as owner:
        owner.execute("CREATE TABLE t (x INTEGER)")
        owner.commit()
    engine = open_engine(make_url("sqlite://").set(database=str(path)))
    assert [table.name for table in engine.introspect()] == ["t"]
    engine.close()
    assert sorted(child.name for child in tmp_path.iterdir()) == [path.name]


def test_a_generic_source_reads_what_its_dialect_can(tmp_path: Path) -> None:
    from dataagent_core.data.engines.generic import GenericEngine

    path = tmp_path / "plain.db"
    with closing(sqlite3.connect(path)) as owner:
        owner.execute("CREATE TABLE a (id INTEGER PRIMARY KEY, city VARCHAR(20))")
        owner.execute("CREATE TABLE b (a_id INTEGER REFERENCES a (id), x NUMERIC(10, 2))")
        owner.execute("CREATE VIEW v AS SELECT city FROM a")
        owner.execute("INSERT INTO a VALUES (1, 'Oslo'), (2, NULL)")
        owner.commit()
    engine = GenericEngine(
        make_url(f"sqlite:///{path}"), EngineOptions(is_unprotected_allowed=True)
    )
    assert engine.dialect == "sqlite"
    a, b, v = engine.introspect()
    assert (a.primary_key, a.row_count, v.is_view) == (("id",), 2, True)
    assert [(key.columns, key.target_table) for key in b.foreign_keys] == [(("a_id",), "a")]
    assert engine.rows("SELECT id, city FROM a", timeout_seconds=60) == [(1, "Oslo"), (2, None)]
    assert engine.sample(a, ["city"], 3) == {"city": (("Oslo",), False)}
    with pytest.raises(QueryFailed, match="no such table"):
        engine.rows("SELECT * FROM nowhere", timeout_seconds=60)
    with pytest.raises(QueryFailed, match="no columns"):
        engine.rows("DELETE FROM a", timeout_seconds=60)
    assert len(engine.rows("SELECT id FROM a", timeout_seconds=60)) == 2
    engine.close()


def test_a_percent_sign_reaches_a_generic_source_as_it_is(
    make_database: Callable[[str], Any],
) -> None:
    from dataagent_core.data.engines.generic import GenericEngine

    url = make_url(make_database("mysql").url).set(drivername="mysql+pymysql")
    engine = GenericEngine(url, EngineOptions(is_unprotected_allowed=True))
    sql = "SELECT 7 % 4 AS rest, 'Oslo' LIKE 'O%' AS is_like, '100%s' AS said"
    assert engine.rows(sql, timeout_seconds=60) == [(3, 1, "100%s")]
    engine.close()
