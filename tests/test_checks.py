"""The project's own checks find what they are for."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from scripts import check_dependencies, check_files, mutants
from scripts.check import CHECKS
from scripts.tree import ROOT, project_files
from tests.requirements import requirement


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("package-lock.json", '"resolved": "https' + '://host.example/left-pad.tgz"'),
        ("pip.conf", "index-url = https" + "://host.example/simple"),
        (".npmrc", "registry=https" + "://host.example/"),
        ("a.py", "URL = 'https" + "://pypi" + ".org/simple'"),
        ("a.py", "PATH = '/ho" + "me/somebody/data'"),
        ("uv.lock", "version = 1"),
        ("data.db", ""),
        ("process.lock", ""),
        ("server.log", "started"),
        ("shop", "SQLite format 3\0"),
        ("id_rsa", "-----BEGIN " + "OPENSSH PRIVATE KEY-----"),
        ("a.py", "x = 1  # pyright: ignore[reportUnknownMemberType] " + "because " * 7),
    ],
)
def test_what_must_not_be_committed_is_found(tmp_path: Path, name: str, text: str) -> None:
    assert list(check_files.problems(written(tmp_path, name, text)))


@pytest.mark.parametrize("text", ["root: /", "GET /work", "~/.dataagent", "https://example.org/a"])
def test_ordinary_text_is_not_taken_for_one(tmp_path: Path, text: str) -> None:
    assert list(check_files.problems(written(tmp_path, "a.py", text))) == []


def deptry_said(code: str, module: str, line: int | None) -> dict[str, object]:
    return {
        "error": {"code": code, "message": f"{module} it is"},
        "module": module,
        "location": {"file": "a.py", "line": line, "column": None},
    }


def test_a_dependency_that_nothing_imports_needs_an_exception_and_an_exception_a_reason() -> None:
    found = [deptry_said("DEP002", "driver", None), deptry_said("DEP001", "missing", 3)]
    assert list(check_dependencies.complaints(found, ["driver", "imported"])) == [
        "a.py:3: missing it is",
        "'imported' is imported, or not declared: it needs no exception.",
    ]
    assert list(check_dependencies.complaints(found[:1], [])) == ["a.py: driver it is"]


def test_every_check_is_a_program_that_exists() -> None:
    assert [name for name, command in CHECKS.items() if not Path(command[0]).exists()] == []


def test_what_is_changed_to_try_the_tests_is_there_and_so_are_they() -> None:
    named = [name for part in mutants.PARTS.values() for name in (*part.modules, *part.tests)]
    assert [name for name in named if not list(ROOT.glob(name))] == []


def test_project_files_leave_out_what_was_built(tmp_path: Path) -> None:
    for folder in ("node_modules", "dataagent_server/web"):
        (tmp_path / folder).mkdir(parents=True)
        written(tmp_path / folder, "a.js", "")
    kept = written(tmp_path, "a.py", "")
    assert project_files(tmp_path) == [kept]


@requirement("S9.2")
def test_make_without_a_target_lists_the_targets() -> None:
    environment = {**os.environ, "MAKEFLAGS": ""}
    result = subprocess.run(
        ["make"], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    listed = set(re.findall(r"make ([a-z-]+) ", result.stdout))
    assert {"run", "test", "check", "fmt", "bench", "docs", "clean", "web"} <= listed
    assert "Nothing to be done" not in result.stdout


def test_ci_runs_the_checks_and_the_tests() -> None:
    script = ROOT / ".ci/run"
    assert os.access(script, os.X_OK)
    assert "make check test" in script.read_text(encoding="utf-8").splitlines()
