"""Carrying a sandbox's changes over into the workspace: all that are wanted, or none.

The workspace is the user's and has a quota; whoever keeps it is handed down as a `WorkspaceWriter`.
Asking a person first, and writing it down, is the caller's business.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from dataagent_core.errors import QuotaExceeded
from dataagent_core.sandbox.types import FileChange

Fetch = Callable[[str], Awaitable[bytes | None]]
Done = Callable[[str], Awaitable[None]]


class WorkspaceWriter(Protocol):
    """Keeps a user's files. Paths are relative to the workspace."""

    async def room(self) -> int | None:
        """How many bytes more it may hold; None: no limit."""
        ...

    async def size(self, path: str) -> int:
        """How many bytes a file has there now; 0 if there is none."""
        ...

    async def put(self, path: str, content: bytes) -> None:
        """Create or replace a file."""
        ...

    async def delete(self, path: str) -> None:
        """Remove a file or a directory; nothing if there is none."""
        ...


@dataclass(frozen=True, slots=True)
class CommitResult:
    """What was carried over; `left` could not be read any more or is no plain file."""

    written: tuple[str, ...]
    deleted: tuple[str, ...]
    left: tuple[str, ...] = ()


async def commit_changes(
    changes: Sequence[FileChange], fetch: Fetch, writer: WorkspaceWriter, done: Done
) -> CommitResult:
    """Delete and write what changed, if there is room for all of it; `done` is told of each.

    Raises:
        QuotaExceeded: there is not; nothing was touched.
    """
    await _require_room(changes, writer)
    deleted = [change.path for change in changes if change.kind == "deleted"]
    for path in deleted:
        await writer.delete(path)
        await done(path)
    written: list[str] = []
    left: list[str] = []
    for change in changes:
        if change.kind != "written":
            continue
        content = await fetch(change.path)
        if content is None or len(content) > change.size:  # it grew since it was counted
            left.append(change.path)
            continue
        await writer.put(change.path, content)
        await done(change.path)
        written.append(change.path)
    return CommitResult(tuple(written), tuple(deleted), tuple(left))


async def _require_room(changes: Sequence[FileChange], writer: WorkspaceWriter) -> None:
    room = await writer.room()
    if room is None:
        return
    needed = sum(change.size for change in changes)
    for change in changes:
        needed -= await writer.size(change.path)
    if needed > room:
        raise QuotaExceeded(
            f"The changes need {needed} more bytes and the workspace has {room} left. "
            "Delete files there, or commit fewer.",
            details={"needed": needed, "room": room},
        )
