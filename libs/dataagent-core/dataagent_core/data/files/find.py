"""Which files of a folder can be tables, and whether they changed since. Reads no contents.

Above: `data/sources`, which reloads a folder when its signature differs.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Sequence
from pathlib import Path

from dataagent_core.data.files.kinds import EXTENSIONS
from dataagent_core.data.files.tables import FileLimits
from dataagent_core.errors import LimitReached


def find_files(folder: Path, *, limits: FileLimits) -> list[Path]:
    """The regular files below a folder whose names say that they hold tables, in order.

    Links, hidden files and what Excel leaves while a workbook is open (`~$…`) are left out.

    Raises:
        LimitReached: there are more than may be loaded together.
    """
    found: list[Path] = []
    for parent, folders, names in os.walk(folder, followlinks=False):
        folders[:] = sorted(one for one in folders if not one.startswith("."))
        found += [
            path
            for name in sorted(names)
            if _is_table_name(name) and _is_regular(path := Path(parent, name))
        ]
        if len(found) > limits.max_files:
            raise LimitReached(f"The folder has more than {limits.max_files} files. Split it.")
    return found


def _is_table_name(name: str) -> bool:
    return not name.startswith((".", "~$")) and Path(name).suffix.lower() in EXTENSIONS


def _is_regular(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


_READING = "decimals, no totals"
"""How files are read. When that changes, what was loaded before is loaded again."""


def signature(paths: Sequence[Path]) -> str:
    """A short text that differs when a file was added, removed, renamed or written again."""
    digest = hashlib.sha256(_READING.encode())
    for path in sorted(paths):
        try:
            status = path.stat()
            state = f"{status.st_size} {status.st_mtime_ns} {status.st_ino}"
        except OSError:
            state = "missing"
        digest.update(f"{path}\0{state}\0".encode(errors="surrogateescape"))
    return digest.hexdigest()[:32]
