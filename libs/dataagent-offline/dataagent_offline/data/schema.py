"""The schema tool's answer as objects: tables, columns, keys, sampled values.

The border at which the tools' JSON ends; what cannot be read is a `ValueError`. Columns that say
yes or no (`active`, `is_paid`, `是否启用`) are known by their type, name or values.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Literal, TypeAlias

import orjson

from dataagent_core.data.dialects import Dialect, dialect_of
from dataagent_offline.data.vocabulary import keys

ColumnKind: TypeAlias = Literal["number", "date", "text", "other"]

_KINDS: Final[tuple[tuple[ColumnKind, re.Pattern[str]], ...]] = (
    ("other", re.compile(r"INTERVAL|POINT|BLOB|BYTEA|BINARY|BOOL|JSON|\[\]|ARRAY|STRUCT|MAP")),
    ("date", re.compile(r"DATE|TIMESTAMP")),
    ("number", re.compile(r"INT|NUM|DEC|REAL|FLOA|DOUB|MONEY|SERIAL")),
    ("text", re.compile(r"CHAR|TEXT|CLOB|STRING|ENUM")),
)
_ISO_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}(?:[ T].*)?$")
_NUMBER: Final = re.compile(r"-?\d++(?:\.\d++)?$")


@dataclass(frozen=True, slots=True)
class SchemaColumn:
    """A column as the source describes it."""

    name: str
    type: str
    kind: ColumnKind
    comment: str = ""
    samples: tuple[str, ...] = ()
    are_samples_truncated: bool = False
    is_text_date: bool = False
    """Dates stored as text: some engines need a cast to read them as dates."""


@dataclass(frozen=True, slots=True)
class SchemaLink:
    """`columns` of a table point at `target_columns` of `table`."""

    columns: tuple[str, ...]
    table: str
    target_columns: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class SchemaTable:
    """A table with its columns in order. Equal only to itself."""

    name: str
    columns: Mapping[str, SchemaColumn]
    comment: str = ""
    row_count: int | None = None
    primary_key: tuple[str, ...] = ()
    links: tuple[SchemaLink, ...] = ()

    def is_key(self, column: str) -> bool:
        """Whether the column identifies a row, of this table or of another."""
        return column in self.primary_key or any(column in link.columns for link in self.links)


@dataclass(frozen=True, slots=True, eq=False)
class SourceSchema:
    """What a source holds, as far as the tool described it. Equal only to itself."""

    source: str | None
    dialect: Dialect
    tables: Mapping[str, SchemaTable]
    time_zone: str = ""
    omitted: int = 0
    """How many tables more the source has."""

    def column(self, table: str, column: str) -> SchemaColumn:
        """The column of that name."""
        return self.tables[table].columns[column]


@lru_cache(maxsize=16)
def schema_of(text: str) -> SourceSchema:
    """The schema in the tool's JSON; `ValueError` if there is none."""
    try:
        data: Any = orjson.loads(text)
        tables = [_table(each) for each in data["tables"]]
        return SourceSchema(
            source=data.get("source"),
            dialect=dialect_of(str(data.get("dialect") or "")),
            tables={table.name: table for table in tables},
            time_zone=str(data.get("time_zone") or ""),
            omitted=int(data.get("omitted") or 0),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"not a schema: {error!r}") from error


def _table(data: Mapping[str, Any]) -> SchemaTable:
    columns = [_column(each) for each in data["columns"]]
    return SchemaTable(
        name=str(data["name"]),
        columns={column.name: column for column in columns},
        comment=str(data.get("comment") or ""),
        row_count=data.get("row_count"),
        primary_key=tuple(data.get("primary_key") or ()),
        links=tuple(_link(each) for each in data.get("foreign_keys") or ()),
    )


def _link(data: Mapping[str, Any]) -> SchemaLink:
    return SchemaLink(
        columns=tuple(data["columns"]),
        table=str(data["table"]),
        target_columns=tuple(data["target_columns"]),
    )


def _column(data: Mapping[str, Any]) -> SchemaColumn:
    samples = tuple(str(each) for each in data.get("samples") or () if each is not None)
    kind = _kind(str(data.get("type") or "").upper(), samples)
    is_text_date = kind == "text" and bool(samples) and all(map(_ISO_DATE.match, samples))
    return SchemaColumn(
        name=str(data["name"]),
        type=str(data.get("type") or ""),
        kind="date" if is_text_date else kind,
        comment=str(data.get("comment") or ""),
        samples=samples,
        are_samples_truncated=bool(data.get("samples_truncated", not samples)),
        is_text_date=is_text_date,
    )


