"""Users' files by id: uploads, and files that tools created for download.

Rows are in the table `files`; content is in the owner's workspace, in `uploads/` or `outputs/`,
under names made here, where the owner's agents can read, change and remove it too. So content is
not trusted to be unchanged, and reading never follows a link out. For anyone else a file does not
exist. Bytes are reserved on the quota before they are written. An incoming file is written beside
its final place and moved there whole; `IncomingFile` and the plain functions block, and run in
worker threads.
"""

from __future__ import annotations

import builtins
import hashlib
import io
import os
import secrets
import time
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Awaitable,
    Callable,
    Generator,
    Sequence,
)
from contextlib import aclosing, suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Literal
from uuid import uuid4

from sqlalchemy import ColumnElement, delete, func, insert, select

from dataagent_core.errors import BadFile, BadInput, FileNotFound, OutsideWorkspace, UploadTooLarge
from dataagent_core.storage import Database
from dataagent_core.storage.database import is_storable
from dataagent_core.storage.tables import files
from dataagent_core.workspace import files as disk
from dataagent_core.workspace.file_kinds import (
    allowed_kind,
    check_content,
    content_type_of,
    extension_of,
    is_text,
    shown_name,
    text_encoding,
)
from dataagent_core.workspace.jail import Jail
from dataagent_core.workspace.manager import UserWorkspaceManager
from dataagent_core.workspace.workers import run_to_completion

Origin = Literal["upload", "generated"]
PREVIEW_BYTES = 50 * 1024
FOLDERS: dict[Origin, str] = {"upload": "uploads", "generated": "outputs"}
_PIECE = 512 * 1024


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A user's file. `filename` is its owner's name for it, `stored_name` its name on disk."""

    file_id: str
    user_id: str
    origin: Origin
    filename: str
    stored_name: str
    content_type: str
    byte_size: int
    sha256: str
    created_at: datetime
    session_id: str | None = None
    run_id: str | None = None

    @property
    def path(self) -> str:
        """The path in its owner's workspace."""
        return f"/{FOLDERS[self.origin]}/{self.stored_name}"

    def reference(self) -> dict[str, Any]:
        """What a message that names the file stores of it."""
        return {
            "file_id": self.file_id,
            "filename": self.filename,
            "size": self.byte_size,
            "content_type": self.content_type,
            "path": self.path,
        }


@dataclass(frozen=True, slots=True)
class Preview:
    """The beginning of a text file."""

    file: StoredFile
    content: str
    is_truncated: bool


def _open_content(jail: Jail, file: StoredFile) -> int:
    try:
        return jail.open_file(file.path)
    except OSError as error:
        raise FileNotFound(
            f"The content of file {file.file_id} was removed from the workspace. Upload it again."
        ) from error


def iter_content(jail: Jail, file: StoredFile) -> Generator[bytes]:
    """Yield the content in pieces.

    Raises:
        FileNotFound: it is gone.
    """
    with os.fdopen(_open_content(jail, file), "rb") as stream:
        while piece := stream.read(_PIECE):
            yield piece


def read_preview(jail: Jail, file: StoredFile) -> Preview:
    """Return the beginning of a text.

    Raises:
        FileNotFound: it is gone.
        BadInput: it is no text.
    """
    with os.fdopen(_open_content(jail, file), "rb") as stream:
        encoding = text_encoding(stream)
        if encoding is None:
            raise BadInput("The file is no longer text. Download it instead.")
        stream.seek(0)
        head = stream.read(PREVIEW_BYTES)
        is_truncated = bool(stream.read(1))
    return Preview(file, head.decode(encoding, errors="ignore"), is_truncated)


def remove_content(jail: Jail, path: str) -> int:
    """Remove a file, which its owner's agents may have removed or replaced by a folder."""
    with suppress(OSError, OutsideWorkspace):
        return disk.remove(jail, path)
    return 0


def copy_content(jail: Jail, file: StoredFile, place: Path) -> None:
    """Copy the content to a new file on the host.

    Raises:
        FileNotFound: it is gone.
        OSError: the place is taken or cannot be written to.
    """
    descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as target:
        for piece in iter_content(jail, file):
            target.write(piece)


