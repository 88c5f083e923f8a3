"""A file on its way into a workspace: written beside its place, put there whole or not at all.

Blocking; run in a worker thread, one call at a time. Books no bytes and knows no database. Above:
`uploads.py`. Below: `jail.py`.
"""

from __future__ import annotations

import hashlib
import io
import os
import secrets
import time
from contextlib import suppress
from typing import BinaryIO

from dataagent_core.workspace.jail import Jail

_PART = ".incoming-"
_ABANDONED_SECONDS = 86_400.0


class IncomingFile:
    """A file for a folder of a workspace: `begin`, `write`, then `put`, `close` or `discard`."""

    def __init__(self, jail: Jail, folder: str) -> None:
        self._jail = jail
        self._folder = folder
        self._name = f"{_PART}{secrets.token_hex(8)}"
        self._directory = -1
        self._file: BinaryIO = io.BytesIO()
        self._digest = hashlib.sha256()
        self.size = 0

    def begin(self) -> None:
        """Make the file; what a process that died left in the folder is removed.

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
        """What was written, for reading."""
        self._file.flush()
        return self._file

    @property
    def sha256(self) -> str:
        """The digest of what was written."""
        return self._digest.hexdigest()

    def write(self, piece: bytes) -> None:
        """Append."""
        self._file.write(piece)
        self._digest.update(piece)
        self.size += len(piece)

    def put(self, name: str) -> None:
        """Give the file its name, once it is on the disk."""
        self._file.flush()
        os.fsync(self._file.fileno())
        os.replace(self._name, name, src_dir_fd=self._directory, dst_dir_fd=self._directory)
        self._name = name

    def discard(self) -> None:
        """Remove the file, under whatever name it is."""
        if self._directory >= 0:
            with suppress(FileNotFoundError):
                os.unlink(self._name, dir_fd=self._directory)
        self.close()

    def close(self) -> None:
        """Let go of the file."""
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
