"""What a caller says a run may do with its tools: beside what its agent has, never beyond it.

Kept with the run (`RunOptions.rules` in `runs/types.py`), read from its `RunContext` wherever it
goes on. Above: `middleware/run_rules.py` and the approvals, which hold runs to them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

PLANNED = "plan mode: say what you would do; nothing was changed."
"""What an agent is told of a call that plan mode does not let through."""


@dataclass(frozen=True, slots=True)
class RunRules:
    """Tools are named by patterns such as `sql_*`; `deny` wins over `allow`."""

    is_plan: bool = False  # nothing is changed: the agent says what it would do
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()

    @classmethod
    def of(cls, kept: Mapping[str, Any]) -> RunRules:
        """The rules among what is kept with a run."""
        return cls(
            is_plan=bool(kept.get("is_plan")),
            allow=tuple(kept.get("allow") or ()),
            deny=tuple(kept.get("deny") or ()),
        )

    @property
    def is_strict(self) -> bool:
        """Whether anything is forbidden."""
        return self.is_plan or bool(self.deny)

    def denies(self, tool_name: str) -> bool:
        """Whether a tool may not be called."""
        return matches(tool_name, self.deny)

    def allows(self, tool_name: str) -> bool:
        """Whether a tool runs without anyone being asked."""
        return matches(tool_name, self.allow)


def matches(tool_name: str, patterns: Sequence[str]) -> bool:
    """Whether one of the patterns names the tool."""
    return any(fnmatchcase(tool_name, pattern) for pattern in patterns)
