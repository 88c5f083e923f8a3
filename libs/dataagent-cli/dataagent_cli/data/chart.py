"""`dataagent chart` and `/chart`: draw a kept result, by its columns or as somebody says.

Above: `dispatch.py`. Below: core's charts, `chart_display.py`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from dataagent_cli import exit_codes
from dataagent_cli.data.arguments import CHART_KINDS
from dataagent_cli.data.chart_display import show_chart
from dataagent_cli.data.files import save
from dataagent_cli.data.formats import resolve_format
from dataagent_cli.data.receipt import size_text
from dataagent_cli.data.stored_results import find_table
from dataagent_core.data.results import ArtifactDraft
from dataagent_core.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dataagent_cli.data.arguments import DataOptions
    from dataagent_cli.data.context import DataCommandContext
    from dataagent_core.data.types import Artifact, ResultColumn

_NUMBERS = ("int", "uint", "float", "double", "halffloat", "decimal")
_TIMES = ("date", "timestamp")
_Spec = dict[str, Any]  # Any: Vega-Lite


async def draw_chart(context: DataCommandContext, options: DataOptions) -> int:
    """Make the chart, show it, and write it to a file if one is named.

    Raises:
        ArtifactNotFound: there is no such result.
        BadInput, BadChart: a column is not there, or a table says it better.
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
    """What was asked for, in Vega-Lite; None where the columns' types may decide it all."""
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
    """The column along the axis and the one that is measured: as named, else by their types."""
    if len(named) > 2:
        raise BadInput("A chart has two columns: what it shows, and how much.")
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
        raise BadInput("The result has no number to draw; a table says it better.")
    return first, measured[-1] if others else measured[0]


def _column(table: Artifact, name: str) -> ResultColumn:
    """The column of that name, however its case is written."""
    for column in table.columns:
        if column.name == name:
            return column
    close = [one for one in table.columns if one.name.casefold() == name.casefold()]
    if len(close) == 1:
        return close[0]
    known = ", ".join(column.name for column in table.columns)
    raise BadInput(f"The result has no column {name!r}.", details={"hint": f"it has: {known}."})
