"""`dataagent export`: a kept result, or a chart made from one, as a file or on standard output.

Above: `dispatch.py`. Below: core's artefacts and charts.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, assert_never

import orjson

from dataagent_cli import exit_codes
from dataagent_cli.data.files import save, send
from dataagent_cli.data.formats import (
    TABLE_FORMATS,
    Format,
    refuse_binary_on_terminal,
    resolve_format,
    table_chunks,
)
from dataagent_cli.data.receipt import rows_text, size_text
from dataagent_cli.data.stored_results import NEWEST, find_artifact, find_table
from dataagent_core.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dataagent_cli.data.arguments import DataOptions
    from dataagent_cli.data.context import DataCommandContext
    from dataagent_core.data.types import Artifact

_OF_TABLES = ("csv", "jsonl", "markdown", "parquet", "xlsx")


async def export_artifact(context: DataCommandContext, options: DataOptions) -> int:
    """Write the artefact.

    Raises:
        ArtifactNotFound: there is none of that id, or it has expired.
        BadInput: it has no such format.
        CannotWrite: the file that was named cannot be written.
    """
    artifact = await _find_exportable(context, options)
    usual: Format = "png" if artifact.kind == "chart" else "csv"
    fmt = resolve_format(options.format, options.output, usual=usual)
    refuse_binary_on_terminal(fmt, options.output, context.streams)
    pieces = await _pieces(context, artifact, fmt)
    if options.output is None:
        await send(context.streams.write, pieces)
        return exit_codes.OK
    size = await save(Path(options.output), pieces)
    rows = f", {rows_text(artifact.row_count, artifact.row_count)}" * (artifact.kind == "table")
    context.streams.say(f"wrote {options.output} ({fmt}{rows}, {size_text(size)})")
    return exit_codes.OK


async def _find_exportable(context: DataCommandContext, options: DataOptions) -> Artifact:
    """The artefact of that id; the last one is the newest that the format can hold."""
    fmt = resolve_format(options.format, options.output, usual="table")
    if options.artifact_id == NEWEST and fmt in _OF_TABLES:
        return await find_table(context, NEWEST)
    return await find_artifact(context, options.artifact_id)


async def _pieces(context: DataCommandContext, artifact: Artifact, fmt: Format) -> Iterable[bytes]:
    match artifact.kind:
        case "table":
            return _table(context, artifact, fmt)
        case "chart":
            return [await _chart(context, artifact, fmt)]
        case "file":
            return _file(context.service.artifacts.path_of(artifact))
        case _:
            assert_never(artifact.kind)


def _table(context: DataCommandContext, artifact: Artifact, fmt: Format) -> Iterator[bytes]:
    if fmt in ("png", "svg", "table"):
        raise _unsupported_format(artifact, fmt, TABLE_FORMATS)
    return table_chunks(artifact, context.service.artifacts.path_of(artifact), fmt)


async def _chart(context: DataCommandContext, artifact: Artifact, fmt: Format) -> bytes:
    """A picture, or with `json` the Vega-Lite specification with its values."""
    if fmt == "json":
        shown: dict[str, Any] = await context.data.charts.shown(artifact)
        return orjson.dumps(shown, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    if fmt not in ("png", "svg"):
        raise _unsupported_format(artifact, fmt, ("png", "svg", "json"))
    picture = await context.data.charts.picture(artifact, fmt)
    if picture.note:
        context.streams.say(picture.note)
    return picture.content


def _file(path: Path) -> Iterator[bytes]:
    yield path.read_bytes()


def _unsupported_format(artifact: Artifact, fmt: str, formats: tuple[str, ...]) -> BadInput:
    return BadInput(
        f"A {artifact.kind} cannot be written as {fmt}.",
        details={"hint": f"choose one of: {', '.join(formats)}."},
    )
