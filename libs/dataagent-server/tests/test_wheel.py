"""A wheel brings the web app, once it is built, though git does not have it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

LIBRARY = Path(__file__).parents[1]
REPOSITORY = LIBRARY.parents[1]
APP = {"dataagent_server/web/index.html", "dataagent_server/web/assets/main-1.js"}


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """The library in a repository of its own, which ignores what ours does."""
    repository = tmp_path / "repository"
    library = repository / LIBRARY.relative_to(REPOSITORY)
    shutil.copytree(LIBRARY, library, ignore=_tests_and_app)
    (repository / ".git").mkdir()
    shutil.copy(REPOSITORY / ".gitignore", repository)
    return library


def _tests_and_app(folder: str, _: list[str]) -> set[str]:
    left_out = {LIBRARY: {"tests"}, LIBRARY / "dataagent_server": {"web"}}
    return left_out.get(Path(folder), set())


def build_app(library: Path) -> None:
    for name in APP:
        file = library / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("built")


def built(kind: str, source: Path, target: Path) -> Path:
    """Build a distribution as an installer does, without an index."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(target)],
        cwd=source,
        check=True,
        capture_output=True,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )
    return next(target.iterdir())


def app_in(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if name.startswith("dataagent_server/web/")}


def test_a_wheel_brings_the_app_once_it_is_built(library: Path, tmp_path: Path) -> None:
    assert app_in(built("wheel", library, tmp_path / "before")) == set()
    build_app(library)
    assert app_in(built("wheel", library, tmp_path / "after")) == APP


def test_a_wheel_of_a_source_distribution_brings_it_too(library: Path, tmp_path: Path) -> None:
    build_app(library)
    with tarfile.open(built("sdist", library, tmp_path / "sdist")) as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    source = next((tmp_path / "unpacked").iterdir())
    assert app_in(built("wheel", source, tmp_path / "wheel")) == APP
