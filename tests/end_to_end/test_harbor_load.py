"""Harbor's load against a real server: what a crowd sees, over both doors and through a kill."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.end_to_end.conftest import StartServer
from tests.end_to_end.harbor import harbor, read
from tests.requirements import requirement
from tests.waiting import WAIT_SECONDS

pytestmark = pytest.mark.slow


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    path = tmp_path / "set.jsonl"
    path.write_text('{"question": "!slow 5 20"}\n{"question": "!echo yes"}\n', encoding="utf-8")
    return path


@requirement("R27.6")
@pytest.mark.parametrize("mode", ["ws", "rest"])
async def test_a_crowd_in_steps_is_answered_and_no_event_is_lost_or_doubled(
    start_server: StartServer, tmp_path: Path, questions: Path, mode: str
) -> None:
    server = await start_server()
    out, page = tmp_path / "load.json", tmp_path / "load.html"
    code = await harbor(
        server,
        *("load", str(questions), "--mode", mode, "--output", str(out), "--html", str(page)),
        *("--steps", "5,20", "--think", "1", "--ramp", "0.5", "--duration", "3s"),
    )
    report = read(out)
    total = report["summary"]
    assert code == 0, total
    assert (total["errors"], total["gaps"], total["doubles"]) == (0, 0, 0)
    assert total["answered"] > 0
    assert total["events"] > total["answered"]
    assert [step["users"] for step in report["steps"]] == [5, 20]
    assert all(step["offered_per_second"] > 0 for step in report["steps"])
    assert all(step["memory"] > 10_000_000 for step in report["steps"])
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")


async def test_a_crowd_survives_a_server_that_is_killed_and_started_again(
    start_server: StartServer, tmp_path: Path, questions: Path
) -> None:
    server = await start_server()
    out = tmp_path / "load.json"
    running = asyncio.create_task(
        harbor(
            server,
            *("load", str(questions), "--output", str(out), "--users", "20"),
            *("--think", "0.2", "--ramp", "0.1", "--soak", "15s"),
        )
    )
    async with asyncio.timeout(WAIT_SECONDS):
        while len((await server.get("/sessions?limit=100"))["items"]) < 20:
            await asyncio.sleep(0.05)
    await server.signal()
    await server.start()
    await running
    total = read(out)["summary"]
    assert (total["gaps"], total["doubles"]) == (0, 0)
    assert set(total["problems"]) <= {"interrupted"}  # ended visibly; all others were resumed
    assert 0 < total["resumed"] < total["answered"]


async def test_a_load_with_a_wrong_key_ends_at_once(
    start_server: StartServer, questions: Path
) -> None:
    server = await start_server()
    assert await harbor(server, "load", str(questions), "--api-key", "nobody's") == 3
