"""`dataagent schema`: shows the tables of a source, their columns, and what changed."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from dataagent_cli import exit_codes
from dataagent_cli.data.named_sources import resolve_source
from dataagent_cli.ui.clean import one_line
from dataagent_cli.ui.tables import Heading, draw
from dataagent_core.data.catalogue import find_table, search
from dataagent_core.data.service import errors_naming

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dataagent_cli.arguments import DataOptions
    from dataagent_cli.data.context import DataCommandContext
    from dataagent_core.data.catalogue import CatalogueState
    from dataagent_core.data.sources import Source
    from dataagent_core.data.types import Catalogue, Column, Table

_TABLE, _ROWS = Heading("Table", is_whole=True), Heading("Rows", is_number=True)
_TABLES = (_TABLE, _ROWS, Heading("About"))
_HITS = (_TABLE, _ROWS, Heading("Why"), Heading("Columns"))
_COLUMNS = (
    *(Heading(name, is_whole=True) for name in ("Column", "Type", "Key")),
    Heading("About"),
)
_HIT_COLUMNS = 6
_SAMPLES = 3


async def show_schema(context: DataCommandContext, options: DataOptions) -> int:
    """Print tables, columns, matches of a search, or changes.

    Raises:
        DataAgentError: there is no such source or table, or the source cannot be read.
    """
    source = await resolve_source(context, [options.source] if options.source else options.sources)
    if options.is_diff:
        return _diff(context, source, await context.fresh_catalogue(source))
    state = await context.service.catalogue_state(source, await context.reader())
    catalogue, width = state.catalogue, context.streams.width
    if options.tables:
        with errors_naming(source):
            tables = [find_table(catalogue, name) for name in options.tables]
        context.streams.print("\n\n".join(_table(table, width) for table in tables))
    elif options.words:
        return await _search(context, catalogue, " ".join(options.words), width)
    elif catalogue.tables:
        context.streams.print(
            draw(_TABLES, [_summary(each) for each in catalogue.tables], width=width)
        )
    for line in _heading(source, state):
        context.streams.say(line)
    if not options.tables and catalogue.tables:
        example = catalogue.tables[0].key
        command = f"{context.command_prefix}schema {source.name} {example}"
        context.streams.say(f"hint: columns of a table: {command}")
    return exit_codes.OK


def _diff(context: DataCommandContext, source: Source, state: CatalogueState) -> int:
    """Print what changed since the source was last read, marked as in `git diff`."""
    is_news = state.drift and state.drifted_at == state.catalogue.refreshed_at
    for change in state.drift if is_news else ():
        context.streams.print(f"{_sign(change)} {one_line(change)}")
    for line in _heading(source, state):
        context.streams.say(line)
    if not is_news:
        context.streams.say("nothing has changed since it was last read")
    return exit_codes.OK


def _sign(change: str) -> str:
    if " was added" in change:
        return "+"
    return "-" if change.endswith(" is gone.") else "~"


async def _search(
    context: DataCommandContext, catalogue: Catalogue, words: str, width: int | None
) -> int:
    hits = await asyncio.to_thread(search, catalogue, words)
    if not hits:
        context.streams.say(f"no table matches {one_line(words)!r}\nhint: try other words.")
        return exit_codes.FAILED
    by_key = {table.key: table for table in catalogue.tables}
    rows = [
        (hit.table_key, _count(by_key[hit.table_key]), hit.why, _few(hit.columns)) for hit in hits
    ]
    context.streams.print(draw(_HITS, rows, width=width))
    return exit_codes.OK


def _heading(source: Source, state: CatalogueState) -> list[str]:
    tables = state.catalogue.tables
    seen = f"as of {state.catalogue.refreshed_at:%Y-%m-%d %H:%M} UTC"
    counted = f"{len(tables):,} table{'' if len(tables) == 1 else 's'}"
    lines = [f"{source.name} ({state.catalogue.dialect}) · {counted} · {seen}"]
    if state.problem:
        lines.append(f"it cannot be read now: {one_line(state.problem)}")
    lines += [f"left out: {one_line(problem)}" for problem in state.left_out]
    return lines


def _summary(table: Table) -> tuple[str, str, str]:
    about = table.comment or ("a view" if table.is_view else "")
    return table.key, _count(table), about


def _count(table: Table) -> str:
    return "?" if table.row_count is None else f"{table.row_count:,}"


def _few(columns: Sequence[str]) -> str:
    more = len(columns) - _HIT_COLUMNS
    return ", ".join(columns[:_HIT_COLUMNS]) + (f", … {more} more" if more > 0 else "")


# -- one table ------------------------------------------------------------------------------


def _table(table: Table, width: int | None) -> str:
    kind = "view" if table.is_view else "table"
    rows = "" if table.row_count is None else f", {_count(table)} rows"
    about = f": {one_line(table.comment)}" if table.comment else ""
    columns = [_column(table, column) for column in table.columns]
    kept = [at for at in range(len(_COLUMNS)) if at < 2 or any(row[at] for row in columns)]
    drawn = draw(
        [_COLUMNS[at] for at in kept], [[row[at] for at in kept] for row in columns], width=width
    )
    return f"{kind} {table.key}{rows}{about}\n\n{drawn}"


def _column(table: Table, column: Column) -> tuple[str, ...]:
    is_plain = column.is_nullable or column.name in table.primary_key
    kind = column.type if is_plain else f"{column.type} not null"
    about = [text for text in (column.comment, _samples(column)) if text]
    return column.name, kind, _key(table, column), " · ".join(about)


def _key(table: Table, column: Column) -> str:
    keys = ["primary"] if column.name in table.primary_key else []
    for key in table.foreign_keys:
        pairs = zip(key.columns, key.target_columns, strict=False)
        keys += [f"→ {key.target_table}.{to}" for name, to in pairs if name == column.name]
    return " ".join(keys)


def _samples(column: Column) -> str:
    """A few of its values as examples."""
    if not column.samples:
        return ""
    has_more = column.are_samples_truncated or len(column.samples) > _SAMPLES
    return ", ".join(column.samples[:_SAMPLES]) + (", …" if has_more else "")