_PART = ".incoming-"
_ABANDONED_SECONDS = 86_400.0


class IncomingFile:
    """A file being written: `begin`, `write`, then `put`, `close` or `discard`."""

    def __init__(self, jail: Jail, folder: str) -> None:
        self._jail = jail
        self._folder = folder
        self._name = f"{_PART}{secrets.token_hex(8)}"
        self._directory = -1
        self._file: BinaryIO = io.BytesIO()
        self._digest = hashlib.sha256()
        self.size = 0

    def begin(self) -> None:
        """Create the file, and remove what a crashed process left in the folder.

        Raises:
            OutsideWorkspace: the folder was replaced by a link that leads out.
            OSError: the folder is missing, or cannot be written to.
        """
        with self._jail.directory(self._folder) as directory:
            self._directory = os.dup(directory)
        _remove_abandoned(self._directory)
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        self._file = os.fdopen(os.open(self._name, flags, 0o600, dir_fd=self._directory), "w+b")

    @property
    def content(self) -> BinaryIO:
        """Return what was written, for reading."""
        self._file.flush()
        return self._file

    @property
    def sha256(self) -> str:
        """Return the digest of what was written."""
        return self._digest.hexdigest()

    def write(self, piece: bytes) -> None:
        """Append."""
        self._file.write(piece)
        self._digest.update(piece)
        self.size += len(piece)

    def put(self, name: str) -> None:
        """Sync the file and give it its name."""
        self._file.flush()
        os.fsync(self._file.fileno())
        os.replace(self._name, name, src_dir_fd=self._directory, dst_dir_fd=self._directory)
        self._name = name

    def discard(self) -> None:
        """Remove the file, under either name."""
        if self._directory >= 0:
            with suppress(FileNotFoundError):
                os.unlink(self._name, dir_fd=self._directory)
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        if self._directory >= 0:
            os.close(self._directory)
            self._directory = -1


def _remove_abandoned(directory: int) -> None:
    before = time.time() - _ABANDONED_SECONDS
    for name in os.listdir(directory):
        if name.startswith(_PART):
            with suppress(OSError):
                if os.stat(name, dir_fd=directory, follow_symlinks=False).st_mtime < before:
                    os.unlink(name, dir_fd=directory)


Check = Callable[[IncomingFile], None]
MAX_ATTACHED = 50
_C = files.c


