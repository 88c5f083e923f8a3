"""Values arrive as the database holds them, in a type that says what they are."""

# pyarrow has no type stubs: this module is a border to it.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportUnknownLambdaType=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import uuid
from collections.abc import Callable
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pytest

HIGHEST, LOWEST = 2**63 - 1, -(2**63)


def test_whole_numbers_of_64_bits_survive(database: Any) -> None:
    database.run(
        "CREATE TABLE n (x BIGINT)", f"INSERT INTO n VALUES ({HIGHEST}), ({LOWEST}), (NULL)"
    )
    assert database.read("SELECT x FROM n") == [(HIGHEST,), (LOWEST,), (None,)]
    assert database.schema("SELECT x FROM n") == [("x", "int64")]


def test_decimals_are_exact(make_database: Callable[[str], Any]) -> None:
    exact = Decimal("12345678901234567890123456.123456789012")
    for kind in ("duckdb", "postgres", "mysql"):
        database = make_database(kind)
        database.run(
            "CREATE TABLE n (x DECIMAL(38,12))", f"INSERT INTO n VALUES ({exact}), (-0.1), (NULL)"
        )
        assert database.read("SELECT x FROM n") == [(exact,), (Decimal("-0.1"),), (None,)]
        assert database.schema("SELECT x FROM n") == [("x", "decimal128(38, 12)")]


def test_floats_survive_to_the_last_bit(database: Any) -> None:
    database.run(
        f"CREATE TABLE n (x {'DOUBLE PRECISION' if database.kind != 'sqlite' else 'REAL'})",
        "INSERT INTO n VALUES (0.1), (1e300), (5e-324), (-2.2250738585072014e-308)",
    )
    expected = [(0.1,), (1e300,), (5e-324,), (-2.2250738585072014e-308,)]
    assert database.read("SELECT x FROM n") == expected


def test_text_survives_whatever_is_in_it(database: Any) -> None:
    texts = ["", " ", "NULL", "\\N", 'a"b', "a,b", "a\nb\r\nc", "漢字🎉", "'", "\\", "\t", "\\."]
    values = ", ".join(
        "('{}')".format(
            text.replace("'", "''").replace("\\", "\\\\" if database.kind == "mysql" else "\\")
        )
        for text in texts
    )
    kind = "VARCHAR(20)" if database.kind == "mysql" else "TEXT"
    database.run(f"CREATE TABLE w (x {kind})", f"INSERT INTO w VALUES {values}, (NULL)")
    assert [row[0] for row in database.read("SELECT x FROM w")] == [*texts, None]
    two = database.read("SELECT x, x AS y FROM w")
    assert two == [(text, text) for text in [*texts, None]]


def test_binary_survives(database: Any) -> None:
    kind = {"postgres": "BYTEA", "mysql": "VARBINARY(20)"}.get(database.kind, "BLOB")
    literals = {"postgres": r"'\x0061ff'", "duckdb": r"'\x00\x61\xFF'::BLOB"}
    literal = literals.get(database.kind, "x'0061ff'")
    database.run(
        f"CREATE TABLE b (x {kind})",
        f"INSERT INTO b VALUES ({literal}), (NULL)",
    )
    assert database.read("SELECT x FROM b") == [(b"\x00a\xff",), (None,)]
    assert database.schema("SELECT x FROM b") == [("x", "binary")]


def test_dates_and_timestamps_are_dates_and_timestamps(database: Any) -> None:
    stamp = {"mysql": "DATETIME(6)", "sqlite": "DATETIME"}.get(database.kind, "TIMESTAMP")
    database.run(
        f"CREATE TABLE d (day DATE, moment {stamp})",
        "INSERT INTO d VALUES ('2024-02-29', '2024-02-29 23:59:59.123456'), (NULL, NULL), "
        "('0001-01-01', '9999-12-31 00:00:00')",
    )
    if database.kind == "mysql":
        database.run("UPDATE d SET day = '1000-01-01' WHERE day < '1000-01-01'")
    first = date(1000, 1, 1) if database.kind == "mysql" else date(1, 1, 1)
    assert database.read("SELECT day, moment FROM d") == [
        (date(2024, 2, 29), datetime.fromisoformat("2024-02-29 23:59:59.123456")),
        (None, None),
        (first, datetime.fromisoformat("9999-12-31")),
    ]
    schema = database.schema("SELECT day, moment FROM d")
    assert schema == [("day", "date32[day]"), ("moment", "timestamp[us]")]


def test_moments_with_a_zone_are_the_same_moment_in_utc(
    make_database: Callable[[str], Any],
) -> None:
    for kind in ("duckdb", "postgres"):
        database = make_database(kind)
        database.run(
            "CREATE TABLE z (x TIMESTAMPTZ)",
            "INSERT INTO z VALUES ('2024-06-01 08:00:00+08'), ('1890-01-01 00:00:00+00'), (NULL)",
        )
        for zone in ("UTC", "Asia/Shanghai", "America/New_York"):
            rows = database.read("SELECT x FROM z", time_zone=zone)
            assert rows == [
                (datetime(2024, 6, 1, tzinfo=UTC),),
                (datetime(1890, 1, 1, tzinfo=UTC),),
                (None,),
            ]
        assert database.schema("SELECT x FROM z") == [("x", "timestamp[us, tz=UTC]")]


