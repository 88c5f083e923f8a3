"""Where the skills we ship are.

In the repository they are `skills/custom/`, and whatever is put there is found after a restart; so
are Anthropic's, where their repository is checked out as `skills/anthropic/`. A wheel carries a
copy of `skills/custom/` inside the package (`_shipped/skills`, put there by the build); an
operator's own then go into a folder that `DATAAGENT_SKILLS_DIRS` names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import dataagent_core
from dataagent_core.skills.types import SkillSource


@dataclass(frozen=True, slots=True)
class SkillFolder:
    """A directory of skills, and whose they are."""

    source: SkillSource
    directory: Path


def skill_folders(custom: Sequence[str]) -> list[SkillFolder]:
    """Ours and the operator's, in the order in which they replace each other."""
    shipped = shipped_skills()
    anthropic = shipped.parent / "anthropic" / "skills"
    return [
        *([SkillFolder("shipped", anthropic)] if anthropic.is_dir() else []),
        SkillFolder("shipped", shipped),
        *(SkillFolder("custom", Path(folder).expanduser()) for folder in custom),
    ]


def shipped_skills() -> Path:
    """The folder with our own skills: of the wheel if this is one, else of the repository."""
    package = Path(dataagent_core.__file__).parent
    inside = package / "_shipped" / "skills"
    return inside if inside.is_dir() else package.parents[2] / "skills" / "custom"
