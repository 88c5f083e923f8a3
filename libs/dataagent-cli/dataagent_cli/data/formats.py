"""Stored results in each format, and an answer as one JSON object or as CSV.

All rows come from core's JSON export, which has one row a line and loses nothing: decimals are text
in it, and integers have all their digits.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, assert_never, cast

import orjson

from dataagent_cli.data.files import send
from dataagent_cli.ui.clean import one_line
from dataagent_cli.ui.tables import Heading
from dataagent_core.data.results import export
from dataagent_core.data.types import ResultColumn
from dataagent_core.errors import ArtifactNotFound, BadInput

if TYPE_CHECKING:
    from dataagent_cli.data.context import DataCommandContext
    from dataagent_cli.streams import Streams
    from dataagent_cli.turn import TurnEnd
    from dataagent_cli.ui.views import BufferedView
    from dataagent_core.config import Prices
    from dataagent_core.data.types import Artifact


TableFormat = Literal["csv", "json", "jsonl", "markdown", "parquet", "xlsx"]
Format = Literal[TableFormat, "table", "png", "svg"]
TABLE_FORMATS = ("csv", "json", "jsonl", "markdown", "parquet", "xlsx")
_BINARY = ("parquet", "xlsx", "png")
_ENDINGS: dict[str, Format] = {
    ".csv": "csv",
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".md": "markdown",
    ".parquet": "parquet",
    ".png": "png",
    ".svg": "svg",
    ".txt": "table",
    ".xlsx": "xlsx",
}


def resolve_format(named: str | None, output: str | None, *, usual: Format) -> Format:
    """The named format, else the one of the file's ending, else the usual one.

    Raises:
        BadInput: the ending is unknown.
    """
    if named is not None:
        return cast("Format", named)  # argparse allows no other
    if output is None:
        return usual
    ending = Path(output).suffix.lower()
    if not ending and Path(output).is_char_device():
        return usual
    if ending not in _ENDINGS:
        raise BadInput(
            f"The ending of {Path(output).name!r} does not name a format.",
            details={"hint": f"name it with --format, or use one of: {', '.join(_ENDINGS)}."},
        )
    return _ENDINGS[ending]


def refuse_binary_on_terminal(fmt: Format, output: str | None, streams: Streams) -> None:
    """Refuse to write a binary format to a terminal.

    Raises:
        BadInput: it would be written to one.
    """
    if fmt in _BINARY and output is None and streams.out.isatty():
        raise BadInput(
            f"{fmt} is not text, and standard output is a terminal.",
            details={"hint": f"name a file: --output result.{fmt}"},
        )


def table_chunks(artifact: Artifact, path: Path, fmt: TableFormat) -> Iterator[bytes]:
    """A table in a format. Blocking: read it in a worker thread."""
    match fmt:
        case "jsonl":
            return json_lines(path, artifact.columns)
        case "markdown":
            return markdown_table(path, artifact.columns)
        case "csv" | "json" | "parquet" | "xlsx":
            return export(path, artifact.columns, fmt)
        case _:
            assert_never(fmt)


_NUMBERS = ("int", "uint", "float", "double", "halffloat", "decimal")
_LINES_AT_ONCE = 1_000
_BREAK = "<br>"
_MARKDOWN = str.maketrans(
    {"\\": "\\\\", "|": "\\|", "\n": _BREAK, "\r": "", "<": "&lt;", "&": "&amp;"}
)


def headings(columns: Sequence[ResultColumn]) -> list[Heading]:
    """The columns, and which of them hold numbers."""
    return [Heading(column.name, column.type.startswith(_NUMBERS)) for column in columns]


def first_rows(
    path: Path, columns: Sequence[ResultColumn], count: int | None = None
) -> list[list[str | None]]:
    """The first rows, or all; each cell as text, None where it is NULL."""
    return list(islice(_cell_rows(path, columns), count))


def first_lines(path: Path, columns: Sequence[ResultColumn], count: int) -> list[bytes]:
    """The first rows, each as a JSON object."""
    return list(islice(_lines(path, columns), count))


def json_lines(path: Path, columns: Sequence[ResultColumn]) -> Iterator[bytes]:
    """One JSON object a line."""
    return _joined(line + b"\n" for line in _lines(path, columns))


def markdown_table(path: Path, columns: Sequence[ResultColumn]) -> Iterator[bytes]:
    """A table in GitHub's Markdown, numbers to the right."""
    named = headings(columns)
    yield _markdown_row(heading.name for heading in named)
    yield _markdown_row("---:" if heading.is_number else "---" for heading in named)
    yield from _joined(
        _markdown_row("NULL" if cell is None else cell.translate(_MARKDOWN) for cell in row)
        for row in _cell_rows(path, columns)
    )


