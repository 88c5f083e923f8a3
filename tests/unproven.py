"""After a run of the whole suite: which requirements no test has proved.

A test that a fixture skips, for want of a program or a server, proves nothing, though its mark
stands in the source. A run of all tests fails if that leaves an id without any. A run of some tests
says nothing about the others. What only the browser's tests prove is left to them.
"""

from __future__ import annotations

import pytest

from tests.requirement_marks import browser_files, named_in_browser_tests
from tests.requirements import known

_SELECTIONS = ("keyword", "markexpr", "lf", "deselect", "ignore", "ignore_glob", "collectonly")


class UnprovenRequirements:
    """Hears of every test's end, from all processes of a run."""

    def __init__(self) -> None:
        self._ids: set[str] = set()
        self._missing: list[str] = []

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Send the ids of a test along with its report: it may run in another process."""
        for item in items:
            ids = [one for mark in item.iter_markers("requirement") for one in mark.args]
            item.user_properties += [("requirement", one) for one in ids]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count what passed."""
        if report.when == "call" and report.passed:
            self._ids |= {str(one) for name, one in report.user_properties if name == "requirement"}

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Fail a run of everything that passed and yet proved too little."""
        if session.exitstatus != pytest.ExitCode.OK or not is_whole(session.config):
            return
        self._missing = [one for one in known() if one not in self._ids | in_browser()]
        if self._missing:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Name what is missing."""
        if self._missing:
            terminalreporter.section("not proved: every test of these was skipped", red=True)
            terminalreporter.write_line(" ".join(self._missing))


def in_browser() -> set[str]:
    """The ids that tests in the browser name."""
    sources = [path.read_text(encoding="utf-8") for path in browser_files()]
    return {one for source in sources for one, _ in named_in_browser_tests(source)}


def is_whole(config: pytest.Config) -> bool:
    """Whether this process sums up a run of all tests."""
    is_worker = hasattr(config, "workerinput")
    is_selected = any(config.getoption(name, None) for name in _SELECTIONS)
    every = config.args_source is pytest.Config.ArgsSource.TESTPATHS
    return (
        every
        and bool(config.getoption("--all", default=True))
        and not is_worker
        and not is_selected
    )
