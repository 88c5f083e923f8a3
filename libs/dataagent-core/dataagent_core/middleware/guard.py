"""Decides whether a tool call may run: ordered checks, before anyone is asked about the call.

`CHECKS` is the order. The first check that refuses answers the call, and the observers record it.
What a check refuses it also hides from the model. The tools of MCP servers are not part of the
graph, which serves all users: the guard adds those of the run's user to what the model is shown,
and finds the tool of a call that the graph does not have. Each sub-agent has a guard of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from typing import Any, Final, Protocol

from langchain.agents.middleware import AgentMiddleware
from langchain.agents.middleware.types import ModelRequest, ModelResponse, ToolCallRequest
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import BaseTool
from langgraph.errors import GraphBubbleUp

from dataagent_core.agents.store import ALWAYS_BOUND
from dataagent_core.identity import RunContext
from dataagent_core.identity.context import PLANNED
from dataagent_core.identity.tenancy import Tenancy
from dataagent_core.identity.tenants import Tenant
from dataagent_core.mcp.gateway.tool_access import RunTools
from dataagent_core.mcp.langchain import failure_message
from dataagent_core.middleware.calls import (
    ModelHandler,
    ToolHandler,
    ToolOutcome,
    append_to_prompt,
    is_mcp,
    requires_approval,
    run_of,
    runtime_of,
    tool_name,
)
from dataagent_core.tools.mcp import AgentMcpTool, McpTools

OnRefused = Callable[[ToolCallRequest], None]
"""Called with each call that a check refused."""

NamesOf = Callable[[str], Sequence[str]]
"""All names of the agent that is called by one of them: a tenant may have any of them off."""

_MAX_NAMED: Final = 40
_NAMING_AGENTS: Final = {"task": "subagent_type", "route": "agent_name"}
"""Tools by which a model names an agent, and the argument that does."""
_WRITE_TODOS: Final = "write_todos"
_ONE_LIST: Final = (
    "Call `write_todos` once, with the whole list; parallel calls would overwrite each other."
)


class ToolSource(Protocol):
    """Tools that come with a run instead of the graph."""

    async def tools(self, run: RunContext | None) -> Sequence[BaseTool]:
        """The tools that the run's agent can use now."""
        ...

    async def find(self, name: str, run: RunContext | None) -> BaseTool | None:
        """The tool of this name, whether or not it may be called."""
        ...


class ToolCheck:
    """One reason why a call may not run."""

    async def prepare(
        self, request: ModelRequest[Any], run: RunContext | None
    ) -> ModelRequest[Any]:
        """The request without the tools that this check would refuse."""
        return request

    async def check(self, call: ToolCallRequest, run: RunContext | None) -> ToolMessage | None:
        """The refusal that the model reads in place of a result; None if the call may run."""
        raise NotImplementedError

    def suspend(self, run: RunContext | None) -> None:
        """Undo what `check` counted: the call waits for a person and will be checked again."""


class McpAccess(ToolCheck):
    """The tools of the catalogue's MCP servers that the run's user and agent may use."""

    def __init__(self, tools: McpTools, agent_id: str | None = None) -> None:
        """Without an `agent_id` it is the agent the run names; sub-agents have their own."""
        self._tools = tools
        self._agent_id = agent_id

    async def tools(self, run: RunContext | None) -> Sequence[BaseTool]:
        """The tools whose server answers."""
        if run is None or (access := _mcp_of(run)) is None:
            return ()
        agent_id = self._agent_of(run)
        return [self._tools.of(tool, agent_id) for tool in await access.visible(agent_id)]

    async def find(self, name: str, run: RunContext | None) -> BaseTool | None:
        """The tool of this name in the catalogue."""
        if run is None or (access := _mcp_of(run)) is None:
            return None
        tool = await access.find(name)
        return None if tool is None else self._tools.of(tool, self._agent_of(run))

    async def check(self, call: ToolCallRequest, run: RunContext | None) -> ToolMessage | None:
        """Refuse what the gateway refuses, which also writes a row in its call log."""
        tool, made = call.tool, call.tool_call
        if run is None or not isinstance(tool, AgentMcpTool):
            return None
        access = _mcp_of(run)
        if access is None:
            return None
        refused = await self._tools.gateway.refused(
            tool.tool.tool_id, made["args"], access.caller(self._agent_of(run))
        )
        if refused is None:
            return None
        return failure_message(refused, made["name"], made["id"] or "")

    def _agent_of(self, run: RunContext) -> str:
        return self._agent_id or run.assistant_id


