"""Skills: procedures in folders, which are listed, checked and read."""

from dataagent_core.skills.library import OWN_FOLDER, Folders, SkillLibrary, SkillSet
from dataagent_core.skills.loader import SkillFolder, shipped_skills, skill_folders
from dataagent_core.skills.skill import (
    MAX_SKILL_BYTES,
    SkillEntry,
    SkillProblem,
    SkillSource,
    SkillText,
    split_command,
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
