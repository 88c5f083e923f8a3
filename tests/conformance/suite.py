"""Runs the conformance suite and says what came of it.

`@modelcontextprotocol/conformance` starts its own servers and clients on loopback and checks every
message against the specification. A *requirement set* is what one revision of the specification
asks for, frozen. What is expected to fail stands in a baseline, which is strict both ways: a new
failure and an entry that passes both fail the run.
"""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from scripts.mcp_servers import install, npm_program
from scripts.tree import ROOT

HERE = Path(__file__).parent
REVISIONS = ("2025-11-25", "2026-07-28")
_RUN_SECONDS = 600.0
_SCENARIO_MILLISECONDS = "60000"  # all scenarios run at once
_ANSI = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True)
class Report:
    """How a run of the suite ended, and its output."""

    is_ok: bool
    text: str

    @property
    def end(self) -> str:
        """The part that says why."""
        return self.text[-6000:]


def run_requirements(mode: str, revision: str, baseline: Path, *options: str) -> Report:
    """Run all scenarios that a revision asks of a client or a server."""
    return _run(mode, *options, "--requirements", revision, "--expected-failures", str(baseline))


def run_scenario(mode: str, scenario: str, revision: str, *options: str) -> Report:
    """Run one scenario, as a revision has it."""
    return _run(mode, *options, "--scenario", scenario, "--spec-version", revision)


def _run(*arguments: str) -> Report:
    install()
    command = [*npm_program("conformance"), *arguments, "--timeout", _SCENARIO_MILLISECONDS]
    result = subprocess.run(
        command, capture_output=True, text=True, timeout=_RUN_SECONDS, check=False, cwd=ROOT
    )
    return Report(result.returncode == 0, _ANSI.sub("", result.stderr + result.stdout))
