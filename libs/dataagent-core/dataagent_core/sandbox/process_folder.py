"""Folders for the time a process lives. One that was killed cannot take its own away."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path


def process_folder(prefix: str) -> Path:
    """A new folder of this process, for its user alone; those of dead processes are taken away."""
    for old in Path(tempfile.gettempdir()).glob(f"{prefix}*-*"):
        pid = old.name.removeprefix(prefix).partition("-")[0]
        if pid.isdigit() and not Path("/proc", pid).exists():
            shutil.rmtree(old, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=f"{prefix}{os.getpid()}-"))
