"""Questions about the source itself: which tables there are, what a table holds."""

from __future__ import annotations

from typing import Final

from dataagent_core.models.rule_based import Conversation
from dataagent_offline.data.answer import cell, note
from dataagent_offline.data.schema import SchemaTable, SourceSchema
from dataagent_offline.data.segmentation import Segmentation
from dataagent_offline.data.terms import QuestionSpan, Role

_QUESTION_ROLES: Final[tuple[Role, ...]] = (
    "noise", "which", "list", "ask", "all", "with", "schema", "and", "follow",
)  # fmt: skip


def describe_source(
    conversation: Conversation, segmentation: Segmentation, schema: SourceSchema
) -> str | None:
    """The tables, or the columns of the named table; None if something else is asked."""
    if not any(item.has("schema") for item in segmentation.items):
        return None
    rest = [item for item in segmentation.items if not item.has(*_QUESTION_ROLES)]
    if not rest:
        return _describe_schema(conversation, schema, _tables(schema) + _more(conversation, schema))
    named = _table(rest[0]) if len(rest) == 1 else None
    if named is None or not any(item.value_of("schema") for item in segmentation.items):
        return None
    return _describe_schema(conversation, schema, _columns(schema.tables[named]))


def _table(item: QuestionSpan) -> str | None:
    terms = [term for term in (item.noun.tables if item.noun else ()) if term.quality >= 3]
    return terms[0].table if len(terms) == 1 else None


def _describe_schema(conversation: Conversation, schema: SourceSchema, table: str) -> str:
    source = conversation.say("Source", "数据源")
    return f"{table}\n\n{source}: {schema.source}\n\n{note(conversation)}"


def _tables(schema: SourceSchema) -> str:
    lines = ["| table | comment | columns |", "| --- | --- | --- |"]
    for table in schema.tables.values():
        columns = ", ".join(table.columns)
        lines.append(f"| {cell(table.name)} | {cell(table.comment)} | {cell(columns)} |")
    return "\n".join(lines)


def _more(conversation: Conversation, schema: SourceSchema) -> str:
    if not schema.omitted:
        return ""
    return conversation.say(
        f"\n\nThe source has {schema.omitted} tables more. Ask about one by its name.",
        f"\n\n此数据源还有 {schema.omitted} 张表。请按名称询问。",
    )


def _columns(table: SchemaTable) -> str:
    lines = [f"**{table.name}**", "", "| column | type | comment |", "| --- | --- | --- |"]
    for column in table.columns.values():
        lines.append(f"| {cell(column.name)} | {cell(column.type)} | {cell(column.comment)} |")
    return "\n".join(lines)
