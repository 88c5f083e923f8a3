"""Folders of skills, as read-only routes of the agent's file system.

A skill is a folder with a SKILL.md; a skill folder holds skills. Reading and parsing is deepagents'
work (`middleware/skills.py`). Above: `engine/factory.py` adds the routes and names the sources.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from deepagents.backends.protocol import BackendProtocol

from dataagent_core.workspace import UserWorkspaceManager


@dataclass(frozen=True, slots=True)
class SkillFolder:
    """A directory of skills; the label says whose they are (`Shipped`, `Custom`, …)."""

    label: str
    directory: Path


def skill_routes(
    folders: Sequence[SkillFolder], manager: UserWorkspaceManager
) -> tuple[dict[str, BackendProtocol], list[tuple[str, str]]]:
    """Routes for a `CompositeBackend` and sources for `SkillsMiddleware`.

    Folders that do not exist are left out. A skill of a later folder replaces one of the same
    name in an earlier one.
    """
    routes: dict[str, BackendProtocol] = {}
    sources: list[tuple[str, str]] = []
    for number, folder in enumerate(folders, 1):
        if folder.directory.is_dir():
            route = f"/skills/{number}/"
            routes[route] = manager.open_read_only(folder.directory)
            sources.append((route, folder.label))
    return routes, sources
