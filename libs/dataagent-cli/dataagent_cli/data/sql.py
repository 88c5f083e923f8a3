"""`dataagent sql`: one statement, its rows on standard output, what they rest on beside them.

Above: `obey.py`. Below: core's `DataService.query`, the one path of every statement.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from dataagent_cli import exits
from dataagent_cli.data import rows
from dataagent_cli.data.brought import one_source
from dataagent_cli.data.files import save, send
from dataagent_cli.data.formats import Format, chosen_format, pieces_of, refuse_on_screen
from dataagent_cli.data.receipt import kept_line, receipt_lines, rows_text, size_text
from dataagent_cli.input.piped import read_piped
from dataagent_cli.ui.table import draw
from dataagent_core.data.service import Answered, Asked
from dataagent_core.errors import BadInput

if TYPE_CHECKING:
    from dataagent_cli.data.arguments import DataOptions
    from dataagent_cli.data.desk import Desk
    from dataagent_cli.streams import Streams
    from dataagent_core.data.sources import Source

_SHOWN_ROWS = 20
_SLOW_SECONDS = 2.0


async def run_sql(desk: Desk, options: DataOptions) -> int:
    """Run the statement, show or write its rows, say what they rest on.

    Raises:
        DataAgentError: it was refused, or failed.
        CannotWrite: the file that was named cannot be written.
    """
    fmt = chosen_format(options.format, options.output, usual="table")
    refuse_on_screen(fmt, options.output, desk.streams)
    sql = await asyncio.to_thread(_statement, options.statement, desk.streams)
    reader = await desk.reader()
    source = await one_source(desk, options.sources)
    limits = None if options.limit is None else replace(source.limits, max_rows=options.limit)
    answered = await _answered(desk, source, sql, Asked(reader, limits=limits))
    shown = await _show(desk, options, fmt, answered)
    _say(desk, options, answered, shown)
    return exits.OK


def _statement(written: str, streams: Streams) -> str:
    """The statement, from standard input if a dash stands for it."""
    if written.strip() != "-":
        return written
    if streams.piped is None:
        raise BadInput("Nothing is piped in, so there is no statement.")
    return read_piped(
        streams.piped, note=lambda _: streams.say("waiting for a statement on standard input")
    )


async def _answered(desk: Desk, source: Source, sql: str, asked: Asked) -> Answered:
    note = asyncio.create_task(_say_if_slow(desk, source))
    try:
        return await desk.service.query(source, sql, asked)
    finally:
        note.cancel()


async def _say_if_slow(desk: Desk, source: Source) -> None:
    await asyncio.sleep(_SLOW_SECONDS)
    desk.streams.say(f"still running on {source.name}; Ctrl-C stops it")


async def _show(desk: Desk, options: DataOptions, fmt: Format, answered: Answered) -> int:
    """Print or write the rows; how many they were."""
    path, artifact = desk.service.artifacts.path_of(answered.artifact), answered.artifact
    if fmt == "table":
        return await _show_table(desk, options, answered, path)
    if fmt in ("png", "svg"):
        raise BadInput("A chart is drawn by the agent: ask for it with -p, then export it.")
    pieces = pieces_of(artifact, path, fmt)
    if options.output is None:
        await send(desk.streams.write, pieces)
        return artifact.row_count
    size = await save(Path(options.output), pieces)
    desk.streams.say(f"wrote {options.output} ({fmt}, {size_text(size)})")
    return artifact.row_count


async def _show_table(desk: Desk, options: DataOptions, answered: Answered, path: Path) -> int:
    is_whole = options.limit is not None or options.output is not None
    columns = answered.kept.columns
    count = None if is_whole else _SHOWN_ROWS
    shown = await asyncio.to_thread(rows.first_rows, path, columns, count)
    width = None if options.output else desk.streams.width
    text = draw(rows.headings(columns), shown, width=width)
    if options.output is None:
        desk.streams.print(text)
    else:
        size = await save(Path(options.output), [f"{text}\n".encode()])
        desk.streams.say(f"wrote {options.output} (table, {size_text(size)})")
    return len(shown)


def _say(desk: Desk, options: DataOptions, answered: Answered, shown: int) -> None:
    artifact, say = answered.artifact, desk.streams.say
    for line in receipt_lines(answered.receipt, shown=shown):
        say(line)
    if options.output is None:
        say(kept_line(artifact))
    if shown < artifact.row_count:
        count = rows_text(artifact.row_count, artifact.row_count)
        command = f"{desk.spelled}export {artifact.artifact_id} --output FILE.csv"
        say(f"hint: all {count}: {command}")
