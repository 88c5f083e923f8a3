"""A user's files: where they are, who may reach them and how many there may be."""

from dataagent_core.workspace.backend import SandboxedFilesystemBackend
from dataagent_core.workspace.context_backend import (
    MemoriesBackend,
    WorkspaceBackend,
    run_context,
)
from dataagent_core.workspace.manager import UserWorkspaceManager
from dataagent_core.workspace.quota import MemoryQuotaLedger, QuotaLedger, SqlQuotaLedger

__all__ = [
    "MemoriesBackend",
    "MemoryQuotaLedger",
    "QuotaLedger",
    "SandboxedFilesystemBackend",
    "SqlQuotaLedger",
    "UserWorkspaceManager",
    "WorkspaceBackend",
    "run_context",
]
