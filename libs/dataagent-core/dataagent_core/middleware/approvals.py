"""Which calls wait for a person.

LangChain's `HumanInTheLoopMiddleware`, one interrupt per call, with all four decisions. A run whose
context says `auto_approve` asks nobody; its value must not change between an interrupt and its
resume (the engine resumes with the context the run was started with). List this before the
middleware that reports or catches what tools do: on resume, what stands before it runs again.
Above: `engine/`, which turns interrupts into `HITLRequestEvent`s.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain.agents.middleware import (
    AgentMiddleware,
    HumanInTheLoopMiddleware,
    InterruptOnConfig,
)
from langchain.agents.middleware.types import ToolCallRequest

from dataagent_core.identity import RunContext
from dataagent_core.middleware.calls import runtime_of

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


class ApprovalsMiddleware(HumanInTheLoopMiddleware[Any, Any, Any]):
    """Asks as a call starts. Without the step after each model call, which only batches need."""

    after_model = AgentMiddleware.after_model  # pyright: ignore[reportAssignmentType] generic parameters
    aafter_model = AgentMiddleware.aafter_model  # pyright: ignore[reportAssignmentType] generic parameters


def approvals_middleware(
    gated: Mapping[str, str] = DEFAULT_GATED,
) -> HumanInTheLoopMiddleware[Any, Any, Any]:
    """Ask before each call of a gated tool; the mapping gives the text that is shown."""
    return ApprovalsMiddleware(
        interrupt_on={
            name: InterruptOnConfig(
                allowed_decisions=["approve", "edit", "reject", "respond"],
                description=description,
                when=_needs_approval,
            )
            for name, description in gated.items()
        },
        interrupt_mode="per_call",
    )


def _needs_approval(request: ToolCallRequest) -> bool:
    context = runtime_of(request).context
    return not (isinstance(context, RunContext) and context.auto_approve)
