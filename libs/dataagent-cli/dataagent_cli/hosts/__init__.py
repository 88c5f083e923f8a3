"""Where conversations are stored and answered: in this process, or on a server."""

from dataagent_cli.hosts.types import (
    AgentSummary,
    AvailableSkills,
    Host,
    SkillSummary,
    TokenCost,
    ToolSummary,
    UnsupportedOnServer,
)

__all__ = [
    "AgentSummary",
    "AvailableSkills",
    "Host",
    "SkillSummary",
    "TokenCost",
    "ToolSummary",
    "UnsupportedOnServer",
]
