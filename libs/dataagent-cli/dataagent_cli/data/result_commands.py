"""`export`, `chart` and `explain`: commands over a stored result."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, assert_never, cast

import orjson

from dataagent_cli import exit_codes
from dataagent_cli.arguments import CHART_KINDS
from dataagent_cli.data.chart_display import show_chart
from dataagent_cli.data.files import save, send
from dataagent_cli.data.formats import (
    TABLE_FORMATS,
    Format,
    refuse_binary_on_terminal,
    resolve_format,
    table_chunks,
)
from dataagent_cli.data.stored_results import (
    NEWEST,
    duration,
    find_artifact,
    find_table,
    rows_text,
    size_text,
)
from dataagent_cli.ui.clean import one_line
from dataagent_cli.ui.describe import unchecked_text
from dataagent_core.data.referenced_tables import referenced_tables
from dataagent_core.data.results import ArtifactDraft
from dataagent_core.errors import BadInput, DataAgentError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dataagent_cli.arguments import DataOptions
    from dataagent_cli.data.context import DataCommandContext
    from dataagent_core.data.sources import Source
    from dataagent_core.data.types import Artifact, Receipt, ResultColumn, Table


_OF_TABLES = ("csv", "jsonl", "markdown", "parquet", "xlsx")


async def export_artifact(context: DataCommandContext, options: DataOptions) -> int:
    """Write an artefact to a file or standard output.

    Raises:
        ArtifactNotFound: there is none of that id, or it has expired.
        BadInput: it cannot be written in that format.
        CannotWrite: the named file cannot be written.
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
    """The artefact of that id; `last` is the newest one that the format suits."""
    fmt = resolve_format(options.format, options.output, usual="table")
    if options.artifact_id == NEWEST and fmt in _OF_TABLES:
        return await find_table(context, NEWEST)
    return await find_artifact(context, options.artifact_id)


async def _pieces(context: DataCommandContext, artifact: Artifact, fmt: Format) -> Iterable[bytes]:
    match artifact.kind:
        case "table":
            return _table_bytes(context, artifact, fmt)
        case "chart":
            return [await _chart_bytes(context, artifact, fmt)]
        case "file":
            return _file_bytes(context.service.artifacts.path_of(artifact))
        case _:
            assert_never(artifact.kind)


def _table_bytes(context: DataCommandContext, artifact: Artifact, fmt: Format) -> Iterator[bytes]:
    if fmt in ("png", "svg", "table"):
        raise _unsupported_format(artifact, fmt, TABLE_FORMATS)
    return table_chunks(artifact, context.service.artifacts.path_of(artifact), fmt)


