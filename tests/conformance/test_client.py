"""Our hub against the suite's client scenarios, in both revisions.

Logging in at a server (`auth/`) is not built yet, so those scenarios stand in the baselines; the
suite fails when one of them passes, so the lists can only become shorter. Nothing else is excused.
"""

from __future__ import annotations

import asyncio
import re
import shlex
import sys
from functools import partial
from pathlib import Path

import pytest
import yaml

from tests.conformance.client import playing
from tests.conformance.suite import HERE, REVISIONS, run_requirements

pytestmark = pytest.mark.slow

MORE_TRIES = 4  # the suite bounds how late a client may reconnect; a machine may be slower
LAUNCHER = [sys.executable, "-I", "-S", str(HERE / "scenario_launcher.py")]


@pytest.mark.parametrize("revision", REVISIONS)
async def test_the_hub_passes_everything_the_revision_asks_but_logins(
    revision: str, tmp_path: Path
) -> None:
    baseline = HERE / f"client.{revision}.yml"
    socket = tmp_path / "scenarios"
    command = shlex.join([*LAUNCHER, str(socket)])
    async with playing(socket):
        run = partial(run_requirements, "client", revision, baseline, "--command", command)
        report = await asyncio.to_thread(run)
        for _ in range(MORE_TRIES):
            if _unexpected(report.text) == ["sse-retry"]:
                report = await asyncio.to_thread(run)
    assert report.is_ok, report.end


def _unexpected(text: str) -> list[str]:
    """The scenarios that failed and are not excused."""
    return re.findall(r"^  ✗ (\S+)$", text.partition("Unexpected failures (not")[2], re.MULTILINE)


@pytest.mark.parametrize("revision", REVISIONS)
def test_only_logins_are_excused(revision: str) -> None:
    excused = yaml.safe_load((HERE / f"client.{revision}.yml").read_text())
    assert excused.keys() == {"client"}
    assert [name for name in excused["client"] if not name.startswith("auth/")] == []