class FileStore:
    """All users' files."""

    def __init__(
        self, database: Database, workspaces: UserWorkspaceManager, *, max_upload_bytes: int
    ) -> None:
        self._database = database
        self._workspaces = workspaces
        self._max_upload_bytes = max_upload_bytes
        self._on_delete: builtins.list[Callable[[StoredFile], Awaitable[None]]] = []

    def on_delete(self, forget: Callable[[StoredFile], Awaitable[None]]) -> None:
        """Call the function for each deleted file, to remove what was derived from it."""
        self._on_delete.append(forget)

    # -- making -----------------------------------------------------------------------------

    async def add_upload(
        self, owner: str, filename: str, content: AsyncIterable[bytes]
    ) -> StoredFile:
        """Store a user's upload, if it is of an allowed kind and is what its name says.

        Raises:
            BadFile: it is not; nothing is kept.
            UploadTooLarge: it has more bytes than allowed; the rest is not read.
            QuotaExceeded: it does not fit the owner's quota.
        """
        name = shown_name(filename)
        allowed_kind(name)
        new = _new_file(owner, name, "upload")
        return await self._add(
            new,
            content,
            max_bytes=self._max_upload_bytes,
            check=lambda incoming: _checked(incoming, name),
        )

    async def add_generated(
        self,
        owner: str,
        filename: str,
        content: bytes | AsyncIterable[bytes],
        *,
        session_id: str | None = None,
        run_id: str | None = None,
    ) -> StoredFile:
        """Store a file of any kind that a tool created; it can only be downloaded.

        Raises:
            QuotaExceeded: it does not fit the owner's quota.
        """
        name = shown_name(filename)
        new = _new_file(owner, name, "generated", session_id=session_id, run_id=run_id)
        return await self._add(
            new, _single_chunk(content) if isinstance(content, bytes) else content
        )

    async def _add(
        self,
        new: StoredFile,
        content: AsyncIterable[bytes],
        *,
        max_bytes: int | None = None,
        check: Check | None = None,
    ) -> StoredFile:
        """Reserve, write, check, name and insert; on failure undo all of it."""
        workspaces, workers = self._workspaces, self._workspaces.workers
        jail = Jail(await workspaces.prepare_storage(new.user_id))
        await workspaces.usage(new.user_id)  # the ledger must know the user before it books
        incoming, booked = IncomingFile(jail, FOLDERS[new.origin]), 0

        async def book(size: int) -> None:
            nonlocal booked
            await workspaces.reserve(new.user_id, size)
            booked += size

        try:
            await run_to_completion(workers.run(incoming.begin))
            async with aclosing(_in_chunks(content)) as pieces:
                async for piece in pieces:
                    if max_bytes is not None and incoming.size + len(piece) > max_bytes:
                        raise _too_large(max_bytes)
                    await run_to_completion(book(len(piece)))
                    await run_to_completion(workers.run(partial(incoming.write, piece)))
            if check is not None:
                await run_to_completion(workers.search(partial(check, incoming)))
            return await run_to_completion(self._keep(new, incoming))
        except BaseException:
            await run_to_completion(workers.run(incoming.discard))
            await run_to_completion(workspaces.release(new.user_id, booked))
            raise

    async def _keep(self, new: StoredFile, incoming: IncomingFile) -> StoredFile:
        run = self._workspaces.workers.run
        await run(partial(incoming.put, new.stored_name))
        file = replace(new, byte_size=incoming.size, sha256=incoming.sha256)
        row = insert(files).values(**asdict(file))
        await self._database.write(lambda c: c.execute(row).rowcount)
        await run(incoming.close)
        return file

    # -- reading ----------------------------------------------------------------------------

    async def get(self, file_id: str, *, owner: str) -> StoredFile:
        """Return one of the owner's files.

        Raises:
            FileNotFound: there is none, or it is another's.
        """
        return (await self.get_all([file_id], owner=owner))[0]

    async def get_all(self, file_ids: Sequence[str], *, owner: str) -> builtins.list[StoredFile]:
        """Return the owner's files with these ids, in this order, each once.

        Raises:
            FileNotFound: one is not there, or another's.
            BadInput: there are more than a message may name.
        """
        wanted = list(dict.fromkeys(file_ids))
        if len(wanted) > MAX_ATTACHED:
            raise BadInput(f"A message names at most {MAX_ATTACHED} files.")
        if not wanted:
            return []
        found = {file.file_id: file for file in await self._find(wanted, owner)}
        for file_id in wanted:
            if file_id not in found:
                raise _file_not_found(file_id)
        return [found[file_id] for file_id in wanted]

    async def _find(self, wanted: builtins.list[str], owner: str) -> builtins.list[StoredFile]:
        keepable = [file_id for file_id in wanted if is_storable(file_id)]
        return await self._select(_C.user_id == owner, _C.file_id.in_(keepable))

    async def list(
        self, owner: str, *, limit: int = 100, offset: int = 0
    ) -> tuple[builtins.list[StoredFile], int]:
        """Return a page of the owner's files, newest first, and how many there are."""
        mine = _C.user_id == owner
        counted = select(func.count()).select_from(files).where(mine)
        total = int(await self._database.read(lambda c: c.execute(counted).scalar_one()))
        return await self._select(mine, limit=limit, offset=offset), total

    async def open(
        self, file_id: str, *, owner: str, filename: str | None = None
    ) -> tuple[StoredFile, Callable[[], Generator[bytes]]]:
        """Return one of the owner's files and an iterator of its content, which blocks.

        With a `filename`, it must be the file's own. The first piece raises `FileNotFound` if the
        content is gone.

        Raises:
            FileNotFound: as `get`.
        """
        file = await self.get(file_id, owner=owner)
        if filename is not None and filename != file.filename:
            raise _file_not_found(file_id)
        jail = Jail(await self._workspaces.prepare_storage(owner))
        return file, partial(iter_content, jail, file)

    async def preview(self, file_id: str, *, owner: str) -> Preview:
        """Return the beginning of one of the owner's text files.

        Raises:
            FileNotFound: as `get`, or the content is gone.
            BadInput: it is no text.
        """
        file = await self.get(file_id, owner=owner)
        if not is_text(file.filename):
            raise BadInput("Only text files have a preview. Download the file instead.")
        jail = Jail(await self._workspaces.prepare_storage(owner))
        return await self._workspaces.workers.search(partial(read_preview, jail, file))

    async def copy(self, file: StoredFile, place: Path) -> None:
        """Copy a file's content to a new file outside the workspace.

        Raises:
            FileNotFound: the content is gone.
            OSError: the place is taken or cannot be written to.
        """
        jail = Jail(await self._workspaces.prepare_storage(file.user_id))
        await run_to_completion(
            self._workspaces.workers.search(partial(copy_content, jail, file, place))
        )

    # -- ends -------------------------------------------------------------------------------

    async def delete(self, file_id: str, *, owner: str) -> None:
        """Delete one of the owner's files and release its bytes.

        Raises:
            FileNotFound: as `get`.
        """
        file = await self.get(file_id, owner=owner)
        await run_to_completion(self._delete(file))

    async def delete_session(self, session_id: str, *, owner: str) -> int:
        """Delete the files created in one of the owner's sessions, and return how many."""
        made = await self._select(_C.user_id == owner, _C.session_id == session_id)
        for file in made:
            with suppress(FileNotFound):  # another was quicker
                await run_to_completion(self._delete(file))
        return len(made)

    async def _delete(self, file: StoredFile) -> None:
        """Delete the row first: of two concurrent calls only one then succeeds."""
        gone = delete(files).where(_C.file_id == file.file_id)
        if not await self._database.write(lambda c: c.execute(gone).rowcount):
            raise _file_not_found(file.file_id)
        jail = Jail(await self._workspaces.prepare_storage(file.user_id))
        freed = await self._workspaces.workers.run(partial(remove_content, jail, file.path))
        await self._workspaces.release(file.user_id, freed)
        for forget in self._on_delete:
            await forget(file)

    async def _select(
        self, *conditions: ColumnElement[bool], limit: int | None = None, offset: int | None = None
    ) -> builtins.list[StoredFile]:
        wanted = select(files).where(*conditions).order_by(_C.created_at.desc(), _C.file_id)
        page = wanted.limit(limit).offset(offset)
        rows = await self._database.read(lambda c: c.execute(page).mappings().all())
        return [StoredFile(**{str(name): row[name] for name in row}) for row in rows]


