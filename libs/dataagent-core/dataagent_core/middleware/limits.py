"""Ends a run whose token budget is used up: the model is not called again, the answer says so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langchain.agents.middleware.types import ModelRequest, ModelResponse
from langchain_core.messages import AIMessage, BaseMessage

from dataagent_core.identity.budgets import RunBudget
from dataagent_core.middleware.calls import ModelHandler, run_of
from dataagent_core.middleware.upstream import TokenCounter
from dataagent_core.models.messages import thread_tokens

EXPECTED_OUTPUT_TOKENS = 500
"""Reserved for the model's answer until its length is known."""


class BudgetMiddleware(AgentMiddleware[Any, Any, Any]):
    """Counts the tokens of model calls on the run's budget."""

    def __init__(self) -> None:
        super().__init__()
        self._counter = TokenCounter()

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: ModelHandler
    ) -> ModelResponse[Any]:
        """Call the model if the budget allows; otherwise answer that it does not."""
        run = run_of(request.runtime.context)
        budget = None if run is None else run.budget
        if budget is None:
            return await handler(request)
        await budget.refresh()
        estimate = self._estimate(request) if budget.limits("tokens") else 0
        if not budget.reserve_tokens(estimate):
            return ModelResponse(result=[AIMessage(_used_up(budget))])
        answer: Sequence[BaseMessage] = ()
        try:
            response = await handler(request)
            answer = response.result
        finally:
            used_in, used_out = self._tokens_used(answer, estimate)
            budget.commit_tokens(estimate, input_tokens=used_in, output_tokens=used_out)
        return response

    def _estimate(self, request: ModelRequest[Any]) -> int:
        """About how many tokens a call will cost."""
        system = [] if request.system_message is None else [request.system_message]
        sent = self._counter(system, tools=request.tools) + thread_tokens(request.messages)
        return sent + EXPECTED_OUTPUT_TOKENS

    def _tokens_used(self, answer: Sequence[BaseMessage], estimate: int) -> tuple[int, int]:
        """Tokens in and out, as the provider or else we count; a failed call had its input."""
        for message in answer:
            if isinstance(message, AIMessage) and message.usage_metadata:
                usage = message.usage_metadata
                return usage["input_tokens"], usage["output_tokens"]
        return max(0, estimate - EXPECTED_OUTPUT_TOKENS), self._counter(answer)


def _used_up(budget: RunBudget) -> str:
    return "" if budget.exhausted is None else budget.exhausted.sentence
