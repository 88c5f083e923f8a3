"""`activate_skill`: the instructions of a skill, when the model finds that it fits the task.

Which skills there are for whom is `skills/`'s matter; what they say is advice to the model and
grants nothing. Above: `middleware/skills.py` gives the tool to agents.
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any

from langchain_core.tools import BaseTool
from pydantic import BaseModel, ConfigDict, Field

from dataagent_core.identity import RunContext
from dataagent_core.skills import Folders, SkillLibrary, SkillText
from dataagent_core.workspace import run_context
from dataagent_core.workspace.blocking import run_blocking

ACTIVATE_SKILL = "activate_skill"


class ActivateSkillArguments(BaseModel):
    """What the model passes to `activate_skill`."""

    name: str = Field(description="The skill's name, as it is listed.", min_length=1)


class ActivateSkillTool(BaseTool):
    """Hands out a skill of the run's user."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    name: str = ACTIVATE_SKILL
    description: str = (
        "Get the instructions of one of the listed skills. Call it before you begin a task that a "
        "skill's description fits, then follow what it says."
    )
    args_schema: Any = ActivateSkillArguments  # BaseTool's own annotation is as wide
    library: SkillLibrary = Field(exclude=True)
    folders: Folders = Field(default=(), exclude=True)
    run_of: Callable[[], RunContext] = Field(default=run_context, exclude=True)

    async def _arun(self, name: str) -> str:
        user_id = self.run_of().user_id
        return skill_prompt(await self.library.read(user_id, name.strip(), self.folders))

    def _run(self, name: str) -> str:
        return run_blocking(self._arun(name))


def skill_prompt(skill: SkillText) -> str:
    """A skill as the model reads it: the instructions, and where its other files are."""
    entry = skill.entry
    files = ""
    if skill.files:
        paths = "\n".join(f"- {entry.location}/{path}" for path in skill.files)
        more = f"\nThere are more: `ls {entry.location}`." if skill.has_more_files else ""
        files = f"\n\nFiles of this skill, for `read_file`:\n{paths}{more}"
    return f'<skill name="{escape(entry.name)}">\n{skill.instructions}{files}\n</skill>'
