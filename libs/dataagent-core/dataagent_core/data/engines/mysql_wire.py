"""MySQL's protocol below PyMySQL's cursors: prepare a statement, read its rows.

PyMySQL connects, authenticates, sends and reports errors. Its `SSCursor` is not used for rows: it
builds a packet object for each and converts every value, which takes twice the processor time, and
it knows only the text protocol, in which the server rounds a FLOAT to six digits. Here packets are
cut from what the socket gives and values stay bytes, which Arrow parses, many at once; a result
with a FLOAT is requested in the binary protocol, each value turned into the text that the text
protocol would send.
"""

# pyarrow and PyMySQL have no complete types: this module is a border to them.
# This module is the border to the inside of PyMySQL, and pyarrow has no type stubs.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportPrivateUsage=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import ssl
import struct
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pymysql
from pymysql import err
from pymysql.connections import MySQLResult
from pymysql.constants import COMMAND, CR, FIELD_TYPE, FLAG
from pymysql.protocol import FieldDescriptorPacket

from dataagent_core.data.arrow import pa
from dataagent_core.data.engines.base import EngineOptions
from dataagent_core.data.engines.column_builders import TextColumn, declared_decimal, time_of_day
from dataagent_core.data.engines.columns import ColumnBuilder
from dataagent_core.data.types import SourceWarnings
from dataagent_core.errors import DataAgentError, QueryFailed, QueryTimedOut, SourceUnavailable

if TYPE_CHECKING:
    _Connection = pymysql.Connection[Any]
else:
    _Connection = pymysql.Connection


_BINARY = 63  # the character set of what is not text
_STRINGS = {
    FIELD_TYPE.VARCHAR,
    FIELD_TYPE.VAR_STRING,
    FIELD_TYPE.STRING,
    FIELD_TYPE.TINY_BLOB,
    FIELD_TYPE.BLOB,
    FIELD_TYPE.MEDIUM_BLOB,
    FIELD_TYPE.LONG_BLOB,
    FIELD_TYPE.GEOMETRY,
}
_WHOLE_NUMBER_TYPES = {
    FIELD_TYPE.TINY: (pa.int8(), pa.uint8()),
    FIELD_TYPE.SHORT: (pa.int16(), pa.uint16()),
    FIELD_TYPE.INT24: (pa.int32(), pa.uint32()),
    FIELD_TYPE.LONG: (pa.int32(), pa.uint32()),
    FIELD_TYPE.LONGLONG: (pa.int64(), pa.uint64()),
    FIELD_TYPE.YEAR: (pa.int16(), pa.int16()),
}
_OTHERS = {
    FIELD_TYPE.FLOAT: pa.float32(),
    FIELD_TYPE.DOUBLE: pa.float64(),
    FIELD_TYPE.DATE: pa.date32(),
    FIELD_TYPE.NEWDATE: pa.date32(),
    FIELD_TYPE.DATETIME: pa.timestamp("us"),
    FIELD_TYPE.TIMESTAMP: pa.timestamp("us"),
}


@dataclass(frozen=True, slots=True)
class Field:
    """A column of a result, as the server describes it."""

    name: str
    type: int
    character_set: int
    is_unsigned: bool
    length: int
    scale: int

    @property
    def is_binary(self) -> bool:
        """Whether the values are bytes, not text."""
        is_bytes = self.type in _STRINGS and self.character_set == _BINARY
        return is_bytes or self.type in (FIELD_TYPE.BIT, FIELD_TYPE.GEOMETRY)


def column_for(field: Field) -> ColumnBuilder:
    """The column for a field of a result."""
    kind = field.type
    if kind == FIELD_TYPE.BIT:
        return TextColumn(pa.uint64(), parse=_bits)
    if kind in _WHOLE_NUMBER_TYPES:
        return TextColumn(_WHOLE_NUMBER_TYPES[kind][field.is_unsigned])
    if kind in (FIELD_TYPE.DECIMAL, FIELD_TYPE.NEWDECIMAL):
        digits = field.length - (not field.is_unsigned) - (field.scale > 0)
        return TextColumn(declared_decimal(digits, field.scale) or pa.string())
    if kind == FIELD_TYPE.TIME:
        return TextColumn(pa.time64("us"), parse=time_of_day)
    if kind in _OTHERS:
        return TextColumn(_OTHERS[kind])
    return TextColumn(pa.binary() if field.is_binary else pa.string())


def _bits(values: pa.Array) -> pa.Array:
    """BIT(n), which comes as its bytes, the highest first, as a number."""
    return pa.array(
        [None if value is None else int.from_bytes(value, "big") for value in values.to_pylist()],
        pa.uint64(),
    )


