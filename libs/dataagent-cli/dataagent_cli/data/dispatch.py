"""Runs the command over data that was parsed; Ctrl-C stops it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dataagent_cli import exit_codes
from dataagent_cli.data.result_commands import draw_chart, explain_result, export_artifact
from dataagent_cli.data.schema import show_schema
from dataagent_cli.data.sources import manage_sources
from dataagent_cli.data.sql import run_sql
from dataagent_cli.interrupts import Stopped, run_stoppable

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from dataagent_cli.arguments import DataOptions
    from dataagent_cli.data.context import DataCommandContext

    Work = Callable[[DataCommandContext, DataOptions], Awaitable[int]]

_COMMANDS: Mapping[str, Work] = {
    "sources": manage_sources,
    "schema": show_schema,
    "sql": run_sql,
    "export": export_artifact,
    "chart": draw_chart,
    "explain": explain_result,
}


async def dispatch_data(context: DataCommandContext, options: DataOptions) -> int:
    """Run the command and return its exit status.

    Raises:
        DataAgentError: it was refused, or failed.
        CannotWrite: the named file cannot be written.
    """
    try:
        return await run_stoppable(_COMMANDS[options.command or ""](context, options))
    except Stopped:
        context.streams.say("cancelled")
        return exit_codes.INTERRUPTED