def test_the_time_zone_decides_which_day_it_is(make_database: Callable[[str], Any]) -> None:
    hour = {
        "duckdb": "hour(TIMESTAMPTZ '2024-01-01 00:00:00+00')",
        "postgres": "extract(hour FROM TIMESTAMPTZ '2024-01-01 00:00:00+00')::int",
        "mysql": "HOUR(FROM_UNIXTIME(1704067200))",
    }
    for kind, expression in hour.items():
        database = make_database(kind)
        assert database.read(f"SELECT {expression}", time_zone="UTC") == [(0,)]
        assert database.read(f"SELECT {expression}", time_zone="Asia/Shanghai") == [(8,)]
        assert database.read(f"SELECT {expression}") == [(0,)]


def test_an_empty_result_has_its_columns(database: Any) -> None:
    database.run("CREATE TABLE e (a BIGINT, b VARCHAR(9), d DATE)")
    schema = database.schema("SELECT a, b FROM e WHERE 1 = 0")
    assert schema == [("a", "int64"), ("b", "string")]
    assert database.read("SELECT * FROM e") == []


def test_a_column_of_nulls_is_read(database: Any) -> None:
    assert database.read("SELECT NULL AS x, 1 AS y") == [(None, 1)]
    assert database.schema("SELECT NULL AS x, 1 AS y")[0] == ("x", "string")


def test_equal_labels_are_kept_and_their_names_are_unique(database: Any) -> None:
    sql = "SELECT 1 AS a, 2 AS a, 3 AS b, 4 AS a"
    with database.engine.statement(sql, timeout_seconds=60) as statement:
        assert statement.labels == ("a", "a", "b", "a")
        [batch] = statement.batches()
    assert batch.schema.names == ["a", "a_2", "b", "a_3"]
    assert [column.to_pylist() for column in batch.columns] == [[1], [2], [3], [4]]


def test_a_label_may_be_in_any_script(database: Any) -> None:
    quote = "`" if database.kind == "mysql" else '"'
    with database.engine.statement(
        f"SELECT 1 AS {quote}合计 总{quote}", timeout_seconds=60
    ) as statement:
        assert statement.labels == ("合计 总",)


def test_a_list_of_one_column_keeps_its_nulls_and_empty_texts(database: Any) -> None:
    sql = "SELECT NULL AS x UNION ALL SELECT '' UNION ALL SELECT 'a' UNION ALL SELECT NULL"
    assert sorted(database.read(sql), key=str) == [("",), ("a",), (None,), (None,)]


POSTGRES = {
    "true": ("bool", True),
    "1::int2": ("int16", 1),
    "1::int4": ("int32", 1),
    "1.5::float4": ("float", 1.5),
    "'Infinity'::float8": ("double", float("inf")),
    "time '10:00:00.5'": ("time64[us]", time(10, 0, 0, 500000)),
    "'24:00:00'::time": ("string", "24:00:00"),
    "'10:00+02'::timetz": ("string", "10:00:00+02"),
    "'infinity'::timestamp": ("string", "infinity"),
    "'infinity'::date": ("string", "infinity"),
    "'-infinity'::timestamptz": ("string", "-infinity"),
    "'0044-03-15 BC'::date": ("string", "0044-03-15 BC"),
    "'20000-01-01'::date": ("string", "20000-01-01"),
    "'NaN'::numeric": ("string", "NaN"),
    "1.50::numeric": ("decimal128(38, 2)", Decimal("1.50")),
    "1e50::numeric": ("decimal256(76, 0)", Decimal("1e50")),
    "(1e90::numeric)": ("string", "1" + "0" * 90),
    "1::numeric(50,2)": ("decimal256(50, 2)", Decimal("1.00")),
    "1::numeric(90,2)": ("decimal128(38, 2)", Decimal("1.00")),
    "'{1,2}'::int[]": ("string", "{1,2}"),
    "'{\"a\": 1}'::jsonb": ("string", '{"a": 1}'),
    "'3f1e1c2a-0000-4000-8000-000000000001'::uuid": (
        "string",
        str(uuid.UUID("3f1e1c2a-0000-4000-8000-000000000001")),
    ),
    "interval '1 month 2 days'": ("string", "1 mon 2 days"),
    "'ab'::char(4)": ("string", "ab  "),
    "B'101'": ("string", "101"),
}
MYSQL = {
    "CAST(18446744073709551615 AS UNSIGNED)": ("uint64", 2**64 - 1),
    "CAST('10:00:00.5' AS TIME(1))": ("time64[us]", time(10, 0, 0, 500000)),
    "CAST('-838:59:59' AS TIME)": ("string", "-838:59:59"),
    "1.50": ("decimal128(3, 2)", Decimal("1.50")),
    "CAST(1 AS DECIMAL(65,30))": ("decimal256(65, 30)", Decimal(1)),
    "JSON_OBJECT('a', 1)": ("string", '{"a": 1}'),
    "1e0": ("double", 1.0),
}
DUCKDB = {
    "18446744073709551615::UBIGINT": ("uint64", 2**64 - 1),
    "99999999999999999999::HUGEINT": ("decimal128(38, 0)", Decimal(99999999999999999999)),
    "170141183460469231731687303715884105727::HUGEINT": ("string", str(2**127 - 1)),
    "340282366920938463463374607431768211455::UHUGEINT": ("string", str(2**128 - 1)),
    "'0101'::BIT": ("string", "0101"),
    "'10:00:00+02'::TIMETZ": ("string", "10:00:00+02"),
    "DATE 'infinity'": ("string", "infinity"),
    "TIMESTAMP '-infinity'": ("string", "-infinity"),
    "TIMESTAMPTZ 'infinity'": ("string", "infinity"),
    "'x'::ENUM ('x', 'y')": ("string", "x"),
    "[1, 2]": ("list<l: int32>", [1, 2]),
    "{'a': 1}": ("struct<a: int32>", {"a": 1}),
    "TIMESTAMP_S '2020-01-01 00:00:00'": ("timestamp[s]", datetime.fromisoformat("2020-01-01")),
    "uuid '3f1e1c2a-0000-4000-8000-000000000001'": (
        "string",
        "3f1e1c2a-0000-4000-8000-000000000001",
    ),
    "union_value(a := 1)": ("string", "1"),
}


