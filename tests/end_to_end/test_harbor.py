"""Harbor against a real server: the shipped set is graded, and a stopped run goes on."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.conftest import StartServer
from tests.end_to_end.harbor import harbor, read
from tests.requirements import requirement
from tests.waiting import WAIT_SECONDS

OFFLINE = {"DATAAGENT_MODEL": "offline", "DATAAGENT_SAMPLE_DATA": "true"}
PRICES = {"DATAAGENT_PRICE_INPUT": "2", "DATAAGENT_PRICE_OUTPUT": "8"}


@pytest.mark.slow
@requirement("R27.3", "R27.4", "R27.5", "R27.6")
@pytest.mark.parametrize("mode", ["ws", pytest.param("rest", marks=pytest.mark.slow)])
async def test_the_offline_model_is_graded_on_the_shipped_set(
    start_server: StartServer, tmp_path: Path, mode: str
) -> None:
    server = await start_server(**OFFLINE, **PRICES)
    out, page = tmp_path / "report.json", tmp_path / "report.html"
    words = ("run", "sample", "--mode", mode, "--output", str(out), "--html", str(page))
    code = await harbor(server, *words)
    report = read(out)
    assert report["failures"] == []
    assert (report["summary"]["total"], report["summary"]["passed"], code) == (60, 60, 0)
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert_cost(report["summary"])
    few = tmp_path / "few.jsonl"
    words = ("run", str(few), "--mode", mode, "--baseline", str(out))
    few.write_text('{"id": "customers-en", "question": "How many customers are there?"}\n')
    assert await harbor(server, *words) == 0
    few.write_text('{"id": "customers-en", "question": "?", "expected_keywords": ["zebra"]}\n')
    assert await harbor(server, *words) == 1


def assert_cost(summary: dict[str, Any]) -> None:
    """What the server charged is what the tokens cost at its prices."""
    tokens = summary["tokens"]
    expected = (tokens["input_tokens"] * 2 + tokens["output_tokens"] * 8) / 1_000_000
    assert tokens["input_tokens"] > 0
    assert summary["cost"]["by"] == "server"
    assert summary["cost"]["total"] == pytest.approx(expected, abs=1e-5)


@pytest.mark.slow
@requirement("R27.4", "G2")
@pytest.mark.parametrize("mode", ["ws", pytest.param("rest", marks=pytest.mark.slow)])
async def test_a_server_killed_in_between_is_named_and_the_rest_is_asked_afterwards(
    start_server: StartServer, tmp_path: Path, mode: str
) -> None:
    server = await start_server(DATAAGENT_MODEL="scripted")
    asked, kept, out = (tmp_path / name for name in ("set.jsonl", "kept.jsonl", "report.json"))
    rows = [
        {"id": f"q{number}", "question": f"!slow 20 50\n!echo end {number}"} for number in range(40)
    ]
    asked.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    files = ("--transcripts", str(kept), "--output", str(out))
    words = ("run", str(asked), *files, "--timeout", "60", "--concurrency", "4", "--mode", mode)
    running = asyncio.create_task(harbor(server, *words))
    async with asyncio.timeout(WAIT_SECONDS):
        while not kept.exists() or kept.read_text().count("\n") < 8:
            await asyncio.sleep(0.05)
    await server.signal()
    await server.start()
    code = await running
    first = read(out)
    affected = {row["id"]: row for row in first["affected"]}
    broken = {row["id"] for row in first["results"] if row["status"] != "passed"}
    assert 0 < len(affected) <= 4  # those that were being answered, and no other
    assert broken <= set(affected)
    assert code == (1 if broken else 0)
    assert first["summary"]["passed"] == 40 - len(broken)  # the client took up the rest
    assert {affected[name]["status"] for name in broken} <= {"error"}
    assert await harbor(server, *words) == 0
    second = read(out)
    assert second["summary"]["passed"] == 40
    assert set(Counter(row["id"] for row in second["results"]).values()) == {1}
    assert {row["id"] for row in second["results"]} == {row["id"] for row in rows}