Append = Callable[[bytes | None], object]
Split = Callable[[bytes, int, Sequence[Append]], None]
_Decode = Callable[[bytes, int], tuple[bytes, int]]  # a row and a place in it → text, next place

_LENGTHS = {0xFC: 2, 0xFD: 3, 0xFE: 8}
_WHOLE_NUMBER_CODES = {  # the struct code of a signed value; its upper case is the unsigned one
    FIELD_TYPE.TINY: "b",
    FIELD_TYPE.SHORT: "h",
    FIELD_TYPE.YEAR: "h",
    FIELD_TYPE.INT24: "i",
    FIELD_TYPE.LONG: "i",
    FIELD_TYPE.LONGLONG: "q",
}
_DAYS = (FIELD_TYPE.DATE, FIELD_TYPE.NEWDATE)
_MOMENTS = (FIELD_TYPE.DATETIME, FIELD_TYPE.TIMESTAMP)
_MAX_FRACTION = 6


def binary_splitter(fields: Sequence[Field]) -> Split:
    """A function that splits a row of these fields into values, each to its column."""
    decoders = [_decoder(field) for field in fields]
    null_bytes = (len(fields) + 9) // 8  # the first two bits are not used

    def split(data: bytes, at: int, appends: Sequence[Append]) -> None:
        nulls = int.from_bytes(data[at + 1 : at + 1 + null_bytes], "little") >> 2
        at += 1 + null_bytes
        for number, (append, decode) in enumerate(zip(appends, decoders, strict=False)):
            if nulls >> number & 1:
                append(None)
            else:
                text, at = decode(data, at)
                append(text)

    return split


def _decoder(field: Field) -> _Decode:
    kind = field.type
    if kind in _WHOLE_NUMBER_CODES:
        code = _WHOLE_NUMBER_CODES[kind]
        return _number(f"<{code.upper() if field.is_unsigned else code}", "%d")
    if kind == FIELD_TYPE.FLOAT:
        return _number("<f", "%.9g")  # nine digits tell every 4-byte float from the next
    if kind == FIELD_TYPE.DOUBLE:
        return _number("<d", "%.17g")
    places = field.scale if field.scale <= _MAX_FRACTION else 0
    if kind in _DAYS or kind in _MOMENTS:
        return _moment(places, is_day=kind in _DAYS)
    return _clock(places) if kind == FIELD_TYPE.TIME else _text


def _number(code: str, form: str) -> _Decode:
    layout = struct.Struct(code)

    def decode(data: bytes, at: int) -> tuple[bytes, int]:
        return (form % layout.unpack_from(data, at)).encode(), at + layout.size

    return decode


def _moment(places: int, *, is_day: bool) -> _Decode:
    def decode(data: bytes, at: int) -> tuple[bytes, int]:
        size = data[at]
        parts = data[at + 1 : at + 1 + size].ljust(11, b"\0")  # zeros at the end are not sent
        year, month, day, hour, minute, second, micro = struct.unpack("<HBBBBBI", parts)
        text = f"{year:04}-{month:02}-{day:02}"
        if not is_day:
            text += f" {hour:02}:{minute:02}:{second:02}{_fraction(micro, places)}"
        return text.encode(), at + 1 + size

    return decode


def _clock(places: int) -> _Decode:
    def decode(data: bytes, at: int) -> tuple[bytes, int]:
        size = data[at]
        parts = data[at + 1 : at + 1 + size].ljust(12, b"\0")
        is_negative, days, hour, minute, second, micro = struct.unpack("<BIBBBI", parts)
        sign = "-" if is_negative else ""
        text = f"{sign}{days * 24 + hour:02}:{minute:02}:{second:02}{_fraction(micro, places)}"
        return text.encode(), at + 1 + size

    return decode


def _fraction(micro: int, places: int) -> str:
    return f".{micro:06}"[: places + 1] if places else ""


def _text(data: bytes, at: int) -> tuple[bytes, int]:
    size = data[at]
    at += 1
    if size in _LENGTHS:
        width = _LENGTHS[size]
        size = int.from_bytes(data[at : at + width], "little")
        at += width
    return data[at : at + size], at + size


_RESET_CONNECTION = 0x1F
_READ_BYTES = 256 * 1024
_FIRST_ROWS = 8_192
_DRAIN_SECONDS = 0.5
_WHOLE_PACKET = 0xFFFFFF  # one as long is continued in the next
_NULL, _TWO, _THREE, _EIGHT = 0xFB, 0xFC, 0xFD, 0xFE  # how a value's length begins
_END, _ERROR = 0xFE, 0xFF
_END_BYTES = 9
_MAX_WARNING = 300  # characters
_CUTS = {1260, 1301, 1931}  # by GROUP_CONCAT, by max_allowed_packet, by LIMIT ROWS EXAMINED
_LOST = {1040, 1053, 1077, 1079, 1080, 1152, 1184, 1927, 4031}
_STOPPED = {1317, 1969, 3024}


