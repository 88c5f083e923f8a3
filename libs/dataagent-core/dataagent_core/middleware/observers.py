"""Observes tool calls: one middleware runs the call, turns an exception into an error message for
the model, and shows each observer its start and its end.

Observers change nothing. They see calls that run, with the arguments that were approved, and the
result as the model reads it; list `ToolObserver` last. Calls that the guard refused are reported
to them by `refused`.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final, Protocol

from langchain.agents.middleware import AgentMiddleware
from langchain.agents.middleware.types import ModelRequest, ModelResponse, ToolCallRequest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.errors import GraphBubbleUp

from dataagent_core.audit import AuditLog, AuditOutcome
from dataagent_core.errors import DataAgentError
from dataagent_core.identity import RunContext
from dataagent_core.mcp.gateway.call_rows import digest
from dataagent_core.mcp.types import is_mcp_name
from dataagent_core.middleware.calls import (
    ModelHandler,
    ToolHandler,
    ToolOutcome,
    run_of,
    runtime_of,
)
from dataagent_core.telemetry import Metrics, Traces, spans

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class ObservedCall:
    """A tool call and, once it has one, its outcome."""

    request: ToolCallRequest
    run: RunContext | None
    outcome: ToolOutcome | None = None

    @classmethod
    def of(cls, request: ToolCallRequest) -> ObservedCall:
        """A call that has not run."""
        return cls(request, run_of(runtime_of(request).context))

    @property
    def name(self) -> str:
        """The name by which the model called the tool."""
        return self.request.tool_call["name"]

    @property
    def metric_name(self) -> str:
        """The tool's name; a model may make one up, and metrics have no row for each of those."""
        return self.name if self.request.tool is not None else "unknown"

    @property
    def status(self) -> str:
        """How the call ended: success, error, or the tool's own word (denied, timeout)."""
        if not isinstance(self.outcome, ToolMessage):
            return "success"
        return str(self.outcome.additional_kwargs.get("status") or self.outcome.status)

    def emit(self, part: dict[str, Any]) -> None:
        """Write to the run's custom stream."""
        runtime_of(self.request).stream_writer(part)


class CallObserver(Protocol):
    """Sees tool calls from start to end."""

    def observe(self, call: ObservedCall) -> AbstractAsyncContextManager[None]:
        """Open around the call; at its end the call has its outcome, or an exception passes."""
        ...

    def refused(self, call: ObservedCall) -> None:
        """A call was refused before it could run."""
        ...


class ToolObserver(AgentMiddleware[Any, Any, Any]):
    """Runs a call under its observers; an exception becomes a message with status `error`."""

    def __init__(self, observers: Sequence[CallObserver] = ()) -> None:
        """The first observer opens first and closes last."""
        super().__init__()
        self._observers = tuple(observers)

    async def awrap_tool_call(self, request: ToolCallRequest, handler: ToolHandler) -> ToolOutcome:
        """Run the call. Cancellation and LangGraph's control flow pass through."""
        call = ObservedCall.of(request)
        async with AsyncExitStack() as stack:
            for observer in self._observers:
                await stack.enter_async_context(observer.observe(call))
            try:
                outcome = await handler(request)
            except GraphBubbleUp:
                raise
            except Exception as error:
                outcome = ToolMessage(
                    explain_to_model(error, call.name),
                    tool_call_id=request.tool_call["id"] or "",
                    name=call.name,
                    status="error",
                )
            call.outcome = outcome
        return outcome

    def refused(self, request: ToolCallRequest) -> None:
        """Report a call that was refused."""
        call = ObservedCall.of(request)
        for observer in self._observers:
            observer.refused(call)


def explain_to_model(error: Exception, tool: str) -> str:
    """The text that the model reads in place of a result.

    Our own errors are written for readers and are passed on; of any other only the kind is, because
    its text may hold host paths or secrets.
    """
    if isinstance(error, DataAgentError):
        logger.info("tool %s refused or failed: %s", tool, error.code)
        return f"Error: {error.message}"
    logger.error("tool %s raised", tool, exc_info=error)
    if isinstance(error, TimeoutError):
        return f"Error: {tool} took too long and was stopped. Try less at once."
    return (
        f"Error: {tool} failed with an internal error ({type(error).__name__}). "
        "Other arguments or another tool may help; the same call will probably fail again."
    )


