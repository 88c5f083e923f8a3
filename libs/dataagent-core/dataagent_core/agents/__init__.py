"""Which agents exist, as data."""

from dataagent_core.agents.builtin import BUILTIN_AGENTS, builtin_agent
from dataagent_core.agents.registration import AgentEntry, get_all_tools, register_agent
from dataagent_core.agents.registry import AgentRegistry
from dataagent_core.agents.service import AgentService, AgentView
from dataagent_core.agents.types import GENERAL, GENERAL_ALIAS, SUPERVISOR, AgentKind, AgentSpec

__all__ = [
    "BUILTIN_AGENTS",
    "GENERAL",
    "GENERAL_ALIAS",
    "SUPERVISOR",
    "AgentEntry",
    "AgentKind",
    "AgentRegistry",
    "AgentService",
    "AgentSpec",
    "AgentView",
    "builtin_agent",
    "get_all_tools",
    "register_agent",
]
