"""Amounts in files are decimals, whatever their number of places: a sum is exact and repeatable."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path

import pytest

from dataagent_core.data.results import export
from dataagent_core.data.service import DataService, QueryContext
from dataagent_core.data.sources import EVERYONE, NewSource

from .files.books import xlsx

TIMES = 3


def amounts(count: int) -> list[str]:
    """As pandas and Excel write them, no zeros at the end; none is whole."""
    chance = random.Random(7)
    parts = [(chance.randint(0, 99_999), chance.randint(1, 99)) for _ in range(count)]
    return [f"{whole}.{cents:02}".rstrip("0") for whole, cents in parts]


def written(kind: str, texts: Sequence[str]) -> bytes:
    if kind == "csv":
        return ("id,amount\n" + "".join(f"{n},{t}\n" for n, t in enumerate(texts))).encode()
    numbers = [(n, float(t)) for n, t in enumerate(texts)]
    if kind == "json":
        return json.dumps([{"id": n, "amount": a} for n, a in numbers]).encode()
    return xlsx({"S": [["id", "amount"], *([n, a] for n, a in numbers)]})


@pytest.mark.parametrize(
    ("kind", "count"),
    [
        ("csv", 50_000),
        ("json", 5_000),
        ("xlsx", 5_000),
        pytest.param("csv", 1_000_000, marks=pytest.mark.slow),
    ],
)
async def test_a_sum_of_amounts_is_exact_and_the_same_every_time(
    kind: str, count: int, tmp_path: Path, service: DataService, asked: QueryContext
) -> None:
    folder = tmp_path / "drop"
    folder.mkdir()
    texts = amounts(count)
    (folder / f"sales.{kind}").write_bytes(written(kind, texts))
    source = await service.sources.create(
        NewSource("files", folder=str(folder), grants=(EVERYONE,))
    )
    total = f"{sum(map(Decimal, texts)):.2f}"

    for _ in range(TIMES):
        sql = "SELECT SUM(amount) AS total FROM sales"
        answered = await service.query(source, sql, asked)
        assert answered.result.preview_rows == ((total,),)
        path = service.artifacts.path_of(answered.artifact)
        lines = b"".join(export(path, answered.artifact.columns, "csv")).decode().splitlines()
        assert lines == ["total", total]
