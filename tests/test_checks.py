"""The project's own checks find what they are for."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from scripts import check_dependencies, check_files, check_names, mutants
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
def test_files_that_must_not_be_committed_are_found(tmp_path: Path, name: str, text: str) -> None:
    assert list(check_files.problems(written(tmp_path, name, text)))


@pytest.mark.parametrize("text", ["root: /", "GET /work", "~/.dataagent", "https://example.org/a"])
def test_ordinary_text_is_accepted(tmp_path: Path, text: str) -> None:
    assert list(check_files.problems(written(tmp_path, "a.py", text))) == []


def deptry_problem(code: str, module: str, line: int | None) -> dict[str, object]:
    return {
        "error": {"code": code, "message": f"{module} it is"},
        "module": module,
        "location": {"file": "a.py", "line": line, "column": None},
    }


def test_a_dependency_that_nothing_imports_needs_an_exception_and_an_exception_a_reason() -> None:
    found = [deptry_problem("DEP002", "driver", None), deptry_problem("DEP001", "missing", 3)]
    assert list(check_dependencies.complaints(found, ["driver", "imported"])) == [
        "a.py:3: missing it is",
        "'imported' is imported, or not declared: it needs no exception.",
    ]
    assert list(check_dependencies.complaints(found[:1], [])) == ["a.py: driver it is"]


def test_a_class_name_is_declared_once_but_for_the_clients_mirrors(tmp_path: Path) -> None:
    files = [
        written(tmp_path, "a.py", "class Place: ...\nclass _Part: ...\nclass Page: ...\n"),
        written(tmp_path, "b.py", "class Place: ...\nclass _Part: ...\nclass Page: ...\n"),
    ]
    assert [*check_names.declared_twice(files)] == [
        "Page is declared in a.py and in b.py",
        "Place is declared in a.py and in b.py",
    ]
    assert [*check_names.declared_twice(files[:1])] == []


def test_words_are_found_in_docstrings_and_comments_and_not_in_code(tmp_path: Path) -> None:
    text = '"""One.\n\nA visitor."""\nvisitor = "visitor"  # The Visitor.\n'
    found = check_names.words(check_names.prose(written(tmp_path, "a.py", text)), ["visitors?"])
    assert [*found] == [(3, "visitor"), (4, "visitor")]


def test_every_check_is_an_installed_program() -> None:
    assert [name for name, command in CHECKS.items() if not Path(command[0]).exists()] == []


@pytest.mark.parametrize(
    "path", sorted(mutants.CONFIGURATIONS.glob("*.toml")), ids=lambda path: path.stem
)
def test_modules_and_tests_of_the_mutation_tests_exist(path: Path) -> None:
    configuration = tomllib.loads(path.read_text(encoding="utf-8"))["cosmic-ray"]
    words = configuration["test-command"].split()
    named = [*configuration["module-path"], *(word for word in words if word.startswith("libs/"))]
    assert [name for name in named if not (ROOT / name).exists()] == []
    assert len(named) > len(configuration["module-path"])


def test_project_files_leave_out_what_was_built(tmp_path: Path) -> None:
    for folder in ("node_modules", "dataagent_server/web"):
        (tmp_path / folder).mkdir(parents=True)
        written(tmp_path / folder, "a.js", "")
    source = written(tmp_path, "a.py", "")
    assert project_files(tmp_path) == [source]


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
