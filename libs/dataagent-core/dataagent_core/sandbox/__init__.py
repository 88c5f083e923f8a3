"""Runs commands and code: on this machine, and in sandboxes behind bubblewrap or Docker."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from dataagent_core.sandbox.local import LocalRunner
from dataagent_core.sandbox.types import (
    CodeResult,
    CommandResult,
    CommandRunner,
    OutputFile,
    SandboxLimits,
)

if TYPE_CHECKING:
    from dataagent_core.sandbox.bwrap import BwrapWall
    from dataagent_core.sandbox.pool import PoolSettings, Sandboxes
    from dataagent_core.sandbox.session import SandboxSession

_LAZY = {
    "BwrapWall": "dataagent_core.sandbox.bwrap",
    "PoolSettings": "dataagent_core.sandbox.pool",
    "SandboxSession": "dataagent_core.sandbox.session",
    "Sandboxes": "dataagent_core.sandbox.pool",
}
"""By module: they need deepagents, which takes seconds."""

__all__ = [
    "BwrapWall",
    "CodeResult",
    "CommandResult",
    "CommandRunner",
    "LocalRunner",
    "OutputFile",
    "PoolSettings",
    "SandboxLimits",
    "SandboxSession",
    "Sandboxes",
]


def __getattr__(name: str) -> object:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LAZY[name]), name)