@pytest.mark.parametrize(
    ("kind", "cases"), [("postgres", POSTGRES), ("mysql", MYSQL), ("duckdb", DUCKDB)]
)
def test_each_type_of_the_database_has_its_form(
    make_database: Callable[[str], Any], kind: str, cases: dict[str, tuple[str, Any]]
) -> None:
    database = make_database(kind)
    wrong: list[Any] = []
    for expression, expected in cases.items():
        sql = f"SELECT {expression} AS x"
        got = (database.schema(sql)[0][1], database.read(sql)[0][0])
        if got != expected:
            wrong.append((expression, got, expected))
    assert wrong == []


def test_a_float_of_mysqls_has_all_its_digits_and_changes_nothing_beside_it(
    make_database: Callable[[str], Any],
) -> None:
    database = make_database("mysql")
    database.run(
        "SET sql_mode = ''",
        "CREATE TABLE beside (i BIGINT UNSIGNED, s SMALLINT, y YEAR, d DATE, z DATE, "
        "a DATETIME, b DATETIME(3), c TIMESTAMP(6) NULL, t TIME, u TIME(6), n DECIMAL(20,4), "
        "x DOUBLE, g BIT(10), e LONGTEXT, o BLOB, f FLOAT)",
        "INSERT INTO beside VALUES (18446744073709551615, -300, 2024, '2024-02-29', '0000-00-00', "
        "'2024-02-29 00:00:00', '2024-02-29 12:30:15.120', '2024-02-29 12:30:15.000007', "
        "'-26:00:05', '00:00:00.5', -1234.5, 0.1, b'1000000001', REPEAT('é', 70000), '', "
        "1234567.8)",
        "INSERT INTO beside (i) VALUES (NULL)",
    )
    others = "i, s, y, d, z, a, b, c, t, u, n, x, g, e, o"
    assert database.read("SELECT f, f * 1 FROM beside WHERE f > 0") == [(1234567.75, 1234567.75)]
    with_float = [row[:-1] for row in database.read(f"SELECT {others}, f FROM beside")]
    assert with_float == database.read(f"SELECT {others} FROM beside")
    assert database.schema(f"SELECT {others}, f FROM beside")[:-1] == database.schema(
        f"SELECT {others} FROM beside"
    )


def test_what_mysql_has_and_others_have_not(make_database: Callable[[str], Any]) -> None:
    database = make_database("mysql")
    database.run(
        "SET sql_mode = ''",
        "CREATE TABLE odd (b BIT(10), y YEAR, d DATE, e ENUM('a','b'), t TINYINT UNSIGNED, "
        "z INT(6) ZEROFILL, s SET('p','q'), f FLOAT, l LONGTEXT)",
        "INSERT INTO odd VALUES (b'1000000001', 2024, '0000-00-00', 'b', 255, 42, 'p,q', 1.5, 'é')",
    )
    assert database.read("SELECT * FROM odd") == [
        (513, 2024, "0000-00-00", "b", 255, 42, "p,q", 1.5, "é")
    ]
    kinds = [kind for _, kind in database.schema("SELECT * FROM odd")]
    assert kinds == [
        "uint64",
        "int16",
        "string",
        "string",
        "uint8",
        "uint32",
        "string",
        "float",
        "string",
    ]


def test_rows_larger_than_a_packet_of_mysqls_are_put_together(
    make_database: Callable[[str], Any],
) -> None:
    database = make_database("mysql")
    long = 10_000_000
    sql = f"SELECT 1 AS a, REPEAT('x', {long}) AS b, REPEAT('y', {long}) AS c, NULL AS d"
    first, second = database.read(f"{sql} UNION ALL SELECT 2, 'z', 'w', 'v'")
    assert first == (1, "x" * long, "y" * long, None)
    assert second == (2, "z", "w", "v")
