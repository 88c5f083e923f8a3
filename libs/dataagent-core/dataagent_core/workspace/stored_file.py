"""A user's file as it is kept, and its content as it lies in the owner's workspace.

What lies there is not trusted to be what was put there: the owner's agents can change it. Reading
never follows a link out. Blocking, but for the plain values; run in a worker thread. Above:
`uploads.py`. Below: `jail.py`, `files.py`, `contents.py`.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from dataagent_core.errors import BadInput, FileNotFound, OutsideWorkspace
from dataagent_core.workspace import files as disk
from dataagent_core.workspace.contents import text_encoding
from dataagent_core.workspace.jail import Jail

Origin = Literal["upload", "generated"]
PREVIEW_BYTES = 50 * 1024
FOLDERS: dict[Origin, str] = {"upload": "uploads", "generated": "outputs"}
_PIECE = 512 * 1024


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A user's file. `filename` is what its owner calls it, `stored_name` what it lies under."""

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
        """Where it is in its owner's workspace."""
        return f"/{FOLDERS[self.origin]}/{self.stored_name}"

    def reference(self) -> dict[str, Any]:
        """What a message that names the file keeps of it."""
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
    """The content, piece by piece.

    Raises:
        FileNotFound: it is gone.
    """
    with os.fdopen(_open_content(jail, file), "rb") as stream:
        while piece := stream.read(_PIECE):
            yield piece


def read_preview(jail: Jail, file: StoredFile) -> Preview:
    """The beginning of a text.

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
    """Remove a file that its owner's agents may have removed, or replaced with its folder."""
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
