"""Skills as they go over the wire."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Self

from fastapi import Path
from pydantic import ConfigDict, StringConstraints

from dataagent_core.identity import Principal
from dataagent_core.skills import (
    MAX_SKILL_BYTES,
    SkillEntry,
    SkillProblem,
    SkillSet,
    SkillSource,
    SkillText,
)
from dataagent_server.models.fields import RequestModel, ResponseModel, SafeText

SkillName = Annotated[
    str, Path(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=64, description="The skill's name.")
]
_INFO: dict[str, Any] = {
    "name": "monthly-report",
    "description": "How our monthly report is made. Use it for the report.",
    "source": "own",
}
_DETAIL: dict[str, Any] = {
    **_INFO,
    "content": "# Monthly report\n\n1. Begin with revenue by country …",
    "files": ["scripts/table.py"],
    "tools": ["sql_db_query"],
    "text": "---\nname: monthly-report\ndescription: How our report is made.\n---\n# Monthly …",
}
_WARNING: dict[str, Any] = {
    "source": "custom",
    "path": "notes/SKILL.md",
    "reason": "its front matter has no name",
}
_EXAMPLE = "---\nname: monthly-report\ndescription: How our report is made.\n---\nBegin with …\n"


class SkillInfo(ResponseModel):
    """A skill one can choose, and whose it is."""

    model_config = ConfigDict(frozen=True, json_schema_extra={"example": _INFO})

    name: str
    description: str
    source: SkillSource

    @classmethod
    def of(cls, entry: SkillEntry) -> Self:
        """The public form of a skill."""
        return cls(name=entry.name, description=entry.description, source=entry.source)


class SkillDetail(SkillInfo):
    """A skill with its whole instructions, its other files, and the tools it recommends.

    `text` is the SKILL.md as it was written, to be changed and put again.
    """

    model_config = ConfigDict(frozen=True, json_schema_extra={"example": _DETAIL})

    content: str
    files: list[str]
    tools: list[str]
    text: str

    @classmethod
    def full(cls, skill: SkillText) -> Self:
        """The public form of a skill with all it says."""
        entry = skill.entry
        return cls(
            name=entry.name,
            description=entry.description,
            source=entry.source,
            content=skill.instructions,
            files=list(skill.files),
            tools=list(entry.tools),
            text=skill.text,
        )


class SkillWarning(ResponseModel):
    """A SKILL.md that was left out, and why."""

    model_config = ConfigDict(frozen=True, json_schema_extra={"example": _WARNING})

    source: SkillSource
    path: str
    reason: str


class SkillList(ResponseModel):
    """The skills a user can choose with an agent.

    `warnings` names what was left out: of the caller's own, and for administrators of everyone's.
    """

    items: list[SkillInfo]
    total: int
    warnings: list[SkillWarning]

    @classmethod
    def of(cls, shelf: SkillSet, caller: Principal) -> Self:
        """The public form of a shelf, for this caller."""
        return cls(
            items=[SkillInfo.of(entry) for entry in shelf],
            total=len(shelf),
            warnings=_warnings(shelf.problems, caller),
        )


class SkillBody(RequestModel):
    """A whole SKILL.md: front matter with name and description, then the instructions."""

    model_config = ConfigDict(json_schema_extra={"example": {"content": _EXAMPLE}})

    content: Annotated[SafeText, StringConstraints(max_length=MAX_SKILL_BYTES)]


def _warnings(problems: Iterable[SkillProblem], caller: Principal) -> list[SkillWarning]:
    return [
        SkillWarning(source=each.source, path=each.path, reason=each.reason)
        for each in problems
        if each.source == "own" or caller.is_admin
    ]
