"""Calls of the data tools: the schema of a source, in full or in part, and queries as objects."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Any, Final

import orjson
from langchain_core.messages import ToolMessage

from dataagent_core.models.rule_based import Call, Conversation
from dataagent_offline.data.lexicon import table_names
from dataagent_offline.data.schema import SchemaTable, SourceSchema, schema_of
from dataagent_offline.data.vocabulary import keys

_CUT_FROM: Final = 600
"""Characters from which the tool may give a statement in part only."""
_NUMBERS: Final = ("decimal", "double", "float", "halffloat")


@dataclass(frozen=True, slots=True)
class TableResult:
    """The result of a query: the first rows, and the exact count."""

    artifact_id: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]  # cells are JSON values, or decimals
    row_count: int
    is_truncated: bool
    sql_executed: str
    source: str
    policy: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    sql: str = ""
    """The statement as it was requested."""

    @property
    def sql_shown(self) -> str:
        """The SQL as it ran; as requested where the tool may have cut it."""
        is_whole = bool(self.sql_executed) and len(self.sql_executed) < _CUT_FROM
        return self.sql_executed if is_whole or not self.sql else self.sql


@dataclass(frozen=True, slots=True)
class ToolFailure:
    """Why a tool gave nothing."""

    code: str
    message: str


def result_of(message: ToolMessage, sql: str = "") -> TableResult | ToolFailure:
    """The result in a tool's answer to a statement, or its failure."""
    text = str(message.text)
    try:
        data: Any = orjson.loads(text)
        if message.status == "error" or "error" in data:
            return failure_of(text)
        types = [str(column.get("type")) for column in data["columns"]]
        return TableResult(
            artifact_id=str(data.get("artifact_id") or ""),
            columns=tuple(str(column["name"]) for column in data["columns"]),
            rows=tuple(tuple(map(_cell, types, row)) for row in data["rows"]),
            row_count=int(data["row_count"]),
            is_truncated=bool(data.get("truncated")),
            sql_executed=str(data.get("sql_executed") or ""),
            source=str(data.get("source") or ""),
            sql=sql,
            policy=tuple(str(rule) for rule in data.get("policy") or ()),
            warnings=tuple(str(one) for one in data.get("warnings") or ()),
        )
    except (ValueError, KeyError, TypeError, AttributeError, InvalidOperation):
        return failure_of(text)


def _cell(arrow_type: str, value: Any) -> Any:  # Any: a JSON value
    """The value; a decimal, which JSON has as text, is a number again. `1.10` as text stays one."""
    is_number = arrow_type.startswith(_NUMBERS) and isinstance(value, str)
    return Decimal(value) if is_number else value


def failure_of(text: str) -> ToolFailure:
    """The failure in a tool's error text, JSON or plain."""
    try:
        error: Any = orjson.loads(text)["error"]
        return ToolFailure(str(error["code"]), str(error["message"]))
    except (ValueError, KeyError, TypeError):
        return ToolFailure("error", text[:500])


_MOST_TABLES: Final = 60
_MOST_PARTS: Final = 12
_MOST_SOURCES: Final = 4


def load(
    conversation: Conversation, source: str | None
) -> Generator[Call, ToolMessage, SourceSchema | ToolFailure]:
    """The schema of a source; of a very large one, the tables the question speaks of.

    The tool describes as many tables as fit. A missing join could make a wrong number look right,
    so the rest is requested by name.
    """
    schema = yield from _schema(source, [])
    if isinstance(schema, ToolFailure) or not schema.omitted:
        return schema
    listed = yield from _listed(conversation, schema)
    if len(listed) > _MOST_TABLES:
        listed = yield from _spoken_of(conversation, schema, listed)
    schema = yield from _completed(schema, [table.name for table in listed])
    return (yield from _completed(schema, _linked(schema)))


def _completed(
    schema: SourceSchema, names: Sequence[str]
) -> Generator[Call, ToolMessage, SourceSchema]:
    """The schema with these tables in it, requested until no more come."""
    for _ in range(_MOST_PARTS):
        missing = [name for name in dict.fromkeys(names) if name not in schema.tables]
        part = (yield from _schema(schema.source, missing)) if missing else None
        if not isinstance(part, SourceSchema) or not part.tables.keys() - schema.tables.keys():
            break
        schema = _joined(schema, part)
    return schema


@lru_cache(maxsize=16)
def _joined(schema: SourceSchema, part: SourceSchema) -> SourceSchema:
    """Both as one: the same parts always make the same schema, so that its lexicon stays cached."""
    tables = {**schema.tables, **part.tables}
    omitted = max(0, schema.omitted - (len(tables) - len(schema.tables)))
    return replace(schema, tables=tables, omitted=omitted)


def other_sources(
    conversation: Conversation, source: str | None
) -> Generator[Call, ToolMessage, list[str]]:
    """The other sources."""
    if "sql_db_list_tables" not in conversation.tools:
        return []
    message = yield Call("sql_db_list_tables", {"source": source})
    names = _json(message).get("other_sources") or ()
    return [str(name) for name in names][:_MOST_SOURCES]


def last_source(conversation: Conversation) -> str | None:
    """The source of the last earlier answer that read a schema."""
    for exchange in reversed(conversation.earlier):
        for result in reversed(exchange.results):
            if result.name == "sql_db_query" and (source := _json(result).get("source")):
                return str(source)
    return None


def _schema(
    source: str | None, tables: Sequence[str]
) -> Generator[Call, ToolMessage, SourceSchema | ToolFailure]:
    names = ", ".join(f'"{name}"' if "," in name else name for name in tables)
    message = yield Call("sql_db_schema", {"table_names": names, "source": source})
    text = str(message.text)
    if message.status == "error":
        return failure_of(text)
    try:
        return schema_of(text)
    except ValueError:
        return failure_of(text)


def _listed(
    conversation: Conversation, schema: SourceSchema
) -> Generator[Call, ToolMessage, list[SchemaTable]]:
    """All tables by name and comment, as far as the tool lists them."""
    if "sql_db_list_tables" not in conversation.tools:
        return []
    message = yield Call("sql_db_list_tables", {"source": schema.source})
    return [
        SchemaTable(str(each["name"]), {}, str(each.get("comment") or ""))
        for each in _json(message).get("tables") or ()
    ]


def _spoken_of(
    conversation: Conversation, schema: SourceSchema, listed: Sequence[SchemaTable]
) -> Generator[Call, ToolMessage, list[SchemaTable]]:
    """Tables the question names, and tables a search for it finds."""
    words = keys(conversation.question)
    ends = range(1, len(words) + 1)
    phrases = {words[start:end] for end in ends for start in range(max(0, end - 6), end)}
    found = [table for table in listed if phrases & set(table_names(table))]
    if "search_catalogue" in conversation.tools:
        args = {"query": conversation.question, "source": schema.source}
        message = yield Call("search_catalogue", args)
        hits = _json(message).get("hits") or ()
        found.extend(SchemaTable(str(hit["table"]), {}) for hit in hits)
    return found[:_MOST_TABLES]


def _linked(schema: SourceSchema) -> list[str]:
    """Tables that known tables point at."""
    return [link.table for table in schema.tables.values() for link in table.links]


def _json(message: ToolMessage) -> Mapping[str, Any]:
    try:
        return dict[str, Any](orjson.loads(str(message.text)))
    except (ValueError, TypeError):
        return {}
