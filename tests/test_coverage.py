"""The core's central rooms are covered by their own tests.

`make coverage` reports on everything; this holds the three rooms to their floor in every full run.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.requirements import requirement
from tests.source import CORE, ROOT

FLOOR = 80.0


@pytest.mark.slow
@pytest.mark.timeout(400)
@requirement("R12.5")
@pytest.mark.parametrize("room", ["events", "hitl", "engine"])
def test_the_rooms_own_tests_cover_80_percent_of_it(room: str, tmp_path: Path) -> None:
    report = tmp_path / "coverage.json"
    tests = CORE.parent / "tests" / room
    command = [sys.executable, "-m", "pytest", "-q", "-m", "not services", "-p", "no:cacheprovider"]
    run = subprocess.run(
        [*command, f"--cov=dataagent_core.{room}", f"--cov-report=json:{report}", str(tests)],
        cwd=ROOT,
        env={**os.environ, "COVERAGE_FILE": str(tmp_path / ".coverage")},
        capture_output=True,
        text=True,
        timeout=380,
        check=False,
    )
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-1000:]
    totals = json.loads(report.read_text(encoding="utf-8"))["totals"]
    assert totals["num_statements"] > 0
    assert totals["percent_covered"] >= FLOOR
