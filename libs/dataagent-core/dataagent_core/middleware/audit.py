"""Records each tool call, whatever its end: who called what with which arguments, and how it went.

List it after the approvals, so that it sees calls that run with the arguments that were approved,
and before what turns exceptions into messages, so that it sees how they ended for the model. Its
records are notes: no call waits for them. Above: `engine/`. Below: `audit/`, `telemetry/`.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langchain.agents.middleware.types import ToolCallRequest
from langgraph.errors import GraphBubbleUp

from dataagent_core.audit import AuditLog, AuditOutcome
from dataagent_core.identity import RunContext
from dataagent_core.mcp.gateway.call_rows import digest
from dataagent_core.mcp.types import is_mcp_name
from dataagent_core.middleware.calls import (
    ToolHandler,
    ToolOutcome,
    call_status,
    called_tool,
    runtime_of,
)
from dataagent_core.telemetry import Metrics


class AuditMiddleware(AgentMiddleware[Any, Any, Any]):
    """Notes each call in the audit log and counts it."""

    def __init__(self, audit: AuditLog, metrics: Metrics) -> None:
        super().__init__()
        self._audit = audit
        self._metrics = metrics

    async def awrap_tool_call(self, request: ToolCallRequest, handler: ToolHandler) -> ToolOutcome:
        """Run the call and note it."""
        started = time.perf_counter()
        try:
            outcome = await handler(request)
        except GraphBubbleUp:  # it asks or hands over; it has not ended
            raise
        except asyncio.CancelledError:
            self._note(request, "cancelled", started)
            raise
        except BaseException:
            self._note(request, "error", started)
            raise
        self._note(request, call_status(outcome), started)
        return outcome

    def denied(self, request: ToolCallRequest) -> None:
        """Note a call that was refused before it came here."""
        self._note(request, "denied", time.perf_counter())

    def _note(self, request: ToolCallRequest, status: str, started: float) -> None:
        call = request.tool_call
        self._metrics.tool_called(called_tool(request), status)
        context = runtime_of(request).context
        has_run = isinstance(context, RunContext)
        self._audit.note(
            "tool.call",
            _OUTCOMES.get(status, "failed"),
            target=call["name"],
            user_id=context.user_id if has_run else None,
            session_id=context.session_id if has_run else None,
            run_id=context.run_id if has_run else None,
            details={
                "tool_call_id": call["id"],
                **audit_arguments(call["name"], call["args"]),
                "status": status,
                "milliseconds": round((time.perf_counter() - started) * 1000, 1),
            },
        )


def audit_arguments(name: str, args: dict[str, Any]) -> dict[str, Any]:
    """What is kept of a call's arguments; of an MCP tool's, which may be anything, a digest."""
    return {"arguments_digest": digest(args)} if is_mcp_name(name) else {"arguments": args}


_OUTCOMES: dict[str, AuditOutcome] = {"success": "success", "denied": "denied"}
