"""Requirements as data, the mark by which a test names what it proves, and which tests prove what.

A test says `@requirement("R3.4", "P7")`. The ids are lines of `tests/requirement_ids.txt`, in
sections: R for requirements, P for properties, M for MCP, S for the web application and its agents,
B for the binding of tools, G for guarantees. A line `departs:` below an id describes what we do
instead; its tests prove that.

Marks are read from the source, which is quick and includes tests that a selection leaves out. Tests
that are visibly switched off do not count: `skip`, `skipif` and `xfail` on a test, its class or its
file, and `pytest.skip` in its body. A test that a fixture skips, because a program or a server is
missing, is noticed by `UnprovenRequirements` when the whole suite runs.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pytest

ROOT = Path(__file__).parents[1]
F = TypeVar("F", bound=Callable[..., object])
TestFunction = ast.FunctionDef | ast.AsyncFunctionDef
_FILE = Path(__file__).with_name("requirement_ids.txt")
_DEPARTS = "  departs: "
_NAMED_NODES = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_SWITCHED_OFF = {"skip", "skipif", "xfail", "importorskip"}
_BROWSER_TEST = re.compile(
    r'\btest\(\s*"((?:[^"\\]|\\.)*)",\s*(?:\{ \.\.\.)?(requirement\([^)]*\)|[A-Z_]+),'
)
_BROWSER_CONSTANT = re.compile(r"\bconst ([A-Z_]+) = requirement\(([^)]*)\)")
_SELECTED = re.compile(r"\b(?:test|describe)(?:\.describe)?\.(?:skip|fixme|fail|only)\(")
_SELECTIONS = ("keyword", "markexpr", "lf", "deselect", "ignore", "ignore_glob", "collectonly")


@dataclass(frozen=True, slots=True)
class Requirement:
    """One sentence that must hold, and how we depart from it."""

    id: str
    sentence: str
    section: str
    departs: str = ""


def requirement(*ids: str) -> Callable[[F], F]:
    """Mark a test with the ids of the requirements it proves."""
    # a mark returns what it decorates
    return pytest.mark.requirement(*ids)  # pyright: ignore[reportReturnType]


def known() -> dict[str, Requirement]:
    """All requirements, in order; ValueError for a line that cannot be read."""
    return parsed(_FILE.read_text(encoding="utf-8"))


def parsed(text: str) -> dict[str, Requirement]:
    """The requirements of a text in the format of `requirement_ids.txt`."""
    found: dict[str, Requirement] = {}
    section = last = ""
    for line in text.splitlines():
        if line.startswith("# "):
            section = line[2:]
        elif line.startswith(_DEPARTS) and last and not found[last].departs:
            one = found[last]
            found[last] = Requirement(one.id, one.sentence, one.section, line[len(_DEPARTS) :])
        else:
            last, _, sentence = line.partition(" ")
            if not last or not sentence.strip() or last in found or last[0] != section[:1]:
                raise ValueError(f"requirement_ids.txt: {line!r} is not an id and what it says.")
            found[last] = Requirement(last, sentence, section)
    return found


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
    if any(_is_switched_off(node) for node in module.body if not isinstance(node, _NAMED_NODES)):
        return
    yield from _named_in(module.body)


def _named_in(body: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    for node in body:
        if not isinstance(node, _NAMED_NODES) or any(map(_is_switched_off, node.decorator_list)):
            continue
        if isinstance(node, ast.ClassDef):
            yield from _named_in(node.body)
        elif node.name.startswith("test_") and not any(map(_is_switched_off, node.body)):
            yield from ((one, node.name) for one in _marked(node))


def _marked(test: TestFunction) -> Iterator[str]:
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


class UnprovenRequirements:
    """A pytest plugin: fails a run of all tests that leaves a requirement without a passed test.

    A run of some tests says nothing about the others. Requirements that only the browser's tests
    prove are left to them.
    """

    def __init__(self) -> None:
        self._ids: set[str] = set()
        self._missing: list[str] = []

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Send the ids of a test along with its report: it may run in another process."""
        for item in items:
            ids = [one for mark in item.iter_markers("requirement") for one in mark.args]
            item.user_properties += [("requirement", one) for one in ids]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Collect the ids of passed tests."""
        if report.when == "call" and report.passed:
            self._ids |= {str(one) for name, one in report.user_properties if name == "requirement"}

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Fail a run of all tests that passed without proving every requirement."""
        if session.exitstatus != pytest.ExitCode.OK or not is_whole(session.config):
            return
        self._missing = [one for one in known() if one not in self._ids | in_browser()]
        if self._missing:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Name the requirements without a passed test."""
        if self._missing:
            terminalreporter.section("not proved: every test of these was skipped", red=True)
            terminalreporter.write_line(" ".join(self._missing))


def in_browser() -> set[str]:
    """The ids that tests in the browser name."""
    sources = [path.read_text(encoding="utf-8") for path in browser_files()]
    return {one for source in sources for one, _ in named_in_browser_tests(source)}


def is_whole(config: pytest.Config) -> bool:
    """Whether this process reports on a run of all tests."""
    is_worker = hasattr(config, "workerinput")
    is_selected = any(config.getoption(name, None) for name in _SELECTIONS)
    every = config.args_source is pytest.Config.ArgsSource.TESTPATHS
    return (
        every
        and bool(config.getoption("--all", default=True))
        and not is_worker
        and not is_selected
    )
