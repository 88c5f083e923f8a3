"""An answer in one piece: as one JSON object, or as the rows of its last table.

Rows come from the artefact that was kept, all of them, and not from what the agent says about
them. Above: `headless.py`. Below: `formats.py`, core's artefacts.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from dataagent_cli.data import rows
from dataagent_cli.data.files import send
from dataagent_cli.data.formats import table_chunks
from dataagent_cli.ui.clean import one_line
from dataagent_core.errors import ArtifactNotFound

if TYPE_CHECKING:
    from dataagent_cli.data.context import DataCommandContext
    from dataagent_cli.turn import TurnEnd
    from dataagent_cli.ui.buffered import BufferedView
    from dataagent_core.config import Prices
    from dataagent_core.data.types import Artifact

_MOST_ROWS = 1_000  # of a table in a JSON object; `is_whole` says when there are more
_STATUSES = {"completed": "done", "user_cancelled": "cancelled", "rejected": "cancelled"}


@dataclass(frozen=True, slots=True)
class CompletedAnswer:
    """What is known when a run is over."""

    view: BufferedView
    end: TurnEnd
    session_id: str | None


async def write_csv(context: DataCommandContext, answer: CompletedAnswer) -> None:
    """The rows of the last table to standard output; of a run that did not end well, nothing.

    Raises:
        ArtifactNotFound: the answer rests on no table.
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
    """One object to standard output, however the run ended."""
    view, done = answer.view, answer.end.done
    usage = done.token_usage or {}
    told = {
        "session_id": answer.session_id,
        "run_id": view.run_id,
        "status": _STATUSES.get(done.reason, "failed"),
        "answer": view.answer,
        "tables": [await _table(context, artifact_id) for artifact_id in view.tables],
        "usage": usage,
        "cost": None if prices is None else round(prices.cost_of(usage), 6),
        "currency": None if prices is None else prices.currency,
        "figures": (done.metadata or {}).get("figures"),
        "error": view.error and {"error_code": view.error.error_code, "message": view.error.error},
    }
    context.streams.write(orjson.dumps(told, default=str, option=orjson.OPT_APPEND_NEWLINE))


async def _table(context: DataCommandContext, artifact_id: str) -> dict[str, Any]:  # Any: JSON
    table = await context.service.artifacts.get(artifact_id, owner=context.user_id)
    found = await asyncio.to_thread(_rows, context, table)
    is_cut = table.receipt is not None and table.receipt.is_truncated
    return {
        "artifact_id": artifact_id,
        "title": table.title,
        "columns": [{"name": column.name, "type": column.type} for column in table.columns],
        "row_count": table.row_count,
        "is_truncated": is_cut,
        "warnings": list(table.receipt.warnings) if table.receipt else [],
        "rows": found,
        "is_whole": len(found) == table.row_count and not is_cut,
        "sql": table.receipt.sql_executed if table.receipt else None,
    }


def _rows(context: DataCommandContext, table: Artifact) -> list[orjson.Fragment]:
    path = context.service.artifacts.path_of(table)
    return [orjson.Fragment(line) for line in rows.first_lines(path, table.columns, _MOST_ROWS)]
