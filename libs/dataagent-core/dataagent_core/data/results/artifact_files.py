"""Where artefacts' files are, and the bytes that are booked while one is being written.

A path is made of ids alone: the user's, which the server made, and the artefact's. One that could
not be a plain name is refused. Above: `artifacts.py`. Below: the file system, `workspace/quota.py`.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Literal
from uuid import uuid4

from dataagent_core.errors import ArtifactNotFound, OutsideWorkspace
from dataagent_core.workspace.quota import QuotaLedger

ArtifactFileKind = Literal["table", "chart", "file"]

_SUFFIXES: dict[ArtifactFileKind, str] = {"table": ".parquet", "chart": ".json", "file": ".bin"}
_SAFE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@+-]{0,63}")
_BOOKING_TIMEOUT_SECONDS = 60.0


class ArtifactFiles:
    """The files of all users, below one folder."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def path(self, user_id: str, artifact_id: str, kind: ArtifactFileKind) -> Path:
        """Where an artefact's file is or would be.

        Raises:
            OutsideWorkspace: an id cannot be a file's name.
        """
        return self._root / _safe(user_id) / f"{_safe(artifact_id)}{_SUFFIXES[kind]}"

    def prepare_path(self, user_id: str, artifact_id: str, kind: ArtifactFileKind) -> Path:
        """As `path`, with its folder made, for this process's user only."""
        path = self.path(user_id, artifact_id, kind)
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        return path

    def write(self, path: Path, content: bytes) -> None:
        """Write a file whole or not at all."""
        partial = path.with_name(f".{path.name}.{uuid4().hex}.part")
        try:
            with os.fdopen(
                os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb"
            ) as f:
                f.write(content)
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)

    def older_than(self, moment: datetime) -> Iterator[Path]:
        """Every file last written before the moment, half-written ones among them."""
        for path in self._root.glob("*/*"):
            if path.is_file() and path.stat().st_mtime < moment.timestamp():
                yield path


def artifact_id_of(path: Path) -> str:
    """The id in a file's name, half-written or whole."""
    return path.name.lstrip(".").partition(".")[0]


def no_such_artifact(artifact_id: str) -> ArtifactNotFound:
    """The error of an artefact that is not there, or no more."""
    return ArtifactNotFound(
        f"There is no artefact {artifact_id[:64]!r}. It may have expired: run its query again."
    )


@contextmanager
def translate_missing_file(artifact_id: str) -> Generator[None]:
    """Read an artefact's file inside. It may go at any moment, and the artefact with it.

    Raises:
        ArtifactNotFound: the file is gone.
    """
    try:
        yield
    except FileNotFoundError as error:
        raise no_such_artifact(artifact_id) from error


class QuotaReservation:
    """The bytes booked for one file on its user's quota."""

    def __init__(self, ledger: QuotaLedger, user_id: str, quota: int) -> None:
        """Book on the ledger from the running loop."""
        self._ledger = ledger
        self._user_id = user_id
        self._quota = quota
        self._loop = asyncio.get_running_loop()
        self._is_over = False
        self._booked = 0

    async def grow(self, size: int) -> None:
        """Book what is missing to `size` bytes.

        Raises:
            QuotaExceeded: the user has no room for it.
            ArtifactNotFound: the file was given up meanwhile.
        """
        if self._is_over:
            raise ArtifactNotFound("The artefact was given up while it was being written.")
        more = size - self._booked
        if more > 0:
            await self._ledger.reserve(self._user_id, more, self._quota)
            self._booked = size

    def grow_from_thread(self, size: int) -> None:
        """As `grow`, from a worker thread."""
        growing = asyncio.run_coroutine_threadsafe(self.grow(size), self._loop)
        growing.result(_BOOKING_TIMEOUT_SECONDS)

    async def settle(self, size: int) -> None:
        """Book exactly `size` bytes and no more from now on."""
        await self.grow(size)
        if self._booked > size:
            await self._ledger.release(self._user_id, self._booked - size)
            self._booked = size

    async def release(self) -> None:
        """Give everything back; a thread that still writes is refused from now on."""
        self._is_over = True
        freed, self._booked = self._booked, 0
        if freed:
            await self._ledger.release(self._user_id, freed)


class ArtifactSlot:
    """Where one new table is being written."""

    def __init__(self, artifact_id: str, path: Path, reservation: QuotaReservation) -> None:
        """A path that does not exist yet, and the booking for its bytes."""
        self.artifact_id = artifact_id
        self.path = path
        self.reservation = reservation
        self.is_kept = False

    def on_bytes(self, size: int) -> None:
        """For `keep`, from its worker thread: book what the file has grown to.

        Raises:
            QuotaExceeded: the user has no room for it.
        """
        self.reservation.grow_from_thread(size)


def _safe(name: str) -> str:
    if not _SAFE_ID.fullmatch(name):
        raise OutsideWorkspace(
            f"Permission denied: {name[:80]!r} cannot name a file. Letters, digits and "
            "'_.@+-' only, at most 64, starting with a letter or digit."
        )
    return name
