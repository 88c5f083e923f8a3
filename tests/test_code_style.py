"""The rules of the code that a program can check, read from the source itself.

`make check` runs ruff with the project's own configuration; the rules that are requirements are
asked here with a configuration of their own, so that loosening the project's does not loosen them.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.tree import python_files
from tests.requirements import requirement
from tests.source import LIBS, PACKAGES, ROOT, modules, nodes, project, tree
from tests.waiting import WAIT_SECONDS

SOURCES = [path for package in PACKAGES for path in modules(package)]
TYPING_ALIASES = {"List", "Dict", "Set", "FrozenSet", "Tuple", "Type", "Optional"}
CALLBACK_PARAMETERS = {"callback", "errback", "on_success", "on_error", "on_done"}
OLD_ASYNC = {"run_until_complete", "get_event_loop", "coroutine"}


def ruff(*arguments: str, paths: list[Path]) -> str:
    """What ruff finds with these rules alone."""
    command = [str(Path(sys.executable).with_name("ruff")), "check", "--isolated", "--no-cache"]
    result = subprocess.run(
        [*command, "--output-format=concise", "--target-version=py311", *arguments, *paths],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=WAIT_SECONDS,
        check=False,
    )
    return "" if result.returncode == 0 else result.stdout + result.stderr


@pytest.mark.slow
@requirement("R10.1")
def test_every_file_is_python_3_11_and_uses_its_syntax() -> None:
    assert [
        lib.name for lib in LIBS if project(lib)["project"]["requires-python"] != ">=3.11"
    ] == []
    trees = [tree(path) for path in SOURCES]  # raises on syntax that 3.11 does not have
    assert len(trees) > 40
    assert ruff("--select=UP", "--ignore=UP040", paths=PACKAGES) == ""


@requirement("R10.1")
def test_old_syntax_would_be_found(tmp_path: Path) -> None:
    (tmp_path / "old.py").write_text("from typing import Optional\nx: Optional[int] = None\n")
    assert "UP" in ruff("--select=UP", paths=[tmp_path])


@requirement("R10.2")
def test_the_code_follows_pep_8_with_lines_of_100() -> None:
    assert ruff("--select=E,W", "--line-length=100", paths=[ROOT / "libs", ROOT / "tests"]) == ""


@requirement("R10.2")
def test_a_line_of_101_would_be_found(tmp_path: Path) -> None:
    (tmp_path / "long.py").write_text("x = '" + "a" * 95 + "'\n")
    assert "E501" in ruff("--select=E,W", "--line-length=100", paths=[tmp_path])


@requirement("R10.2")
def test_no_line_at_all_has_more_than_100_characters() -> None:
    """Ruff lets pass what ends in an address or in a comment for a tool."""
    found = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in python_files()
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), start=1)
        if len(line) > 100
    ]
    assert found == []


@requirement("R10.3")
def test_public_functions_and_classes_have_docstrings() -> None:
    rules = "--select=D100,D101,D102,D103,D104,D419"
    assert ruff(rules, paths=PACKAGES) == ""


@requirement("R10.3")
def test_a_public_function_without_docstring_would_be_found(tmp_path: Path) -> None:
    (tmp_path / "bare.py").write_text("def public():\n    return 1\n")
    assert "D103" in ruff("--select=D103", paths=[tmp_path])


@pytest.mark.slow
@requirement("R10.4")
def test_annotations_use_built_in_generics() -> None:
    found = [
        where
        for where, node in nodes(SOURCES)
        if (
            isinstance(node, ast.ImportFrom)
            and node.module == "typing"
            and any(alias.name in TYPING_ALIASES for alias in node.names)
        )
        or (
            isinstance(node, ast.Attribute)
            and node.attr in TYPING_ALIASES
            and ast.unparse(node.value) == "typing"
        )
    ]
    assert found == []


@pytest.mark.slow
@requirement("R10.5")
def test_data_is_kept_in_dataclasses_or_models() -> None:
    by_hand = [where for where, node in nodes(SOURCES) if is_data_class_by_hand(node)]
    tuples = [
        where
        for where, node in nodes(SOURCES)
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("namedtuple")
    ]
    assert (by_hand, tuples) == ([], [])


def is_data_class_by_hand(node: ast.AST) -> bool:
    """A class of its own whose only method is an `__init__` that copies its arguments."""
    if not isinstance(node, ast.ClassDef) or node.bases or node.decorator_list:
        return False
    methods = [one for one in node.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)]
    if [method.name for method in methods] != ["__init__"]:
        return False
    body = methods[0].body
    return all(isinstance(one, ast.Assign) and isinstance(one.value, ast.Name) for one in body)


@requirement("R10.5")
@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("class A:\n    def __init__(self, x):\n        self.x = x\n", True),
        ("class A:\n    def __init__(self, x):\n        self.x = x\n    def f(self): ...\n", False),
        ("@dataclass\nclass A:\n    x: int\n", False),
    ],
)
def test_a_data_class_by_hand_is_recognised(source: str, *, expected: bool) -> None:
    assert is_data_class_by_hand(ast.parse(source).body[0]) is expected


@requirement("R10.6")
def test_asynchronous_code_does_not_call_back() -> None:
    assert [where for where, node in nodes(SOURCES) if is_callback_style(node)] == []


def is_callback_style(node: ast.AST) -> bool:
    """Old loop calls, callback parameters, or work done in a task's done-callback."""
    if isinstance(node, ast.arg):
        return node.arg in CALLBACK_PARAMETERS
    if isinstance(node, ast.Attribute):
        return node.attr in OLD_ASYNC and ast.unparse(node.value) in {"asyncio", "loop"}
    if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(".add_done_callback"):
        return not ast.unparse(node.args[0]).endswith(".discard")  # forgetting a task is no work
    return False


@requirement("R10.6")
@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("async def f(callback): ...", True),
        ("loop.run_until_complete(x)", True),
        ("task.add_done_callback(save_result)", True),
        ("task.add_done_callback(tasks.discard)", False),
        ("await task", False),
    ],
)
def test_callback_style_is_recognised(source: str, *, expected: bool) -> None:
    assert any(is_callback_style(node) for node in ast.walk(ast.parse(source))) is expected
