"""Files and directories that only their owner can read."""

from __future__ import annotations

import logging
import os
import stat
from contextlib import suppress
from pathlib import Path

from dataagent_core.errors import Misconfigured


def write_private(path: Path, text: str) -> None:
    """Replace a file's text atomically.

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


logger = logging.getLogger(__name__)
_OTHERS = 0o077
_MADE_BY_US = frozenset(
    {
        *("config.toml", "sources.yaml", "dataagent.db", "dataagent.log", "process.lock"),
        *(
            "artifacts",
            "mcp-homes",
            "mcp-trust.json",
            "memories",
            "sample",
            "sources",
            "workspaces",
        ),
    }
)
_MADE_BY_THE_SYSTEM = frozenset({"lost+found"})


def create_private_home(home: Path) -> Path:
    """Create the data directory, or close it to other users, and the files in it.

    Its mode is changed only if it is empty or holds what we made: closing `/tmp` or `/` would break
    the machine.

    Raises:
        Misconfigured: other users can read it, and that is not ours to change.
        OSError: it cannot be created.
    """
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    status = home.stat()
    if status.st_mode & _OTHERS:
        _close_home(home, status)
    with os.scandir(home) as entries:
        for entry in entries:
            if entry.is_file(follow_symlinks=False):
                restrict_to_owner(Path(entry.path))
    return home


def restrict_to_owner(file: Path) -> None:
    """Remove other users' rights from a file, if it is ours."""
    with suppress(OSError):
        mode = stat.S_IMODE(file.lstat().st_mode)
        if mode & _OTHERS:
            file.chmod(mode & ~_OTHERS)
            logger.warning("%s could be used by other users (mode %o); now it cannot", file, mode)


def _close_home(home: Path, status: os.stat_result) -> None:
    mode = stat.S_IMODE(status.st_mode)
    if status.st_uid != os.geteuid():
        why = f"it belongs to another user (id {status.st_uid})"
    elif not _is_ours(home):
        why = "it holds files that are not DataAgent's"
    else:
        try:
            home.chmod(mode & ~_OTHERS)
        except OSError as error:
            why = error.strerror or str(error)
        else:
            logger.warning("%s was open to other users (mode %o); now it is not", home, mode)
            return
    raise Misconfigured(
        f"Other users can read the data directory {home} (mode {mode:o}), and DataAgent does not "
        f"close it: {why}.",
        details={"hint": f"chmod 700 {home}, or set DATAAGENT_HOME to a directory of its own."},
    )


def _is_ours(home: Path) -> bool:
    names = set(os.listdir(home)) - _MADE_BY_THE_SYSTEM
    return not names or not names.isdisjoint(_MADE_BY_US)
