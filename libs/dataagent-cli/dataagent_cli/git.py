"""What Git knows of a folder. Nothing the folder's own configuration names is run for it."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

_PATIENCE_SECONDS = 10.0
_HARMLESS = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")


def git_output(folder: Path, *words: str) -> str | None:
    """What a question to Git is answered with; None: no Git, no repository, or no answer."""
    program = shutil.which("git")
    if program is None:
        return None
    try:
        done = subprocess.run(
            [program, *_HARMLESS, *words],
            cwd=folder,
            capture_output=True,
            timeout=_PATIENCE_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return None if done.returncode else os.fsdecode(done.stdout)
