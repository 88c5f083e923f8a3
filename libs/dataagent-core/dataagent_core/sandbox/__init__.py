"""Running commands: the runner protocol and the local runner."""

from dataagent_core.sandbox.local import LocalRunner
from dataagent_core.sandbox.types import CommandResult, Runner

__all__ = ["CommandResult", "LocalRunner", "Runner"]
