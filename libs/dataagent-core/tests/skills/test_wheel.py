"""A wheel has our skills and packages, too, also one that is built from a source distribution."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import dataagent_core
from dataagent_core.agents.packages import shipped_packages
from dataagent_core.skills import shipped_skills

LIBRARY = Path(__file__).parents[2]
REPOSITORY = LIBRARY.parents[1]


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


def tree(folder: Path) -> dict[str, bytes]:
    """Path and content of what is to be shipped below a folder."""
    files = (path for path in folder.rglob("*") if path.suffix in (".md", ".py"))
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


@pytest.mark.slow
def test_a_wheel_brings_skills_and_packages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, agents = tree(shipped_skills()), tree(shipped_packages())
    assert shipped_skills() == REPOSITORY / "skills" / "custom"
    assert shipped_packages() == REPOSITORY / "packages"
    with tarfile.open(built("sdist", LIBRARY, tmp_path / "sdist")) as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    for name, source in {"a": LIBRARY, "b": next((tmp_path / "unpacked").iterdir())}.items():
        with zipfile.ZipFile(built("wheel", source, tmp_path / f"wheel-{name}")) as wheel:
            wheel.extractall(tmp_path / name)
        package = tmp_path / name / "dataagent_core"
        monkeypatch.setattr(dataagent_core, "__file__", str(package / "__init__.py"))
        assert shipped_skills().is_relative_to(package)
        assert (tree(shipped_skills()), tree(shipped_packages())) == (ours, agents)
