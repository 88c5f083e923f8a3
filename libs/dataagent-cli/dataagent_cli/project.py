"""Which folder the agent works in: the one the person stands in, where that can be a project.

What Git knows of a folder. Nothing the folder's own configuration names is run for it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataagent_core.config import Settings


_HINT = "the agent works in a folder of its own; start dataagent in a project to work there"


def working_folder() -> Path:
    """The folder the person stands in; if that is gone, a place with nothing in it."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        return Path(os.devnull)


def in_project(settings: Settings, *, is_off: bool) -> tuple[Settings, str | None]:
    """The settings with the project, and the line to say if there is none although one was wanted.

    A project that is set stays. The home directory, what is above it and what contains DataAgent's
    own data are none: an agent would have all that the person has.
    """
    if is_off:
        return settings.model_copy(update={"project": None}), None
    if settings.project is not None:
        return settings, None
    here = working_folder()
    if not here.is_dir():
        return settings, f"this folder is gone: {_HINT}"
    own = [Path("~").expanduser().resolve(), settings.home_dir.resolve()]
    if any(place.is_relative_to(here) for place in own):
        return settings, f"{here} is no project: {_HINT}"
    return settings.model_copy(update={"project": here}), None


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
