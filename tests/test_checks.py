"""The project's own checks find what they are for."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from dataagent_core.config import Settings
from scripts import check_addresses, check_sizes, settings_reference
from scripts.check import CHECKS
from scripts.tree import ROOT, project_files


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_function_of_40_lines_is_too_long_and_one_of_39_is_not(tmp_path: Path) -> None:
    body = ["    x = 1"] * 38
    fits = written(tmp_path, "fits.py", "\n".join(["def f():", *body]))
    long = written(tmp_path, "long.py", "\n".join(["def f():", *body, "    x = 1"]))
    assert list(check_sizes.too_long(fits)) == []
    assert len(list(check_sizes.too_long(long))) == 1


def test_a_docstring_does_not_count_as_lines_of_its_function(tmp_path: Path) -> None:
    lines = ["async def f():", '    """One.', *["    more"] * 20, '    """', *["    x = 1"] * 38]
    assert list(check_sizes.too_long(written(tmp_path, "f.py", "\n".join(lines)))) == []


def test_a_file_of_401_lines_is_too_long(tmp_path: Path) -> None:
    assert list(check_sizes.too_long(written(tmp_path, "a.ts", "x\n" * 400))) == []
    assert len(list(check_sizes.too_long(written(tmp_path, "b.ts", "x\n" * 401)))) == 1


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("package-lock.json", '"resolved": "https' + '://host.example/left-pad.tgz"'),
        ("pip.conf", "index-url = https" + "://host.example/simple"),
        (".npmrc", "registry=https" + "://host.example/"),
        ("a.py", "URL = 'https" + "://pypi" + ".org/simple'"),
        ("a.py", "PATH = '/ho" + "me/somebody/data'"),
        ("uv.lock", "version = 1"),
    ],
)
def test_an_address_or_machine_path_is_found(tmp_path: Path, name: str, text: str) -> None:
    assert list(check_addresses.problems(written(tmp_path, name, text)))


@pytest.mark.parametrize("text", ["root: /", "GET /work", "~/.dataagent", "https://example.org/a"])
def test_ordinary_text_is_not_taken_for_one(tmp_path: Path, text: str) -> None:
    assert list(check_addresses.problems(written(tmp_path, "a.py", text))) == []


def test_every_check_is_a_program_that_exists() -> None:
    assert [name for name, command in CHECKS.items() if not Path(command[0]).exists()] == []


def test_project_files_leave_out_what_was_built(tmp_path: Path) -> None:
    (tmp_path / "node_modules").mkdir()
    written(tmp_path / "node_modules", "a.js", "")
    kept = written(tmp_path, "a.py", "")
    assert project_files(tmp_path) == [kept]


def test_the_settings_page_names_every_setting() -> None:
    page = settings_reference.page()
    missing = [name for name in Settings.model_fields if name.upper() not in page]
    assert missing == []


def test_make_without_a_target_lists_the_targets() -> None:
    environment = {**os.environ, "MAKEFLAGS": ""}
    result = subprocess.run(
        ["make"], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    listed = set(re.findall(r"make ([a-z-]+) ", result.stdout))
    assert {"run", "test", "check", "fmt", "bench", "docs", "clean"} <= listed
    assert "Nothing to be done" not in result.stdout


def test_ci_runs_the_checks_and_the_tests() -> None:
    script = ROOT / ".ci/run"
    assert os.access(script, os.X_OK)
    assert "make check test" in script.read_text(encoding="utf-8")
