"""`RunContext`: the user, workspace and rules of a run, read by tools and middleware.

One compiled graph serves all users. It gets the `RunContext` with each run (`context=` of
LangGraph), never from a closure. `RunRules` are a caller's limits on a run's tools, within what its
agent has; they are stored with the run (`RunInput` in `runs/types.py`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from dataagent_core.hitl import ActionRequest, Decision, DecisionType
from dataagent_core.identity.budgets import RunBudget

PLANNED = "plan mode: say what you would do; nothing was changed."
"""The result of a call that plan mode refuses, for the agent."""


@dataclass(frozen=True, slots=True)
class RunRules:
    """Tools are named by patterns such as `sql_*`; `deny` wins over `allow`."""

    is_plan: bool = False  # nothing is changed: the agent says what it would do
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()

    @property
    def is_strict(self) -> bool:
        """Whether anything is forbidden."""
        return self.is_plan or bool(self.deny)

    def denies(self, tool_name: str) -> bool:
        """Whether a tool may not be called."""
        return matches(tool_name, self.deny)

    def allows(self, tool_name: str) -> bool:
        """Whether a tool runs without approval."""
        return matches(tool_name, self.allow)


def matches(tool_name: str, patterns: Sequence[str]) -> bool:
    """Whether one of the patterns names the tool."""
    return any(fnmatchcase(tool_name, pattern) for pattern in patterns)


AskUser = Callable[[ActionRequest, tuple[DecisionType, ...]], Awaitable[Decision]]
"""Asks the run's user something while a call is under way; no answer in time is a rejection."""

HandOver = Callable[[str, str], Awaitable[object]]
"""Notes that another agent answers the run from now on, given its id and its name."""


@dataclass(frozen=True, slots=True)
class RunContext:
    """The run's owner and rules."""

    user_id: str
    session_id: str
    run_id: str
    assistant_id: str
    tenant_id: str | None = None
    role: str = "user"  # of the caller, in policies of data sources
    auto_approve: bool = False
    sandbox_id: str | None = None  # a living sandbox of the user's, instead of the conversation's
    rules: RunRules = field(default_factory=RunRules)  # what the caller says about tools
    skill: str | None = None  # the user chose it for this run
    message: str = field(default="", repr=False)  # what the user wrote to start the run
    budget: RunBudget | None = field(default=None, compare=False, repr=False)
    api_key_id: str | None = None  # the key that started the run, whose list of tools holds
    mcp: object | None = field(default=None, compare=False, repr=False)
    """The run's MCP tools (`mcp/gateway/tool_access.py`); None: its user has no server."""
    ask: AskUser | None = field(default=None, compare=False, repr=False)
    hand_over: HandOver | None = field(default=None, compare=False, repr=False)
