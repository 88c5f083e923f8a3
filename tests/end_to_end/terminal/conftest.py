"""A person's machine: a project folder, a home, and the program in a terminal there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

import pytest

from tests.end_to_end.terminal.screen import Screen
from tests.programs import quick

PROMPT = "❯"
READY = "manual: asks first"  # of the line at the bottom, which the early prompt has not
SALES = "region,month,total\nnorth,2024-01,10.10\nsouth,2024-01,20.20\nnorth,2024-02,0.30\n"


class StartTerminal(Protocol):
    """Starts the program in a terminal of a size, with settings."""

    def __call__(
        self, *words: str, columns: int = 80, rows: int = 24, **settings: str
    ) -> Screen: ...


@pytest.fixture
def place() -> Iterator[Path]:
    """Where everything is. Its name is always as long: what is wrapped is wrapped alike."""
    with TemporaryDirectory(prefix="da-", dir="/tmp") as folder:
        yield Path(folder)


@pytest.fixture
def project(place: Path) -> Path:
    """The folder the person stands in."""
    folder = place / "shop"
    folder.mkdir()
    (folder / "sales.csv").write_text(SALES, encoding="utf-8")
    (folder / "notes.md").write_text("# Notes\n\nfirst\n", encoding="utf-8")
    return folder


@pytest.fixture
def start_terminal(place: Path, project: Path) -> Iterator[StartTerminal]:
    with ExitStack() as stack:

        def start(*words: str, columns: int = 80, rows: int = 24, **settings: str) -> Screen:
            env = {
                "PATH": os.environ["PATH"],
                "HOME": str(place),
                "DATAAGENT_HOME": str(place / "data"),
                "DATAAGENT_MODEL": "scripted",
                **settings,
            }
            argv = [quick("dataagent"), *words]
            screen = Screen(argv, cwd=project, env=env, columns=columns, rows=rows)
            return stack.enter_context(screen)

        yield start
