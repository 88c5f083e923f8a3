"""The core's central packages are covered by their own tests.

`make coverage` reports on everything; this checks three packages in every full run.
"""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from coverage import CoverageData

from tests.requirements import requirement
from tests.source import CORE, ROOT
from tests.traced_wall import note_steps

FLOOR = 80.0
_MAX_SECONDS = 3600  # ends a run that hangs; on a busy machine it takes more than ten minutes
CENTRAL_PACKAGES = ("events", "hitl", "engine")


@pytest.mark.slow
@pytest.mark.timeout(_MAX_SECONDS)
@requirement("R12.5")
def test_a_central_packages_own_tests_cover_80_percent(tmp_path: Path) -> None:
    """By short examples alone: what only a random input or a long test reaches does not count."""
    report = tmp_path / "coverage.json"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    run = subprocess.run(
        [
            *command,
            *("-m", "not hypothesis and not slow"),
            *(f"--cov=dataagent_core.{package}" for package in CENTRAL_PACKAGES),
            f"--cov-report=json:{report}",
            *(str(CORE.parent / "tests" / package) for package in CENTRAL_PACKAGES),
        ],
        cwd=ROOT,
        env={**os.environ, "COVERAGE_FILE": str(tmp_path / ".coverage")},
        capture_output=True,
        text=True,
        timeout=_MAX_SECONDS,
        check=False,
    )
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-1000:]
    files = json.loads(report.read_text(encoding="utf-8"))["files"]
    covered = {
        package: _percent(files, f"/dataagent_core/{package}/") for package in CENTRAL_PACKAGES
    }
    assert {package: percent for package, percent in covered.items() if percent < FLOOR} == {}


def _percent(files: dict[str, Any], folder: str) -> float:
    """Of the statements under a folder; one without any is not covered."""
    summaries = [each["summary"] for name, each in files.items() if folder in f"/{name}"]
    statements = sum(summary["num_statements"] for summary in summaries)
    return 100 * sum(s["covered_lines"] for s in summaries) / statements if statements else 0.0


_MODULE = """
def picked(numbers):
    for number in numbers:
        if number > 2:
            yield number
    else:
        pass

def first(numbers):
    while True:
        for number in picked(numbers):
            return number
        return None

assert first([1, 2, 3, 4]) == 3
assert first([1]) is None
assert list(picked([3, 1, 4])) == [3, 4]
"""


def test_steps_recorded_in_the_sandbox_equal_those_of_coverage(tmp_path: Path) -> None:
    module, steps, data = (tmp_path / name for name in ("module.py", "steps", "data"))
    module.write_text(_MODULE, encoding="utf-8")
    steps.touch()
    options = ("run", "--branch", f"--data-file={data}", f"--rcfile={os.devnull}")
    subprocess.run([sys.executable, "-m", "coverage", *options, str(module)], check=True)
    seen = CoverageData(str(data))
    seen.read()
    noting = f"note_steps({str(steps)!r}, {f'{tmp_path}/'!r})"
    running = f"import runpy; runpy.run_path({str(module)!r})"
    source = f"from typing import Any\n{inspect.getsource(note_steps)}\n{noting}\n{running}"
    subprocess.run([sys.executable, "-c", source], check=True)
    noted = {tuple(map(int, line.split(":")[1:])) for line in steps.read_text().splitlines()}
    by_yields = {(5, -2), (-2, -2)}  # out of the generator and back: no branch
    assert noted - by_yields == set(seen.arcs(str(module)) or ())


_THREADS = """
import gc, threading, weakref
from coverage import Coverage
from greenlet import getcurrent
from tests.traced import Untraced

def work():
    getcurrent()
    here.wait()
    over.wait()

def kept(kind):
    return sum(type(each) is kind and Greenlet in map(type, each) for each in gc.get_objects())

Greenlet = type(getcurrent())
here, over = threading.Barrier(4), threading.Event()
measured = Coverage(data_file=None, concurrency=["thread", "greenlet"], config_file=False)
measured.start()
threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads:
    thread.start()
here.wait()
print(kept(Untraced), kept(weakref.WeakKeyDictionary))
over.set()
for thread in threads:
    thread.join()
measured.stop()
"""


def test_tracers_of_threads_use_no_weak_dictionary_in_python() -> None:
    """One could make a process hang: see `tests/traced.py`."""
    said = subprocess.run(
        [sys.executable, "-c", _THREADS], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert said.stdout.split() == ["4", "0"]
