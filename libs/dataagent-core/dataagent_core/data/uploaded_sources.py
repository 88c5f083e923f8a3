"""Data sources that users make of their own files.

Such a source belongs to its user and is granted to that user alone. The files are copied out of the
workspace to `{root}/{user_id}/…`, so that nothing an agent does there changes what a query reads.
Their bytes count on the user's quota. A source made of one file that an agent reads (`of_file`) is
deleted with that file.
"""

from __future__ import annotations

import asyncio
import secrets
import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from uuid import uuid4
from weakref import WeakValueDictionary

from dataagent_core.data.files.kinds import EXTENSIONS
from dataagent_core.data.service import DataService
from dataagent_core.data.sources import Grant, NewSource, Source
from dataagent_core.data.types import Reader
from dataagent_core.errors import BadFile, BadInput, Conflict, Denied, LimitReached
from dataagent_core.workspace import FileStore, StoredFile, UserWorkspaceManager
from dataagent_core.workspace.file_kinds import KINDS, extension_of, plain_stem
from dataagent_core.workspace.files import tree_size
from dataagent_core.workspace.jail import Jail
from dataagent_core.workspace.workers import run_to_completion

MAX_SOURCES = 100
MAX_OF_FILES = 20
_DIGEST = 12
_STEM = 40
_TABLES = [extension for extension in KINDS if extension in EXTENSIONS]


