"""`dataagent export`: a kept result, or a chart made from one, as a file or on standard output.

Above: `obey.py`. Below: core's artefacts and charts.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, assert_never

import orjson

from dataagent_cli import exits
from dataagent_cli.data.files import save, send
from dataagent_cli.data.formats import (
    TABLE_FORMATS,
    Format,
    chosen_format,
    pieces_of,
    refuse_on_screen,
)
from dataagent_cli.data.kept import NEWEST, kept_artifact, kept_table
from dataagent_cli.data.receipt import rows_text, size_text
from dataagent_core.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dataagent_cli.data.arguments import DataOptions
    from dataagent_cli.data.desk import Desk
    from dataagent_core.data.types import Artifact

_OF_TABLES = ("csv", "jsonl", "markdown", "parquet", "xlsx")


async def export_artifact(desk: Desk, options: DataOptions) -> int:
    """Write the artefact.

    Raises:
        ArtifactNotFound: there is none of that id, or it has expired.
        BadInput: it has no such format.
        CannotWrite: the file that was named cannot be written.
    """
    artifact = await _meant(desk, options)
    usual: Format = "png" if artifact.kind == "chart" else "csv"
    fmt = chosen_format(options.format, options.output, usual=usual)
    refuse_on_screen(fmt, options.output, desk.streams)
    pieces = await _pieces(desk, artifact, fmt)
    if options.output is None:
        await send(desk.streams.write, pieces)
        return exits.OK
    size = await save(Path(options.output), pieces)
    rows = f", {rows_text(artifact.row_count, artifact.row_count)}" * (artifact.kind == "table")
    desk.streams.say(f"wrote {options.output} ({fmt}{rows}, {size_text(size)})")
    return exits.OK


async def _meant(desk: Desk, options: DataOptions) -> Artifact:
    """The artefact of that id; the last one is the newest that the format can hold."""
    fmt = chosen_format(options.format, options.output, usual="table")
    if options.artifact_id == NEWEST and fmt in _OF_TABLES:
        return await kept_table(desk, NEWEST)
    return await kept_artifact(desk, options.artifact_id)


async def _pieces(desk: Desk, artifact: Artifact, fmt: Format) -> Iterable[bytes]:
    match artifact.kind:
        case "table":
            return _table(desk, artifact, fmt)
        case "chart":
            return [await _chart(desk, artifact, fmt)]
        case "file":
            return _file(desk.service.artifacts.path_of(artifact))
        case _:
            assert_never(artifact.kind)


def _table(desk: Desk, artifact: Artifact, fmt: Format) -> Iterator[bytes]:
    if fmt in ("png", "svg", "table"):
        raise _no_such(artifact, fmt, TABLE_FORMATS)
    return pieces_of(artifact, desk.service.artifacts.path_of(artifact), fmt)


async def _chart(desk: Desk, artifact: Artifact, fmt: Format) -> bytes:
    """A picture, or with `json` the Vega-Lite specification with its values."""
    if fmt == "json":
        shown: dict[str, Any] = await desk.data.charts.shown(artifact)
        return orjson.dumps(shown, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    if fmt not in ("png", "svg"):
        raise _no_such(artifact, fmt, ("png", "svg", "json"))
    picture = await desk.data.charts.picture(artifact, fmt)
    if picture.note:
        desk.streams.say(picture.note)
    return picture.content


def _file(path: Path) -> Iterator[bytes]:
    yield path.read_bytes()


def _no_such(artifact: Artifact, fmt: str, formats: tuple[str, ...]) -> BadInput:
    return BadInput(
        f"A {artifact.kind} cannot be written as {fmt}.",
        details={"hint": f"choose one of: {', '.join(formats)}."},
    )
