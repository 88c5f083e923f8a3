"""Writes files that only their owner may read, whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path


def write_private(path: Path, text: str) -> None:
    """Put a text in the place of a file; until that is done, the old one is there.

    Raises:
        OSError: it cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    beside = path.with_name(f"{path.name}.{os.getpid()}.new")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.write(text if text.endswith("\n") else f"{text}\n")
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
