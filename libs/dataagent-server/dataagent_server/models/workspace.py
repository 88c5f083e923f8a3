"""Workspaces and memories as they go over the wire."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, StringConstraints

from dataagent_core.workspace.manager import MAX_MEMORY_BYTES, WorkspaceSummary
from dataagent_core.workspace.memories import Memory
from dataagent_server.models.fields import RequestModel, ResponseModel, SafeText, UtcTime


class WorkspaceInfo(ResponseModel):
    """A user's workspace: how much of the quota is used, and how many files there are.

    `path` starts at the workspaces' root. `bytes_used` counts files, memories and results.
    """

    user_id: str
    path: str
    bytes_used: int
    quota: int
    files: int

    @classmethod
    def of(cls, summary: WorkspaceSummary) -> Self:
        """The public form of a workspace."""
        return cls.model_validate(summary, from_attributes=True)


class MemoryInfo(ResponseModel):
    """A file an assistant keeps about a user."""

    assistant_id: str
    path: str
    bytes: int
    updated_at: UtcTime

    @classmethod
    def of(cls, memory: Memory) -> Self:
        """The public form of a memory."""
        return cls.model_validate(memory, from_attributes=True)


class MemoryBody(RequestModel):
    """What an assistant shall remember."""

    content: Annotated[SafeText, StringConstraints(max_length=MAX_MEMORY_BYTES)]
    assistant_id: str | None = Field(
        default=None, description="That of the address, if it is sent."
    )
    path: str | None = Field(default=None, description="That of the address, if it is sent.")


class MemoryContent(ResponseModel):
    """What an assistant remembers."""

    assistant_id: str
    path: str
    content: str
