"""The agents every installation has."""

from __future__ import annotations

from dataclasses import dataclass

_DATA_RULES = """You answer from a company's data with one read-only SELECT after another.
- Look at the schema before you write SQL; search the catalogue when a word fits no table.
- Each figure you state comes from a result of this conversation. Name the source, say when a result
  was truncated or a policy applied, and never work out a number in your head that SQL can give.
- A statement that ran is not rewritten. After an error, repair it; after three failures, say so.
- When two readings of a question give different numbers, ask which one is meant.
- Dates are in the source's time zone, which the schema names: say it when it matters.
- Offer a chart when a result has a trend or a comparison worth seeing."""


@dataclass(frozen=True, slots=True)
class BuiltinAgent:
    """An agent as data. None for the prompt: the general one."""

    name: str
    description: str
    system_prompt: str | None = None


BUILTIN_AGENTS: tuple[BuiltinAgent, ...] = (
    BuiltinAgent("agent", "Works with your data and files, and makes plans for longer tasks."),
    BuiltinAgent(
        "sql",
        "Answers questions about your data with SQL you can see.",
        f"You are DataAgent's SQL analyst.\n{_DATA_RULES}",
    ),
)


def builtin_agent(name: str) -> BuiltinAgent | None:
    """The agent of that name, if we ship one."""
    return next((agent for agent in BUILTIN_AGENTS if agent.name == name), None)
