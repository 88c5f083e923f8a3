"""A float looks the same wherever a result is shown: preview, page, chart and every export."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from python_calamine import CalamineWorkbook

from dataagent_core.data.chart_service import ChartService
from dataagent_core.data.figure_checks import FigureChecks
from dataagent_core.data.results import ArtifactDraft, export, page, preview
from dataagent_core.data.service import DataService, ExecutedQuery, QueryContext
from dataagent_core.data.sources import Source
from dataagent_core.data.types import ExportFormat
from dataagent_core.processes import shared_pool

from .conftest import place

Register = Callable[..., Awaitable[Source]]

SINGLE = {"postgres": "REAL", "mysql": "FLOAT", "duckdb": "FLOAT"}
NUMBERS = [4.7, 0.1, 1234567.8, 16777.1, -3.3e-7, 2.5]
PRICES = [22.5, 2.61, 22.74, 20.85, 6.41, 19.24, 16.41, 27.52]  # 138.27999999999997 in binary


def exported(service: DataService, answered: ExecutedQuery, fmt: ExportFormat) -> bytes:
    path = service.artifacts.path_of(answered.artifact)
    return b"".join(export(path, answered.artifact.columns, fmt))


def everywhere(service: DataService, answered: ExecutedQuery) -> dict[str, list[Any]]:
    """The first column as each reader of the result gets it."""
    name = answered.artifact.columns[0].name
    text = exported(service, answered, "csv").decode()
    book = CalamineWorkbook.from_filelike(io.BytesIO(exported(service, answered, "xlsx")))
    return {
        "model": [row[0] for row in preview(answered.result)["rows"]],
        "page": [row[0] for row in page(service.artifacts.path_of(answered.artifact)).rows],
        "csv": [float(row[name]) for row in csv.DictReader(io.StringIO(text))],
        "json": [row[name] for row in json.loads(exported(service, answered, "json"))],
        "xlsx": [row[0] for row in book.get_sheet_by_index(0).to_python()[1:]],
    }


@pytest.mark.parametrize("kind", SINGLE)
async def test_a_single_precision_number_is_shown_as_its_shortest_decimal(
    kind: str, tmp_path: Path, service: DataService, register: Register, asked: QueryContext
) -> None:
    with place(kind, tmp_path) as made:
        made.execute(f"CREATE TABLE weights (id INTEGER, w {SINGLE[kind]})")
        for number, value in enumerate(NUMBERS):
            made.execute(f"INSERT INTO weights VALUES ({number}, {value!r})")
        source = await register(made.url)
        answered = await service.query(source, "SELECT w FROM weights ORDER BY id", asked)

    assert answered.artifact.columns[0].type == "float"
    for reader, numbers in everywhere(service, answered).items():
        assert (reader, numbers) == (reader, NUMBERS)
    [about] = preview(answered.result)["columns"]
    assert (about["min"], about["max"]) == (-3.3e-7, 1234567.8)
    assert about["sum"] == 1251352.19999967

    charts = ChartService(service.artifacts)
    spec = {"mark": "point", "encoding": {"y": {"field": "w", "type": "quantitative"}}}
    chart = await charts.make(
        answered.artifact.artifact_id, ArtifactDraft(asked.owner_id, "Weights"), spec=spec
    )
    drawn = await charts.shown(chart)
    assert [next(iter(row.values())) for row in drawn["data"]["values"]] == NUMBERS
    report = await FigureChecks(service.artifacts, shared_pool()).report(
        "The heaviest weighs 1234567.8.",
        "What does the heaviest weigh?",
        [answered.artifact.artifact_id],
        owner=asked.owner_id,
    )
    assert report is not None
    assert report["unbacked"] == []
    await charts.aclose()


@pytest.mark.parametrize("kind", ["sqlite", "postgres", "mysql", "duckdb"])
async def test_a_sum_of_doubles_is_the_same_number_on_the_screen_and_in_every_export(
    kind: str, tmp_path: Path, service: DataService, register: Register, asked: QueryContext
) -> None:
    with place(kind, tmp_path) as made:
        made.execute("CREATE TABLE sales (amount DOUBLE PRECISION)")
        for value in PRICES:
            made.execute(f"INSERT INTO sales VALUES ({value!r}e0)")
        source = await register(made.url)
        answered = await service.query(source, "SELECT SUM(amount) AS total FROM sales", asked)

    for reader, numbers in everywhere(service, answered).items():
        assert (reader, numbers) == (reader, [138.28])
    assert preview(answered.result)["columns"][0]["sum"] == 138.28