class CallAudit:
    """Writes each call to the audit log and counts it. No call waits for that."""

    def __init__(self, audit: AuditLog, metrics: Metrics) -> None:
        self._audit = audit
        self._metrics = metrics

    @asynccontextmanager
    async def observe(self, call: ObservedCall) -> AsyncGenerator[None]:
        """Record the call when it ends. One that asks or hands over has not ended."""
        started = time.perf_counter()
        try:
            yield
        except GraphBubbleUp:
            raise
        except asyncio.CancelledError:
            self._record(call, "cancelled", started)
            raise
        except BaseException:
            self._record(call, "error", started)
            raise
        self._record(call, call.status, started)

    def refused(self, call: ObservedCall) -> None:
        """Record the refusal."""
        self._record(call, "denied", time.perf_counter())

    def _record(self, call: ObservedCall, status: str, started: float) -> None:
        run, args = call.run, call.request.tool_call["args"]
        self._metrics.tool_called(call.metric_name, status)
        self._audit.note(
            "tool.call",
            _OUTCOMES.get(status, "failed"),
            target=call.name,
            user_id=None if run is None else run.user_id,
            session_id=None if run is None else run.session_id,
            run_id=None if run is None else run.run_id,
            details={
                "tool_call_id": call.request.tool_call["id"],
                **audit_arguments(call.name, args),
                "status": status,
                "milliseconds": round((time.perf_counter() - started) * 1000, 1),
            },
        )


def audit_arguments(name: str, args: dict[str, Any]) -> dict[str, Any]:
    """The arguments as the log has them; of an MCP tool's, which may be anything, a digest."""
    return {"arguments_digest": digest(args)} if is_mcp_name(name) else {"arguments": args}


_OUTCOMES: Final[dict[str, AuditOutcome]] = {"success": "success", "denied": "denied"}


class CallTracing:
    """A span around each tool call, under the names of the GenAI conventions."""

    def __init__(self, traces: Traces) -> None:
        self._traces = traces

    @asynccontextmanager
    async def observe(self, call: ObservedCall) -> AsyncGenerator[None]:
        """The call inside a span. To ask or hand over is a way out and no failure."""
        with self._span(call) as span:
            self._traces.set_content(
                span, "gen_ai.tool.call.arguments", call.request.tool_call["args"]
            )
            yield
            if isinstance(call.outcome, ToolMessage):
                self._traces.set_content(span, "gen_ai.tool.call.result", str(call.outcome.text))
            if call.status != "success":
                self._traces.failed(span, call.status)

    def refused(self, call: ObservedCall) -> None:
        """A span that failed."""
        with self._span(call) as span:
            self._traces.failed(span, "denied")

    def _span(self, call: ObservedCall) -> Any:
        name = call.metric_name
        named = spans.tool(name, str(call.request.tool_call["id"]))
        attributes = {**named, **_session(call.run)}
        return self._traces.span(f"execute_tool {name}", attributes, passing=(GraphBubbleUp,))


class ModelTracing(AgentMiddleware[Any, Any, Any]):
    """A span around each call of a model, under the names of the GenAI conventions."""

    def __init__(self, traces: Traces) -> None:
        super().__init__()
        self._traces = traces

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: ModelHandler
    ) -> ModelResponse[Any]:
        """The call inside a span."""
        named = {**_chat(request.model), **_session(run_of(request.runtime.context))}
        name = f"chat {named['gen_ai.request.model']}"
        with self._traces.span(name, named, kind="client", passing=(GraphBubbleUp,)) as span:
            if self._traces.has_content:
                self._traces.set_content(
                    span, "gen_ai.input.messages", spans.messages(request.messages)
                )
            response = await handler(request)
            self._record(span, response)
            return response

    def _record(self, span: Any, response: ModelResponse[Any]) -> None:
        answers = [each for each in response.result if isinstance(each, AIMessage)]
        for answer in answers:
            counted = answer.usage_metadata
            if counted is not None:
                span.set_attribute("gen_ai.usage.input_tokens", counted["input_tokens"])
                span.set_attribute("gen_ai.usage.output_tokens", counted["output_tokens"])
        if self._traces.has_content:
            self._traces.set_content(span, "gen_ai.output.messages", spans.messages(answers))


def _chat(model: BaseChatModel) -> dict[str, str]:
    """The model's provider and name, as LangChain knows them."""
    # the one place that has both
    known: Mapping[str, Any] = model._get_ls_params()  # pyright: ignore[reportPrivateUsage]
    named = known.get("ls_model_name") or type(model).__name__
    return spans.chat(str(known.get("ls_provider", "")), str(named))


def _session(run: RunContext | None) -> dict[str, str]:
    if run is None:
        return {}
    return {"gen_ai.conversation.id": run.session_id, "session.id": run.session_id}
