"""Which test names which requirement, read from the source.

Reading the source is quick and sees tests that a selection leaves out. What a reader can see to be
switched off does not count: `skip`, `skipif` and `xfail` on a test, its class or its file, and
`pytest.skip` in its body. What a fixture skips is noticed when the whole suite runs
(`unproven.py`).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
Test = ast.FunctionDef | ast.AsyncFunctionDef
_SWITCHED_OFF = {"skip", "skipif", "xfail", "importorskip"}
_BROWSER_TEST = re.compile(
    r'\btest\(\s*"((?:[^"\\]|\\.)*)",\s*(?:\{ \.\.\.)?(requirement\([^)]*\)|[A-Z_]+),'
)
_BROWSER_CONSTANT = re.compile(r"\bconst ([A-Z_]+) = requirement\(([^)]*)\)")
_SELECTED = re.compile(r"\b(?:test|describe)(?:\.describe)?\.(?:skip|fixme|fail|only)\(")


@dataclass(frozen=True, slots=True)
class Proof:
    """A test that names a requirement."""

    id: str
    path: str
    test: str


def proofs() -> dict[str, list[Proof]]:
    """Each id that is named, with the tests that name it."""
    found: dict[str, list[Proof]] = {}
    for path in [*collected_files(), *browser_files()]:
        source, name = path.read_text(encoding="utf-8"), str(path.relative_to(ROOT))
        read = named_in_browser_tests if path.suffix == ".ts" else named_ids
        for one, test in read(source):
            found.setdefault(one, []).append(Proof(one, name, test))
    return found


def collected_files() -> list[Path]:
    """Every file that pytest would collect."""
    return sorted([*ROOT.glob("libs/*/tests/**/test_*.py"), *ROOT.glob("tests/**/test_*.py")])


def browser_files() -> list[Path]:
    """The web app's end-to-end tests."""
    return sorted(ROOT.glob("web/e2e/*.spec.ts"))


def named_ids(source: str) -> Iterator[tuple[str, str]]:
    """Ids and the tests of a Python file that name them."""
    module = ast.parse(source)
    if any(_is_switched_off(node) for node in module.body if not isinstance(node, _Named)):
        return
    yield from _named_in(module.body)


_Named = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def _named_in(body: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    for node in body:
        if not isinstance(node, _Named) or any(map(_is_switched_off, node.decorator_list)):
            continue
        if isinstance(node, ast.ClassDef):
            yield from _named_in(node.body)
        elif node.name.startswith("test_") and not any(map(_is_switched_off, node.body)):
            yield from ((one, node.name) for one in _marked(node))


def _marked(test: Test) -> Iterator[str]:
    for mark in test.decorator_list:
        if isinstance(mark, ast.Call) and _last_name(mark.func) == "requirement":
            yield from (str(ast.literal_eval(argument)) for argument in mark.args)


def _is_switched_off(node: ast.AST) -> bool:
    """Whether `pytest.skip` or a mark of that kind is used anywhere in the node."""
    return any(
        isinstance(one, ast.Attribute)
        and one.attr in _SWITCHED_OFF
        and ast.unparse(one.value) in {"pytest", "pytest.mark"}
        for one in ast.walk(node)
    )


def _last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else ast.unparse(node)


def named_in_browser_tests(source: str) -> Iterator[tuple[str, str]]:
    """Ids and the titles of the browser tests that name them."""
    constants = dict(_BROWSER_CONSTANT.findall(source))
    for title, named in _BROWSER_TEST.findall(source):
        for one in re.findall(r'"([^"]+)"', constants.get(named, named)):
            yield one, title


def selected(source: str) -> list[str]:
    """Where a file of browser tests switches some of them off."""
    return _SELECTED.findall(source)
