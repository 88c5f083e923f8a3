"""With the parser out of the way, the engine alone keeps the source as it is."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import make_url

from dataagent_core.errors import QueryFailed

EVERYWHERE = (
    "INSERT INTO things VALUES (3, 'c')",
    "UPDATE things SET name = 'x'",
    "DELETE FROM things",
    "DROP TABLE things",
    "CREATE TABLE more (x INTEGER)",
    "CREATE VIEW seen AS SELECT 1 AS x",
    "CREATE INDEX fast ON things (id)",
    "ALTER TABLE things ADD COLUMN y INTEGER",
    "COMMIT",
    "BEGIN",
    "ROLLBACK",
    "COMMIT; DROP TABLE things",
    "SELECT 1; DROP TABLE things",
    "SELECT 1; COMMIT; DROP TABLE things",
    "",
    ";",
    "-- nothing",
)
SQLITE = (
    "ATTACH DATABASE '{out}' AS other",
    "DETACH DATABASE main",
    "VACUUM",
    "VACUUM INTO '{out}'",
    "CREATE TEMP TABLE t (x)",
    "PRAGMA query_only = OFF",
    "PRAGMA writable_schema = ON",
    "PRAGMA table_info(things)",
    "REPLACE INTO things VALUES (1, 'z')",
    "REINDEX",
    "ANALYZE",
    "SAVEPOINT s",
    "SELECT load_extension('{out}')",
    "SELECT readfile('/etc/passwd')",
    "SELECT writefile('{out}', 'x')",
    "SELECT sql FROM sqlite_master",
    "SELECT sql FROM sqlite_schema",
    "SELECT * FROM SQLITE_MASTER",
    "SELECT * FROM pragma_table_info('things')",
    "SELECT * FROM pragma_database_list",
    "SELECT fts3_tokenizer('simple')",
    "WITH d AS (SELECT 1) DELETE FROM things",
    "EXPLAIN DELETE FROM things; DELETE FROM things",
)
DUCKDB = (
    "ATTACH '{out}' AS other",
    "ATTACH ':memory:' AS other",
    "COPY things TO '{out}'",
    "COPY things FROM '/etc/passwd'",
    "EXPORT DATABASE '{out}'",
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT * FROM read_text('/etc/passwd')",
    "SELECT * FROM read_blob('/etc/*')",
    "SELECT * FROM '/etc/passwd'",
    "SELECT * FROM glob('/etc/*')",
    "SELECT * FROM sniff_csv('/etc/passwd')",
    "SELECT * FROM query('SELECT * FROM read_text(''/etc/passwd'')')",
    "INSTALL httpfs",
    "LOAD httpfs",
    "SET enable_external_access = true",
    "SET lock_configuration = false",
    "SET allowed_configs = ['enable_external_access']",
    "RESET enable_external_access",
    "SET GLOBAL timezone = 'Asia/Tokyo'",
    "PRAGMA enable_profiling",
    "PRAGMA version",
    "CREATE TEMP TABLE t (x INTEGER)",
    "CREATE SECRET s (TYPE s3)",
    "CREATE MACRO m() AS 1",
    "CHECKPOINT",
    "CALL pragma_version()",
    "PREPARE p AS SELECT 1",
    "DETACH test",
    "USE memory",
    "EXPLAIN ANALYZE SELECT 1",
)
POSTGRES = (
    "TRUNCATE things",
    "CREATE TEMP TABLE t (x INTEGER)",
    "SELECT * INTO other FROM things",
    "WITH d AS (DELETE FROM things RETURNING *) SELECT * FROM d",
    "INSERT INTO things VALUES (3, 'c') RETURNING id",
    "SELECT * FROM things FOR UPDATE",
    "SELECT nextval('numbers')",
    "SELECT setval('numbers', 99)",
    "COPY things TO '{out}'",
    "COPY things FROM '/etc/passwd'",
    "COPY things TO PROGRAM 'touch {out}'",
    "COPY (SELECT 1) TO PROGRAM 'touch {out}'",
    "COPY things TO STDOUT",
    "SELECT 1) TO PROGRAM 'touch {out}' --",
    "SELECT 1) TO PROGRAM 'touch {out}'; --",
    "SELECT 1\n) TO '{out}' (FORMAT csv) --",
    "SELECT 1 /*\n) TO PROGRAM 'touch {out}' --",
    "SELECT pg_read_file('/etc/passwd')",
    "SELECT pg_ls_dir('/')",
    "SELECT lo_import('/etc/passwd')",
    "SELECT query_to_xml('DELETE FROM things', true, true, '')",
    "SELECT set_config('transaction_read_only', 'off', false)",
    "SELECT pg_reload_conf()",
    "SELECT pg_switch_wal()",
    "SET transaction_read_only = off",
    "SET ROLE postgres",
    "RESET ROLE",
    "SET SESSION AUTHORIZATION DEFAULT",
    "DO $$ BEGIN DELETE FROM things; END $$",
    "PREPARE p AS DELETE FROM things",
    "EXECUTE p",
    "CALL p()",
    "LISTEN x",
    "NOTIFY x",
    "LOCK TABLE things",
    "VACUUM",
    "ALTER SYSTEM SET work_mem = '1GB'",
    "CREATE ROLE evil SUPERUSER",
    "LOAD 'plpgsql'",
    "CREATE EXTENSION dblink",
    "DISCARD ALL",
    "START TRANSACTION READ WRITE",
    "ROLLBACK AND CHAIN",
    "DECLARE c CURSOR FOR SELECT 1",
    "SECURITY LABEL ON TABLE things IS NULL",
)
MYSQL = (
    "REPLACE INTO things VALUES (1, 'z')",
    "TRUNCATE things",
    "DELETE FROM things RETURNING id",
    "INSERT INTO things VALUES (3, 'c') RETURNING id",
    "CREATE TEMPORARY TABLE t (x INTEGER)",
    "SELECT * FROM things INTO OUTFILE '{out}'",
    "SELECT 1 INTO DUMPFILE '{out}'",
    "SELECT 1 INTO @x",
    "SELECT LOAD_FILE('/etc/passwd')",
    "LOAD DATA INFILE '/etc/passwd' INTO TABLE things",
    "LOAD DATA LOCAL INFILE '/etc/passwd' INTO TABLE things",
    "/*!50000 DELETE FROM things */",
    "SELECT 1 /*!50000 INTO OUTFILE '{out}' */",
    "SET GLOBAL max_connections = 10",
    "SET SESSION TRANSACTION READ WRITE",
    "SET @@autocommit = 1",
    "START TRANSACTION READ WRITE",
    "KILL 1",
    "DO SLEEP(1)",
    "CALL p()",
    "HANDLER things OPEN",
    "LOCK TABLES things WRITE",
    "FLUSH TABLES",
    "GRANT ALL ON *.* TO evil@localhost",
    "CREATE USER evil@localhost",
    "PREPARE p FROM 'DELETE FROM things'",
    "EXECUTE IMMEDIATE 'DELETE FROM things'",
    "RENAME TABLE things TO others",
    "USE mysql",
    "SELECT NEXTVAL(numbers)",
    "BEGIN NOT ATOMIC DELETE FROM things; END",
)
HOSTILE = {"sqlite": SQLITE, "duckdb": DUCKDB, "postgres": POSTGRES, "mysql": MYSQL}


def filled(database: Any) -> None:
    name = "VARCHAR(20)" if database.kind == "mysql" else "TEXT"
    database.run(
        f"CREATE TABLE things (id INTEGER, name {name})",
        "INSERT INTO things VALUES (1, 'a'), (2, 'b')",
    )
    if database.kind in ("postgres", "mysql"):
        database.run("CREATE SEQUENCE numbers")


def state(database: Any) -> list[Any]:
    """What must not change: the rows, the tables, the position of the sequence."""
    tables = {
        "sqlite": "SELECT sql FROM sqlite_master ORDER BY sql",
        "duckdb": "SELECT table_name FROM duckdb_tables() ORDER BY 1",
        "postgres": "SELECT relname FROM pg_class WHERE relnamespace = "
        "'public'::regnamespace ORDER BY 1",
        "mysql": "SHOW TABLES",
    }
    found = [database.run("SELECT * FROM things ORDER BY id"), database.run(tables[database.kind])]
    if database.kind == "postgres":
        found.append(database.run("SELECT last_value, is_called FROM numbers"))
        found.append(database.run("SELECT count(*) FROM pg_largeobject_metadata"))
    if database.kind == "mysql":
        found.append(database.run("SELECT next_not_cached_value FROM numbers"))
    return found


def test_nothing_that_is_handed_to_an_engine_changes_its_source(
    database: Any, tmp_path: Path
) -> None:
    filled(database)
    before = state(database)
    out = tmp_path / "out"
    ran: list[str] = []
    for statement in (*EVERYWHERE, *HOSTILE[database.kind]):
        sql = statement.replace("{out}", str(out))
        try:
            rows = database.read(sql, timeout_seconds=10)
        except QueryFailed:
            continue
        ran.append(f"{sql} -> {rows[:1]}")
    assert ran == []
    assert database.read("SELECT id, name FROM things ORDER BY id") == [(1, "a"), (2, "b")]
    database.close()
    assert state(database) == before
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("out")] == []


def test_a_refusal_says_that_only_reading_is_allowed(make_database: Callable[[str], Any]) -> None:
    database = make_database("sqlite")
    filled(database)
    with pytest.raises(QueryFailed, match="Only reading is allowed"):
        database.read("DELETE FROM things")


@pytest.mark.parametrize(
    ("grant", "is_refused"),
    [
        ("GRANT ALL PRIVILEGES ON *.*", True),
        ("GRANT FILE ON *.*", True),
        ("GRANT PROCESS, FILE, SHOW DATABASES ON *.*", True),
        ("GRANT PROCESS, SHOW DATABASES ON *.*", False),
        ("GRANT ALL PRIVILEGES ON `FILE ON`.*", False),
    ],
)
def test_reading_the_servers_files_is_refused_to_an_account_that_could(
    make_database: Callable[[str], Any], grant: str, is_refused: bool
) -> None:
    database = make_database("mysql")
    url = make_url(database.url)
    name = f"files_{secrets.token_hex(6)}"
    database.run(
        f"CREATE USER {name}@'%' IDENTIFIED BY 'FILE'",
        f"{grant} TO {name}@'%'",
        f"GRANT SELECT ON `{url.database}`.* TO {name}@'%'",
    )
    try:
        account = url.set(username=name, password="FILE")
        database.url = account.render_as_string(hide_password=False)
        if is_refused:
            with pytest.raises(QueryFailed, match="Use an account without the FILE privilege"):
                database.read("SELECT LOAD_FILE('/etc/passwd')")
        else:
            assert database.read("SELECT LOAD_FILE('/etc/passwd')") == [(None,)]
    finally:
        database.close()
        database.url = url.render_as_string(hide_password=False)
        database.run(f"DROP USER {name}@'%'")


def test_what_a_statement_set_is_forgotten_afterwards(make_database: Callable[[str], Any]) -> None:
    cases = {
        "postgres": (
            "SELECT set_config('work_mem', '77MB', false), pg_advisory_lock(4711)",
            "SELECT current_setting('work_mem') = '77MB', "
            "(SELECT count(*) FROM pg_locks WHERE locktype = 'advisory')",
            [(False, 0)],
        ),
        "mysql": (
            "SELECT @x := 7, GET_LOCK('l', 1)",
            "SELECT @x, IS_USED_LOCK('l')",
            [(None, None)],
        ),
    }
    for kind, (first, second, expected) in cases.items():
        database = make_database(kind)
        database.limit(max_connections=1)
        database.read(first)
        assert database.read(second) == expected


def test_a_duckdb_file_cannot_be_read_past_its_tables(make_database: Callable[[str], Any]) -> None:
    database = make_database("duckdb")
    filled(database)
    path = database.url.removeprefix("duckdb:///")
    for name in (path, f"{path}.wal", f"{path}.tmp/*"):
        for sql in (f"SELECT * FROM read_blob('{name}')", f"SELECT * FROM glob('{name}')"):
            with pytest.raises(QueryFailed, match="disabled by configuration"):
                database.read(sql)


def test_a_duckdb_statement_that_needs_too_much_memory_is_told_and_leaves_nothing(
    make_database: Callable[[str], Any], tmp_path: Path
) -> None:
    database = make_database("duckdb")
    database.limit(memory_limit="60MB")
    with pytest.raises(QueryFailed, match="more memory than it may have"):
        database.read("SELECT hash(x)::VARCHAR AS h FROM range(5000000) t(x) ORDER BY h")
    assert database.read("SELECT 42") == [(42,)]
    assert [child.name for child in tmp_path.iterdir()] == ["test.duckdb"]


def test_one_value_cannot_take_all_the_memory(make_database: Callable[[str], Any]) -> None:
    database = make_database("sqlite")
    filled(database)
    for sql in (
        "SELECT zeroblob(1000000000)",
        "SELECT hex(randomblob(100000000))",
        "SELECT replace(hex(zeroblob(10000000)), '00', '0123456789')",
    ):
        with pytest.raises(QueryFailed, match="too big"):
            database.read(sql)
    for sql in ("SELECT printf('%.*c', 500000000, 'x')", "SELECT format('%5000d', 1)"):
        with pytest.raises(QueryFailed, match="printf takes no width"):
            database.read(sql)
    sql = "SELECT printf('%.2f|%5d|%s%%', 1.5, 7, 'a*'), format('%d', 3), printf(NULL)"
    assert database.read(sql) == [("1.50|    7|a*%", "3", None)]


def test_what_a_function_did_all_the_same_is_rolled_back(
    make_database: Callable[[str], Any],
) -> None:
    database = make_database("postgres")
    filled(database)
    before = state(database)
    database.read("SELECT lo_create(0)")  # refused only since PostgreSQL 16
    assert state(database) == before


def test_a_plain_account_of_postgres_is_read_only_as_well(
    make_database: Callable[[str], Any],
) -> None:
    database = make_database("postgres")
    filled(database)
    role = f"writer_{database.url.rsplit('_', 1)[1]}"
    database.run(f"CREATE ROLE {role} LOGIN", f"GRANT ALL ON things, numbers TO {role}")
    database.run(f"GRANT ALL ON SCHEMA public TO {role}")
    owner = database.url
    try:
        database.url = owner.replace("//postgres@", f"//{role}@")
        assert database.read("SELECT count(*) FROM things") == [(2,)]
        for sql in ("DELETE FROM things", "WITH d AS (DELETE FROM things RETURNING 1) TABLE d"):
            with pytest.raises(QueryFailed):
                database.read(sql)
    finally:
        database.close()
        database.url = owner
        database.run(f"DROP OWNED BY {role}", f"DROP ROLE {role}")
    assert database.read("SELECT count(*) FROM things") == [(2,)]