def _kind(type_name: str, samples: Sequence[str]) -> ColumnKind:
    for kind, pattern in _KINDS:
        if pattern.search(type_name):
            return kind
    if type_name:
        return "other"
    return "number" if samples and all(map(_NUMBER.match, samples)) else "text"


_BOOLEAN: Final = re.compile(r"BOOL")
_ONE_DIGIT: Final = re.compile(r"TINYINT\(1\)|\bBIT(\(1\))?$")
_PAIRS: Final = (
    ("true", "false"), ("yes", "no"), ("y", "n"), ("t", "f"), ("1", "0"), ("on", "off"),
    ("是", "否"), ("真", "假"),
)  # fmt: skip
_PREFIXES: Final = (("is",), ("has",), keys("是否"))
_STATE_NAMES: Final = (
    "active, activated, enabled, disabled, deleted, archived, verified, confirmed, valid,"
    " subscribed, published, approved, closed, locked, blocked, visible, hidden, featured,"
    " discontinued, paid, shipped, refunded, cancelled, canceled, completed, premium, vip,"
    " 活跃, 启用, 激活, 有效, 停用, 删除, 已删除, 已付款, 已支付, 已发货, 已完成, 已取消"
)
_STATES: Final = frozenset(keys(name) for name in _STATE_NAMES.split(","))


def yes_values(column: SchemaColumn, dialect: Dialect) -> tuple[str | int | bool, ...]:
    """What stands for yes in the column, as it is stored; nothing if it is no yes-or-no column."""
    kind = column.type.upper()
    words = {sample.strip().casefold() for sample in column.samples}
    if _BOOLEAN.search(kind) and (dialect.types_bind_values or not words or words <= {"0", "1"}):
        return (True,)
    if column.kind == "number" or _ONE_DIGIT.search(kind):
        is_named = bool(_ONE_DIGIT.search(kind)) or bool(state_of(column)) or _is_state(column)
        return (1,) if is_named and words <= {"0", "1"} else ()
    if not words or column.are_samples_truncated:
        return ()
    for yes, no in _PAIRS:
        if words <= {yes, no}:
            seen = [sample for sample in column.samples if sample.strip().casefold() == yes]
            return tuple(seen) or ((yes.upper() if column.samples[0].isupper() else yes),)
    return ()


def state_of(column: SchemaColumn) -> tuple[str, ...]:
    """What a yes says of a row, where the name is a question: `active` of `is_active`."""
    words = keys(column.name)
    for prefix in _PREFIXES:
        if len(words) > len(prefix) and words[: len(prefix)] == prefix:
            return words[len(prefix) :]
    return ()


def needs_check(column: SchemaColumn) -> bool:
    """Whether it is a number by its declaration, and only its name says that it is yes or no."""
    return column.kind == "number" and not column.samples


def _is_state(column: SchemaColumn) -> bool:
    return keys(column.name) in _STATES


_WHOLE: Final = tuple(
    keys(name) for name in ("name", "title", "full name", "名称", "姓名", "名字", "标题", "label")
)
_MANY_ROWS: Final = 100
_FIRST: Final = tuple(keys(name) for name in ("first name", "given name"))
_LAST: Final = tuple(keys(name) for name in ("last name", "surname", "family name"))


@lru_cache(maxsize=4096)
def label_columns(table: SchemaTable) -> tuple[str, ...]:
    """One column, first and last name, or the key; all columns if there is no key."""
    texts = {name: keys(name) for name, column in table.columns.items() if column.kind == "text"}
    first = [name for name, words in texts.items() if words in _FIRST]
    last = [name for name, words in texts.items() if words in _LAST]
    if first and last:
        return (first[0], last[0])
    for wanted in _WHOLE:
        for name, words in texts.items():
            if words == wanted:
                return (name,)
    for wanted in _WHOLE:
        for name, words in texts.items():
            if words[-len(wanted) :] == wanted or _is_commented(table, name, wanted):
                return (name,)
    return table.primary_key or tuple(table.columns)


def is_title(table: SchemaTable, column: str) -> bool:
    """Whether the column holds the names of many rows: titles of songs, not names of countries."""
    return (table.row_count or 0) > _MANY_ROWS and column in label_columns(table)


def _is_commented(table: SchemaTable, column: str, wanted: tuple[str, ...]) -> bool:
    return wanted in {keys(part) for part in table.columns[column].comment.split()}
