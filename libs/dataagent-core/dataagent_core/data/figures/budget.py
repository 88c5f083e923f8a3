"""How much work one check may do. What is left when it is spent is not checked."""

from __future__ import annotations

MAX_STEPS = 4_000_000


class WorkBudgetExceeded(Exception):
    """The check has done as much as it may."""


class WorkBudget:
    """Counts the steps of a check; a step is about one comparison."""

    def __init__(self, steps: int = MAX_STEPS) -> None:
        self._left = steps

    def spend(self, steps: int = 1) -> None:
        """Count some steps.

        Raises:
            WorkBudgetSpent: there are none left.
        """
        self._left -= steps
        if self._left < 0:
            raise WorkBudgetExceeded
