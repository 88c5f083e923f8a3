"""Skills: procedures in folders, found, checked and handed out."""

from dataagent_core.skills.command import split_command
from dataagent_core.skills.folders import SkillFolder, shipped_skills, skill_folders
from dataagent_core.skills.library import OWN_FOLDER, Folders, SkillLibrary
from dataagent_core.skills.skill_set import SkillSet
from dataagent_core.skills.types import (
    MAX_SKILL_BYTES,
    SkillEntry,
    SkillProblem,
    SkillSource,
    SkillText,
)

__all__ = [
    "MAX_SKILL_BYTES",
    "OWN_FOLDER",
    "Folders",
    "SkillEntry",
    "SkillFolder",
    "SkillLibrary",
    "SkillProblem",
    "SkillSet",
    "SkillSource",
    "SkillText",
    "shipped_skills",
    "skill_folders",
    "split_command",
]