class MysqlConnection(_Connection):
    """A connection. Where TLS is not requested, it is used if the server has it, unverified.

    That is PyMySQL's way too, but it loads all the authorities it then does not ask, for every
    connection, which takes longer than all the rest of connecting.
    """

    def _create_ssl_ctx(self, sslp: dict[str, Any] | ssl.SSLContext) -> ssl.SSLContext:
        if sslp:
            return super()._create_ssl_ctx(sslp)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return context


def run(line: MysqlConnection, sql: str) -> Sequence[Sequence[Any]]:
    """Run SQL of our own and give its rows.

    Raises:
        pymysql.Error: as the server says.
    """
    with line.cursor() as cursor:
        cursor.execute(sql)
        return cursor.fetchall()


def reset(line: MysqlConnection) -> None:
    """Forget variables, locks, temporary tables, settings.

    Raises:
        pymysql.Error: as the server says.
    """
    line._execute_command(_RESET_CONNECTION, b"")
    line._read_ok_packet()


@dataclass(frozen=True, slots=True)
class MysqlPreparedStatement:
    """A statement that the server has looked at and not run. A reset of the session closes it."""

    statement_id: int
    column_types: tuple[int, ...]

    @property
    def has_floats(self) -> bool:
        """Whether a column is a 4-byte float."""
        return FIELD_TYPE.FLOAT in self.column_types


def prepare(line: MysqlConnection, sql: str) -> MysqlPreparedStatement:
    """Have the server look at a statement, which is not run.

    Raises:
        pymysql.Error: as the server says, also for more than one statement.
    """
    line._execute_command(COMMAND.COM_STMT_PREPARE, sql.encode())
    answer = line._read_packet().get_all_data()
    statement_id, columns, parameters = struct.unpack_from("<IHH", answer, 1)
    for _ in range(parameters + 1 if parameters else 0):  # each list has an end of its own
        line._read_packet()
    types = tuple(line._read_packet(FieldDescriptorPacket).type_code for _ in range(columns))
    if columns:
        line._read_packet()
    if parameters:
        raise QueryFailed("The statement has parameters without values. Write the values.")
    return MysqlPreparedStatement(statement_id, types)


def warnings_of(line: MysqlConnection, count: int) -> SourceWarnings:
    """What the server warned of in the last statement, one sentence a kind of warning.

    Args:
        line: on which the statement was the last.
        count: how many warnings the server has counted; it lists only the first of many.

    Raises:
        pymysql.Error: as the server says.
    """
    firsts: dict[int, str] = {}
    numbers: Counter[int] = Counter()
    for level, number, message in run(line, "SHOW WARNINGS"):
        if level != "Note":
            firsts.setdefault(number, str(message)[:_MAX_WARNING])
            numbers[number] += 1
    said = [f"MySQL: {message} ({number})" for number, message in firsts.items()]
    said = [
        sentence if numbers[number] == 1 else f"{sentence}, and {numbers[number] - 1} more like it"
        for number, sentence in zip(firsts, said, strict=True)
    ]
    if said and count > numbers.total():
        said.append(f"MySQL lists {numbers.total()} of its {count} warnings.")
    return SourceWarnings(tuple(said), has_cut=any(number in _CUTS for number in firsts))


