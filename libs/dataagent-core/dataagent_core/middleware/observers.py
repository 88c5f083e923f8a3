"""A span around each model call and each tool call. Only in graphs of a process that traces.

LangSmith hears of most calls from LangChain itself; of those it does not, `McpCallTracing` tells.

Records each tool call, whatever its end: who called what with which arguments, and how it went.

List it after the approvals, so that it sees calls that run with the arguments that were approved,
and before what turns exceptions into messages, so that it sees how they ended for the model. Its
records are notes: no call waits for them. Above: `engine/`. Below: `audit/`, `telemetry/`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langchain.agents.middleware.types import ModelRequest, ModelResponse, ToolCallRequest
from langchain_core.callbacks import AsyncCallbackManager
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, ToolMessage
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
from dataagent_core.telemetry import Metrics, Traces, spans
from dataagent_core.tools.mcp import AgentMcpTool


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


class TracingMiddleware(AgentMiddleware[Any, Any, Any]):
    """Opens the spans, under the names of the GenAI conventions."""

    def __init__(self, traces: Traces) -> None:
        super().__init__()
        self._traces = traces

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """The model call inside a span."""
        named = {**_chat(request.model), **_session(request.runtime.context)}
        name = f"chat {named['gen_ai.request.model']}"
        with self._traces.span(name, named, kind="client", passing=(GraphBubbleUp,)) as span:
            if self._traces.has_content:
                self._traces.set_content(
                    span, "gen_ai.input.messages", spans.messages(request.messages)
                )
            response = await handler(request)
            self._record_response(span, response)
            return response

    def _record_response(self, span: Any, response: ModelResponse[Any]) -> None:
        answers = [each for each in response.result if isinstance(each, AIMessage)]
        for answer in answers:
            counted = answer.usage_metadata
            if counted is not None:
                span.set_attribute("gen_ai.usage.input_tokens", counted["input_tokens"])
                span.set_attribute("gen_ai.usage.output_tokens", counted["output_tokens"])
        if self._traces.has_content:
            self._traces.set_content(span, "gen_ai.output.messages", spans.messages(answers))

    async def awrap_tool_call(self, request: ToolCallRequest, handler: ToolHandler) -> ToolOutcome:
        """The tool call inside a span."""
        call = request.tool_call
        with self._tool_span(request) as span:
            self._traces.set_content(span, "gen_ai.tool.call.arguments", call["args"])
            outcome = await handler(request)
            if isinstance(outcome, ToolMessage):
                self._traces.set_content(span, "gen_ai.tool.call.result", str(outcome.text))
            if (status := call_status(outcome)) != "success":
                self._traces.failed(span, status)
            return outcome

    def denied(self, request: ToolCallRequest) -> None:
        """A span of a call that was refused before it came here."""
        with self._tool_span(request) as span:
            self._traces.failed(span, "denied")

    def _tool_span(self, request: ToolCallRequest) -> AbstractContextManager[Any]:
        name = called_tool(request)
        named = spans.tool(name, str(request.tool_call["id"]))
        return self._traces.span(
            f"execute_tool {name}",
            {**named, **_session(runtime_of(request).context)},
            passing=(GraphBubbleUp,),  # it asks or hands over: a way out, and no failure
        )


class McpCallTracing(AgentMiddleware[Any, Any, Any]):
    """Tells LangChain's tracer of calls of MCP tools, which do not go through LangChain.

    List it after the approvals. Only where LangSmith is on.
    """

    async def awrap_tool_call(self, request: ToolCallRequest, handler: ToolHandler) -> ToolOutcome:
        """The call, with its beginning and end told."""
        if not isinstance(request.tool, AgentMcpTool):
            return await handler(request)
        call, config = request.tool_call, runtime_of(request).config
        manager = AsyncCallbackManager.configure(inheritable_callbacks=config.get("callbacks"))
        told = await manager.on_tool_start(
            {"name": call["name"]}, str(call["args"]), inputs=call["args"]
        )
        try:
            outcome = await handler(request)
        except BaseException as error:
            await told.on_tool_error(error)
            raise
        await told.on_tool_end(outcome)
        return outcome


def _chat(model: BaseChatModel) -> dict[str, str]:
    """Whose model it is and which, as LangChain knows it."""
    # the one place that has both
    known: Mapping[str, Any] = model._get_ls_params()  # pyright: ignore[reportPrivateUsage]
    named = known.get("ls_model_name") or type(model).__name__
    return spans.chat(str(known.get("ls_provider", "")), str(named))


def _session(context: object) -> dict[str, str]:
    if not isinstance(context, RunContext):
        return {}
    return {"gen_ai.conversation.id": context.session_id, "session.id": context.session_id}
