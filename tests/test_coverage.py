"""The core's central rooms are covered by their own tests.

`make coverage` reports on everything; this holds the three rooms to their floor in every full run.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.requirements import requirement
from tests.source import CORE, ROOT

FLOOR = 80.0
ROOMS = ("events", "hitl", "engine")


@pytest.mark.slow
@pytest.mark.timeout(400)
@requirement("R12.5")
def test_the_rooms_own_tests_cover_80_percent_of_each(tmp_path: Path) -> None:
    """By short examples alone: what only a random input or a long test reaches does not count."""
    report = tmp_path / "coverage.json"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    run = subprocess.run(
        [
            *command,
            *("-m", "not services and not hypothesis and not slow"),
            *(f"--cov=dataagent_core.{room}" for room in ROOMS),
            f"--cov-report=json:{report}",
            *(str(CORE.parent / "tests" / room) for room in ROOMS),
        ],
        cwd=ROOT,
        env={**os.environ, "COVERAGE_FILE": str(tmp_path / ".coverage")},
        capture_output=True,
        text=True,
        timeout=380,
        check=False,
    )
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-1000:]
    files = json.loads(report.read_text(encoding="utf-8"))["files"]
    covered = {room: _percent(files, f"/dataagent_core/{room}/") for room in ROOMS}
    assert {room: percent for room, percent in covered.items() if percent < FLOOR} == {}


def _percent(files: dict[str, Any], folder: str) -> float:
    """Of the statements under a folder; one without any is not covered."""
    summaries = [each["summary"] for name, each in files.items() if folder in f"/{name}"]
    statements = sum(summary["num_statements"] for summary in summaries)
    return 100 * sum(s["covered_lines"] for s in summaries) / statements if statements else 0.0