class SingleTodoList(ToolCheck):
    """One `write_todos` a message: each call replaces the whole list."""

    async def check(self, call: ToolCallRequest, run: RunContext | None) -> ToolMessage | None:
        """Refuse the calls of a message that has several."""
        made = call.tool_call
        if made["name"] != _WRITE_TODOS or not _is_repeated(call):
            return None
        return ToolMessage(
            _ONE_LIST, tool_call_id=made["id"] or "", name=made["name"], status="error"
        )


class BoundTools(ToolCheck):
    """An agent has the tools that are bound to it; its plan, skills and helpers always are."""

    def __init__(self, bound: frozenset[str]) -> None:
        self._bound = bound
        self._allowed = bound | ALWAYS_BOUND

    async def prepare(
        self, request: ModelRequest[Any], run: RunContext | None
    ) -> ModelRequest[Any]:
        """Show the bound tools."""
        return _with_tools(request, lambda tool: self._allows(tool, tool_name(tool)))

    async def check(self, call: ToolCallRequest, run: RunContext | None) -> ToolMessage | None:
        """Refuse a tool that is not bound. `McpAccess` has checked MCP tools."""
        name = call.tool_call["name"]
        return None if self._allows(call.tool, name) else refusal(call, self._reason(name))

    def _allows(self, tool: object, name: str) -> bool:
        return name in self._allowed or is_mcp(tool)

    def _reason(self, name: str) -> str:
        refused = f"Tool {name[:80]!r} is not bound to this agent. It was not called."
        if not self._bound:
            return f"{refused} No tool is: answer without one."
        named = sorted(self._bound)
        more = f" and {len(named) - _MAX_NAMED} more" if len(named) > _MAX_NAMED else ""
        return f"{refused} Use one of: {', '.join(named[:_MAX_NAMED])}{more}."


PLAN_PROMPT = """## Plan mode
The user wants a plan and nothing changed. Look at whatever you need with tools that read. Tools
that write, send or run something are refused: do not try them. End with the steps you would take,
which files or systems each would change and how, and what you are not sure of."""
_DENIED = "The user does not allow {name!r} in this run. It was not called: do without it."


class RunRulesCheck(ToolCheck):
    """The rules of the run: the tools it denies, and plan mode, in which nothing is changed."""

    def __init__(self, changing: Container[str]) -> None:
        """`changing` are the tools with fixed names that plan mode refuses, even if approved."""
        self._changing = changing

    async def prepare(
        self, request: ModelRequest[Any], run: RunContext | None
    ) -> ModelRequest[Any]:
        """Hide the denied tools; in plan mode, describe it at the end of the prompt."""
        if run is None or not run.rules.is_strict:
            return request
        request = _with_tools(request, lambda tool: not run.rules.denies(tool_name(tool)))
        if not run.rules.is_plan:
            return request
        prompt = append_to_prompt(request.system_message, PLAN_PROMPT)
        return request.override(system_message=prompt)

    async def check(self, call: ToolCallRequest, run: RunContext | None) -> ToolMessage | None:
        """Refuse a denied tool, and in plan mode a call that a person would be asked about."""
        if run is None or not run.rules.is_strict:
            return None
        name = call.tool_call["name"]
        if run.rules.denies(name):
            return refusal(call, _DENIED.format(name=name[:80]))
        if run.rules.is_plan and self._may_change(call.tool, name):
            return refusal(call, PLANNED)
        return None

    def _may_change(self, tool: object, name: str) -> bool:
        return requires_approval(tool) if is_mcp(tool) else name in self._changing


class TenantFeatures(ToolCheck):
    """The tools and agents that the user's tenant has on, also while a run is under way."""

    def __init__(self, tenancy: Tenancy, names_of: NamesOf) -> None:
        self._tenancy = tenancy
        self._names_of = names_of

    async def prepare(
        self, request: ModelRequest[Any], run: RunContext | None
    ) -> ModelRequest[Any]:
        """Hide the tools that are off."""
        tenant = await self._limited_tenant(run)
        if tenant is None:
            return request
        return _with_tools(request, lambda tool: tenant.has(f"tool:{tool_name(tool)}"))

    async def check(self, call: ToolCallRequest, run: RunContext | None) -> ToolMessage | None:
        """Refuse a tool that is off, and a call that names an agent that is off."""
        tenant = await self._limited_tenant(run)
        off = None if tenant is None else self._switched_off(tenant, call)
        if off is None:
            return None
        return refusal(call, f"{off} is switched off for this organisation. Do without it.")

    async def _limited_tenant(self, run: RunContext | None) -> Tenant | None:
        """The run's tenant, if it has anything off."""
        tenant = None if run is None else await self._tenancy.tenant_of(run.user_id)
        return None if tenant is None or tenant.has_all else tenant

    def _switched_off(self, tenant: Tenant, call: ToolCallRequest) -> str | None:
        name, args = call.tool_call["name"], call.tool_call["args"]
        if not tenant.has(f"tool:{name}"):
            return f"The tool {name!r}"
        agent = str(args.get(_NAMING_AGENTS[name], "")) if name in _NAMING_AGENTS else ""
        if agent and not all(tenant.has(f"agent:{each}") for each in self._names_of(agent)):
            return f"The agent {agent[:80]!r}"
        return None


