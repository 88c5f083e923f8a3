"""`dataagent export`: kept results and charts as files."""

from __future__ import annotations

import asyncio
import getpass
import json
from pathlib import Path

import pytest

from dataagent_core.app.assembly import open_core
from dataagent_core.config import Settings
from dataagent_core.data.results import ArtifactDraft

from .shell import dataagent

TOTALS = "SELECT BillingCountry AS country, sum(Total) AS total FROM Invoice GROUP BY 1"


def test_a_result_is_written_whole_in_the_format_its_ending_says(tmp_path: Path) -> None:
    asked = dataagent("sql", "SELECT * FROM Invoice")
    done = dataagent("export", asked.artifact_id, "--output", "invoices.csv")
    assert (done.code, done.out) == (0, "")
    assert done.err.startswith("wrote invoices.csv (csv, 1,428 rows, ")
    assert len((tmp_path / "invoices.csv").read_text().splitlines()) == 1429
    assert dataagent("export", asked.artifact_id).data == (tmp_path / "invoices.csv").read_bytes()


@pytest.mark.parametrize(
    ("fmt", "start"),
    [
        ("xlsx", b"PK"),
        ("parquet", b"PAR1"),
        ("json", b"[\n{"),
        ("jsonl", b"{"),
        ("csv", b"country"),
    ],
)
def test_the_newest_result_is_called_last(fmt: str, start: bytes) -> None:
    dataagent("sql", TOTALS)
    assert dataagent("export", "last", "--format", fmt).data.startswith(start)


@pytest.mark.slow
def test_a_chart_is_a_picture_or_its_specification(tmp_path: Path) -> None:
    artifact_id = dataagent("sql", TOTALS).artifact_id

    async def make_chart() -> str:
        async with open_core(Settings()) as core:
            draft = ArtifactDraft(getpass.getuser(), "Totals")
            return (await core.data.charts.make(artifact_id, draft)).artifact_id

    chart_id = asyncio.run(make_chart())
    assert dataagent("export", chart_id, "--output", "totals.png").code == 0
    assert (tmp_path / "totals.png").read_bytes()[:4] == b"\x89PNG"
    assert "<svg" in dataagent("export", chart_id, "--format", "svg").out
    assert "data" in json.loads(dataagent("export", chart_id, "--format", "json").out)
    refused = dataagent("export", chart_id, "--format", "csv")
    assert refused.code == 2
    assert "hint: choose one of: png, svg, json." in refused.err


def test_a_table_is_no_picture() -> None:
    refused = dataagent("export", dataagent("sql", TOTALS).artifact_id, "--format", "png")
    assert refused.code == 2
    assert "hint: choose one of: csv, json, jsonl" in refused.err


def test_what_was_never_kept_is_not_found(fresh_home: Path) -> None:
    missing = dataagent("export", "0" * 32)
    assert (missing.code, missing.out) == (1, "")
    assert "hint: dataagent export last takes the newest result." in missing.err
    newest = dataagent("export", "last")
    assert newest.code == 1
    assert "hint: run a statement first" in newest.err
