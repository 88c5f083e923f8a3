"""For whom a graph runs: what tools, backends and middleware read at call time.

One compiled graph serves all users. It learns whose workspace, memory and rules apply from the
`RunContext` that the engine passes with each run (`context=` of LangGraph), never from a closure.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from dataagent_core.hitl import ActionRequest, Decision, DecisionType
from dataagent_core.identity.budgets import RunBudget
from dataagent_core.identity.rules import RunRules

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
    """The run's MCP tools (`mcp/run_tools.py`); None: its user has no server."""
    ask: AskUser | None = field(default=None, compare=False, repr=False)
    hand_over: HandOver | None = field(default=None, compare=False, repr=False)
