"""`dataagent sql`: runs one statement; rows go to standard output, their receipt beside them."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from dataagent_cli import exit_codes
from dataagent_cli.data import formats
from dataagent_cli.data.files import save, send
from dataagent_cli.data.formats import (
    Format,
    refuse_binary_on_terminal,
    resolve_format,
    table_chunks,
)
from dataagent_cli.data.named_sources import resolve_source
from dataagent_cli.data.stored_results import receipt_lines, rows_text, size_text, stored_line
from dataagent_cli.input.piped import read_piped
from dataagent_cli.ui.tables import draw
from dataagent_core.data.service import ExecutedQuery, QueryContext
from dataagent_core.errors import BadInput

if TYPE_CHECKING:
    from dataagent_cli.arguments import DataOptions
    from dataagent_cli.data.context import DataCommandContext
    from dataagent_cli.streams import Streams
    from dataagent_core.data.sources import Source

_SHOWN_ROWS = 20
_SLOW_SECONDS = 2.0


async def run_sql(context: DataCommandContext, options: DataOptions) -> int:
    """Run the statement, show or write its rows, and print the receipt.

    Raises:
        DataAgentError: it was refused, or failed.
        CannotWrite: the named file cannot be written.
    """
    fmt = resolve_format(options.format, options.output, usual="table")
    refuse_binary_on_terminal(fmt, options.output, context.streams)
    sql = await asyncio.to_thread(_statement, options.statement, context.streams)
    reader = await context.reader()
    source = await resolve_source(context, options.sources)
    limits = None if options.limit is None else replace(source.limits, max_rows=options.limit)
    answered = await _execute(context, source, sql, QueryContext(reader, limits=limits))
    shown = await _show(context, options, fmt, answered)
    _print_receipt(context, options, answered, shown)
    return exit_codes.OK


def _statement(written: str, streams: Streams) -> str:
    """The statement, from standard input for a dash."""
    if written.strip() != "-":
        return written
    if streams.piped is None:
        raise BadInput("Nothing is piped in, so there is no statement to run.")
    return read_piped(
        streams.piped, note=lambda _: streams.say("waiting for a statement on standard input")
    )


async def _execute(
    context: DataCommandContext, source: Source, sql: str, asked: QueryContext
) -> ExecutedQuery:
    note = asyncio.create_task(_note_if_slow(context, source))
    try:
        return await context.service.query(source, sql, asked)
    finally:
        note.cancel()


async def _note_if_slow(context: DataCommandContext, source: Source) -> None:
    await asyncio.sleep(_SLOW_SECONDS)
    context.streams.say(f"still running on {source.name}; Ctrl-C stops it")


async def _show(
    context: DataCommandContext, options: DataOptions, fmt: Format, answered: ExecutedQuery
) -> int:
    """Print or write the rows; return how many."""
    path, artifact = context.service.artifacts.path_of(answered.artifact), answered.artifact
    if fmt == "table":
        return await _show_table(context, options, answered, path)
    if fmt in ("png", "svg"):
        raise BadInput("A chart is drawn by the agent: ask for it with -p, then export it.")
    pieces = table_chunks(artifact, path, fmt)
    if options.output is None:
        await send(context.streams.write, pieces)
        return artifact.row_count
    size = await save(Path(options.output), pieces)
    context.streams.say(f"wrote {options.output} ({fmt}, {size_text(size)})")
    return artifact.row_count


async def _show_table(
    context: DataCommandContext, options: DataOptions, answered: ExecutedQuery, path: Path
) -> int:
    is_whole = options.limit is not None or options.output is not None
    columns = answered.result.columns
    count = None if is_whole else _SHOWN_ROWS
    shown = await asyncio.to_thread(formats.first_rows, path, columns, count)
    width = None if options.output else context.streams.width
    text = draw(formats.headings(columns), shown, width=width)
    if options.output is None:
        context.streams.print(text)
    else:
        size = await save(Path(options.output), [f"{text}\n".encode()])
        context.streams.say(f"wrote {options.output} (table, {size_text(size)})")
    return len(shown)


def _print_receipt(
    context: DataCommandContext, options: DataOptions, answered: ExecutedQuery, shown: int
) -> None:
    artifact, say = answered.artifact, context.streams.say
    for line in receipt_lines(answered.receipt, shown=shown):
        say(line)
    if options.output is None:
        say(stored_line(artifact))
    if shown < artifact.row_count:
        count = rows_text(artifact.row_count, artifact.row_count)
        command = f"{context.command_prefix}export {artifact.artifact_id} --output FILE.csv"
        say(f"hint: all {count}: {command}")
