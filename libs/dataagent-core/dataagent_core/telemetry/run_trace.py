"""A run as traces name it, and its end in one word. Plain data; the tracers stand above."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

from dataagent_core.errors import DataAgentError

Errors = tuple[type[BaseException], ...]
CANCELLED = "cancelled"


@dataclass(slots=True)
class RunTrace:
    """A run as traces name it, and how it ended, which whoever runs it notes here."""

    run_id: str
    session_id: str
    user_id: str
    agent: str
    message: str = ""
    traceparent: str | None = None
    """Of the request that asked for it, if that was traced: it may be another process's."""
    answer: str = ""
    failure: str | None = None
    usage: Mapping[str, int] = field(default_factory=dict[str, int])

    @property
    def name(self) -> str:
        """As the GenAI conventions have it."""
        return f"invoke_agent {self.agent}"


def failure_kind(error: BaseException) -> str:
    """An error in one word that is not its text."""
    if isinstance(error, asyncio.CancelledError | GeneratorExit):
        return CANCELLED
    return error.code if isinstance(error, DataAgentError) else type(error).__name__
