"""What a skill is, as data, and how large one may be.

Above: everything in this room. Below: nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

SkillSource = Literal["shipped", "custom", "package", "own"]
"""Whose it is: ours, the operator's, an agent package's, the user's. Later ones replace earlier."""

SKILL_FILE: Final = "SKILL.md"
MAX_SKILL_BYTES: Final = 64 * 1024
MAX_HEADER_CHARACTERS: Final = 8 * 1024
MAX_NAME: Final = 64
MAX_DESCRIPTION: Final = 1024
MAX_SHARED: Final = 200
"""How many skills one folder of an operator or a package may hold."""
MAX_OWN: Final = 50
"""How many skills a user may have."""


class BadSkill(Exception):
    """A SKILL.md that cannot be used; the text says why and what to change."""


@dataclass(frozen=True, slots=True)
class SkillEntry:
    """A skill that can be used. Its instructions are read when it is activated."""

    name: str
    """1 to 64 of a-z, 0-9 and single hyphens; the name of its folder."""
    description: str
    """What it does and when to use it, on one line: what the model always sees."""
    path: Path
    """The folder with its SKILL.md, on this machine. Not for messages."""
    source: SkillSource = "own"
    location: str = ""
    """The same folder as an agent sees it, without a slash at the end."""
    tools: tuple[str, ...] = ()
    """The tools it recommends. It grants none."""


@dataclass(frozen=True, slots=True)
class SkillProblem:
    """A SKILL.md that was left out, and why."""

    source: SkillSource
    path: str
    """Folder and file, from the folder of skills on."""
    reason: str


@dataclass(frozen=True, slots=True)
class SkillText:
    """A skill with all it says."""

    entry: SkillEntry
    instructions: str
    files: tuple[str, ...] = ()
    """Its other files, from its folder on; the first of them, if they are many."""
    text: str = ""
    """The whole SKILL.md as it was written."""
    has_more_files: bool = False
    """Whether it has more files than are listed."""