class UploadedSources:
    """Makes and removes users' own sources."""

    def __init__(
        self, service: DataService, files: FileStore, workspaces: UserWorkspaceManager, root: Path
    ) -> None:
        self._service = service
        self._files = files
        self._workspaces = workspaces
        self._workers = workspaces.workers
        self._root = root
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def create(
        self, name: str, file_ids: Sequence[str], *, reader: Reader, description: str = ""
    ) -> Source:
        """Make a source of some of the reader's files; each file or sheet becomes a table.

        A name that someone else's source has gets a few characters more.

        Raises:
            FileNotFound: a file is not the reader's.
            BadFile, BadInput: a file cannot be a table, or the name does not do.
            Conflict: the reader sees a source of that name already.
            QuotaExceeded, LimitReached: the quota is too small, or a file is over a limit.
        """
        found = await self._files.get_all(file_ids, owner=reader.user_id)
        _check_tables(found)
        await self._check_source_count(reader.user_id)
        folder = self._folder(reader.user_id, uuid4().hex)
        return await self._create(name, found, folder, reader, description)

    async def of_file(self, file: StoredFile, digest: str, *, reader: Reader) -> Source:
        """The source of one file alone, made now unless it is there; `digest` is its content's.

        It holds what the file held then; when the content has changed, another takes its place.
        The oldest of these are deleted for the newest.

        Raises:
            As `create`.
        """
        _check_tables([file])
        async with self._turns.setdefault(reader.user_id, asyncio.Lock()):
            return await self._of_file(file, digest, reader)

    async def _of_file(self, file: StoredFile, digest: str, reader: Reader) -> Source:
        content = f"{file.file_id}-{digest[:_DIGEST]}-"
        for source in await self._of_files(reader.user_id):
            if Path(source.files[0]).parent.name.startswith(content):
                return source
            if source.upload_id == file.file_id:
                await self._remove(source)
        await self._evict_oldest(reader.user_id)
        folder = self._folder(reader.user_id, f"{content}{secrets.token_hex(4)}")
        name = f"{plain_stem(file.filename)[:_STEM]}-{file.file_id[:6]}"
        description = f"Made of the uploaded file '{file.filename}'."
        return await self._create(name, [file], folder, reader, description)

    async def forget_file(self, file: StoredFile) -> None:
        """Delete the sources made automatically of a deleted file."""
        for source in await self._of_files(file.user_id):
            if source.upload_id == file.file_id:
                await self._remove(source)

    async def _create(
        self,
        name: str,
        found: Sequence[StoredFile],
        folder: Path,
        reader: Reader,
        description: str,
    ) -> Source:
        """Book, copy and register; on failure none of it."""
        owner, booked = reader.user_id, 0

        async def book(size: int) -> None:
            nonlocal booked
            if size > booked:
                await self._workspaces.reserve(owner, size - booked)
                booked = size

        await self._workspaces.usage(owner)  # the ledger must know the user before it books
        try:
            await run_to_completion(book(sum(file.byte_size for file in found)))
            paths = await self._copy_files(found, folder)
            size = await self._size(folder)
            await run_to_completion(book(size))  # an agent may have written to them meanwhile
            new = NewSource(
                name, files=paths, description=description, grants=(Grant("user", owner),)
            )
            return await self._register(new, reader)
        except BaseException:
            await run_to_completion(self._clear(folder, owner, booked))
            raise

    async def remove(self, source: Source, reader: Reader) -> None:
        """Delete a source with its files, except stored results.

        Raises:
            Denied: it is not the reader's own, and they are no administrator.
            SourceNotFound, Conflict: as `DataService.forget`.
        """
        if not reader.is_admin and source.owner_id != reader.user_id:
            raise Denied("Only its owner or an administrator may delete a data source.")
        await self._remove(source)

    async def _remove(self, source: Source) -> None:
        await self._service.forget(source.source_id)
        folder = self._folder_of(source)
        if folder is not None and source.owner_id is not None:
            size = await self._size(folder)
            await run_to_completion(self._clear(folder, source.owner_id, size))

    async def usage(self, owner: str) -> int:
        """Bytes of the files behind the owner's sources."""
        return await self._size(self._root / owner)

    # -- inside -----------------------------------------------------------------------------

    def _folder(self, owner: str, name: str) -> Path:
        self._workspaces.quota(owner)  # refuses an id that cannot be a directory's name
        return self._root / owner / name

    def _folder_of(self, source: Source) -> Path | None:
        """The folder this class made for a source."""
        if not source.files or source.owner_id is None:
            return None
        folder = Path(source.files[0]).parent
        return folder if folder.parent == self._root / source.owner_id else None

    async def _of_files(self, owner: str) -> list[Source]:
        """The owner's sources that were made on the way, the oldest first."""
        mine = [one for one in await self._service.sources.list() if one.owner_id == owner]
        made = [one for one in mine if one.upload_id and self._folder_of(one)]
        return sorted(made, key=lambda one: one.created_at)

    async def _evict_oldest(self, owner: str) -> None:
        made = await self._of_files(owner)
        for source in made[: max(0, len(made) + 1 - MAX_OF_FILES)]:
            await self._remove(source)
        await self._check_source_count(owner)

    async def _check_source_count(self, owner: str) -> None:
        sources = await self._service.sources.list()
        if sum(self._folder_of(each) is not None for each in sources if each.owner_id == owner) >= (
            MAX_SOURCES
        ):
            raise LimitReached(f"You have {MAX_SOURCES} sources of files. Delete one first.")

    async def _copy_files(self, found: Sequence[StoredFile], folder: Path) -> tuple[str, ...]:
        await self._workers.run(partial(folder.mkdir, parents=True, mode=0o700))
        paths: list[str] = []
        for file in found:
            name = _unique(file.filename, paths)
            await self._files.copy(file, folder / name)
            paths.append(str(folder / name))
        return tuple(paths)

    async def _register(self, new: NewSource, reader: Reader) -> Source:
        try:
            return await self._service.register(new, owner_id=reader.user_id)
        except Conflict:
            seen = {source.name for source in await self._service.sources.list_for(reader)}
            if new.name in seen:
                raise
        name = f"{new.name[:59]}-{secrets.token_hex(2)}"  # it may be the name of another user's
        again = NewSource(name, files=new.files, description=new.description, grants=new.grants)
        return await self._service.register(again, owner_id=reader.user_id)

    async def _size(self, folder: Path) -> int:
        return await self._workers.search(lambda: tree_size(Jail(folder)))

    async def _clear(self, folder: Path, owner: str, booked: int) -> None:
        await self._workers.search(partial(shutil.rmtree, folder, ignore_errors=True))
        await self._workspaces.release(owner, booked)


def _check_tables(found: Sequence[StoredFile]) -> None:
    if not found:
        raise BadInput("A data source needs at least one file.")
    for file in found:
        if extension_of(file.filename) not in _TABLES:
            raise BadFile(
                f"'{file.filename}' cannot be a table. Tables come from {', '.join(_TABLES)}."
            )


def _unique(filename: str, taken: Sequence[str]) -> str:
    """A plain name for the copy that none of the others has."""
    stem, extension = plain_stem(filename), extension_of(filename)
    names = {Path(each).name.casefold() for each in taken}
    name, number = f"{stem}{extension}", 2
    while name.casefold() in names:
        name, number = f"{stem}_{number}{extension}", number + 1
    return name
