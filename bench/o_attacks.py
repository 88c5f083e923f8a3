"""(o) While one user attacks: how soon the server answers, and whether the others' turns complete.

Each attack once stopped a server: statements that are hard to read or to run, answers with
many figures, patterns for files, more statements than a source has connections. It goes on while
another user has turns that query the sample database, and `/health` is requested all the time.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import orjson
from aiohttp import ClientError, ClientSession, ClientTimeout, FormData

from bench.clients import TurnFailed
from bench.meter import percentile
from bench.processes import ALL, Json, dataagent_server
from bench.report import Report, Row, below, say

_KEYS = {"hog": "hog-key", "dora": "dora-key"}
_TURNS = 5
_AT_LEAST_SECONDS = 10.0
_POLL_SECONDS = 0.05
_CSV = b"id,name\n" + b"".join(b"%d,n%d\n" % (n, n) for n in range(1000))
_RECURSION = (
    "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 100000000000) "
    "SELECT COUNT(*) FROM n"
)
_DEEP = "/files/" + "a/" * 40 + "x.txt"
Attack = Callable[["Attacker"], Coroutine[Any, Any, None]]


class Attacker:
    """Requests of one user, and their outcomes."""

    def __init__(self, http: ClientSession) -> None:
        self._http = http
        self.outcomes: dict[str, int] = {}

    async def sql(self, source: str, *statements: str, at_once: int = 8) -> None:
        """Send statements, several at once."""
        url = f"/api/v1/data-sources/{source}/query"
        bodies = [{"sql": one} for one in statements for _ in range(at_once)]
        await asyncio.gather(*(self._post(url, body) for body in bodies))

    async def chat(self, *lines: str, at_once: int = 8) -> None:
        """Send a message, in several conversations at once."""
        body = {"message": "\n".join(lines)}
        await asyncio.gather(*(self._post("/api/v1/chat", body) for _ in range(at_once)))

    async def _post(self, path: str, body: Json) -> None:
        try:
            async with self._http.post(path, data=orjson.dumps(body)) as response:
                answer = await response.json()
                outcome = answer.get("error_code") or str(response.status)
        except (ClientError, TimeoutError) as error:
            outcome = type(error).__name__
        self.outcomes[outcome] = self.outcomes.get(outcome, 0) + 1


def _tool(name: str, **arguments: Any) -> str:
    return f"!tool {name} {orjson.dumps(arguments).decode()}"


def _figures(text: str) -> Attack:
    query = _tool("sql_db_query", query="SELECT 1 AS n", source="chinook")
    return lambda user: user.chat(query, f"!echo {text}")


def _on(source: str, *statements: str, at_once: int = 8) -> Attack:
    return lambda user: user.sql(source, *statements, at_once=at_once)


ATTACKS: dict[str, Attack] = {
    "70 statements of 18 joins without ON": _on(
        "chinook", "SELECT COUNT(*) FROM Genre" + " JOIN Genre" * 18, at_once=70
    ),
    "format with 40,000 braces": _on("own", f"SELECT format('{'{' * 40_000}', id) FROM own"),
    "a statement of 60,000 parentheses": _on("own", f"SELECT {'(' * 60_000}1{')' * 60_000}"),
    "a figure before 60,000 spaces": _figures("1" + " " * 60_000 + "2"),
    "5,000 bytes of | 1 | 1": _figures("| 1 | 1" * 700),
    "a pattern of six **/a/": lambda user: user.chat(
        _tool("glob", pattern="**/a/" * 6 + "b"), _tool("grep", pattern="(a+)+$", path="/files")
    ),
    "repeat and string_split beyond the memory": _on(
        "own",
        "SELECT length(repeat('x', 150000000 + id)) FROM own",
        "SELECT len(string_split(repeat('a,', 100000000), ',')) FROM own",
    ),
    "range and generate_series of 400,000,000": _on(
        "own",
        "SELECT list_sum(range(400000000)) AS n",
        "SELECT COUNT(*) FROM generate_series(1, 400000000) AS t(x) WHERE hash(x) % 7 = 3",
    ),
    "40 statements without end": _on("chinook", _RECURSION, at_once=40),
}


def run(report: Report) -> None:
    """Attack one server after another."""
    for name, attack in ATTACKS.items():
        say(f"(o) {name}")
        found = asyncio.run(_measure(attack))
        report.keep("o", name, **found)
        note = f"{found['turns']} turns, the slowest {found['slowest_turn']:.1f} s; {found['ends']}"
        p95 = found["p95"]
        report.add(Row("o", f"/health, p95: {name}", p95, unit="ms", target=below(250), note=note))


async def _measure(attack: Attack) -> Json:
    with dataagent_server(
        ALL,
        DATAAGENT_API_KEYS=",".join(f"{user}:{key}" for user, key in _KEYS.items()),
        DATAAGENT_AUTO_APPROVE="true",
        DATAAGENT_LOG_LEVEL="ERROR",
    ) as server:
        async with _client(server.url, "hog") as hog, _client(server.url, "dora") as dora:
            await _prepare(hog)
            await _turn(dora)
            attacker = Attacker(hog)
            attacking = asyncio.create_task(_repeat(attack, attacker))
            health = _Health(dora)
            polling = asyncio.create_task(health.poll())
            turns: list[float] = []
            started = time.perf_counter()
            while len(turns) < _TURNS or time.perf_counter() - started < _AT_LEAST_SECONDS:
                turns.append(await _turn(dora))
            for task in (attacking, polling):
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
    return {
        "p95": percentile(health.milliseconds, 0.95),
        "worst": max(health.milliseconds),
        "turns": len(turns),
        "slowest_turn": max(turns),
        "ends": attacker.outcomes,
    }


@dataclass(slots=True)
class _Health:
    """Requests `/health` again and again, and measures it."""

    http: ClientSession
    milliseconds: list[float] = field(default_factory=list[float])

    async def poll(self) -> None:
        while True:
            started = time.perf_counter()
            async with self.http.get("/api/v1/health") as response:
                await response.read()
            if response.status != 200:
                raise TurnFailed(f"/health answers {response.status}")
            self.milliseconds.append((time.perf_counter() - started) * 1000)
            await asyncio.sleep(_POLL_SECONDS)


@asynccontextmanager
async def _client(url: str, user: str) -> AsyncGenerator[ClientSession]:
    headers = {"X-API-Key": _KEYS[user], "Content-Type": "application/json"}
    limit = ClientTimeout(total=300)
    async with ClientSession(url, headers=headers, timeout=limit) as http:
        yield http


async def _prepare(http: ClientSession) -> None:
    """A source of the attacker's own, and a deep folder."""
    form = FormData()
    form.add_field("name", "own")
    form.add_field("file", _CSV, filename="own.csv", content_type="text/csv")
    url = "/api/v1/data-sources/upload"
    async with http.post(url, data=form(), headers=form().headers) as response:
        if response.status != 201:
            raise TurnFailed(await response.text())
    await Attacker(http).chat(_tool("write_file", file_path=_DEEP, content="x"), at_once=1)


async def _turn(http: ClientSession) -> float:
    """Seconds that a question about the sample database takes."""
    sql = "SELECT COUNT(*) AS n FROM Track"
    body = {
        "message": f"{_tool('sql_db_query', query=sql, source='chinook')}\n!echo There are 3581."
    }
    started = time.perf_counter()
    async with http.post("/api/v1/chat", data=orjson.dumps(body)) as response:
        answer = await response.text()
    if response.status != 200 or '"status":"done"' not in answer or "3581" not in answer:
        raise TurnFailed(f"{response.status}: {answer[:2000]}")
    return time.perf_counter() - started


async def _repeat(attack: Attack, attacker: Attacker) -> None:
    while True:
        await attack(attacker)
