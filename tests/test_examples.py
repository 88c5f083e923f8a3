"""The programs of `examples/` run as they are, and the guide shows the same ones."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest
from sqlalchemy import make_url

from scripts import wheels
from scripts.tree import ROOT
from tests.docs.pages import blocks_of
from tests.services import fresh_database

FOLDER = ROOT / "examples" / "library"
GUIDE = "docs/guides/library.md"
SAYS = {
    "first_turn": ["I am the offline model"],
    "approvals": ["write /outputs/report.md: +1", "/files/secret.md: rejected"],
    "own_tool": ["Blue is booked on Monday for ann."],
    "own_middleware": ["3 calls of the model"],
    "mysql_sessions": ["I am the offline model", "1 session of ann"],
}
PROGRAMS = [
    pytest.param(name, marks=pytest.mark.other_store) if name == "mysql_sessions" else name
    for name in SAYS
]


def environment(home: Path) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8"}


def mysql(url: str) -> dict[str, str]:
    """A database as a program is told of it."""
    at = make_url(url)
    return {
        "DATAAGENT_MYSQL_HOST": at.host or "",
        "DATAAGENT_MYSQL_PORT": str(at.port or 3306),
        "DATAAGENT_MYSQL_USER": at.username or "",
        "DATAAGENT_MYSQL_PASSWORD": at.password or "",
        "DATAAGENT_MYSQL_DATABASE": at.database or "",
    }


def follow(python: str, name: str, folder: Path) -> None:
    """Run a program in an empty folder, and look at what it says."""
    home = folder / "home"
    home.mkdir()
    with fresh_database("mysql" if name == "mysql_sessions" else "sqlite", folder) as url:
        given = mysql(url) if name == "mysql_sessions" else {}
        ran = subprocess.run(
            [python, "-X", "dev", FOLDER / f"{name}.py"],
            cwd=home,
            env=environment(home) | given,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
    assert ran.returncode == 0, ran.stderr
    assert [each for each in SAYS[name] if each not in ran.stdout] == []
    assert "nclosed" not in ran.stderr


def test_every_program_of_the_folder_is_run() -> None:
    assert {each.stem for each in FOLDER.glob("*.py")} == set(SAYS)


def test_guide_shows_the_programs_of_the_folder() -> None:
    shown = [each.text.rstrip() for each in blocks_of(GUIDE) if each.language == "python"]
    assert shown == [(FOLDER / f"{name}.py").read_text().rstrip() for name in SAYS]


@pytest.mark.parametrize("name", PROGRAMS)
def test_program_runs_in_an_empty_folder(name: str, tmp_path: Path) -> None:
    follow(sys.executable, name, tmp_path)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A Python that has the core from its wheel, and none of our libraries as they lie here.

    What the core depends on is taken from the environment of the tests, so no index is asked: what
    is installed there for being worked on is found by a `.pth` file, and those of a folder that is
    itself named by one are not read.
    """
    folder = tmp_path_factory.mktemp("installed")
    assert wheels.main([str(folder / "wheels")]) == 0
    venv.create(folder / "venv", with_pip=True)
    python = str(folder / "venv" / "bin" / "python")
    needed = [
        str(next((folder / "wheels").glob(f"dataagent_{part}-*.whl")))
        for part in ("protocol", "core", "offline")
    ]
    pip = [python, "-m", "pip", "install", "-q", "--no-index", "--no-deps", *needed]
    subprocess.run(pip, check=True, stdin=subprocess.DEVNULL)
    [packages] = (folder / "venv").glob("lib/python*/site-packages")
    (packages / "dependencies.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    return python


@pytest.mark.slow
def test_core_comes_from_the_wheel(installed: str, tmp_path: Path) -> None:
    code = "import dataagent_core; print(dataagent_core.__file__)"
    found = subprocess.check_output([installed, "-c", code], cwd=tmp_path, text=True)
    assert Path(found.strip()).is_relative_to(Path(installed).parents[1])


@pytest.mark.slow
@pytest.mark.parametrize("name", SAYS)
def test_program_runs_with_nothing_but_the_wheel(name: str, tmp_path: Path, installed: str) -> None:
    follow(installed, name, tmp_path)
