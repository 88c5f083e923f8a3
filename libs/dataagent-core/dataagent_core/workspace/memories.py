"""Assistants' memories of users, for their owners and for administrators.

A memory is a text file at `{memories}/{user_id}/{assistant_id}/{path}`. Its user reads, corrects
and erases it; an administrator sees that it exists and can erase it. Assistants use
`graph_backends.py`.
"""

from __future__ import annotations

import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from dataagent_core.errors import BadInput, FileNotFound, NotFound
from dataagent_core.identity import Principal
from dataagent_core.workspace import files as disk
from dataagent_core.workspace.archive import last_used
from dataagent_core.workspace.files import explain
from dataagent_core.workspace.jail import Jail, walk
from dataagent_core.workspace.manager import MAX_MEMORY_BYTES, UserWorkspaceManager
from dataagent_core.workspace.workers import run_to_completion


def require_own(user_id: str, asked_by: Principal) -> None:
    """Raise `Denied` unless the caller is the user.

    Raises:
        NotFound: the caller is another; who else exists is not said.
    """
    if asked_by.user_id != user_id:
        raise NotFound(f"There is nothing of a user {user_id[:64]!r} for you.")


def require_own_or_admin(user_id: str, asked_by: Principal) -> None:
    """Raise `Denied` unless the caller is the user or an administrator.

    Raises:
        NotFound: as `require_own`.
    """
    if not asked_by.is_admin:
        require_own(user_id, asked_by)


@dataclass(frozen=True, slots=True)
class Memory:
    """A file of an assistant about a user."""

    assistant_id: str
    path: str
    bytes: int
    updated_at: datetime


class Memories:
    """All users' memories."""

    def __init__(self, workspaces: UserWorkspaceManager) -> None:
        self._workspaces = workspaces
        self._workers = workspaces.workers

    async def list(self, user_id: str, *, asked_by: Principal) -> list[Memory]:
        """Return a user's memories, by assistant and path.

        Raises:
            NotFound: the caller is neither the user nor an administrator.
        """
        require_own_or_admin(user_id, asked_by)
        root = self._workspaces.user_memories_dir(user_id)
        return await self._workers.search(lambda: [*_list_memories(root)])

    async def read(self, user_id: str, assistant_id: str, path: str, *, asked_by: Principal) -> str:
        """Return the text of one of the caller's memories.

        Raises:
            NotFound: the caller is not the user.
            FileNotFound: there is none.
            BadInput: it is no text, or too large to show.
            OutsideWorkspace: the path leads out.
        """
        require_own(user_id, asked_by)
        jail = Jail(self._workspaces.memories_dir(user_id, assistant_id))
        try:
            work = partial(disk.read_whole, jail, path, limit=MAX_MEMORY_BYTES)
            return (await self._workers.run(work)).decode()
        except OSError as error:
            raise FileNotFound("There is no such memory.") from error
        except disk.FileTooLarge as error:
            raise BadInput(f"The memory has {error.size} bytes, too many to show.") from error
        except UnicodeError as error:
            raise BadInput("The memory is not text.") from error

    async def write(
        self, user_id: str, assistant_id: str, path: str, content: str, *, asked_by: Principal
    ) -> None:
        """Create or replace one of the caller's memories.

        Raises:
            NotFound: the caller is not the user.
            BadInput: it is too long, or the path cannot be a file's.
            QuotaExceeded: it does not fit the quota.
            OutsideWorkspace: the path leads out.
        """
        require_own(user_id, asked_by)
        if len(content.encode()) > MAX_MEMORY_BYTES:
            raise BadInput(f"A memory has at most {MAX_MEMORY_BYTES} bytes.")
        backend = await self._workspaces.open_memories(user_id, assistant_id)
        try:
            await backend.put(path, content.encode())
        except OSError as error:
            raise BadInput(explain("write", path, error)) from error

    async def erase_one(
        self, user_id: str, assistant_id: str, path: str, *, asked_by: Principal
    ) -> None:
        """Erase one memory, or a folder of them.

        Raises:
            NotFound: the caller is neither the user nor an administrator.
            FileNotFound: there is none.
            OutsideWorkspace: the path leads out.
        """
        require_own_or_admin(user_id, asked_by)
        jail = Jail(self._workspaces.memories_dir(user_id, assistant_id))
        await run_to_completion(self._remove(user_id, jail, path))

    async def _remove(self, user_id: str, jail: Jail, path: str) -> None:
        try:
            freed = await self._workers.run(partial(disk.remove, jail, path))
        except OSError as error:
            raise FileNotFound("There is no such memory.") from error
        await self._workspaces.release(user_id, freed)

    async def erase(
        self, user_id: str, *, asked_by: Principal, assistant_id: str | None = None
    ) -> None:
        """Erase all memories of a user, or those of one assistant.

        Raises:
            NotFound: the caller is neither the user nor an administrator.
            OutsideWorkspace: an id cannot be a directory's name.
        """
        require_own_or_admin(user_id, asked_by)
        root = self._workspaces.user_memories_dir(user_id)
        if assistant_id is None:
            chosen = await self._workers.run(lambda: [*_folders(root)])
        else:
            chosen = [self._workspaces.memories_dir(user_id, assistant_id)]
        for folder in chosen:
            await run_to_completion(self._clear(user_id, folder))

    async def _clear(self, user_id: str, folder: Path) -> None:
        """Empty a folder and leave it: an active run may write to it again."""
        freed = await self._workers.search(partial(_empty, folder))
        await self._workspaces.release(user_id, freed)

    async def erase_unused(self, unused_since: float) -> int:
        """Erase memories not read or written since, and return how many."""
        erased = 0
        root = self._workspaces.memories_root
        for user in await self._workers.search(lambda: [*_folders(root)]):
            for folder in await self._workers.search(lambda user=user: [*_folders(user)]):
                work = partial(_erase_if_unused, folder, unused_since)
                freed = await self._workers.search(work)
                if freed is not None:
                    await self._workspaces.release(user.name, freed)
                    erased += 1
        return erased


