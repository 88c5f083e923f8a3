"""An agent has the tools that are bound to it, and no others, whoever names them.

The model is shown the bound ones; a call of another is refused before anyone is asked about it, and
the refusal is noted where calls are noted. What every agent works with by itself (its plan, its
skills, its helpers) is not bound. An agent with all tools has none of this in its graph; each
sub-agent has its own. Above: `engine/`. Below: `agents/` says what is bound to whom.

Holds a run to what its caller says about tools: those that are denied, and plan mode.

A denied tool is not shown to the model, and a call of it is refused. In plan mode nothing is
changed: a call that would ask a person first is refused, whoever would approve it, and the model is
told to say what it would do. Stands before the approvals, so that nobody is asked about a call that
cannot be, and after the MCP tools, which it sees like any other. Each sub-agent has its own. For a
run without such rules it is a look at one field. Above: `engine/`. Below: `identity/context.py`.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from deepagents.middleware._utils import (  # pyright: ignore[reportPrivateUsage]
    append_to_system_message,  # what deepagents' own middleware appends with
)
from langchain.agents.middleware import AgentMiddleware
from langchain.agents.middleware.types import ModelRequest, ModelResponse, ToolCallRequest
from langchain_core.messages import ToolMessage

from dataagent_core.agents.store import ALWAYS_BOUND
from dataagent_core.identity import RunContext
from dataagent_core.identity.context import PLANNED, RunRules
from dataagent_core.middleware.calls import (
    ModelHandler,
    OnDenied,
    ToolHandler,
    ToolOutcome,
    is_mcp,
    refusal,
    requires_approval,
    runtime_of,
    tool_name,
)

_MOST_NAMED = 40


class ToolPolicyMiddleware(AgentMiddleware[Any, Any, Any]):
    """Keeps an agent to its tools."""

    def __init__(self, bound: frozenset[str], on_denied: OnDenied | None = None) -> None:
        """`bound` are the tools' names; `on_denied` is told of each call that is refused."""
        super().__init__()
        self._bound = bound
        self._allowed = bound | ALWAYS_BOUND
        self._on_denied = on_denied

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: ModelHandler
    ) -> ModelResponse[Any]:
        """Show the model what is bound."""
        tools = [tool for tool in request.tools if self._allows(tool, tool_name(tool))]
        if len(tools) == len(request.tools):
            return await handler(request)
        return await handler(request.override(tools=tools))

    async def awrap_tool_call(self, request: ToolCallRequest, handler: ToolHandler) -> ToolOutcome:
        """Refuse what is not bound."""
        if self._allows(request.tool, request.tool_call["name"]):
            return await handler(request)
        return self._deny(request)

    def _allows(self, tool: object, name: str) -> bool:
        """Whether it is bound; MCP tools come here only if they are (`mcp_tools.py`)."""
        return name in self._allowed or is_mcp(tool)

    def _deny(self, request: ToolCallRequest) -> ToolMessage:
        if self._on_denied is not None:
            self._on_denied(request)
        return refusal(request, _sentence(request.tool_call["name"], self._bound))


def _sentence(name: str, bound: frozenset[str]) -> str:
    refused = f"Tool {name[:80]!r} is not bound to this agent. It was not called."
    if not bound:
        return f"{refused} No tool is: answer without one."
    named = sorted(bound)
    more = f" and {len(named) - _MOST_NAMED} more" if len(named) > _MOST_NAMED else ""
    return f"{refused} Use one of: {', '.join(named[:_MOST_NAMED])}{more}."


PLAN_PROMPT = """## Plan mode
The user wants a plan and nothing changed. Look at whatever you need with tools that read. Tools
that write, send or run something are refused: do not try them. End with the steps you would take,
which files or systems each would change and how, and what you are not sure of."""
_DENIED = "The user does not allow {name!r} in this run. It was not called: do without it."


class RunRulesMiddleware(AgentMiddleware[Any, Any, Any]):
    """Keeps to the rules of the run."""

    def __init__(self, changing: Container[str], on_denied: OnDenied | None = None) -> None:
        """`changing` are the tools with fixed names that plan mode refuses."""
        super().__init__()
        self._changing = changing
        self._on_denied = on_denied

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: ModelHandler
    ) -> ModelResponse[Any]:
        """Show the model what it may call; in plan mode, say so."""
        rules = _rules(request.runtime.context)
        if rules is None:
            return await handler(request)
        tools = [tool for tool in request.tools if not rules.denies(tool_name(tool))]
        request = request.override(tools=tools)
        return await handler(_with_plan_prompt(request) if rules.is_plan else request)

    async def awrap_tool_call(self, request: ToolCallRequest, handler: ToolHandler) -> ToolOutcome:
        """Refuse what may not be called."""
        rules = _rules(runtime_of(request).context)
        reason = None if rules is None else self._reason(rules, request)
        if reason is None:
            return await handler(request)
        if self._on_denied is not None:
            self._on_denied(request)
        return refusal(request, reason)

    def _reason(self, rules: RunRules, request: ToolCallRequest) -> str | None:
        """Why a call may not be made; None if it may."""
        name = request.tool_call["name"]
        if rules.denies(name):
            return _DENIED.format(name=name[:80])
        return PLANNED if rules.is_plan and self._changes(request.tool, name) else None

    def _changes(self, tool: object, name: str) -> bool:
        """Whether a call may change something: then a person would be asked before it."""
        return requires_approval(tool) if is_mcp(tool) else name in self._changing


def _rules(context: object) -> RunRules | None:
    """The run's rules, if they forbid anything."""
    if isinstance(context, RunContext) and context.rules.is_strict:
        return context.rules
    return None


def _with_plan_prompt(request: ModelRequest[Any]) -> ModelRequest[Any]:
    """With the rules of plan mode at the end of the system prompt."""
    prompt = append_to_system_message(request.system_message, PLAN_PROMPT)
    return request.override(system_message=prompt)
