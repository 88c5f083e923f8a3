"""Every required id is named by a test that runs, and every id a test names exists.

The marks are read from the source, so this is quick and sees tests that a selection leaves out.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.requirements import REQUIRED_GROUPS, known, required

ROOT = Path(__file__).parents[1]
Test = ast.FunctionDef | ast.AsyncFunctionDef
_SWITCHED_OFF = {"skip", "skipif", "xfail"}


def named_ids(source: str) -> Iterator[str]:
    """Ids named on the tests of a file. A test that is switched off proves nothing."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, Test) or not node.name.startswith("test_"):
            continue
        calls = [one for one in node.decorator_list if isinstance(one, ast.Call)]
        names = {_last_name(one) for one in node.decorator_list}
        if names & _SWITCHED_OFF:
            continue
        for call in calls:
            if _last_name(call) == "requirement":
                yield from (_text(argument) for argument in call.args)


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Call):
        return _last_name(node.func)
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _text(node: ast.expr) -> str:
    value = node.value if isinstance(node, ast.Constant) else ast.unparse(node)
    return str(value)


def collected_files() -> list[Path]:
    """Every file that pytest would collect."""
    return sorted([*ROOT.glob("libs/*/tests/**/test_*.py"), *ROOT.glob("tests/**/test_*.py")])


@pytest.fixture(scope="module")
def marks() -> dict[str, list[str]]:
    """Each id with the files whose tests name it."""
    found: dict[str, list[str]] = {}
    for path in collected_files():
        for one in named_ids(path.read_text(encoding="utf-8")):
            found.setdefault(one, []).append(str(path.relative_to(ROOT)))
    return found


def test_every_required_id_has_a_test(marks: dict[str, list[str]]) -> None:
    missing = [f"{one}  {known()[one]}" for one in required() if one not in marks]
    assert not missing, f"{len(missing)} without a test:\n" + "\n".join(missing)


def test_every_named_id_exists(marks: dict[str, list[str]]) -> None:
    unknown = {one: places for one, places in marks.items() if one not in known()}
    assert unknown == {}


def test_every_required_group_exists() -> None:
    groups = {one.split(".")[0] for one in known()}
    assert [group for group in REQUIRED_GROUPS if group not in groups] == []


def test_ids_are_read_from_marks_of_tests_that_run() -> None:
    source = """
@requirement("R1.1", "P2")
async def test_counts(): ...

@requirement("G1")
def helper(): ...

@pytest.mark.skip
@requirement("G2")
def test_skipped(): ...

class TestThing:
    @pytest.mark.parametrize("a", [1])
    @requirement("R9.9")
    def test_inside(self, a): ...
"""
    assert sorted(named_ids(source)) == ["P2", "R1.1", "R9.9"]
