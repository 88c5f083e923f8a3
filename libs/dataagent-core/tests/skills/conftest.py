"""A workspace manager and a way to write skills."""

from __future__ import annotations

from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from dataagent_core.workspace import UserWorkspaceManager

WriteSkill = Callable[..., Path]


@pytest.fixture
def manager(tmp_path: Path) -> Generator[UserWorkspaceManager]:
    manager = UserWorkspaceManager(tmp_path / "workspaces", 10_000_000)
    yield manager
    manager.close()


@pytest.fixture
def write_skill() -> WriteSkill:
    """Writes a skill into a folder and returns its SKILL.md."""

    def write(folder: Path, name: str, description: str = "Does it.", body: str = "Do it.") -> Path:
        file = folder / name / "SKILL.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"---\nname: {name}\ndescription: {description}\n---\n{body}\n")
        return file

    return write
