"""Skills: procedures in folders, found, checked and handed out."""

from dataagent_core.skills.command import split_command
from dataagent_core.skills.library import OWN_FOLDER, Folders, SkillLibrary
from dataagent_core.skills.places import SkillFolder, shipped_skills, skill_folders
from dataagent_core.skills.shelf import Shelf
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
    "Shelf",
    "SkillEntry",
    "SkillFolder",
    "SkillLibrary",
    "SkillProblem",
    "SkillSource",
    "SkillText",
    "shipped_skills",
    "skill_folders",
    "split_command",
]
