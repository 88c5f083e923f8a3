"""What a run may still use, and what its user's tenant has switched on.

`BudgetMiddleware` ends a run whose budget is used up: the model is not called again, the answer
says so. `TenantFeaturesMiddleware` hides tools and agents that are off from the model and refuses a
call that names one all the same. Both stand before the approvals, so that nobody is asked about a
call that cannot be; a call that waits for a person gives back what it took. A run without limits
only passes through. Above: `engine/`. Below: `identity/budgets.py`, `identity/tenancy.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langchain.agents.middleware.types import ModelRequest, ModelResponse, ToolCallRequest
from langchain_core.messages import AIMessage, BaseMessage
from langgraph.errors import GraphBubbleUp

from dataagent_core.identity import RunContext
from dataagent_core.identity.budgets import RunBudget
from dataagent_core.identity.tenancy import Tenancy
from dataagent_core.identity.tenants import Tenant
from dataagent_core.middleware.calls import (
    ModelHandler,
    ToolHandler,
    ToolOutcome,
    refusal,
    runtime_of,
    tool_name,
)
from dataagent_core.middleware.history import TokenCounter
from dataagent_core.models.messages import thread_tokens

NamesOf = Callable[[str], Sequence[str]]
"""All names of the agent that is called by one of them: a tenant may have any of them off."""

EXPECTED_OUTPUT_TOKENS = 500
"""Set aside for what a model will say, until it is known."""

_NAMING_AGENTS = {"task": "subagent_type", "route": "agent_name"}
"""Tools that a model names an agent to, and where."""


class BudgetMiddleware(AgentMiddleware[Any, Any, Any]):
    """Counts model and tool calls on the run's budget, and stops when it is used up."""

    def __init__(self) -> None:
        super().__init__()
        self._counter = TokenCounter()

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: ModelHandler
    ) -> ModelResponse[Any]:
        """Call the model if the budget allows; otherwise say that it does not."""
        budget = _budget(request.runtime.context)
        if budget is None:
            return await handler(request)
        await budget.refresh()
        estimate = self._estimate(request) if budget.limits("tokens") else 0
        if not budget.reserve_tokens(estimate):
            return ModelResponse(result=[AIMessage(_budget_message(budget))])
        said: Sequence[BaseMessage] = ()
        try:
            response = await handler(request)
            said = response.result
        finally:
            used_in, used_out = self._tokens_used(said, estimate)
            budget.commit_tokens(estimate, input_tokens=used_in, output_tokens=used_out)
        return response

    async def awrap_tool_call(self, request: ToolCallRequest, handler: ToolHandler) -> ToolOutcome:
        """Run the call if the budget allows; otherwise refuse it."""
        budget = _budget(runtime_of(request).context)
        if budget is None:
            return await handler(request)
        if not budget.take_tool_call():
            return refusal(request, f"This call was not made. {_budget_message(budget)}")
        try:
            return await handler(request)
        except GraphBubbleUp:  # it waits for a person, and comes here again
            budget.refund_tool_call()
            raise

    def _estimate(self, request: ModelRequest[Any]) -> int:
        """About how many tokens a call will cost."""
        system = [] if request.system_message is None else [request.system_message]
        sent = self._counter(system, tools=request.tools) + thread_tokens(request.messages)
        return sent + EXPECTED_OUTPUT_TOKENS

    def _tokens_used(self, said: Sequence[BaseMessage], estimate: int) -> tuple[int, int]:
        """Tokens in and out, as the provider counts or else we do. A broken call had its input."""
        for message in said:
            if isinstance(message, AIMessage) and message.usage_metadata:
                usage = message.usage_metadata
                return usage["input_tokens"], usage["output_tokens"]
        return max(0, estimate - EXPECTED_OUTPUT_TOKENS), self._counter(said)


class TenantFeaturesMiddleware(AgentMiddleware[Any, Any, Any]):
    """Keeps to the tools and agents that the user's tenant has on."""

    def __init__(self, tenancy: Tenancy, names_of: NamesOf) -> None:
        """Look up whose tenant it is with each call: a switch counts in runs under way too."""
        super().__init__()
        self._tenancy = tenancy
        self._names_of = names_of

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: ModelHandler
    ) -> ModelResponse[Any]:
        """Show the model the tools that are on."""
        tenant = await self._tenant(request.runtime.context)
        if tenant is None or tenant.has_all:
            return await handler(request)
        tools = [tool for tool in request.tools if tenant.has(f"tool:{tool_name(tool)}")]
        return await handler(request.override(tools=tools))

    async def awrap_tool_call(self, request: ToolCallRequest, handler: ToolHandler) -> ToolOutcome:
        """Refuse what is off, whoever named it."""
        tenant = await self._tenant(runtime_of(request).context)
        off = None if tenant is None or tenant.has_all else self._switched_off(tenant, request)
        if off is None:
            return await handler(request)
        return refusal(request, f"{off} is switched off for this organisation. Do without it.")

    async def _tenant(self, context: object) -> Tenant | None:
        if not isinstance(context, RunContext):
            return None
        return await self._tenancy.tenant_of(context.user_id)

    def _switched_off(self, tenant: Tenant, request: ToolCallRequest) -> str | None:
        """What a call names that is off: its tool, or the agent it hands something to."""
        name, args = request.tool_call["name"], request.tool_call["args"]
        if not tenant.has(f"tool:{name}"):
            return f"The tool {name!r}"
        agent = str(args.get(_NAMING_AGENTS[name], "")) if name in _NAMING_AGENTS else ""
        if agent and not all(tenant.has(f"agent:{each}") for each in self._names_of(agent)):
            return f"The agent {agent[:80]!r}"
        return None


def _budget(context: object) -> RunBudget | None:
    return context.budget if isinstance(context, RunContext) else None


def _budget_message(budget: RunBudget) -> str:
    return "" if budget.exhausted is None else budget.exhausted.sentence
