"""Agents: from a definition to a graph, from a graph to events."""

from dataagent_core.engine.checkpoints import Checkpoints, MemoryCheckpoints, open_checkpoints
from dataagent_core.engine.checkpoints.savers import fence_threads
from dataagent_core.engine.config import AgentConfig, SubAgentConfig
from dataagent_core.engine.executor import AgentExecutor, Suspended
from dataagent_core.engine.factory import AgentFactory
from dataagent_core.engine.tuning import tune_loop, tune_process

__all__ = [
    "AgentConfig",
    "AgentExecutor",
    "AgentFactory",
    "Checkpoints",
    "MemoryCheckpoints",
    "SubAgentConfig",
    "Suspended",
    "fence_threads",
    "open_checkpoints",
    "tune_loop",
    "tune_process",
]
