"""The schema tool's answer as objects: tables, columns, keys, sampled values.

The border at which the tools' JSON ends. What cannot be read is a `ValueError`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Literal, TypeAlias

import orjson

from dataagent_core.data.dialects import Dialect, dialect_of

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
    """Dates kept as text: some engines must be told to read them as dates."""


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
    """What a source holds, as far as the tool told. Equal only to itself."""

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
