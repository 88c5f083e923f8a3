"""For `make coverage`: follows our own modules into processes, and keeps a tracer from hanging.

Coverage's own patch does not reach programs that start with an environment of their own, as those
do that read documents and files. They are told of it, or started through `coverage run`. Where
nothing of coverage can be, behind the sandbox's wall, `traced_wall.py` follows.

With greenlets coverage keeps a stack for each in a `WeakKeyDictionary`. A greenlet of a thread that
has ended is taken away in a pending call of the main thread, and with it that dictionary's entry,
by a function in Python, which is traced. If another call is pending by then, Python 3.11 looks for
it before the function's first line again and again: nothing is done while a pending call is, and a
traced frame goes on only when nothing is pending. Here the entry goes without a line of Python.
That has to be arranged before a tracer is made, so the processes that run tests begin without one.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import weakref
from typing import Any

import pytest
from coverage.collector import Collector

from tests import traced_wall
from tests.source import ROOT

_one_at_a_time = threading.RLock()
_STARTED_WITH = "COVERAGE_PROCESS_CONFIG"
"""Where it is set, coverage begins with the interpreter."""
_ABOUT_MEMORY = {"test_an_idle_session_has_little_memory_for_itself"}
"""What a session behind the wall takes for itself is more when its steps are written down."""


class Untraced(weakref.WeakKeyDictionary[Any, Any]):
    """Forgets a key without running Python; nobody goes through its entries meanwhile."""

    def __init__(self) -> None:
        super().__init__()
        self._remove = vars(self)["data"].pop


def pytest_xdist_setupnodes() -> None:
    """Let coverage begin with pytest in the processes of a run, after what is done here."""
    os.environ.pop(_STARTED_WITH, None)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what measures something that a tracer changes."""
    left_out = [item for item in items if item.name in _ABOUT_MEMORY]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


def traced(command: Any, env: Any) -> tuple[Any, Any]:  # Any: whatever Popen takes
    """A command and its environment, such that what it reaches of our modules is measured."""
    match command:
        case [sys.executable, *words] if "-m" in words and env is not None:
            at = words.index("-m") + 1
        case _:  # with our own environment coverage begins by itself
            return command, env
    if not str(words[at]).startswith("dataagent_") or _STARTED_WITH not in os.environ:
        return command, env
    if "-S" not in words:
        return command, {**env, _STARTED_WITH: os.environ[_STARTED_WITH]}
    measured = ["--parallel-mode", f"--data-file={ROOT / '.coverage'}"]
    run = ["coverage", "run", f"--rcfile={ROOT / 'pyproject.toml'}", *measured, "-m"]
    return [sys.executable, *words[:at], *run, *words[at:]], env


def _keep_tracers_quiet() -> None:
    """Give coverage's tracers such a dictionary, which they make by this name.

    A tracer makes it at its first call: for the main thread while it is started, for any other
    right after, in the call in which that thread gets its tracer.
    """
    kind: Any = Collector  # nothing public is as early
    module: Any = weakref

    def with_untraced(made: Any) -> Any:
        def make(collector: Collector, *given: Any) -> Any:
            with _one_at_a_time:
                ordinary = module.WeakKeyDictionary
                module.WeakKeyDictionary = Untraced
                try:
                    return made(collector, *given)
                finally:
                    module.WeakKeyDictionary = ordinary

        return make

    for name in ("_start_tracer", "_installation_trace"):
        setattr(kind, name, with_untraced(getattr(kind, name)))


def _follow_children() -> None:
    kind: Any = subprocess.Popen  # generic, and overloaded fourfold
    start = kind.__init__

    def start_traced(process: Any, args: Any, *more: Any, **named: Any) -> None:
        command, env = traced(args, named.pop("env", None))
        start(process, command, *more, env=env, **named)

    kind.__init__ = start_traced


_keep_tracers_quiet()
_follow_children()
traced_wall.follow()