class RowStream:
    """The rows of a statement, as they come."""

    def __init__(self, line: MysqlConnection, *, options: EngineOptions) -> None:
        self._line = line
        self._options = options
        self._rest = b""
        self._split = _split
        self.fields: list[Field] = []
        self.warning_count = 0  # known at the end
        self.is_over = True

    def begin(self, sql: str, prepared: MysqlPreparedStatement) -> None:
        """Have a statement run, up to its first row.

        Raises:
            pymysql.Error: as the server says.
        """
        self.is_over = False
        if prepared.has_floats:
            execute = struct.pack("<IBI", prepared.statement_id, 0, 1)
            self._line._execute_command(COMMAND.COM_STMT_EXECUTE, execute)
        else:
            self._line._execute_command(COMMAND.COM_QUERY, sql.encode())
        result = MySQLResult(self._line)
        try:
            result.init_unbuffered_query()
        except pymysql.Error:
            self.is_over = True
            raise
        self.fields = [
            Field(
                name=field.name,
                type=field.type_code,
                character_set=field.charsetnr,
                is_unsigned=bool(field.flags & FLAG.UNSIGNED),
                length=field.length,
                scale=field.scale,
            )
            for field in result.fields
        ]
        result.unbuffered_active = False  # from here on the rows are ours
        if prepared.has_floats:
            self._split = binary_splitter(self.fields)

    def chunks(self) -> Iterator[Sequence[pa.Array]]:
        """One array of text or binary for each column, several times.

        Raises:
            pymysql.Error: as the server says.
        """
        kinds = [pa.binary() if field.is_binary else pa.string() for field in self.fields]
        most_rows = min(_FIRST_ROWS, self._options.batch_rows)
        while not self.is_over:
            columns = self._gathered(most_rows)
            if columns[0]:
                pairs = zip(columns, kinds, strict=True)
                yield [pa.array(values, kind) for values, kind in pairs]
            most_rows = self._options.batch_rows

    def drain(self) -> None:
        """Read and forget what the server still sends, after it was stopped.

        Raises:
            pymysql.Error: that takes longer than a new connection would.
        """
        if not self.fields:
            raise err.OperationalError(CR.CR_SERVER_LOST, "It did not come to its first row")
        deadline = time.monotonic() + _DRAIN_SECONDS
        while not self.is_over:
            if time.monotonic() > deadline:
                raise err.OperationalError(CR.CR_SERVER_LOST, "Too much is still on its way")
            data = self._rest + self._received()
            try:
                position = self._cut(data, [])  # no columns: the values are passed over
            except pymysql.Error:
                return  # the server's last word on a statement that was stopped
            self._rest = data[position:]

    def _gathered(self, most_rows: int) -> list[list[bytes | None]]:
        columns: list[list[bytes | None]] = [[] for _ in self.fields]
        size = 0
        while not self.is_over and len(columns[0]) < most_rows and size < self._options.batch_bytes:
            data = self._rest + self._received()
            size += len(data) - len(self._rest)
            position = self._cut(data, columns)
            self._rest = data[position:]
        return columns

    def _received(self) -> bytes:
        data = self._line._rfile.read1(_READ_BYTES)
        if not data:
            raise err.OperationalError(CR.CR_SERVER_LOST, "Lost connection during the query")
        return data

    def _cut(self, data: bytes, columns: list[list[bytes | None]]) -> int:
        """Put the values of all whole rows into the columns; say where the rest begins."""
        position, length = 0, len(data)
        appends = [column.append for column in columns]
        while position + 4 < length:
            size = data[position] | data[position + 1] << 8 | data[position + 2] << 16
            start, end = position + 4, position + 4 + size
            if end > length:
                break
            first = data[start]
            if size == _WHOLE_PACKET:
                joined = _joined(data, position)
                if joined is None:
                    break
                body, end = joined
                self._split(body, 0, appends)
            elif first >= _END and (first == _ERROR or size < _END_BYTES):
                self._ended(data[start:end], is_error=first == _ERROR)
                return end
            else:
                self._split(data, start, appends)
            position = end
        return position

    def _ended(self, packet: bytes, *, is_error: bool) -> None:
        self.is_over = True
        if is_error:
            err.raise_mysql_exception(packet)
        self.warning_count = int.from_bytes(packet[1:3], "little")


def _split(data: bytes, at: int, appends: Sequence[Any]) -> None:
    """The values of one row, which begins at `at`, each to its column."""
    for append in appends:
        size = data[at]
        at += 1
        if size >= _NULL:
            if size == _NULL:
                append(None)
                continue
            width = _WIDTHS[size]
            size = int.from_bytes(data[at : at + width], "little")
            at += width
        end = at + size
        append(data[at:end])
        at = end


_WIDTHS = {_TWO: 2, _THREE: 3, _EIGHT: 8}


def _joined(data: bytes, position: int) -> tuple[bytes, int] | None:
    """A row longer than a packet, put together, and where it ends; None if it is not all there."""
    parts: list[bytes] = []
    size = _WHOLE_PACKET
    while size == _WHOLE_PACKET:
        if position + 4 > len(data):
            return None
        size = int.from_bytes(data[position : position + 3], "little")
        if position + 4 + size > len(data):
            return None
        parts.append(data[position + 4 : position + 4 + size])
        position += 4 + size
    return b"".join(parts), position


def translate_error(error: Exception) -> DataAgentError:
    """What an error of PyMySQL's is to a caller: the server's words, or that it is gone."""
    number = error.args[0] if isinstance(error, pymysql.Error) and error.args else None
    if not isinstance(number, int) or number in _LOST or 2000 <= number < 3000:  # the driver's own
        return SourceUnavailable("The connection to MySQL was lost. Try again.")
    if number in _STOPPED:
        return QueryTimedOut("The statement was stopped by the server.")
    return QueryFailed(f"MySQL: {error.args[-1]} ({number})")
