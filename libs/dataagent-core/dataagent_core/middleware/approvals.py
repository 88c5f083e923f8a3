"""Which calls wait for a person.

LangChain's `HumanInTheLoopMiddleware`, one interrupt per call, with all four decisions. A run whose
context says `auto_approve`, or allows the tool, asks nobody; neither may change between an
interrupt and its resume (the engine resumes with the context the run was started with). A call on a
file comes with what it would change in it. List this before the middleware that reports or catches
what tools do: on resume, what stands before it runs again. Above: `engine/`, which turns interrupts
into `HITLRequestEvent`s.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextvars import ContextVar
from typing import Any

from langchain.agents.middleware import (
    AgentMiddleware,
    HumanInTheLoopMiddleware,
    InterruptOnConfig,
)
from langchain.agents.middleware.human_in_the_loop import ToolApprovalRequest
from langchain.agents.middleware.types import ToolCallRequest
from langchain_core.messages import ToolCall
from langchain_core.tools import BaseTool

from dataagent_core.identity import RunContext
from dataagent_core.middleware.calls import ToolHandler, ToolOutcome, runtime_of

Preview = Callable[[ToolCall], Awaitable[str | None]]
"""What a call would change, as a unified diff."""

_DIFF: ContextVar[str | None] = ContextVar("diff", default=None)

DEFAULT_GATED: Mapping[str, str] = {
    "write_file": "Write a file in the workspace, replacing it if it exists.",
    "edit_file": "Change a file in the workspace.",
    "delete": "Delete a file or folder in the workspace with everything in it.",
    "shell": "Run a shell command.",
    "http_request": "Send a request to another server, which may carry data out.",
}
"""Tools that write, run code or send data out, and what a person reads about them.

`http_request` asks whatever its method: a GET carries data in its address as well as a POST does.
"""


def gated_tools(tools: Iterable[BaseTool]) -> dict[str, str]:
    """Those of `DEFAULT_GATED`, and the tools that ask for it themselves.

    A tool does so by `metadata={"approval": "what a person reads"}`.
    """
    asking = {tool.name: (tool.metadata or {}).get("approval") for tool in tools}
    return {**DEFAULT_GATED, **{name: str(text) for name, text in asking.items() if text}}


class ApprovalsMiddleware(HumanInTheLoopMiddleware[Any, Any, Any]):
    """Asks as a call starts. Without the step after each model call, which only batches need."""

    def __init__(
        self, interrupt_on: Mapping[str, InterruptOnConfig], preview: Preview | None = None
    ) -> None:
        """`preview` tells what a call would change, if it can."""
        super().__init__(interrupt_on=dict(interrupt_on), interrupt_mode="per_call")
        self._preview = preview

    async def awrap_tool_call(self, request: ToolCallRequest, handler: ToolHandler) -> ToolOutcome:
        """Ask if the call is gated, and show what it would change.

        Nobody is asked about a tool that the agent does not have: the call is answered with that.
        """
        call = request.tool_call
        if request.tool is None:
            return await handler(request)
        if self._preview is None or call["name"] not in self.interrupt_on:
            return await super().awrap_tool_call(request, handler)
        token = _DIFF.set(await self._preview(call) if needs_approval(request) else None)
        try:
            return await super().awrap_tool_call(request, handler)
        finally:
            _DIFF.reset(token)

    def _tool_approval_request(
        self, request: ToolCallRequest, config: InterruptOnConfig
    ) -> ToolApprovalRequest:
        asked: Any = super()._tool_approval_request(request, config)  # with one field more
        if (diff := _DIFF.get()) is not None:
            asked["diff"] = diff
        return asked

    # generic parameters
    after_model = AgentMiddleware.after_model  # pyright: ignore[reportAssignmentType]
    # generic parameters
    aafter_model = AgentMiddleware.aafter_model  # pyright: ignore[reportAssignmentType]


def approvals_middleware(
    asked_for: Mapping[str, str] = DEFAULT_GATED, preview: Preview | None = None
) -> ApprovalsMiddleware:
    """Ask before each call of a gated tool; the mapping gives the text that is shown."""
    return ApprovalsMiddleware(
        {
            name: InterruptOnConfig(
                allowed_decisions=["approve", "edit", "reject", "respond"],
                description=description,
                when=needs_approval,
            )
            for name, description in asked_for.items()
        },
        preview,
    )


def needs_approval(request: ToolCallRequest) -> bool:
    """Whether the run asks before this call, which may do harm."""
    context = runtime_of(request).context
    if not isinstance(context, RunContext):
        return True
    return not (context.auto_approve or context.rules.allows(request.tool_call["name"]))
