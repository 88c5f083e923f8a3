"""Our door against the suite's server scenarios, in both revisions.

The suite's requirement sets ask for tools, resources and prompts of certain names. So what is
scored is the same app with the same door and, behind it, those fixtures beside our tools: every
required scenario passes, and the baselines are empty. The product as it is, which has none of the
fixtures, is run against each scenario that needs none.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.conformance.suite import HERE, REVISIONS, run_requirements, run_scenario
from tests.programs import quick
from tests.waiting import WAIT_SECONDS

pytestmark = pytest.mark.slow

WITHOUT_FIXTURES = {
    "2025-11-25": [
        "server-initialize",
        "ping",
        "tools-list",
        "server-sse-multiple-streams",
        "dns-rebinding-protection",
        "server-session-lifecycle",
    ],
    "2026-07-28": [
        "tools-list",
        "server-sse-multiple-streams",
        "dns-rebinding-protection",
        "input-required-result-unsupported-methods",
        "input-required-result-validate-input",
    ],
}


@pytest.fixture(scope="module")
def door(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server."""
    home = tmp_path_factory.mktemp("door")
    command = [quick("python"), "-m", "tests.conformance.server_app", request.param, str(home)]
    log = home / "stderr"
    with log.open("w") as errors:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=errors, text=True, cwd=HERE.parents[1]
        )
    assert process.stdout is not None
    try:
        url = process.stdout.readline().strip()
        assert url, log.read_text()
        yield url
    finally:
        process.terminate()
        process.wait(WAIT_SECONDS)
        process.stdout.close()


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize("door", ["fixtures"], indirect=True)
def test_the_door_passes_everything_the_revision_asks(door: str, revision: str) -> None:
    report = run_requirements("server", revision, baseline(revision), "--url", door)
    assert report.is_ok, report.end


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize("door", ["plain"], indirect=True)
def test_the_product_passes_what_needs_no_fixture(door: str, revision: str) -> None:
    for scenario in WITHOUT_FIXTURES[revision]:
        report = run_scenario("server", scenario, revision, "--url", door)
        assert report.is_ok, f"{scenario}: {report.end}"


def baseline(revision: str) -> Path:
    return HERE / f"server.{revision}.yml"


@pytest.mark.parametrize("revision", REVISIONS)
def test_nothing_is_excused(revision: str) -> None:
    assert yaml.safe_load(baseline(revision).read_text()) == {"server": []}
