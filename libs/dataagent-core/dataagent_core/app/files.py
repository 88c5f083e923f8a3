"""Opens what a process needs for users' files: the files themselves, memories, sources of files.

Starts the sweep that archives unused workspaces and erases unused memories; the stack ends it.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass

from dataagent_core.config import Settings
from dataagent_core.data.service import DataService
from dataagent_core.data.uploaded_sources import UploadedSources
from dataagent_core.identity import Principal
from dataagent_core.storage import Database
from dataagent_core.storage.tasks import cancel_all
from dataagent_core.workspace import (
    FileStore,
    Memories,
    QuotaLedger,
    Sweeper,
    UserWorkspaceManager,
)
from dataagent_core.workspace.access import require_own_or_admin
from dataagent_core.workspace.manager import WorkspaceSummary
from dataagent_core.workspace.project import Project


@dataclass(frozen=True, slots=True)
class FileServices:
    """Users' files, open."""

    store: FileStore
    memories: Memories
    sources: UploadedSources
    workspaces: UserWorkspaceManager

    async def workspace(self, user_id: str, *, asked_by: Principal) -> WorkspaceSummary:
        """A user's workspace in figures.

        Raises:
            NotFound: the caller is neither the user nor an administrator.
        """
        require_own_or_admin(user_id, asked_by)
        return await self.workspaces.summary(user_id)


def open_workspaces(
    settings: Settings, quota: QuotaLedger, stack: AsyncExitStack
) -> UserWorkspaceManager:
    """Where users' files are; the stack closes it.

    Raises:
        Misconfigured: the settings name a project that is not there.
    """
    folder = settings.project_dir
    workspaces = UserWorkspaceManager(
        settings.workspaces_dir,
        settings.workspace_quota,
        quota,
        memories_root=settings.home_dir / "memories",
        project=None if folder is None else Project(folder, settings.home_dir / "undo"),
    )
    stack.push_async_callback(workspaces.aclose)
    return workspaces


def open_files(
    settings: Settings,
    database: Database,
    workspaces: UserWorkspaceManager,
    data: DataService,
    stack: AsyncExitStack,
) -> FileServices:
    """Open them; the stack closes them."""
    store = FileStore(database, workspaces, max_upload_bytes=settings.max_upload_bytes)
    memories = Memories(workspaces)
    root = settings.home_dir / "sources" / "uploads"
    sources = UploadedSources(data, store, workspaces, root)
    workspaces.add_usage_source(sources.usage)
    store.on_delete(sources.forget_file)
    sweeper = Sweeper(
        workspaces,
        memories,
        archive_days=settings.workspace_archive_days,
        retention_days=settings.memory_retention_days,
    )
    sweeping = asyncio.create_task(sweeper.run(), name="workspaces")
    stack.push_async_callback(cancel_all, [sweeping])
    return FileServices(store, memories, sources, workspaces)
