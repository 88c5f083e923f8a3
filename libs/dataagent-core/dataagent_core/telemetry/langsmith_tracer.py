"""LangChain's tracer for LangSmith, which also sees that a tool failed when it says so.

To LangChain a tool that answers with an error has worked, and it reports no cancelled call of
a model. Imported only where LangSmith is on.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from langchain_core.messages import ToolMessage
from langchain_core.tracers.langchain import LangChainTracer

from dataagent_core.telemetry.spans import CANCELLED


class RunTracer(LangChainTracer):
    """Marks the calls of tools that ended with an error, and ends what was left open."""

    def _on_tool_end(self, run: Any) -> None:  # LangChain's record of the call
        outputs: dict[str, Any] = run.outputs or {}
        outcome = outputs.get("output")
        if isinstance(outcome, ToolMessage) and outcome.status == "error":
            # a provider's own
            run.error = str(outcome.additional_kwargs.get("status") or outcome.status)
        super()._on_tool_end(run)

    def end_open(self) -> None:
        """Give an end to what was cut off. Call it when the whole is over."""
        for run in list(self.run_map.values()):
            if run.end_time is None and str(run.id) not in self._external_run_ids:
                run.end_time = datetime.now(UTC)
                run.error = CANCELLED
                self._update_run_single(run)
