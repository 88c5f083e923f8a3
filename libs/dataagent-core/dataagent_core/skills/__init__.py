"""Where skills are and how an agent reaches them."""

from dataagent_core.skills.folders import SkillFolder, skill_routes

__all__ = ["SkillFolder", "skill_routes"]