def _folders(root: Path) -> Iterator[Path]:
    """The directories in a directory, by name; hidden ones and links are none."""
    with suppress(FileNotFoundError), os.scandir(root) as entries:
        for entry in sorted(entries, key=lambda each: each.name):
            if entry.is_dir(follow_symlinks=False) and not entry.name.startswith("."):
                yield Path(entry.path)


def _list_memories(root: Path) -> Iterator[Memory]:
    for folder in _folders(root):
        with suppress(FileNotFoundError), Jail(folder).directory("/") as directory:
            for steps, names, descriptor in walk(directory):
                for name in names:
                    with suppress(FileNotFoundError):
                        status = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
                        if stat.S_ISREG(status.st_mode):
                            yield _memory(folder.name, "/".join((*steps, name)), status)


def _memory(assistant_id: str, path: str, status: os.stat_result) -> Memory:
    updated_at = datetime.fromtimestamp(status.st_mtime, UTC)
    return Memory(assistant_id, path, status.st_size, updated_at)


def _empty(folder: Path) -> int:
    """Remove a folder's content, and return the bytes freed."""
    jail, freed = Jail(folder), 0
    with suppress(FileNotFoundError):
        for name in os.listdir(folder):
            with suppress(FileNotFoundError):
                freed += disk.remove(jail, f"/{name}")
    return freed


def _erase_if_unused(folder: Path, unused_since: float) -> int | None:
    """Remove an unused folder, and return the bytes freed, or None if it stays.

    It is moved aside before the last check, so that a run that starts meanwhile begins anew.
    """
    if _used_at(folder) >= unused_since:
        return None
    apart = folder.with_name(f".erased-{secrets.token_hex(8)}")
    try:
        used_at = _used_at(folder)
        os.rename(folder, apart)
    except FileNotFoundError:  # another process was quicker
        return None
    if used_at >= unused_since:
        os.rename(apart, folder)
        return None
    freed = disk.tree_size(Jail(apart))
    shutil.rmtree(apart)
    return freed


def _used_at(folder: Path) -> float:
    try:
        return last_used(folder)
    except FileNotFoundError:
        return float("inf")
