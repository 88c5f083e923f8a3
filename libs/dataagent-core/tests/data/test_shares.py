"""One user's statements leave room for the others': when they are checked, and when they run."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from dataagent_core.config import Settings
from dataagent_core.data import runtime as room
from dataagent_core.data.engines.base import Statement
from dataagent_core.data.runtime import open_standalone_runtime
from dataagent_core.data.service import DataService, QueryContext, QueryExecution
from dataagent_core.data.sources import Source
from dataagent_core.data.types import QueryLimits, Reader
from dataagent_core.errors import QueryRefused, UserLimit
from dataagent_core.processes import ProcessPool
from dataagent_core.processes.concurrency import KeyedLimiter
from tests.homes import prepared_home
from tests.waiting import until

COUNT = "SELECT COUNT(*) AS n FROM Track"
SLOW = (
    "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 100000000000) "
    "SELECT COUNT(*) FROM n"
)


@asynccontextmanager
async def opened(folder: Path) -> AsyncGenerator[tuple[DataService, Source, Reader]]:
    async with open_standalone_runtime(Settings(home=prepared_home(folder / "home"))) as data:
        dora = await data.service.reader("dora")
        yield data.service, await data.service.source(dora), dora


@pytest.mark.parametrize(
    ("what", "limits"), [("time", {"cpu_seconds": 0.01}), ("memory", {"memory_bytes": 0})]
)
async def test_a_statement_that_takes_too_much_to_check_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str, limits: dict[str, Any]
) -> None:
    pool = ProcessPool(**limits)
    monkeypatch.setattr(room, "shared_pool", lambda: pool)
    async with opened(tmp_path) as (service, source, dora):
        with pytest.raises(QueryRefused, match=f"takes too much {what} to check") as refused:
            await service.check(source, COUNT, dora)
        assert refused.value.details is not None
        assert refused.value.details["reason"] == "too_large"
    pool.close()


async def test_forty_slow_statements_of_one_user_leave_a_connection_to_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # the moment the engine gets it
    begun, begin = Counter[str](), QueryExecution._begin  # pyright: ignore[reportPrivateUsage]

    def noted(self: QueryExecution, statement: Statement) -> None:
        begin(self, statement)
        begun["statements"] += 1

    monkeypatch.setattr(QueryExecution, "_begin", noted)
    async with opened(tmp_path) as (service, source, dora):
        hog = QueryContext(Reader("hog"), limits=QueryLimits(timeout_seconds=600))
        slow = [asyncio.create_task(service.query(source, SLOW, hog)) for _ in range(40)]
        await until(lambda: begun["statements"] == 4)
        answered = await service.query(source, COUNT, QueryContext(dora))
        assert answered.result.preview_rows == ((3581,),)
        for each in slow:
            each.cancel()
        ends = await asyncio.gather(*slow, return_exceptions=True)
        assert {type(end) for end in ends} == {asyncio.CancelledError}
        await service.query(source, COUNT, hog)


async def test_a_user_who_has_too_many_under_way_is_refused_and_nobody_else() -> None:
    turns = KeyedLimiter("statements", at_once=1, waiting=2)
    order: list[int] = []
    is_over = asyncio.Event()

    async def one(number: int) -> None:
        async with turns.turn("hog"):
            order.append(number)
            await is_over.wait()

    tasks = [asyncio.create_task(one(number)) for number in range(3)]
    await until(lambda: order == [0])
    with pytest.raises(UserLimit) as refused:
        await one(3)
    assert refused.value.details == {"what": "statements", "limit": 3, "used": 3}
    async with turns.turn("dora"):
        pass
    is_over.set()
    await asyncio.gather(*tasks)
    assert order == [0, 1, 2]
    await one(4)