def _new_file(
    owner: str,
    name: str,
    origin: Origin,
    *,
    session_id: str | None = None,
    run_id: str | None = None,
) -> StoredFile:
    file_id, now = uuid4().hex, datetime.now(UTC)
    return StoredFile(
        file_id=file_id,
        user_id=owner,
        origin=origin,
        filename=name,
        stored_name=f"{file_id}{extension_of(name)}",
        content_type=content_type_of(name),
        byte_size=0,
        sha256="",
        created_at=now.replace(microsecond=now.microsecond // 1000 * 1000),  # as it is stored
        session_id=session_id,
        run_id=run_id,
    )


async def _single_chunk(content: bytes) -> AsyncIterator[bytes]:
    yield content


async def _in_chunks(content: AsyncIterable[bytes]) -> AsyncGenerator[bytes]:
    """Yield the same bytes in pieces large enough to reserve one by one."""
    held = bytearray()
    async for piece in content:
        held += piece
        if len(held) >= _PIECE:
            yield bytes(held)
            held.clear()
    if held:
        yield bytes(held)


def _checked(incoming: IncomingFile, filename: str) -> None:
    if incoming.size == 0:
        raise BadFile("The file is empty.")
    check_content(incoming.content, filename)


def _too_large(max_bytes: int) -> UploadTooLarge:
    return UploadTooLarge(
        f"The file has more than {max_bytes} bytes, the most that can be uploaded. Split it.",
        details={"max_bytes": max_bytes},
    )


def _file_not_found(file_id: str) -> FileNotFound:
    return FileNotFound(f"There is no file {file_id[:64]!r}. List your files to see them.")
