"""`dataagent explain` and `/explain`: what a result rests on, and how the engine comes by it.

The statement as it was asked and as it ran, the tables it read, the policies, the engine's plan;
of an answer also where each of its figures stands. Above: `dispatch.py`,
`commands/data.py`. Below: core's `DataService.explain`, which goes the guarded path.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from dataagent_cli import exit_codes
from dataagent_cli.data.receipt import duration, rows_text
from dataagent_cli.data.stored_results import find_table
from dataagent_cli.ui.clean import one_line
from dataagent_cli.ui.describe import unchecked_text
from dataagent_core.data.referenced_tables import referenced_tables
from dataagent_core.errors import DataAgentError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dataagent_cli.data.arguments import DataOptions
    from dataagent_cli.data.context import DataCommandContext
    from dataagent_core.data.sources import Source
    from dataagent_core.data.types import Artifact, Receipt, Table

_MOST_FIGURES = 40


async def explain_result(context: DataCommandContext, options: DataOptions) -> int:
    """Print it.

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
        lines.append(f"Plan      {receipt.source_name} is not among the sources any more")
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
    """The tables behind it with their rows, and the engine's plan."""
    reader = await context.reader()
    try:
        catalogue = await context.service.catalogue(source, reader)
        tables = [_table(each) for each in referenced_tables(receipt.sql_executed, catalogue)]
        plan = await context.service.explain(source, receipt.sql, reader)
    except DataAgentError as error:
        return _labelled("Plan", [f"none: {one_line(error.message)}"])
    return [
        *_labelled("Tables", tables),
        *_labelled("Plan", plan or [f"{receipt.dialect} does not say"]),
    ]


def _table(table: Table) -> str:
    kind = "view" if table.is_view else "table"
    rows = "rows not counted" if table.row_count is None else f"{table.row_count:,} rows"
    return f"{table.key} ({kind}, {rows})"


def _labelled(label: str, lines: list[str]) -> list[str]:
    """The lines, the first behind a label."""
    return [f"{label if not at else '':<10}{line.rstrip()}" for at, line in enumerate(lines)]


def figure_lines(figures: Mapping[str, Any]) -> list[str]:
    """Where each figure of an answer stands, a line each, as the end of its run tells it."""
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
