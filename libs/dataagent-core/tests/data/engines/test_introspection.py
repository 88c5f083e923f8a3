"""What an engine says about its tables, and the values it samples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from dataagent_core.data.types import ForeignKey, Table

TABLES = {
    "sqlite": (
        "CREATE TABLE customers (id INTEGER PRIMARY KEY, name VARCHAR(40) NOT NULL)",
        'CREATE TABLE "order lines" (order_id INTEGER, line INTEGER, "客户" INTEGER '
        'REFERENCES customers(id), "单价" NUMERIC(10,2), PRIMARY KEY (order_id, line))',
    ),
    "duckdb": (
        "CREATE TABLE customers (id INTEGER PRIMARY KEY, name VARCHAR NOT NULL)",
        'CREATE TABLE "order lines" (order_id INTEGER, line INTEGER, "客户" INTEGER '
        'REFERENCES customers(id), "单价" DECIMAL(10,2), PRIMARY KEY (order_id, line))',
        "COMMENT ON TABLE customers IS '顾客'",
        "COMMENT ON COLUMN customers.name IS 'as on the invoice'",
    ),
    "postgres": (
        "CREATE TABLE customers (id INTEGER PRIMARY KEY, name VARCHAR(40) NOT NULL)",
        'CREATE TABLE "order lines" (order_id INTEGER, line INTEGER, "客户" INTEGER '
        'REFERENCES customers(id), "单价" NUMERIC(10,2), PRIMARY KEY (order_id, line))',
        "COMMENT ON TABLE customers IS '顾客'",
        "COMMENT ON COLUMN customers.name IS 'as on the invoice'",
    ),
    "mysql": (
        "CREATE TABLE customers (id INTEGER PRIMARY KEY, name VARCHAR(40) NOT NULL "
        "COMMENT 'as on the invoice') COMMENT '顾客'",
        "CREATE TABLE `order lines` (order_id INTEGER, line INTEGER, `客户` INTEGER, "
        "`单价` DECIMAL(10,2), PRIMARY KEY (order_id, line), "
        "FOREIGN KEY (`客户`) REFERENCES customers(id))",
    ),
}
TYPES = {
    "sqlite": ["INTEGER", "INTEGER", "INTEGER", "NUMERIC(10,2)"],
    "duckdb": ["INTEGER", "INTEGER", "INTEGER", "DECIMAL(10,2)"],
    "postgres": ["integer", "integer", "integer", "numeric(10,2)"],
    "mysql": ["int(11)", "int(11)", "int(11)", "decimal(10,2)"],
}


def filled(database: Any) -> dict[str, Table]:
    database.run(
        *TABLES[database.kind],
        "INSERT INTO customers VALUES (1, 'Ann'), (2, 'Bo'), (3, '王芳')",
        "CREATE VIEW named AS SELECT name FROM customers",
    )
    return {table.key: table for table in database.engine.introspect()}


def test_tables_have_their_columns_types_keys_and_exact_counts(database: Any) -> None:
    tables = filled(database)
    assert set(tables) == {"customers", "order lines", "named"}
    lines = tables["order lines"]
    assert [column.name for column in lines.columns] == ["order_id", "line", "客户", "单价"]
    assert [column.type for column in lines.columns] == TYPES[database.kind]
    assert lines.primary_key == ("order_id", "line")
    assert lines.foreign_keys == (ForeignKey(("客户",), "customers", ("id",)),)
    assert (lines.row_count, tables["customers"].row_count) == (0, 3)
    assert [c.is_nullable for c in tables["customers"].columns] == [False, False]


def test_views_are_told_apart(database: Any) -> None:
    tables = filled(database)
    assert [key for key, table in tables.items() if table.is_view] == ["named"]
    assert [column.name for column in tables["named"].columns] == ["name"]


def test_comments_are_read_where_the_database_has_them(database: Any) -> None:
    customers = filled(database)["customers"]
    expected = (None, None) if database.kind == "sqlite" else ("顾客", "as on the invoice")
    assert (customers.comment, customers.columns[1].comment) == expected


def test_tables_outside_the_default_schema_carry_its_name(
    make_database: Callable[[str], Any],
) -> None:
    for kind in ("duckdb", "postgres"):
        database = make_database(kind)
        database.run("CREATE SCHEMA sales", "CREATE TABLE sales.deals (id INTEGER PRIMARY KEY)")
        database.run("CREATE TABLE plain (deal INTEGER)", "INSERT INTO sales.deals VALUES (7)")
        tables = {table.key: table for table in database.engine.introspect()}
        assert set(tables) == {"sales.deals", "plain"}
        assert tables["sales.deals"].schema == "sales"
        assert tables["sales.deals"].row_count == 1
        assert database.read("SELECT id FROM sales.deals") == [(7,)]


def test_samples_are_the_most_frequent_words_and_say_if_there_are_more(database: Any) -> None:
    database.run(
        "CREATE TABLE people (id INTEGER, city VARCHAR(300))",
        "INSERT INTO people VALUES (1, '北京'), (2, 'Oslo'), (3, '北京'), (4, NULL), (5, 'Rome')",
    )
    [people] = database.engine.introspect()
    columns = ["id", "city"]
    assert database.engine.sample(people, columns, 3) == {"city": (("北京", "Oslo", "Rome"), False)}
    assert database.engine.sample(people, columns, 1) == {"city": (("北京",), True)}
    assert database.engine.sample(people, ["id"], 3) == {}


def test_very_long_values_are_not_sampled_and_that_is_said(database: Any) -> None:
    database.run(
        "CREATE TABLE notes (note VARCHAR(300))",
        f"INSERT INTO notes VALUES ('short'), ('{'x' * 250}')",
    )
    [notes] = database.engine.introspect()
    assert database.engine.sample(notes, ["note"], 5) == {"note": (("short",), True)}


def test_a_table_that_is_gone_has_no_samples_and_no_count(database: Any) -> None:
    database.run("CREATE TABLE people (city VARCHAR(30))")
    [people] = database.engine.introspect()
    gone = replace(people, name="gone", row_count=None)
    assert database.engine.sample(gone, ["city"], 3) == {}
    assert database.engine.with_row_counts([gone]) == [gone]


def test_a_view_over_a_table_that_is_gone_does_not_hide_the_others(
    make_database: Callable[[str], Any],
) -> None:
    database = make_database("sqlite")
    database.run(
        "CREATE TABLE a (x INTEGER)",
        "CREATE TABLE b (y INTEGER)",
        "CREATE VIEW v AS SELECT x FROM a",
    )
    database.run("PRAGMA legacy_alter_table = ON", "DROP TABLE a")
    assert [table.name for table in database.engine.introspect()] == ["b"]


def test_a_key_without_columns_points_at_the_primary_key(
    make_database: Callable[[str], Any],
) -> None:
    database = make_database("sqlite")
    database.run("CREATE TABLE a (x INTEGER PRIMARY KEY)", "CREATE TABLE b (y REFERENCES a)")
    tables = {table.name: table for table in database.engine.introspect()}
    assert tables["b"].foreign_keys == (ForeignKey(("y",), "a", ("x",)),)


def test_an_account_sees_only_the_columns_it_may_read(make_database: Callable[[str], Any]) -> None:
    database = make_database("postgres")
    role = f"reader_{database.url.rsplit('_', 1)[1]}"
    database.run(
        "CREATE TABLE staff (name TEXT, salary INTEGER)",
        "CREATE TABLE hidden (x INTEGER)",
        f"CREATE ROLE {role} LOGIN",
        f"GRANT SELECT (name) ON staff TO {role}",
        f"GRANT USAGE ON SCHEMA public TO {role}",
    )
    try:
        database.url = database.url.replace("//postgres@", f"//{role}@")
        [staff] = database.engine.introspect()
        assert (staff.name, [column.name for column in staff.columns]) == ("staff", ["name"])
    finally:
        database.close()
        database.url = database.url.replace(f"//{role}@", "//postgres@")
        database.run(f"DROP OWNED BY {role}", f"DROP ROLE {role}")
