"""A span around each model call and each tool call. Only in graphs of a process that traces.

LangSmith hears of most calls from LangChain itself; of those it does not, `McpCallTracing` tells.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langchain.agents.middleware.types import ModelRequest, ModelResponse, ToolCallRequest
from langchain_core.callbacks import AsyncCallbackManager
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.errors import GraphBubbleUp

from dataagent_core.identity import RunContext
from dataagent_core.middleware.calls import (
    ToolHandler,
    ToolOutcome,
    call_status,
    called_tool,
    runtime_of,
)
from dataagent_core.telemetry import Traces, genai
from dataagent_core.tools.mcp import AgentMcpTool


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
                    span, "gen_ai.input.messages", genai.messages(request.messages)
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
            self._traces.set_content(span, "gen_ai.output.messages", genai.messages(answers))

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
        named = genai.tool(name, str(request.tool_call["id"]))
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
    return genai.chat(str(known.get("ls_provider", "")), str(named))


def _session(context: object) -> dict[str, str]:
    if not isinstance(context, RunContext):
        return {}
    return {"gen_ai.conversation.id": context.session_id, "session.id": context.session_id}
