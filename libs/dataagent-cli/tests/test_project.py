"""Which folder the agent works in."""

from __future__ import annotations

import io
import os
from pathlib import Path
from unittest.mock import ANY

import pytest

from dataagent_cli.arguments import parse
from dataagent_cli.main import run
from dataagent_cli.project import in_project
from dataagent_cli.streams import Streams
from dataagent_core.config import Settings

from .pseudo_terminal import FROM_NOTHING, Terminal

WRITE = '!tool write_file {"file_path": "/note.txt", "content": "kept"}\n!echo written'


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder the person stands in."""
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def dataagent(*words: str) -> str:
    """What is printed by a program that ends well."""
    out, err = io.StringIO(), io.StringIO()
    assert (run(parse(words), Streams(out, err, None)), err.getvalue()) == (0, ANY)
    return out.getvalue()


def test_the_agent_works_in_the_folder_the_person_stands_in(here: Path) -> None:
    assert dataagent("-p", WRITE, "--auto-approve") == "written\n"
    assert (here / "note.txt").read_text() == "kept"
    assert [path.name for path in here.iterdir()] == ["note.txt"]


def test_without_a_project_the_agent_has_a_folder_of_its_own(here: Path, home: Path) -> None:
    assert dataagent("-p", WRITE, "--auto-approve", "--no-project") == "written\n"
    assert list(here.iterdir()) == []
    assert [path.read_text() for path in home.glob("workspaces/*/note.txt")] == ["kept"]


@pytest.mark.parametrize("place", ["person", ".", "/", "gone"])
def test_home_and_what_is_above_it_is_no_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "person"))
    monkeypatch.setenv("DATAAGENT_HOME", str(tmp_path / "elsewhere" / "data"))
    for name in ("person", "gone"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / place)
    if place == "gone":
        (tmp_path / "gone").rmdir()
    settings, line = in_project(Settings(), is_off=False)
    assert settings.project is None
    assert line is not None
    assert "works in a folder of its own" in line
    assert "\n" not in line


@pytest.mark.slow
def test_a_conversation_is_held_in_a_folder_that_is_gone(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = [each for each in os.environ.get("PYTHONPATH", "").split(os.pathsep) if each]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(named))  # an empty one would be this folder
    here.rmdir()
    terminal = Terminal(program=FROM_NOTHING)
    try:
        terminal.wait_for("this folder no longer exists")
        terminal.wait_for("❯")
        terminal.type("!echo about @nothing there\r")
        terminal.wait_for("about @nothing there")
        terminal.wait_for("❯")
        terminal.type("/init\r")
        terminal.wait_for("error: This folder no longer exists.")
        terminal.type("/quit\r")
        assert terminal.leave() == 0
    finally:
        terminal.end()


def test_a_folder_with_our_own_data_in_it_is_no_project(here: Path) -> None:
    settings, line = in_project(Settings(home=here / "data"), is_off=False)
    assert (settings.project, line is None) == (None, False)


def test_a_project_that_is_set_stays_unless_none_is_wanted(here: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    given = Settings(home=tmp_path / "data", project=other)
    assert in_project(given, is_off=False)[0].project == other
    assert in_project(given, is_off=True) == (given.model_copy(update={"project": None}), None)
    assert parse(["--no-project"]).is_projectless
    assert not parse([]).is_projectless