async def _chart_bytes(context: DataCommandContext, artifact: Artifact, fmt: Format) -> bytes:
    """A picture, or for `json` the Vega-Lite specification with its values."""
    if fmt == "json":
        shown: dict[str, Any] = await context.data.charts.shown(artifact)
        return orjson.dumps(shown, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    if fmt not in ("png", "svg"):
        raise _unsupported_format(artifact, fmt, ("png", "svg", "json"))
    picture = await context.data.charts.picture(artifact, fmt)
    if picture.note:
        context.streams.say(picture.note)
    return picture.content


def _file_bytes(path: Path) -> Iterator[bytes]:
    yield path.read_bytes()


def _unsupported_format(artifact: Artifact, fmt: str, formats: tuple[str, ...]) -> BadInput:
    return BadInput(
        f"A {artifact.kind} cannot be written as {fmt}.",
        details={"hint": f"choose one of: {', '.join(formats)}."},
    )


_NUMBERS = ("int", "uint", "float", "double", "halffloat", "decimal")
_TIMES = ("date", "timestamp")
_Spec = dict[str, Any]  # Any: Vega-Lite


async def draw_chart(context: DataCommandContext, options: DataOptions) -> int:
    """Make a chart, and show it or write it to the named file.

    Raises:
        ArtifactNotFound: there is no such result.
        BadInput, BadChart: there is no such column, or nothing to draw.
    """
    table = await find_table(context, options.artifact_id)
    spec = _spec(table, options.kind_and_columns)
    if spec is not None:
        spec["title"] = table.title
    draft = ArtifactDraft(context.user_id, table.title, table.session_id, table.run_id)
    chart = await context.data.charts.make(table.artifact_id, draft, spec=spec)
    if options.output is None:
        await show_chart(context, chart, context.streams.out)
        return exit_codes.OK
    fmt = resolve_format(None, options.output, usual="png")
    if fmt not in ("png", "svg"):
        raise BadInput(f"A chart is written as png or svg, not as {fmt}.")
    picture = await context.data.charts.picture(chart, fmt)
    size = await save(Path(options.output), [picture.content])
    context.streams.say(f"wrote {options.output} ({fmt}, {size_text(size)})")
    return exit_codes.OK


def _spec(table: Artifact, words: Sequence[str]) -> _Spec | None:
    """The Vega-Lite specification of the words; None without words: core chooses by types."""
    if not words:
        return None
    kind = words[0].lower() if words[0].lower() in CHART_KINDS else None
    named = [_column(table, word) for word in (words[1:] if kind else words)]
    label, number = _roles(table, named)
    match kind or ("line" if label.type.startswith(_TIMES) else "bar"):
        case "pie":
            return {
                "mark": "arc",
                "encoding": {"theta": _channel(number), "color": _channel(label)},
            }
        case "scatter":
            return {"mark": "point", "encoding": {"x": _channel(label), "y": _channel(number)}}
        case "line":
            along = (
                {**_channel(label), "sort": None}
                if _channel(label)["type"] == "nominal"
                else _channel(label)
            )
            return {"mark": "line", "encoding": {"x": along, "y": _channel(number)}}
        case _:
            along = {**_channel(label), "type": "nominal", "sort": None}
            return {"mark": "bar", "encoding": {"x": along, "y": _channel(number)}}


def _channel(column: ResultColumn) -> _Spec:
    if column.type.startswith(_NUMBERS):
        return {"field": column.name, "type": "quantitative"}
    return {
        "field": column.name,
        "type": "temporal" if column.type.startswith(_TIMES) else "nominal",
    }


def _roles(table: Artifact, named: Sequence[ResultColumn]) -> tuple[ResultColumn, ResultColumn]:
    """The columns of labels and of numbers: as named, else by their types."""
    if len(named) > 2:
        raise BadInput("A chart takes two columns: labels and numbers.")
    if len(named) == 2:
        return named[0], named[1]
    columns = [column for column in table.columns if column not in named]
    numbers = [column for column in columns if column.type.startswith(_NUMBERS)]
    others = [column for column in columns if column not in numbers]
    if named and named[0].type.startswith(_NUMBERS) and others:
        return others[0], named[0]
    first = named[0] if named else next(iter([*others, *numbers]))
    measured = [column for column in numbers if column is not first]
    if not measured:
        raise BadInput("The result has no column of numbers to draw.")
    return first, measured[-1] if others else measured[0]


def _column(table: Artifact, name: str) -> ResultColumn:
    """The column of that name; case is ignored if no name matches exactly."""
    for column in table.columns:
        if column.name == name:
            return column
    close = [one for one in table.columns if one.name.casefold() == name.casefold()]
    if len(close) == 1:
        return close[0]
    known = ", ".join(column.name for column in table.columns)
    raise BadInput(f"The result has no column {name!r}.", details={"hint": f"it has: {known}."})


_MOST_FIGURES = 40


async def explain_result(context: DataCommandContext, options: DataOptions) -> int:
    """Print the statement, source, policies, tables and plan of a result.

    Raises:
        ArtifactNotFound: there is no such result.
    """
    table = await find_table(context, options.artifact_id)
    receipt = table.receipt
    if receipt is None:
        context.streams.say(f"{one_line(table.title)} was not made by a statement")
        return exit_codes.OK
    lines = [f"Result    {one_line(table.title)}", *_summary_lines(table, receipt)]
    source = await context.service.sources.get(receipt.source_id)
    if source is None:
        lines.append(f"Plan      {receipt.source_name} is no longer a data source")
    else:
        lines += await _plan_and_tables(context, source, receipt)
    context.streams.print("\n".join(lines))
    return exit_codes.OK


def _summary_lines(table: Artifact, receipt: Receipt) -> list[str]:
    count = rows_text(receipt.row_count, receipt.row_count)
    whole = "cut at a limit: the source has more" if receipt.is_truncated else "all there are"
    if receipt.truncated_by == "values":
        whole = "a value was cut by the source"
    policy = [one_line(sentence) for sentence in receipt.policy] or ["none applied"]
    lines = [
        f"Rows      {count}, {whole}; {duration(receipt.duration_ms)} at "
        f"{receipt.executed_at:%Y-%m-%d %H:%M:%S} UTC",
        f"Source    {receipt.source_name} ({receipt.dialect}), time zone {receipt.time_zone}",
        *_labelled("Policy", policy),
        *_labelled("Warnings", [one_line(sentence) for sentence in receipt.warnings]),
        *_labelled("Asked", receipt.sql.strip().splitlines()),
    ]
    if receipt.sql_executed.strip() != receipt.sql.strip():
        lines += _labelled("Run", receipt.sql_executed.strip().splitlines())
    return [*lines, f"Artefact  {table.artifact_id}"]


async def _plan_and_tables(
    context: DataCommandContext, source: Source, receipt: Receipt
) -> list[str]:
    """The tables of the statement with their rows, and the engine's plan."""
    reader = await context.reader()
    try:
        catalogue = await context.service.catalogue(source, reader)
        tables = [_table_line(each) for each in referenced_tables(receipt.sql_executed, catalogue)]
        plan = await context.service.explain(source, receipt.sql, reader)
    except DataAgentError as error:
        return _labelled("Plan", [f"none: {one_line(error.message)}"])
    return [
        *_labelled("Tables", tables),
        *_labelled("Plan", plan or [f"{receipt.dialect} does not say"]),
    ]


def _table_line(table: Table) -> str:
    kind = "view" if table.is_view else "table"
    rows = "rows not counted" if table.row_count is None else f"{table.row_count:,} rows"
    return f"{table.key} ({kind}, {rows})"


def _labelled(label: str, lines: list[str]) -> list[str]:
    """The lines, the first behind a label."""
    return [f"{label if not at else '':<10}{line.rstrip()}" for at, line in enumerate(lines)]


def figure_lines(figures: Mapping[str, Any]) -> list[str]:
    """The cell or sum behind each figure of an answer, a line each."""
    verified = cast("list[dict[str, Any]]", figures.get("verified") or [])
    unbacked = cast("list[dict[str, Any]]", figures.get("unbacked") or [])
    lines = [f"✓ {one_line(str(each.get('text')))}: {_evidence(each)}" for each in verified]
    lines += [f"! {one_line(str(each.get('text')))}: not found in the data" for each in unbacked]
    shown = lines[:_MOST_FIGURES]
    if len(lines) > len(shown):
        shown.append(f"… {len(lines) - len(shown)} more")
    if unchecked := unchecked_text(figures):
        shown.append(unchecked)
    return _labelled("Figures", shown)


def _evidence(figure: Mapping[str, Any]) -> str:
    if figure.get("expression"):
        return one_line(str(figure["expression"]))
    row, column = figure.get("row"), figure.get("column")
    if isinstance(row, int) and column:
        return f"row {row + 1}, column {one_line(str(column))}"
    return one_line(str(figure.get("how") or "backed"))
