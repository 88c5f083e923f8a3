"""Three of the libraries' middlewares without the graph step each of them costs.

Every `before_…`/`after_…` hook is a step of its own: LangGraph plans it, runs it and writes it
down, which is a tenth of a plain text turn. What these three do fits into a call that is wrapped
anyway, or is not needed here. They take the names of the originals, so deepagents puts them in
their places.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from deepagents.middleware.patch_tool_calls import PatchToolCallsMiddleware as DeepPatch
from langchain.agents.middleware import AgentMiddleware, TodoListMiddleware
from langchain.agents.middleware.types import ModelRequest, ModelResponse
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from dataagent_core.middleware.calls import append_to_prompt
from dataagent_core.models.messages import Thread


class NoParentNotifier(AgentMiddleware[Any, Any, Any]):
    """Nothing: our agents are not started by agents of other servers."""

    @property
    def name(self) -> str:
        """The middleware it stands in for."""
        return "_ParentNotifierMiddleware"


class PatchToolCalls(DeepPatch):
    """Answers calls without results, or with broken arguments, in what the model is sent.

    `engine/thread.py` keeps threads whole; this covers what a provider sends malformed.
    """

    # the graph gets no step for it
    before_agent = AgentMiddleware.before_agent  # pyright: ignore[reportAssignmentType]

    @property
    def name(self) -> str:
        """The middleware it stands in for."""
        return "PatchToolCallsMiddleware"

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """Patch the request, not the thread."""
        if _is_whole(request.messages):
            return await handler(request)
        state: Any = {"messages": request.messages}
        runtime: Any = request.runtime
        patch = DeepPatch.before_agent(self, state, runtime)
        if patch is not None:
            request = request.override(messages=patch["messages"][1:])  # the first removes all
        return await handler(request)


class TodoList(TodoListMiddleware[Any, Any]):
    """The plan tool; the guard refuses parallel calls of it."""

    # the graph gets no step for it
    after_model = AgentMiddleware.after_model  # pyright: ignore[reportAssignmentType]
    # the graph gets no step for it
    aafter_model = AgentMiddleware.aafter_model  # pyright: ignore[reportAssignmentType]

    @property
    def name(self) -> str:
        """The middleware it stands in for."""
        return "TodoListMiddleware"

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """Add how to use the plan to the prompt, as deepagents adds its own sections."""
        added = append_to_prompt(request.system_message, self.system_prompt)
        return await handler(request.override(system_message=added))


def _is_whole(messages: Sequence[BaseMessage]) -> bool:
    """Whether every call has its result. One look at each message, in the order they are read."""
    if isinstance(messages, Thread):
        return messages.is_plain and not messages.open_calls
    open_calls: set[str | None] = set()
    for message in messages:
        if isinstance(message, AIMessage):
            if message.invalid_tool_calls:
                return False
            open_calls.update(call["id"] for call in message.tool_calls)
        elif isinstance(message, ToolMessage):
            open_calls.discard(message.tool_call_id)
    return not open_calls
