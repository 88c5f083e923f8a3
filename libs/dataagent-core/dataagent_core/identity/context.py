"""For whom a graph runs: what tools, backends and middleware read at call time.

One compiled graph serves all users. It learns whose workspace, memory and rules apply from the
`RunContext` that the engine passes with each run (`context=` of LangGraph), never from a closure.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from dataagent_core.identity.budgets import RunBudget


@dataclass(frozen=True, slots=True)
class RunContext:
    """The run's owner and rules."""

    user_id: str
    session_id: str
    run_id: str
    assistant_id: str
    tenant_id: str | None = None
    auto_approve: bool = False
    skill: str | None = None  # the user chose it for this run
    budget: RunBudget | None = field(default=None, compare=False, repr=False)
