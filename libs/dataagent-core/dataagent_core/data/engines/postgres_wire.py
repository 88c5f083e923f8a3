"""PostgreSQL's protocol below psycopg's cursors: describe a statement, copy its rows out.

psycopg's own COPY wakes its machinery for every row; here rows are taken from libpq directly and
parsed as CSV by Arrow, many at once. ADBC's driver is no faster and changes values without an
error: `24:00` becomes midnight, money cents, `infinity` and years before 1 other dates, and types
without an Arrow form (`inet`, `bit`, ranges) the bytes of the wire.
"""

# pyarrow has no type stubs: this module is a border to it.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import errors, pq
from psycopg.pq.abc import PGresult
from pyarrow import csv

from dataagent_core.data.arrow import pa
from dataagent_core.data.engines.base import EngineOptions
from dataagent_core.data.engines.pool import has_input
from dataagent_core.errors import DataAgentError, QueryFailed, QueryTimedOut, SourceUnavailable

Connection = psycopg.Connection[tuple[Any, ...]]

_DONE = (pq.ExecStatus.COMMAND_OK, pq.ExecStatus.TUPLES_OK, pq.ExecStatus.EMPTY_QUERY)
_FIRST_ROWS = 8_192
_DRAIN_ROWS = 1_000
_DRAIN_SECONDS = 0.5
_LOST = ("08", "57P", "53300")
_CANCELLED = "57014"


@dataclass(frozen=True, slots=True)
class DescribedColumn:
    """A column of a statement: its type by number, the digits a `numeric` declares."""

    label: str
    type: int
    digits: tuple[int, int] | None


def run(connection: Connection, sql: str) -> PGresult:
    """Run SQL of our own.

    Raises:
        psycopg.Error: as the server says.
    """
    return _checked(connection, connection.pgconn.exec_(sql.encode()))


def describe_columns(connection: Connection, sql: str) -> list[DescribedColumn]:
    """The columns of a statement, which is not run. The server refuses more than one statement.

    Raises:
        psycopg.Error: as the server says.
    """
    _checked(connection, connection.pgconn.prepare(b"", sql.encode()))
    result = _checked(connection, connection.pgconn.describe_prepared(b""))
    return [
        DescribedColumn(
            label=(result.fname(i) or b"").decode(),
            type=result.ftype(i),
            digits=_digits(result.fmod(i)),
        )
        for i in range(result.nfields)
    ]


def _digits(modifier: int) -> tuple[int, int] | None:
    if modifier < 4:
        return None
    return (modifier - 4) >> 16 & 0xFFFF, ((modifier - 4 & 0x7FF) ^ 1024) - 1024


class CopyOut:
    """The rows of a statement, as they come.

    The statement was described before, so it is one statement, complete in itself: inside the
    parentheses it can be nothing else, whatever its text. The line break ends a comment.
    """

    def __init__(self, connection: Connection, *, options: EngineOptions) -> None:
        self._connection = connection
        self._pgconn = connection.pgconn
        self._options = options
        self.is_over = True
        self._has_more = False

    def begin(self, sql: str) -> None:
        """Have the rows of a statement sent.

        Raises:
            psycopg.Error: as the server says.
        """
        self.is_over = False
        self._pgconn.send_query(f"COPY ({sql}\n) TO STDOUT (FORMAT csv)".encode())
        result = self._result()
        if result is None or result.status != pq.ExecStatus.COPY_OUT:
            self.is_over = self._read_to_end()
            _checked(self._connection, result)
        self._has_more = True

    def chunks(self, column_count: int) -> Iterator[Sequence[pa.Array]]:
        """One array of text for each column, several times.

        Raises:
            psycopg.Error: as the server says.
        """
        names = [str(i) for i in range(column_count)]
        most_rows = min(_FIRST_ROWS, self._options.batch_rows)
        while lines := self._lines(most_rows):
            yield _parsed(lines, names)
            most_rows = self._options.batch_rows
        result = self._result()
        self.is_over = self._read_to_end()
        _checked(self._connection, result)

    def drain(self) -> None:
        """Read and forget what the server still sends, after it was stopped.

        Raises:
            psycopg.Error: that takes longer than a new connection would.
        """
        deadline = time.monotonic() + _DRAIN_SECONDS
        take = self._pgconn.get_copy_data
        while self._has_more and time.monotonic() < deadline:
            for _ in range(_DRAIN_ROWS):
                count, _line = take(1)
                if count <= 0:
                    break
            else:
                continue
            self._has_more = count == 0
            if self._has_more and has_input(self._pgconn.socket, timeout_seconds=_DRAIN_SECONDS):
                self._pgconn.consume_input()
        if self._has_more:
            raise psycopg.OperationalError("too much is still on its way")
        self.is_over = self._read_to_end()

    def _lines(self, most_rows: int) -> bytearray:
        """The next rows; nothing at the end. Runs once for every row, so it does little.

        Rows are put together at once: a million objects alive would wake the garbage collector.
        """
        lines = bytearray()
        take, most_bytes, left = self._pgconn.get_copy_data, self._options.batch_bytes, most_rows
        while self._has_more and left and len(lines) < most_bytes:
            before = left
            while left and len(lines) < most_bytes:
                count, line = take(1)
                if count <= 0:
                    self._has_more = count == 0
                    break
                lines += line
                left -= 1
            else:
                break
            if self._has_more:
                self._wait(is_dry=left == before)
        return lines

    def _result(self) -> PGresult | None:
        while self._pgconn.is_busy():
            self._wait()
        return self._pgconn.get_result()

    def _read_to_end(self) -> bool:
        while self._result() is not None:
            pass
        return True

    def _wait(self, *, is_dry: bool = True) -> None:
        """Take in what the server has sent; where that was nothing last time, wait for it first."""
        if is_dry:
            has_input(self._pgconn.socket, timeout_seconds=None)
        self._pgconn.consume_input()


_PARSE = csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False)


def _parsed(lines: bytearray, names: Sequence[str]) -> list[pa.Array]:
    """CSV as PostgreSQL writes it: NULL is nothing at all, an empty text is `""`."""
    table = csv.read_csv(
        pa.BufferReader(lines),
        read_options=csv.ReadOptions(
            use_threads=False, column_names=names, block_size=len(lines) + 1
        ),
        parse_options=_PARSE,
        convert_options=csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )
    return [column.combine_chunks() for column in table.columns]


def _checked(connection: Connection, result: PGresult | None) -> PGresult:
    if result is not None and result.status in _DONE:
        return result
    if result is None or connection.pgconn.status != pq.ConnStatus.OK:
        raise psycopg.OperationalError("the connection was lost")
    raise errors.error_from_result(result)


def translate_error(error: Exception) -> DataAgentError:
    """What an error of psycopg's is to a caller: the server's words, or that it is gone."""
    if not isinstance(error, psycopg.Error):
        return QueryFailed(str(error))
    state = error.sqlstate
    if state == _CANCELLED:
        return QueryTimedOut("The statement was stopped by the server.")
    if state is None or state.startswith(_LOST):
        return SourceUnavailable("The connection to PostgreSQL was lost. Try again.")
    hint = f" Hint: {error.diag.message_hint}" if error.diag.message_hint else ""
    return QueryFailed(f"PostgreSQL: {error.diag.message_primary}{hint}")