def _markdown_row(cells: Iterable[str]) -> bytes:
    return f"| {' | '.join(cells)} |\n".encode()


def _joined(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Lines in pieces worth a write."""
    source = iter(lines)
    while piece := b"".join(islice(source, _LINES_AT_ONCE)):
        yield piece


def _cell_rows(path: Path, columns: Sequence[ResultColumn]) -> Iterator[list[str | None]]:
    for line in _lines(path, columns):
        row = json.loads(line)
        yield [_text(value) for value in row.values()]


def _text(value: Any) -> str | None:  # Any: a JSON value
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)


def _lines(path: Path, columns: Sequence[ResultColumn]) -> Iterator[bytes]:
    """Each row as a JSON object, without the commas and brackets of the array."""
    rest = b""
    for piece in export(path, columns, "json"):
        *lines, rest = (rest + piece).split(b"\n")
        yield from (line.removesuffix(b",") for line in lines if line.startswith(b"{"))


_MOST_ROWS = 1_000  # of a table in a JSON object; `is_whole` says when there are more
_STATUSES = {"completed": "done", "user_cancelled": "cancelled", "rejected": "cancelled"}


@dataclass(frozen=True, slots=True)
class CompletedAnswer:
    """An answer whose run has ended."""

    view: BufferedView
    end: TurnEnd
    session_id: str | None


async def write_csv(context: DataCommandContext, answer: CompletedAnswer) -> None:
    """Write the rows of the last table to standard output; nothing if the run failed.

    Raises:
        ArtifactNotFound: the answer has no table.
    """
    if answer.end.exit_code:
        return
    if not answer.view.tables:
        context.streams.say(answer.view.answer)
        raise ArtifactNotFound(
            "The answer has no table, so there is nothing to write as CSV.",
            details={"hint": "ask for rows, or leave out --output-format to read the answer."},
        )
    table = await context.service.artifacts.get(answer.view.tables[-1], owner=context.user_id)
    receipt = table.receipt
    if receipt is not None and receipt.is_truncated and receipt.truncated_by != "values":
        context.streams.say(f"warning: cut at {table.row_count:,} rows: the source has more")
    for sentence in receipt.warnings if receipt is not None else ():
        context.streams.say(f"warning: {one_line(sentence)}")
    pieces = table_chunks(table, context.service.artifacts.path_of(table), "csv")
    await send(context.streams.write, pieces)


async def write_json(
    context: DataCommandContext, answer: CompletedAnswer, prices: Prices | None
) -> None:
    """Write the answer as one object to standard output, however the run ended."""
    view, done = answer.view, answer.end.done
    usage = done.token_usage or {}
    body = {
        "session_id": answer.session_id,
        "run_id": view.run_id,
        "status": _STATUSES.get(done.reason, "failed"),
        "answer": view.answer,
        "tables": [await _answer_table(context, artifact_id) for artifact_id in view.tables],
        "usage": usage,
        "cost": None if prices is None else round(prices.cost_of(usage), 6),
        "currency": None if prices is None else prices.currency,
        "figures": (done.metadata or {}).get("figures"),
        "error": view.error and {"error_code": view.error.error_code, "message": view.error.error},
    }
    context.streams.write(orjson.dumps(body, default=str, option=orjson.OPT_APPEND_NEWLINE))


async def _answer_table(
    context: DataCommandContext, artifact_id: str
) -> dict[str, Any]:  # Any: JSON
    table = await context.service.artifacts.get(artifact_id, owner=context.user_id)
    rows = await asyncio.to_thread(_answer_rows, context, table)
    is_cut = table.receipt is not None and table.receipt.is_truncated
    return {
        "artifact_id": artifact_id,
        "title": table.title,
        "columns": [{"name": column.name, "type": column.type} for column in table.columns],
        "row_count": table.row_count,
        "is_truncated": is_cut,
        "warnings": list(table.receipt.warnings) if table.receipt else [],
        "rows": rows,
        "is_whole": len(rows) == table.row_count and not is_cut,
        "sql": table.receipt.sql_executed if table.receipt else None,
    }


def _answer_rows(context: DataCommandContext, table: Artifact) -> list[orjson.Fragment]:
    path = context.service.artifacts.path_of(table)
    return [orjson.Fragment(line) for line in first_lines(path, table.columns, _MOST_ROWS)]
