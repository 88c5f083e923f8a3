"""The skills one user has with one agent, and how they are listed for the model. Pure.

Above: `library.py` puts shelves together, `middleware/skills.py` shows them.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from dataagent_core.errors import SkillNotFound
from dataagent_core.skills.loader import RootContent, SkillRoot
from dataagent_core.skills.types import SkillEntry, SkillProblem

_MAX_LISTED: Final = 24_000  # characters of descriptions in every prompt
_NEAREST: Final = 3
_NAMED: Final = 12


@dataclass(frozen=True, eq=False)
class SkillSet:
    """Skills by name; those of later places have replaced earlier ones of the same name."""

    skills: dict[str, tuple[SkillEntry, SkillRoot]] = field(
        default_factory=dict[str, tuple[SkillEntry, SkillRoot]]
    )
    problems: tuple[SkillProblem, ...] = ()

    def __iter__(self) -> Iterator[SkillEntry]:
        return (self.skills[name][0] for name in sorted(self.skills))

    def __len__(self) -> int:
        return len(self.skills)

    def find(self, name: str) -> tuple[SkillEntry, SkillRoot]:
        """A skill and where it is.

        Raises:
            SkillNotFound: there is none of this name; the message names those most like it.
        """
        found = self.skills.get(name)
        if found is None:
            raise self.missing(name)
        return found

    def missing(self, name: str, way_out: str = "") -> SkillNotFound:
        """The error for a name that is not here; it names those most like it."""
        nearest = self._nearest(name)
        if nearest:
            hint = f"Did you mean {' or '.join(nearest)}?"
        elif self.skills:
            hint = f"There are: {', '.join(sorted(self.skills)[:_NAMED])}."
        else:
            hint = "There are none here."
        return SkillNotFound(
            f"There is no skill {name[:64]!r}. {hint} {way_out}".rstrip(),
            details={"skill": name[:64], "nearest": nearest},
        )

    def _nearest(self, name: str) -> list[str]:
        return difflib.get_close_matches(name[:128].lower(), self.skills, n=_NEAREST, cutoff=0.5)

    @cached_property
    def listing(self) -> str:
        """The skills, one a line, with descriptions as far as they fit."""
        lines: list[str] = []
        room = _MAX_LISTED
        for entry in self:
            room -= len(entry.description)
            lines.append(f"- {entry.name}: {entry.description}" if room > 0 else f"- {entry.name}")
        return "\n".join(lines)


def merge_skills(roots: Iterable[tuple[SkillRoot, RootContent]]) -> SkillSet:
    """What the places have together, in their order."""
    skills: dict[str, tuple[SkillEntry, SkillRoot]] = {}
    problems: list[SkillProblem] = []
    for root, found in roots:
        skills.update({entry.name: (entry, root) for entry in found.entries})
        problems += found.problems
    return SkillSet(skills, tuple(problems))