class ToolCallBudget(ToolCheck):
    """The number of tool calls that the run may still make."""

    async def check(self, call: ToolCallRequest, run: RunContext | None) -> ToolMessage | None:
        """Count the call, or refuse it when the budget is used up."""
        if run is None or run.budget is None or run.budget.take_tool_call():
            return None
        used_up = run.budget.exhausted
        sentence = "" if used_up is None else used_up.sentence
        return refusal(call, f"This call was not made. {sentence}")

    def suspend(self, run: RunContext | None) -> None:
        """Take the call off the count."""
        if run is not None and run.budget is not None:
            run.budget.refund_tool_call()


CHECKS: Final[tuple[type[ToolCheck], ...]] = (
    SingleTodoList,
    McpAccess,
    BoundTools,
    RunRulesCheck,
    TenantFeatures,
    ToolCallBudget,
)
"""The order in which a call is checked. The last one counts, so it sees no call that is refused."""


class ToolGuard(AgentMiddleware[Any, Any, Any]):
    """Refuses the calls that may not run, and hides their tools from the model."""

    def __init__(
        self,
        checks: Sequence[ToolCheck],
        *,
        sources: Sequence[ToolSource] = (),
        on_refused: OnRefused | None = None,
    ) -> None:
        """Check in the order of `CHECKS`, whatever the order here."""
        super().__init__()
        self.checks = tuple(sorted(checks, key=lambda check: CHECKS.index(type(check))))
        self._sources = tuple(sources)
        self._on_refused = on_refused

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: ModelHandler
    ) -> ModelResponse[Any]:
        """Show the model the tools it may call."""
        run = run_of(request.runtime.context)
        for source in self._sources:
            known = {tool_name(tool) for tool in request.tools}
            found = [tool for tool in await source.tools(run) if tool.name not in known]
            if found:
                request = request.override(tools=[*request.tools, *found])
        for check in self.checks:
            request = await check.prepare(request, run)
        return await handler(request)

    async def awrap_tool_call(self, request: ToolCallRequest, handler: ToolHandler) -> ToolOutcome:
        """Run the call unless a check refuses it."""
        run = run_of(runtime_of(request).context)
        request = await self._with_tool(request, run)
        for check in self.checks:
            refused = await check.check(request, run)
            if refused is not None:
                if self._on_refused is not None:
                    self._on_refused(request)
                return refused
        try:
            return await handler(request)
        except GraphBubbleUp:
            for check in self.checks:
                check.suspend(run)
            raise

    async def _with_tool(self, request: ToolCallRequest, run: RunContext | None) -> ToolCallRequest:
        """The call with its tool, if that comes with the run."""
        if request.tool is not None:
            return request
        for source in self._sources:
            tool = await source.find(request.tool_call["name"], run)
            if tool is not None:
                return request.override(tool=tool)
        return request


def refusal(call: ToolCallRequest, reason: str) -> ToolMessage:
    """The message that the model and the run's readers get in place of a result."""
    return ToolMessage(
        reason,
        tool_call_id=call.tool_call["id"] or "",
        name=call.tool_call["name"],
        status="error",
        additional_kwargs={"status": "denied"},
    )


def _with_tools(
    request: ModelRequest[Any], is_shown: Callable[[BaseTool | dict[str, Any]], bool]
) -> ModelRequest[Any]:
    shown = [tool for tool in request.tools if is_shown(tool)]
    return request if len(shown) == len(request.tools) else request.override(tools=shown)


def _is_repeated(call: ToolCallRequest) -> bool:
    state: Any = call.state
    for message in reversed(state["messages"]):
        if isinstance(message, AIMessage):
            return sum(each["name"] == _WRITE_TODOS for each in message.tool_calls) > 1
    return False


def _mcp_of(run: RunContext) -> RunTools | None:
    return run.mcp if isinstance(run.mcp, RunTools) else None
