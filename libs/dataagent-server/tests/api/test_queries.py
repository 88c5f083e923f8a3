"""Catalogues and statements over REST, on the sample database."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from typing import TYPE_CHECKING, Any

import pytest

from tests.services import fresh_database

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import LiveServer

URL = "/api/v1/data-sources/chinook"
ENDLESS = (
    "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 100000000000) "
    "SELECT COUNT(*) AS n FROM c"
)


def by_hand(live: LiveServer, sql: str) -> list[tuple[Any, ...]]:
    """What the sample database itself says."""
    path = live.container.settings.home_dir / "sample" / "chinook.sqlite"
    connection = sqlite3.connect(path)
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()


async def test_a_catalogue_has_tables_columns_keys_and_how_fresh_it_is(live: LiveServer) -> None:
    async with live.http() as client:
        catalogue = (await client.get(f"{URL}/catalogue")).json()
    assert catalogue.keys() == {
        "source_id",
        "dialect",
        "hash",
        "refreshed_at",
        "table_count",
        "drift",
        "drifted_at",
        "left_out",
        "problem",
        "tables",
        "hits",
    }
    tables = {table["key"]: table for table in catalogue["tables"]}
    assert catalogue["table_count"] == len(tables) == 11
    assert (catalogue["dialect"], catalogue["problem"], catalogue["hits"]) == ("sqlite", None, None)
    customer = tables["Customer"]
    assert customer["row_count"] == by_hand(live, "SELECT COUNT(*) FROM Customer")[0][0]
    assert customer["primary_key"] == ["CustomerId"]
    assert customer["schema"] is None
    assert customer["foreign_keys"] == [
        {
            "columns": ["SupportRepId"],
            "target_table": "Employee",
            "target_columns": ["EmployeeId"],
        }
    ]
    assert customer["columns"][0].keys() == {
        "name",
        "type",
        "is_nullable",
        "comment",
        "samples",
        "are_samples_truncated",
    }


async def test_the_tables_of_a_source_are_listed_by_name(live: LiveServer) -> None:
    async with live.http() as client:
        listed = (await client.get(f"{URL}/tables")).json()
        catalogue = (await client.get(f"{URL}/catalogue")).json()
    assert listed["total"] == 11
    assert listed["items"] == [
        {key: table[key] for key in ("key", "comment", "row_count")}
        for table in catalogue["tables"]
    ]


async def test_a_catalogue_shows_one_table_or_those_that_fit_some_words(live: LiveServer) -> None:
    async with live.http() as client:
        one = (await client.get(f"{URL}/catalogue", params={"table": "customer"})).json()
        found = (await client.get(f"{URL}/catalogue", params={"search": "客户的发票"})).json()
        none = (await client.get(f"{URL}/catalogue", params={"search": "zzzz"})).json()
        wrong = await client.get(f"{URL}/catalogue", params={"table": "Custumer"})
    assert [table["key"] for table in one["tables"]] == ["Customer"]
    assert [hit["table_key"] for hit in found["hits"]] == [t["key"] for t in found["tables"]]
    assert {"Customer", "Invoice"} <= {table["key"] for table in found["tables"]}
    assert (none["hits"], none["tables"], none["table_count"]) == ([], [], 11)
    assert (wrong.status_code, wrong.json()["error_code"]) == (422, "unknown_name")
    assert "Customer" in wrong.json()["details"]["nearest"]


async def test_a_refresh_looks_at_the_source_now(live: LiveServer) -> None:
    async with live.http("root") as client:
        before = (await client.get(f"{URL}/catalogue")).json()
        after = (await client.post(f"{URL}/refresh")).json()
    assert after["refreshed_at"] > before["refreshed_at"]
    assert after["hash"] == before["hash"]
    assert "tables" not in after


async def test_a_check_says_what_would_run_and_runs_nothing(live: LiveServer) -> None:
    async with live.http() as client:
        count = (await client.get("/api/v1/artifacts")).json()["total"]
        answer = await client.post(f"{URL}/check", json={"sql": "select Name from Genre"})
        assert (await client.get("/api/v1/artifacts")).json()["total"] == count
    assert answer.json() == {
        "ok": True,
        "sql_executed": answer.json()["sql_executed"],
        "policy": [],
    }
    assert by_hand(live, answer.json()["sql_executed"]) == by_hand(live, "SELECT Name FROM Genre")


FIELDS = {
    "artifact",
    "columns",
    "row_count",
    "truncated",
    "truncated_by",
    "preview",
    "statistics",
    "sql_executed",
    "policy",
    "warnings",
    "duration_ms",
    "time_zone",
}


async def test_a_query_gives_its_artefact_shape_first_rows_figures_and_receipt(
    live: LiveServer,
) -> None:
    sql = "SELECT GenreId, Name, NULL AS missing FROM Genre ORDER BY GenreId"
    async with live.http() as client:
        answer = await client.post(f"{URL}/query", json={"sql": sql, "title": "Genres"})
    body = answer.json()
    rows = [list(row) for row in by_hand(live, sql)]
    assert body.keys() == FIELDS
    assert body["artifact"]["title"] == "Genres"
    assert (body["row_count"], body["truncated"], body["truncated_by"]) == (len(rows), False, None)
    assert body["preview"] == rows[:20]
    assert [(each["name"], each["label"]) for each in body["columns"]] == [
        ("GenreId", "GenreId"),
        ("Name", "Name"),
        ("missing", "missing"),
    ]
    ids = [row[0] for row in rows]
    assert body["statistics"][0] == {
        "name": "GenreId",
        "nulls": 0,
        "min": min(ids),
        "max": max(ids),
        "distinct": len(ids),
        "sum": sum(ids),
        "mean": sum(ids) / len(ids),
    }
    assert body["statistics"][2]["nulls"] == len(rows)
    assert body["policy"] == []
    assert body["time_zone"] == "UTC"


async def test_a_warning_of_the_source_is_in_the_answer_and_in_the_kept_receipt(
    live: LiveServer, tmp_path: Path
) -> None:
    with fresh_database("mysql", tmp_path) as url:
        async with live.http("root") as admin:
            made = await admin.post("/api/v1/data-sources", json={"name": "warned", "url": url})
            assert made.status_code == 201, made.text
            query = {"sql": "SELECT 1 / 0 AS x"}
            answer = (await admin.post("/api/v1/data-sources/warned/query", json=query)).json()
            kept = await admin.get(f"/api/v1/artifacts/{answer['artifact']['artifact_id']}")
            await admin.delete(f"/api/v1/data-sources/{made.json()['source_id']}")
    assert answer["warnings"] == ["MySQL: Division by 0 (1365)"]
    assert kept.json()["receipt"]["warnings"] == answer["warnings"]


@pytest.mark.parametrize(("limit", "is_truncated"), [(5, True), (10_000_000, False)])
async def test_a_limit_stops_the_reading_and_says_so(
    live: LiveServer, limit: int, is_truncated: bool
) -> None:
    async with live.http() as client:
        body = {"sql": "SELECT TrackId FROM Track", "limit": limit}
        answer = (await client.post(f"{URL}/query", json=body)).json()
        body = {"sql": "SELECT COUNT(*) AS n FROM Track", "limit": limit}
        counted = (await client.post(f"{URL}/query", json=body)).json()
    total = by_hand(live, "SELECT COUNT(*) FROM Track")[0][0]
    assert answer["truncated"] is is_truncated
    assert answer["truncated_by"] == ("rows" if is_truncated else None)
    assert answer["row_count"] == min(limit, total)
    assert "LIMIT" not in answer["sql_executed"].upper()
    assert counted["preview"] == [[total]]  # a limit never changes a figure


async def test_integers_a_browser_cannot_hold_are_text(live: LiveServer) -> None:
    sql = "SELECT 9007199254740993 AS n, -9223372036854775807 AS m, 9007199254740991 AS k"
    async with live.http() as client:
        answer = (await client.post(f"{URL}/query", json={"sql": sql})).json()
        page = await client.get(f"/api/v1/artifacts/{answer['artifact']['artifact_id']}?limit=1")
    expected = ["9007199254740993", "-9223372036854775807", 9007199254740991]
    assert answer["preview"] == [expected] == page.json()["page"]["rows"]
    assert [each["max"] for each in answer["statistics"]] == expected


REFUSED = {
    "DELETE FROM Customer": "query_refused",
    "SELECT 1; SELECT 2": "query_refused",
    "PRAGMA table_info(Customer)": "query_refused",
    "ATTACH '/etc/passwd' AS x": "query_refused",
    "SELECT load_extension('x')": "query_refused",
    "SELECT * FROM sqlite_master": "query_refused",
    "SELEC * FROM Customer": "query_refused",
    "SELECT Emial FROM Customer": "unknown_name",
    "SELECT * FROM Custmer": "unknown_name",
}


@pytest.mark.parametrize("sql", REFUSED)
@pytest.mark.parametrize("door", ["check", "query"])
async def test_a_refused_statement_is_422_with_a_reason_and_a_way_out(
    live: LiveServer, sql: str, door: str
) -> None:
    async with live.http() as client:
        answer = await client.post(f"{URL}/{door}", json={"sql": sql})
    body = answer.json()
    assert (answer.status_code, body["error_code"]) == (422, REFUSED[sql])
    if body["error_code"] == "query_refused":
        assert body["details"]["reason"]
        assert body["details"]["hint"]
    else:
        assert body["details"]["nearest"]


async def test_an_error_of_the_engine_is_422_and_says_what_it_said(live: LiveServer) -> None:
    sql = "SELECT abs(-9223372036854775807 - 1) AS n"
    async with live.http() as client:
        answer = await client.post(f"{URL}/query", json={"sql": sql})
    assert (answer.status_code, answer.json()["error_code"]) == (422, "query_failed")
    assert "overflow" in answer.json()["message"]


async def test_a_statement_over_its_time_is_504_and_leaves_nothing(live: LiveServer) -> None:
    async with live.http("root") as client:
        sample = (await client.get(URL)).json()
        quick = {"limits": {"timeout_seconds": 0.2}}
        assert (await client.put(URL, json=quick)).status_code == 200
        try:
            before = (await client.get("/api/v1/artifacts")).json()["total"]
            answer = await client.post(f"{URL}/query", json={"sql": ENDLESS})
            after = (await client.get("/api/v1/artifacts")).json()["total"]
        finally:
            await client.put(URL, json={"limits": sample["limits"]})
    assert (answer.status_code, answer.json()["error_code"]) == (504, "query_timed_out")
    assert before == after


async def test_a_caller_that_leaves_stops_the_statement(live: LiveServer) -> None:
    capacity = live.container.capacity
    assert capacity.used == 0
    reader, writer = await asyncio.open_connection(*live.address)
    body = json.dumps({"sql": ENDLESS}).encode()
    head = (
        f"POST {URL}/query HTTP/1.1\r\nHost: x\r\nX-API-Key: alice-key-4f9a0c\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    writer.write(head.encode() + body)
    await writer.drain()
    await live.until(lambda: capacity.used == 1)
    writer.close()
    await live.until(lambda: capacity.used == 0)  # held until the engine has stopped
    assert await reader.read() == b""
    async with live.http() as client:
        answer = await client.post(f"{URL}/query", json={"sql": "SELECT COUNT(*) n FROM Genre"})
    assert answer.status_code == 200


async def test_others_are_served_while_a_statement_runs(live: LiveServer) -> None:
    async with live.http() as client:
        slow = asyncio.create_task(client.post(f"{URL}/query", json={"sql": ENDLESS}))
        await live.until(lambda: live.container.capacity.used == 1)
        quick = await client.post(f"{URL}/query", json={"sql": "SELECT 1 AS n"})
        assert quick.json()["preview"] == [[1]]
        assert not slow.done()
        slow.cancel()
        await asyncio.gather(slow, return_exceptions=True)
    await live.until(lambda: live.container.capacity.used == 0)


BODIES: dict[str, dict[str, Any]] = {
    "nothing": {},
    "empty": {"sql": ""},
    "number": {"sql": 5},
    "nul": {"sql": "SELECT '\x00'"},
    "unknown field": {"sql": "SELECT 1", "user_id": "bob"},
    "no rows": {"sql": "SELECT 1", "limit": 0},
    "text limit": {"sql": "SELECT 1", "limit": "5"},
    "long title": {"sql": "SELECT 1", "title": "x" * 201},
}


@pytest.mark.parametrize("name", BODIES)
async def test_a_query_that_makes_no_sense_is_422(live: LiveServer, name: str) -> None:
    async with live.http() as client:
        answer = await client.post(f"{URL}/query", json=BODIES[name])
    assert (answer.status_code, answer.json()["error_code"]) == (422, "bad_input"), answer.text
