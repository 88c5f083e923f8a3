"""JSON as raw tables: an array of objects, JSON lines, or one object that holds such arrays.

Each key of the objects is a column; objects inside objects become columns of their own
(`address_city`), arrays stay JSON text. Strings stay strings unless all are dates: JSON says itself
what is a number. DuckDB reads a broken number as a double; one with more digits than that keeps is
text here, with all of them. Depth is checked before anything descends.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal

import duckdb
from duckdb import DuckDBPyConnection

from dataagent_core.data.files.columns import listed
from dataagent_core.data.files.delimited import append, check_width
from dataagent_core.data.files.types import DUCKDB, FileLimits, Guess, InputFile, RawTable
from dataagent_core.errors import BadInput, LimitReached

_END_BYTES = 64 * 1024
"""White space that may follow the last element."""
_MAX_FLAT_DEPTH = 3
_MAX_FLAT_KEYS = 50
"""An object with more keys is a dictionary, not a row; it stays JSON text."""
_MAX_WIDE_KEYS = 300
"""With more keys than this, objects inside are not looked into."""
_OBJECT_BYTES = 16 * 1024 * 1024
_OBJECT, _ARRAY = frozenset({"OBJECT"}), frozenset({"ARRAY"})
_NUMBERS = {"BIGINT", "UBIGINT", "HUGEINT", "DOUBLE"}
_STRINGS = r'"(?:[^"\\]|\\.)*"'
_BROKEN = r"[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?"
_DOUBLE_DIGITS = 15
"""So many significant digits always survive in a double; with more it depends on the number."""
_PYTHON_DIGITS = 4000  # of an integer that Python reads
_ROWS_AT_ONCE = 1000
_LONG_NOTE = "Numbers with more digits than a DOUBLE keeps were kept as text."


@dataclass(frozen=True, slots=True)
class _Field:
    """A value inside each row: its JSON pointer, the name it gets, the kinds it has."""

    pointer: str
    name: str | None
    kinds: frozenset[str]

    @property
    def guess(self) -> Guess:
        if self.kinds <= _NUMBERS or self.kinds <= {"BOOLEAN"}:
            return "any"
        return "dates" if self.kinds <= {"VARCHAR"} else "none"

    @property
    def is_nested(self) -> bool:
        return bool(self.kinds & {"ARRAY", "OBJECT"})


def read_json(
    connection: DuckDBPyConnection, file: InputFile, path: str, limits: FileLimits, *, into: str
) -> list[RawTable]:
    """The tables of a JSON file in UTF-8, each in a temporary table named after `into`.

    Raises:
        BadInput: it is not JSON, or has no rows.
        LimitReached: it is nested too deeply or has too many keys.
    """
    rows = f"{into}_rows"
    _read_rows(connection, file, path, rows)
    _check_depth(connection, file, rows, limits)
    has_long = _keep_digits(connection, rows, into=f"{into}_long")
    raws: list[RawTable] = []
    for number, (label, table, notes) in enumerate(_tables(connection, rows, into)):
        raw = _table(connection, file, table, limits, into=f"{into}_{number}")
        raw.notes.extend(notes)
        raws.append(replace(raw, label=label))
        connection.execute(f"DROP TABLE {table}")
    if has_long:
        raws[0].notes.append(_LONG_NOTE)
    return raws


def _read_rows(connection: DuckDBPyConnection, file: InputFile, path: str, table: str) -> None:
    """A row for each element of an array, each line, or each value that follows another."""
    with open(path, encoding="utf-8") as stream:
        start = stream.read(4096).lstrip()
    whole = max(_OBJECT_BYTES, file.byte_size * 4 + 1024)  # a copy in UTF-8 may be larger
    forms = ["array", "unstructured"] if start.startswith("[") else ["unstructured"]
    if start.startswith("{") and _is_json(start.partition("\n")[0]):
        forms = ["newline_delimited", "unstructured"]
    last: duckdb.Error | None = None
    for form in forms:
        size = _OBJECT_BYTES if form != "unstructured" else whole
        try:
            connection.execute(
                f"CREATE OR REPLACE TEMP TABLE {table} AS SELECT json AS j FROM "  # noqa: S608
                f"read_json_objects('{path}', format = '{form}', compression = 'uncompressed', "
                f"maximum_object_size = {size})"
            )
        except duckdb.OutOfMemoryException:
            raise
        except duckdb.Error as error:
            last = error
        else:
            if form == "array":
                _check_end(connection, file, path, table)
            return
    said = str(last).partition("\n")[0].replace(path, file.name)[:300]
    raise BadInput(f"'{file.name}' is not valid JSON: {said}") from last


def _check_end(connection: DuckDBPyConnection, file: InputFile, path: str, table: str) -> None:
    """An array that was cut off after an element is read without complaint: see that it ends."""
    row = connection.execute(
        # our names
        f"SELECT CAST(j AS VARCHAR) FROM {table} ORDER BY rowid DESC LIMIT 1"  # noqa: S608
    ).fetchone()
    last = str(row[0]).encode() if row else b"["
    with open(path, "rb") as stream:
        size = stream.seek(0, os.SEEK_END)
        stream.seek(max(0, size - len(last) - _END_BYTES))
        end = stream.read().rstrip()
    if not end.endswith(b"]") or not end[:-1].rstrip().endswith(last):
        raise BadInput(f"'{file.name}' is not valid JSON: the array does not end. Export it again.")


def _is_json(line: str) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _check_depth(
    connection: DuckDBPyConnection, file: InputFile, rows: str, limits: FileLimits
) -> None:
    """Strip the innermost brackets, again and again, of the rows that have many."""
    brackets = "length(j) - length(replace(replace(j, '[', ''), '{', ''))"
    connection.execute(
        rf"""CREATE OR REPLACE TEMP TABLE _brackets AS
        SELECT regexp_replace(regexp_replace(j, '{_STRINGS}', '', 'g'),
                              '[^\[\]{{}}]+', '', 'g') AS s
        FROM (SELECT CAST(j AS VARCHAR) AS j FROM {rows}) WHERE {brackets} > ?""",  # noqa: S608
        [limits.max_json_depth],
    )
    for _ in range(limits.max_json_depth):
        if not _count(connection, "_brackets"):
            break
        connection.execute(
            r"CREATE OR REPLACE TEMP TABLE _brackets AS SELECT s FROM "
            r"(SELECT regexp_replace(s, '\[\]|\{\}', '', 'g') AS s FROM _brackets) WHERE s <> ''"
        )
    if _count(connection, "_brackets"):
        raise LimitReached(
            f"'{file.name}' is nested more than {limits.max_json_depth} deep. Flatten it."
        )
    connection.execute("DROP TABLE _brackets")


def _keep_digits(connection: DuckDBPyConnection, rows: str, *, into: str) -> bool:
    """Make a string of each number that a double would change; whether there was one."""
    connection.execute(
        f"""CREATE OR REPLACE TEMP TABLE {into} AS SELECT place, j FROM
        (SELECT rowid AS place, CAST(j AS VARCHAR) AS j FROM {rows})
        WHERE regexp_matches(j, '[0-9.]{{{_DOUBLE_DIGITS + 1}}}') AND len(list_filter(
            regexp_extract_all(regexp_replace(j, '{_STRINGS}', '', 'g'), '{_BROKEN}'),
            lambda x: length(x) > {_DOUBLE_DIGITS} AND TRY_CAST(x AS DOUBLE)::VARCHAR <> x)) > 0
        """  # noqa: S608 our own names
    )
    connection.execute(f"CREATE OR REPLACE TEMP TABLE {into}_kept (place BIGINT, j VARCHAR)")
    for start in range(0, _count(connection, into), _ROWS_AT_ONCE):
        some = connection.execute(
            f"SELECT place, j FROM {into} WHERE rowid BETWEEN ? AND ?",  # noqa: S608 our own names
            [start, start + _ROWS_AT_ONCE - 1],
        ).fetchall()
        long_numbers = [
            (place, new) for place, old in some if (new := _with_digits(old)) is not None
        ]
        if long_numbers:
            append(
                connection,
                f"{into}_kept",
                [*zip(*long_numbers, strict=True)],
                ["BIGINT", "VARCHAR"],
            )
    connection.execute(
        # our own names
        f"UPDATE {rows} SET j = CAST(kept.j AS JSON) FROM {into}_kept AS kept "  # noqa: S608
        f"WHERE {rows}.rowid = kept.place"
    )
    return _count(connection, f"{into}_kept") > 0


def _with_digits(text: str) -> str | None:
    """The JSON with strings for the numbers that a double would change; None without such."""
    long: list[str] = []

    def number(written: str) -> float | str:
        value = float(written)
        if Decimal(repr(value)) == Decimal(written):
            return value
        long.append(written)
        return written

    def whole(written: str) -> int | str:
        return int(written) if len(written) <= _PYTHON_DIGITS else written

    value = json.loads(text, parse_float=number, parse_int=whole, object_pairs_hook=_first_of_each)
    return json.dumps(value) if long else None


def _first_of_each(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """As DuckDB takes a key that is there twice."""
    found: dict[str, object] = {}
    for key, value in pairs:
        found.setdefault(key, value)
    return found


def _count(connection: DuckDBPyConnection, table: str) -> int:
    row = connection.execute(f"SELECT count(*) FROM {table}").fetchone()  # noqa: S608 our own names
    return int(row[0]) if row else 0


def _tables(
    connection: DuckDBPyConnection, rows: str, into: str
) -> Iterator[tuple[str | None, str, list[str]]]:
    """The rows themselves, or the arrays of objects in a single object: label, table, notes."""
    fields = _kinds(connection, rows, "") if _count(connection, rows) == 1 else {}
    lists = [key for key, kinds in fields.items() if kinds == _ARRAY][:_MAX_FLAT_KEYS]
    arrays = [key for key in lists if _is_array_of_objects(connection, rows, key)]
    if not arrays:
        yield None, rows, []
        return
    left = [key for key in fields if key not in arrays]
    notes = [f"Values beside the rows were left out: {listed(left)}."] if left else []
    for number, key in enumerate(arrays):
        table = f"{into}_list_{number}"
        connection.execute(
            f"CREATE OR REPLACE TEMP TABLE {table} AS SELECT "  # noqa: S608 our own names
            f"""unnest(from_json(json_extract(j, ?), '["JSON"]')) AS j FROM {rows}""",
            [_pointer(key)],
        )
        yield (key if len(arrays) > 1 else None), table, notes if number == 0 else []


def _is_array_of_objects(connection: DuckDBPyConnection, rows: str, key: str) -> bool:
    row = connection.execute(
        f"SELECT json_type(j, ?) FROM {rows}",  # noqa: S608 our own names
        [f"{_pointer(key)}/0"],
    ).fetchone()
    return row is not None and row[0] == "OBJECT"


def _pointer(key: str) -> str:
    return "/" + key.replace("~", "~0").replace("/", "~1")


def _kinds(connection: DuckDBPyConnection, rows: str, pointer: str) -> dict[str, frozenset[str]]:
    """The keys below a pointer, in the order they are first met, and the kinds of their values."""
    value = f"json_extract(j, {DUCKDB.literal(pointer)})" if pointer else "j"
    found = connection.execute(
        f"""SELECT e.key, list(DISTINCT e.type), min(r.place * 100000 + e.id) AS place
        FROM (SELECT {value} AS j, rowid AS place FROM {rows}) AS r, json_each(r.j) AS e
        WHERE json_type(r.j) = 'OBJECT' GROUP BY e.key ORDER BY place"""  # noqa: S608 our own names
    ).fetchall()
    return {key: frozenset(kinds) - {"NULL"} for key, kinds, _ in found}


def _table(
    connection: DuckDBPyConnection,
    file: InputFile,
    rows: str,
    limits: FileLimits,
    *,
    into: str,
) -> RawTable:
    fields = _fields(connection, file, rows, limits)
    check_width(file.name, len(fields), limits)
    pointers = ", ".join(DUCKDB.literal(one.pointer) for one in fields)
    columns = ", ".join(f"x[{number}] AS c{number}" for number in range(1, len(fields) + 1))
    connection.execute(
        f"CREATE OR REPLACE TEMP TABLE {into} AS SELECT {columns} FROM "  # noqa: S608
        f"(SELECT json_extract_string(j, [{pointers}]) AS x FROM {rows})"
    )
    nested = [
        one.name or f"column_{number}"
        for number, one in enumerate(fields, start=1)
        if one.is_nested
    ]
    return RawTable(
        into,
        tuple(one.name for one in fields),
        types=("VARCHAR",) * len(fields),
        guesses=tuple(one.guess for one in fields),
        notes=[f"Kept as JSON text: {listed(nested)}."] if nested else [],
    )


def _fields(
    connection: DuckDBPyConnection, file: InputFile, rows: str, limits: FileLimits
) -> list[_Field]:
    found = connection.execute(
        f"SELECT DISTINCT json_type(j) FROM {rows} WHERE j IS NOT NULL"  # noqa: S608 our own names
    ).fetchall()
    kinds = frozenset(str(kind) for (kind,) in found) - {"NULL"}
    if not kinds:
        raise BadInput(f"'{file.name}' has no rows. Load an array of objects, or JSON lines.")
    if kinds == _OBJECT:
        fields = list(_flat(connection, rows))
        return fields or [_Field("", "value", kinds)]
    if kinds == _ARRAY:
        return _positions(connection, file, rows, limits)
    return [_Field("", "value", kinds)]


def _flat(
    connection: DuckDBPyConnection,
    rows: str,
    *,
    pointer: str = "",
    prefix: str = "",
    depth: int = 1,
) -> Iterator[_Field]:
    """The keys of the objects, and in their place the keys of objects inside them."""
    found = _kinds(connection, rows, pointer)
    is_wide = len(found) > _MAX_WIDE_KEYS
    for key, kinds in found.items():
        below, name = pointer + _pointer(key), f"{prefix}{key}"
        if kinds == _OBJECT and depth < _MAX_FLAT_DEPTH and not is_wide:
            inner = list(_flat(connection, rows, pointer=below, prefix=f"{name}_", depth=depth + 1))
            if inner and len(inner) <= _MAX_FLAT_KEYS:
                yield from inner
                continue
        yield _Field(below, name, kinds)


def _positions(
    connection: DuckDBPyConnection, file: InputFile, rows: str, limits: FileLimits
) -> list[_Field]:
    """Rows that are arrays: a column for each position."""
    longest = f"SELECT max(json_array_length(j)) FROM {rows}"  # noqa: S608 our own names
    row = connection.execute(longest).fetchone()
    width = int(row[0] or 0) if row else 0
    if width == 0:
        raise BadInput(f"'{file.name}' has only empty arrays. Load an array of objects.")
    check_width(file.name, width, limits)
    found = connection.execute(
        f"""SELECT i, list(DISTINCT json_type(j, '/' || i)) FROM {rows}, range({width}) AS r(i)
        GROUP BY i ORDER BY i"""  # noqa: S608 our own names
    ).fetchall()
    return [
        _Field(f"/{index}", None, frozenset(kind for kind in kinds if kind) - {"NULL"})
        for index, kinds in found
    ]
