"""A process with one data source of so many rows: `python -m bench.g_rows_side ENGINE ROWS`.

Commands: `raw` (the plain driver's loop), `query` (through the data service), `export` (and
DuckDB's COPY), `cancel` (until the engine has ended a statement), `guard`.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Any, LiteralString

import duckdb
import psycopg
import pymysql
import pymysql.cursors
from pydantic import SecretStr
from sqlalchemy import make_url

from bench.meter import memory_of
from bench.processes import Json, answer_lines
from dataagent_core.config import Settings
from dataagent_core.data.results import export, preview, preview_text
from dataagent_core.data.runtime import DataRuntime, open_standalone_runtime
from dataagent_core.data.service import ExecutedQuery, QueryContext
from dataagent_core.data.sources import EVERYONE, NewSource, Source
from dataagent_core.data.types import QueryLimits, Reader
from tests.services import fresh_database

_ALL = "SELECT * FROM facts"
_CREATE = (
    "CREATE TABLE facts (id BIGINT, region VARCHAR(20), amount DECIMAL(12,2), quantity INTEGER, "
    "day DATE, note VARCHAR(60))"
)
_STATEMENTS = (
    "SELECT region, SUM(amount) AS total FROM facts GROUP BY region ORDER BY total DESC LIMIT 5",
    "WITH m AS (SELECT region, day, SUM(quantity) AS q FROM facts GROUP BY region, day) "
    "SELECT region, MAX(q) AS best FROM m WHERE q > (SELECT AVG(q) FROM m) GROUP BY region",
    "SELECT a.region, COUNT(*) AS n, RANK() OVER (ORDER BY COUNT(*) DESC) AS place "
    "FROM facts a JOIN facts b ON a.id = b.id WHERE a.day >= '2024-01-01' GROUP BY a.region",
    "SELECT id, CASE WHEN amount > 10 THEN 'big' ELSE 'small' END AS size FROM facts "
    "WHERE note LIKE '%x%' UNION ALL SELECT id, 'none' FROM facts WHERE note IS NULL",
)
_ENDLESS = (
    "SELECT SUM(a.quantity * b.quantity + c.quantity) AS s "
    "FROM facts a CROSS JOIN facts b CROSS JOIN facts c"
)
_RUNNING: dict[str, LiteralString] = {
    "postgres": "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' "
    "AND datname = current_database() AND pid <> pg_backend_pid() AND query LIKE '%CROSS JOIN%'",
    "mysql": "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE DB = DATABASE() "
    "AND ID <> CONNECTION_ID() AND COMMAND IN ('Query', 'Execute') AND INFO LIKE '%CROSS JOIN%'",
}
_POLICY: dict[str, Any] = {
    "name": "eu",
    "subjects": "everyone",
    "tables": {"facts": {"row_filter": "region = :user.region", "masks": {"note": "null"}}},
}


class Side:
    """One engine with its rows."""

    def __init__(self, engine: str, rows: int, home: Path) -> None:
        self._engine = engine
        self._rows = rows
        self._home = home
        self.stack = AsyncExitStack()
        self._data: DataRuntime | None = None
        self._source: Source | None = None
        self._url = ""
        self._last: ExecutedQuery | None = None

    async def handle(self, command: Json) -> Json:
        """Execute a command."""
        data, source = await self._open()
        match command["do"]:
            case "raw":
                return await asyncio.to_thread(self._raw)
            case "query":
                return await self._query(data, source)
            case "export":
                return await self._export(data, source)
            case "guard":
                return await self._guard(data, source)
            case "cancel":
                return await self._cancel(data, source)
            case unknown:
                raise ValueError(f"There is no command {unknown!r}.")

    async def _open(self) -> tuple[DataRuntime, Source]:
        if self._data is None or self._source is None:
            self._url = await asyncio.to_thread(self._fill)
            settings = Settings(home=self._home, sample_data=False, workspace_quota=10**12)
            self._data = await self.stack.enter_async_context(open_standalone_runtime(settings))
            new = NewSource("facts", url=SecretStr(self._url), grants=(EVERYONE,), limits=_WIDE)
            self._source = await self._data.service.sources.create(new)
            await self._data.service.catalogues.get(self._source)
        return self._data, self._source

    # -- filling --

    def _fill(self) -> str:
        path = self._home / "facts.duckdb"
        with duckdb.connect(str(path)) as connection:
            connection.execute(_CREATE)
            connection.execute(
                "INSERT INTO facts SELECT i, 'region ' || i % 7, i % 10007 / 100, i % 13, "
                f"DATE '2020-01-01' + CAST(i % 2000 AS INTEGER), 'note number ' || i "
                f"FROM range({self._rows}) AS t(i)"
            )
        if self._engine == "duckdb":
            shutil.copy(path, self._home / "raw.duckdb")  # one process opens a file in one way
            return f"duckdb:///{path}"
        url = self.stack.enter_context(fresh_database(self._engine, self._home))
        csv = self._home / "facts.csv"
        with duckdb.connect(str(path)) as connection:
            connection.execute(f"COPY facts TO '{csv}' (HEADER false)")
        self._copy(url, csv)
        return url

    def _copy(self, url: str, csv: Path) -> None:
        match self._engine:
            case "sqlite":
                with sqlite3.connect(make_url(url).database or "") as connection:
                    connection.execute(_CREATE)
                    lines = (line.rstrip("\n").split(",") for line in csv.open(encoding="utf-8"))
                    connection.executemany("INSERT INTO facts VALUES (?, ?, ?, ?, ?, ?)", lines)
            case "postgres":
                with psycopg.connect(url) as connection:
                    connection.execute(_CREATE)
                    with connection.cursor().copy("COPY facts FROM STDIN (FORMAT csv)") as copy:
                        copy.write(csv.read_bytes())
            case _:
                connection = self._mysql(url, local_infile=True)
                with connection.cursor() as cursor:
                    cursor.execute(_CREATE)
                    cursor.execute("SET GLOBAL local_infile = 1")
                    cursor.execute(
                        f"LOAD DATA LOCAL INFILE '{csv}' INTO TABLE facts FIELDS TERMINATED BY ','"
                    )
                connection.commit()
                connection.close()

    def _mysql(self, url: str, **options: Any) -> Any:
        parts = make_url(url)
        return pymysql.connect(
            host=parts.host or "127.0.0.1",
            port=parts.port or 3306,
            user=parts.username or "root",
            password=parts.password or "",
            database=parts.database,
            **options,
        )

    # -- measuring --

    def _raw(self) -> Json:
        started = time.perf_counter()
        count = sum(1 for _ in self._driver_rows())
        return {"seconds": time.perf_counter() - started, "row_count": count}

    def _driver_rows(self) -> Iterator[Any]:
        match self._engine:
            case "sqlite":
                with sqlite3.connect(make_url(self._url).database or "") as connection:
                    yield from connection.execute(_ALL)
            case "duckdb":
                with duckdb.connect(str(self._home / "raw.duckdb"), read_only=True) as connection:
                    cursor = connection.execute(_ALL)
                    while rows := cursor.fetchmany(10_000):
                        yield from rows
            case "postgres":
                with psycopg.connect(self._url) as connection, connection.cursor("raw") as cursor:
                    cursor.itersize = 10_000
                    yield from cursor.execute(_ALL)
            case _:
                connection = self._mysql(self._url, cursorclass=pymysql.cursors.SSCursor)
                with connection.cursor() as cursor:
                    cursor.execute(_ALL)
                    yield from cursor
                connection.close()

    async def _query(self, data: DataRuntime, source: Source) -> Json:
        with _peak_memory() as peak:
            started = time.perf_counter()
            executed = await data.service.query(source, _ALL, QueryContext(Reader("bench")))
            seconds = time.perf_counter() - started
        if self._last is not None:
            await data.service.artifacts.delete(self._last.artifact.artifact_id, owner="bench")
        self._last = executed
        message = preview_text(preview(executed.result, max_bytes=3_000))
        return {
            "seconds": seconds,
            "row_count": executed.result.row_count,
            "message_bytes": len(message.encode()),
            "growth_kb": peak() / 1024,
        }

    async def _export(self, data: DataRuntime, source: Source) -> Json:
        if self._last is None:
            await self._query(data, source)
        assert self._last is not None
        artifact = self._last.artifact
        path = data.service.artifacts.path_of(artifact)

        def ours() -> float:
            started = time.perf_counter()
            lines = sum(part.count(b"\n") for part in export(path, artifact.columns, "csv"))
            if lines != artifact.row_count + 1:
                raise RuntimeError(f"{lines} lines for {artifact.row_count} rows")
            return time.perf_counter() - started

        seconds: list[float] = []
        copied: list[float] = []
        for _ in range(3):
            seconds.append(await asyncio.to_thread(ours))
            copied.append(await asyncio.to_thread(self._copy_with_duckdb, path))
        return {
            "seconds": median(seconds),
            "copy_seconds": median(copied),
            "rows": artifact.row_count,
        }

    def _copy_with_duckdb(self, path: Path) -> float:
        target = self._home / "copy.csv"
        with duckdb.connect() as connection:
            started = time.perf_counter()
            connection.execute(f"COPY (SELECT * FROM read_parquet('{path}')) TO '{target}'")
            return time.perf_counter() - started

    async def _cancel(self, data: DataRuntime, source: Source) -> Json:
        """The time from the cancel until the statement has ended here and in the engine."""
        context = QueryContext(Reader("bench"))
        task = asyncio.create_task(data.service.query(source, _ENDLESS, context))
        while not await asyncio.to_thread(self._is_running):
            await asyncio.sleep(0.02)
        await asyncio.sleep(0.3)  # well into it
        if task.done():
            raise RuntimeError(f"it ended by itself: {task.exception()}")
        started = time.perf_counter()
        task.cancel()
        await asyncio.wait([task])
        ended = time.perf_counter() - started
        is_gone = self._engine not in _RUNNING  # the others run in our thread, which has ended
        while not is_gone:
            is_gone = not await asyncio.to_thread(self._is_running)
        seconds = time.perf_counter() - started
        again = await data.service.query(source, "SELECT 1 AS x FROM facts WHERE id = 7", context)
        if again.result.row_count != 1:
            raise RuntimeError("the source is not usable after a cancel")
        return {"milliseconds": seconds * 1000, "ours": ended * 1000}

    def _is_running(self) -> bool:
        """Whether the engine executes the statement; assumed of one in our process."""
        if self._engine not in _RUNNING:
            return True
        if self._engine == "postgres":
            with psycopg.connect(self._url) as connection:
                row = connection.execute(_RUNNING["postgres"]).fetchone()
                return row is not None and row[0] > 0
        connection = self._mysql(self._url)
        try:
            with connection.cursor() as cursor:
                cursor.execute(_RUNNING["mysql"])
                return cursor.fetchone()[0] > 0
        finally:
            connection.close()

    async def _guard(self, data: DataRuntime, source: Source) -> Json:
        await data.service.sources.policies.put(source.source_id, "eu", _POLICY)
        await data.service.sources.attributes.set("bench", {"region": "region 1"})
        reader = await data.service.reader("bench")
        times: list[float] = []
        for _ in range(50):
            for sql in _STATEMENTS:
                started = time.perf_counter()
                await data.service.check(source, sql, reader)
                times.append((time.perf_counter() - started) * 1000)
        return {"median_ms": median(times)}


_WIDE = QueryLimits(max_rows=10_000_000, max_bytes=4 * 1024**3, timeout_seconds=600)


@contextmanager
def _peak_memory() -> Generator[Callable[[], float]]:
    """How much this process's memory grew at most while the block ran, in bytes."""
    before = highest = memory_of(os.getpid())
    is_over = threading.Event()

    def watch() -> None:
        nonlocal highest
        while not is_over.wait(0.01):
            highest = max(highest, memory_of(os.getpid()))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield lambda: highest - before
    finally:
        is_over.set()
        watcher.join()


def main() -> None:
    """Answer commands until stdin ends."""
    with tempfile.TemporaryDirectory(prefix="dataagent-bench-") as home:
        side = Side(sys.argv[1], int(sys.argv[2]), Path(home))
        answer_lines(side.handle, asyncio.new_event_loop, side.stack)


if __name__ == "__main__":
    main()
