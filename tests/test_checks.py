"""The project's own checks find what they are for."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from scripts import check_addresses, check_dependencies, check_sizes, mutants
from scripts.check import CHECKS
from scripts.tree import ROOT, project_files
from tests.requirements import requirement


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_function_of_40_lines_is_too_long_and_one_of_39_is_not(tmp_path: Path) -> None:
    body = ["    x = 1"] * 38
    fits = written(tmp_path, "fits.py", "\n".join(["def f():", *body]))
    long = written(tmp_path, "long.py", "\n".join(["def f():", *body, "    x = 1"]))
    assert list(check_sizes.problems(fits)) == []
    assert len(list(check_sizes.problems(long))) == 1


def test_a_docstring_does_not_count_as_lines_of_its_function(tmp_path: Path) -> None:
    lines = ["async def f():", '    """One.', *["    more"] * 20, '    """', *["    x = 1"] * 38]
    assert list(check_sizes.problems(written(tmp_path, "f.py", "\n".join(lines)))) == []


def test_a_file_of_401_lines_is_too_long(tmp_path: Path) -> None:
    assert list(check_sizes.problems(written(tmp_path, "a.ts", "x\n" * 400))) == []
    assert len(list(check_sizes.problems(written(tmp_path, "b.ts", "x\n" * 401)))) == 1


COMPONENT = """\
export function Card({
  title,
}: Props) {
%s
}

const SMALL = { a: 1 };
"""


def test_a_component_of_151_lines_is_too_long_and_one_of_150_is_not(tmp_path: Path) -> None:
    fits = written(tmp_path, "fits.tsx", COMPONENT % "\n".join(["  use();"] * 146))
    long = written(tmp_path, "long.tsx", COMPONENT % "\n".join(["  use();"] * 147))
    assert list(check_sizes.problems(fits)) == []
    assert [each.partition(": ")[2][:18] for each in check_sizes.problems(long)] == [
        "Card has 151 lines"
    ]


@pytest.mark.parametrize(
    "line",
    [
        *("const a: any = 1;", "f(x as any);", "let m: Map<string, any>;", "type A = any;"),
        *("function f(a: any[]) {}", "type B = string | any;", "// @ts-ignore", "// @ts-nocheck"),
    ],
)
def test_a_type_any_is_found(tmp_path: Path, line: str) -> None:
    assert len(list(check_sizes.problems(written(tmp_path, "a.ts", line)))) == 1


@pytest.mark.parametrize(
    "line",
    [
        *('const label = "as any, or";', "// take any, it is free", "const any_of = 1;"),
        *("isArray(any);", "f(a, any);", "const any = 1;"),
        *("use(anything);", "type C = { company: string };", "<p>Is there any?</p>"),
    ],
)
def test_the_word_any_is_not_taken_for_the_type(tmp_path: Path, line: str) -> None:
    assert list(check_sizes.problems(written(tmp_path, "a.tsx", line))) == []


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


def test_ci_runs_the_checks_the_tests_and_a_short_soak() -> None:
    script = ROOT / ".ci/run"
    assert os.access(script, os.X_OK)
    lines = script.read_text(encoding="utf-8").splitlines()
    assert "make check test" in lines
    assert "make soak ARGS='--minutes 5'" in lines
