"""The folder the agent works in, and what Git says of it."""

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
    """The current folder; `/dev/null` if it no longer exists."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        return Path(os.devnull)


def in_project(settings: Settings, *, is_off: bool) -> tuple[Settings, str | None]:
    """The settings with the current folder as project, and a note if it cannot be one.

    A project that is set already stays. The home directory, folders above it and those that contain
    DataAgent's data are never a project: an agent would have access to everything of the user.
    """
    if is_off:
        return settings.model_copy(update={"project": None}), None
    if settings.project is not None:
        return settings, None
    here = working_folder()
    if not here.is_dir():
        return settings, f"this folder no longer exists: {_HINT}"
    own = [Path("~").expanduser().resolve(), settings.home_dir.resolve()]
    if any(place.is_relative_to(here) for place in own):
        return settings, f"{here} is not a project: {_HINT}"
    return settings.model_copy(update={"project": here}), None


_PATIENCE_SECONDS = 10.0
_HARMLESS = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")


def git_output(folder: Path, *words: str) -> str | None:
    """The output of a Git command; None without Git, a repository or an answer.

    Nothing that the folder's own configuration names is run.
    """
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
