"""Installed from wheels into an empty environment, both programs work without the checkout."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
UV = str(Path(sys.executable).with_name("uv"))
LIBRARIES = sorted(path.parent for path in ROOT.glob("libs/*/pyproject.toml"))


def run(*command: str, **more: str) -> str:
    """What a program prints; its complaint if it fails."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    ended = subprocess.run(
        command, env={**kept, **more}, capture_output=True, text=True, check=False, cwd=more["HOME"]
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All our wheels, built as `make wheels` builds them."""
    folder = tmp_path_factory.mktemp("wheels")
    subprocess.run([sys.executable, "-m", "scripts.wheels", str(folder)], cwd=ROOT, check=True)
    return folder


def install(package: str, wheels: Path, folder: Path) -> None:
    """Make an environment that has a package and what it needs, no more."""
    subprocess.run([UV, "venv", "-q", str(folder), "--python", sys.executable], check=True)
    python = str(folder / "bin" / "python")
    command = [UV, "pip", "install", "-q", "--python", python, "--find-links", str(wheels)]
    pins = ["--constraints", str(ROOT / "constraints.txt")]
    subprocess.run([*command, *pins, package], check=True)


@pytest.fixture(scope="module")
def programs(wheels: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment with `dataagent`."""
    folder = tmp_path_factory.mktemp("installed")
    install("dataagent", wheels, folder)
    return folder / "bin"


def test_the_client_brings_little(wheels: Path, tmp_path: Path) -> None:
    install("dataagent-client", wheels, tmp_path / "client")
    python = str(tmp_path / "client" / "bin" / "python")
    [packages] = (tmp_path / "client").glob("lib/python*/site-packages")
    assert {path.name.partition("-")[0] for path in packages.glob("dataagent_*.dist-info")} == {
        "dataagent_client",
        "dataagent_protocol",
    }
    assert sum(path.stat().st_size for path in packages.rglob("*") if path.is_file()) < 20e6
    said = run(python, "-c", "import dataagent_client; print('ready')", HOME=str(tmp_path))
    assert said.strip() == "ready"


def test_every_library_has_a_wheel_with_its_types(wheels: Path) -> None:
    names = {path.name.partition("-")[0] for path in wheels.glob("*.whl")}
    assert names == {library.name.replace("-", "_") for library in LIBRARIES}
    for wheel in wheels.glob("*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            assert any(name.endswith("/py.typed") for name in archive.namelist()), wheel.name


def test_the_servers_wheel_carries_the_web_app(wheels: Path) -> None:
    [server] = wheels.glob("dataagent_server-*.whl")
    with zipfile.ZipFile(server) as archive:
        assert "dataagent_server/web/index.html" in archive.namelist()


def test_the_terminal_answers_a_question_with_its_figure(programs: Path, tmp_path: Path) -> None:
    home = {"HOME": str(tmp_path), "DATAAGENT_HOME": str(tmp_path / "data")}
    assert run(str(programs / "dataagent"), "--version", **home).startswith("dataagent 0.1.0")
    said = run(str(programs / "dataagent"), "-p", "How many albums are there?", **home)
    counted = run(str(programs / "dataagent"), "sql", "SELECT COUNT(*) FROM Album", **home)
    figure = next(word for word in counted.split() if word.isdigit())
    assert figure in said
    assert run(str(programs / "python"), "-m", "dataagent", "--version", **home).strip()


def test_the_server_finds_itself_complete(programs: Path, tmp_path: Path) -> None:
    home = {"HOME": str(tmp_path), "DATAAGENT_HOME": str(tmp_path / "data")}
    said = run(str(programs / "dataagent-server"), "doctor", DATAAGENT_PORT="0", **home)
    assert "fail" not in said.lower()
