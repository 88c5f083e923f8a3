"""Which folder the agent works in: the one the person stands in, where that can be a project."""

from __future__ import annotations

import os
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
