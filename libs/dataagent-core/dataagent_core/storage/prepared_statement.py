"""Frequent statements, compiled once.

SQLAlchemy prepares each execution anew, which costs SQLite ten times as much as the statement. A
`PreparedStatement` takes the text, the order and the types of the parameters from SQLAlchemy once
and passes them to sqlite3 itself; other databases, where the round trip costs more, get the
statement as usual. It does not support defaults computed in Python.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Dialect, Insert, Select, Update
from sqlalchemy.exc import DBAPIError

Values = Mapping[str, Any]
_Process = Callable[[Any], Any]


class PreparedStatement:
    """An INSERT, UPDATE or SELECT, executed with all of its named parameters."""

    def __init__(self, statement: Insert | Update | Select[*tuple[Any, ...]]) -> None:
        """An INSERT takes its columns from the rows of its first execution."""
        self.statement = statement
        self._plain: _CompiledStatement | None = None

    def execute(self, connection: Connection, values: Values | Sequence[Values]) -> int:
        """Execute it, once for each set of values, and return the number of rows.

        Raises:
            DBAPIError: as SQLAlchemy does.
        """
        if connection.dialect.name != "sqlite":
            # a Mapping is enough for it
            return connection.execute(self.statement, values).rowcount
        if isinstance(values, Mapping):
            return self._cursor(connection, values).rowcount
        plain = self._for(connection.dialect, values[0])
        rows = [plain.parameters(row) for row in values]
        return _guarded(connection, plain.text, rows, is_many=True).rowcount

    def rows(self, connection: Connection, values: Values) -> Sequence[Sequence[Any]]:
        """Return the rows of a SELECT.

        Raises:
            DBAPIError: as SQLAlchemy does.
        """
        if connection.dialect.name != "sqlite":
            return connection.execute(self.statement, values).all()
        found: list[Sequence[Any]] = self._cursor(connection, values).fetchall()
        plain = self._for(connection.dialect, values)
        return [plain.result(row) for row in found] if plain.has_results else found

    def _cursor(self, connection: Connection, values: Values) -> sqlite3.Cursor:
        plain = self._for(connection.dialect, values)
        return _guarded(connection, plain.sized(values), plain.parameters(values))

    def _for(self, dialect: Dialect, values: Values) -> _CompiledStatement:
        if self._plain is None:
            self._plain = _CompiledStatement(self.statement, dialect, values)
        return self._plain


class _CompiledStatement:
    """A statement compiled for sqlite3."""

    def __init__(self, statement: Any, dialect: Dialect, values: Values) -> None:
        columns = sorted(values) if isinstance(statement, Insert) else None
        compiled: Any = statement.compile(dialect=dialect, column_keys=columns)
        if compiled.insert_prefetch:
            raise ValueError("A column has a default that Python would have to work out.")
        self.text: str = compiled.string
        self._lists = [
            name for name in compiled.positiontup if f"__[POSTCOMPILE_{name}]" in self.text
        ]
        self._sized: dict[tuple[int, ...], str] = {}
        self._order: list[tuple[str, Any, _Process | None]] = [
            (name, compiled.params.get(name), _binding(compiled.binds[name].type, dialect))
            if name not in self._lists
            else (name, None, None)
            for name in compiled.positiontup
        ]
        self._results: list[_Process | None] = (
            [_result(column.type, dialect) for column in statement.selected_columns]
            if isinstance(statement, Select)
            else []
        )
        self.has_results = any(self._results)

    def sized(self, values: Values) -> str:
        """Return the text with one placeholder for each item of the lists among the values."""
        if not self._lists:
            return self.text
        sizes = tuple(len(values[name]) for name in self._lists)
        text = self._sized.get(sizes)
        if text is None:
            text = self.text
            for name, size in zip(self._lists, sizes, strict=True):
                text = text.replace(f"__[POSTCOMPILE_{name}]", ", ".join("?" * size))
            self._sized[sizes] = text
        return text

    def parameters(self, values: Values) -> list[Any]:
        """Return the values in the statement's order, converted for sqlite3."""
        found = [
            values.get(name, default) if process is None else process(values.get(name, default))
            for name, default, process in self._order
        ]
        if not self._lists:
            return found
        names = (name for name, _, _ in self._order)
        pairs = zip(names, found, strict=True)
        return [one for name, value in pairs for one in (value if name in self._lists else [value])]

    def result(self, row: Sequence[Any]) -> tuple[Any, ...]:
        """Return a row converted for Python."""
        return tuple(
            value if process is None else process(value)
            for value, process in zip(row, self._results, strict=True)
        )


def _binding(kind: Any, dialect: Dialect) -> _Process | None:
    return kind.dialect_impl(dialect).bind_processor(dialect)


def _result(kind: Any, dialect: Dialect) -> _Process | None:
    return kind.dialect_impl(dialect).result_processor(dialect, None)


def _guarded(
    connection: Connection, text: str, parameters: list[Any], *, is_many: bool = False
) -> sqlite3.Cursor:
    raw: Any = connection.connection.driver_connection  # sqlite3's
    try:
        return raw.executemany(text, parameters) if is_many else raw.execute(text, parameters)
    except sqlite3.Error as error:
        raise DBAPIError.instance(text, None, error, sqlite3.Error) from error
