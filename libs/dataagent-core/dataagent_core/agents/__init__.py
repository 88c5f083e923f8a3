"""Which agents exist, as data."""

from dataagent_core.agents.builtin import BUILTIN_AGENTS, BuiltinAgent, builtin_agent

__all__ = ["BUILTIN_AGENTS", "BuiltinAgent", "builtin_agent"]
