"""A user's files: where they are, who may reach them and how many there may be."""

from importlib import import_module
from typing import TYPE_CHECKING

from dataagent_core.workspace.quota import MemoryQuotaLedger, QuotaLedger, SqlQuotaLedger

if TYPE_CHECKING:
    from dataagent_core.workspace.backend import FolderBackend, SandboxedFilesystemBackend
    from dataagent_core.workspace.current_run import run_context
    from dataagent_core.workspace.file_store import FileStore, StoredFile
    from dataagent_core.workspace.graph_backends import MemoriesBackend, WorkspaceBackend
    from dataagent_core.workspace.manager import UserWorkspaceManager
    from dataagent_core.workspace.memories import Memories
    from dataagent_core.workspace.sweeper import Sweeper

_LOADED_WHEN_ASKED_FOR = {
    "FileStore": "file_store",
    "FolderBackend": "backend",
    "Memories": "memories",
    "MemoriesBackend": "graph_backends",
    "SandboxedFilesystemBackend": "backend",
    "StoredFile": "file_store",
    "Sweeper": "sweeper",
    "UserWorkspaceManager": "manager",
    "WorkspaceBackend": "graph_backends",
    "run_context": "current_run",
}
"""By module: they need deepagents, which takes seconds, and `dataagent sql` has no use for it."""

__all__ = [
    "FileStore",
    "FolderBackend",
    "Memories",
    "MemoriesBackend",
    "MemoryQuotaLedger",
    "QuotaLedger",
    "SandboxedFilesystemBackend",
    "SqlQuotaLedger",
    "StoredFile",
    "Sweeper",
    "UserWorkspaceManager",
    "WorkspaceBackend",
    "run_context",
]


def __getattr__(name: str) -> object:
    if name not in _LOADED_WHEN_ASKED_FOR:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LOADED_WHEN_ASKED_FOR[name]}"), name)
