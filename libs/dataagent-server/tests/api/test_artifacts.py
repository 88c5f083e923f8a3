"""Kept results over REST: whose they are, their rows page by page, their files, their charts."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import sqlite3
from typing import TYPE_CHECKING, Any, cast
from uuid import uuid4

import pyarrow.parquet as pq  # pyright: ignore[reportMissingTypeStubs] it has none
import pytest
from python_calamine import CalamineWorkbook

from dataagent_core.data.results import ArtifactDraft

if TYPE_CHECKING:
    from conftest import LiveServer

URL = "/api/v1/artifacts"
QUERY = "/api/v1/data-sources/chinook/query"
CUSTOMERS = "SELECT CustomerId, FirstName, Country, Company FROM Customer ORDER BY CustomerId"
BY_COUNTRY = "SELECT Country, COUNT(*) AS customers FROM Customer GROUP BY Country ORDER BY 2 DESC"
BIG = (
    "SELECT a.TrackId AS a, b.TrackId AS b, a.Name AS name, b.Composer AS composer "
    "FROM Track AS a CROSS JOIN Track AS b"
)


def by_hand(live: LiveServer, sql: str) -> list[list[Any]]:
    """What the sample database itself says."""
    path = live.container.settings.home_dir / "sample" / "chinook.sqlite"
    connection = sqlite3.connect(path)
    try:
        return [list(row) for row in connection.execute(sql)]
    finally:
        connection.close()


async def kept(live: LiveServer, sql: str = CUSTOMERS, **body: Any) -> dict[str, Any]:
    """An artefact of alice's."""
    async with live.http() as client:
        answer = await client.post(QUERY, json={"sql": sql, **body})
    assert answer.status_code == 200, answer.text
    return answer.json()["artifact"]


async def chart_of(live: LiveServer, artifact_id: str, **draft: Any) -> str:
    """A chart of one of alice's tables, made as an agent makes it."""
    charts = live.container.core.data.charts
    chart = await live.on_server(charts.make(artifact_id, ArtifactDraft("alice", "图表", **draft)))
    return chart.artifact_id


async def test_an_artefact_is_listed_seen_and_deleted(live: LiveServer) -> None:
    artifact = await kept(live, title="Customers")
    url = f"{URL}/{artifact['artifact_id']}"
    async with live.http() as client:
        listed = (await client.get(URL)).json()
        assert listed["items"][0] == artifact  # the newest first
        assert listed["total"] == len(listed["items"])
        detail = (await client.get(url)).json()
        assert {name: detail[name] for name in artifact} == artifact
        assert detail["receipt"].keys() == {
            "source_id",
            "source_name",
            "dialect",
            "sql",
            "sql_executed",
            "row_count",
            "truncated",
            "truncated_by",
            "duration_ms",
            "policy",
            "warnings",
            "time_zone",
            "executed_at",
        }
        assert detail["receipt"]["sql"] == CUSTOMERS
        assert (detail["page"], detail["spec"]) == (None, None)
        assert [column["name"] for column in detail["columns"]] == [
            "CustomerId",
            "FirstName",
            "Country",
            "Company",
        ]
        page = (await client.get(URL, params={"limit": 1, "offset": 0})).json()
        assert (len(page["items"]), page["total"]) == (1, listed["total"])
        assert (await client.delete(url)).status_code == 204
        for answer in (await client.get(url), await client.delete(url)):
            assert (answer.status_code, answer.json()["error_code"]) == (404, "artifact_not_found")


async def test_artefacts_of_a_session_are_listed_by_it(live: LiveServer) -> None:
    artifact = await kept(live, BY_COUNTRY)
    session_id = str(uuid4())
    chart_id = await chart_of(live, artifact["artifact_id"], session_id=session_id)
    async with live.http() as client:
        mine = (await client.get(URL, params={"session_id": session_id})).json()
        none = (await client.get(URL, params={"session_id": str(uuid4())})).json()
    assert [each["artifact_id"] for each in mine["items"]] == [chart_id]
    assert none == {"items": [], "total": 0}


async def test_anothers_artefact_does_not_exist(live: LiveServer) -> None:
    artifact = await kept(live, BY_COUNTRY)
    chart_id = await chart_of(live, artifact["artifact_id"])
    for user in ("bob", "root"):
        async with live.http(user) as client:
            for artifact_id in (artifact["artifact_id"], chart_id):
                for tail in ("", "?limit=5", "?format=csv", "?format=png"):
                    answer = await client.get(f"{URL}/{artifact_id}{tail}")
                    assert answer.status_code == 404, (user, tail)
                    assert answer.json()["error_code"] == "artifact_not_found"
                assert (await client.delete(f"{URL}/{artifact_id}")).status_code == 404
                assert artifact_id not in (await client.get(URL)).text
    async with live.http() as client:
        assert (await client.get(f"{URL}/{artifact['artifact_id']}")).status_code == 200


async def test_rows_come_by_page_and_sorted(live: LiveServer) -> None:
    url = f"{URL}/{(await kept(live))['artifact_id']}"
    rows = by_hand(live, CUSTOMERS)
    async with live.http() as client:
        first = (await client.get(url, params={"limit": 3})).json()["page"]
        assert first == {
            "columns": ["CustomerId", "FirstName", "Country", "Company"],
            "rows": rows[:3],
            "total": len(rows),
            "offset": 0,
            "next_offset": 3,
        }
        last = (await client.get(url, params={"offset": len(rows) - 2})).json()["page"]
        assert (last["rows"], last["next_offset"]) == (rows[-2:], None)
        sort = {"sort": ["Country", "-CustomerId"], "limit": 1000}
        page = (await client.get(url, params=sort)).json()["page"]
        assert page["rows"] == sorted(rows, key=lambda row: (row[2].encode(), -row[0]))
        wrong = await client.get(url, params={"sort": "Contry"})
        assert (wrong.status_code, wrong.json()["error_code"]) == (422, "bad_input")
        assert wrong.json()["details"]["nearest"][0] == "Country"


async def test_every_format_has_every_row(live: LiveServer) -> None:
    artifact = await kept(live, title="客户 / customers")
    rows = by_hand(live, CUSTOMERS)
    header = ["CustomerId", "FirstName", "Country", "Company"]
    got: dict[str, bytes] = {}
    async with live.http() as client:
        for fmt in ("csv", "xlsx", "parquet", "json"):
            answer = await client.get(f"{URL}/{artifact['artifact_id']}?format={fmt}")
            assert answer.status_code == 200
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
            assert answer.headers["Content-Disposition"] == (
                f'attachment; filename="_ _ customers.{fmt}"; '
                f"filename*=UTF-8''%E5%AE%A2%E6%88%B7%20_%20customers.{fmt}"
            )
            got[fmt] = answer.content
    lines = list(csv.reader(io.StringIO(got["csv"].decode(), newline="")))
    assert lines[0] == header
    assert [[cell or None for cell in line] for line in lines[1:]] == [
        [None if cell is None else str(cell) for cell in row] for row in rows
    ]
    table = cast(Any, pq).read_table(io.BytesIO(got["parquet"]))  # pyarrow has no types
    assert [list(row.values()) for row in table.to_pylist()] == rows
    assert [list(row.values()) for row in json_of(got["json"])] == rows
    sheet = CalamineWorkbook.from_filelike(io.BytesIO(got["xlsx"])).get_sheet_by_index(0)
    assert sheet.to_python() == [header, *[["" if c is None else c for c in row] for row in rows]]


async def test_a_file_has_the_rows_that_are_asked_for(live: LiveServer) -> None:
    url = f"{URL}/{(await kept(live))['artifact_id']}"
    rows = by_hand(live, CUSTOMERS)
    async with live.http() as client:
        for query, wanted in (
            ({"limit": 3}, rows[:3]),
            ({"limit": 2, "offset": 4}, rows[4:6]),
            ({"offset": len(rows) - 1}, rows[-1:]),
            ({"offset": len(rows)}, []),
        ):
            answer = await client.get(url, params={"format": "json", **query})
            assert [list(row.values()) for row in json_of(answer.content)] == wanted
        lines = (await client.get(f"{url}?format=csv&limit=2")).text.splitlines()
        assert len(lines) == 3


def json_of(content: bytes) -> list[dict[str, Any]]:
    return json.loads(content)


async def test_a_byte_order_mark_comes_only_when_asked_for(live: LiveServer) -> None:
    url = f"{URL}/{(await kept(live))['artifact_id']}"
    async with live.http() as client:
        plain = await client.get(f"{url}?format=csv")
        marked = await client.get(f"{url}?format=csv&bom=true")
    assert plain.content.startswith(b"CustomerId")
    assert marked.content == b"\xef\xbb\xbf" + plain.content
    assert plain.headers["Content-Type"] == "text/csv; charset=utf-8"


async def test_a_chart_is_a_specification_with_values_and_a_picture(live: LiveServer) -> None:
    artifact = await kept(live, BY_COUNTRY, limit=10)
    chart_id = await chart_of(live, artifact["artifact_id"])
    async with live.http() as client:
        detail = (await client.get(f"{URL}/{chart_id}")).json()
        png = await client.get(f"{URL}/{chart_id}?format=png")
        svg = await client.get(f"{URL}/{chart_id}?format=svg")
        wrong = await client.get(f"{URL}/{chart_id}?format=csv")
        rows = await client.get(f"{URL}/{chart_id}?limit=5")
        drawn_rows = await client.get(f"{URL}/{chart_id}?format=png&limit=5")
        assert (await client.delete(f"{URL}/{artifact['artifact_id']}")).status_code == 204
        assert (await client.get(f"{URL}/{chart_id}")).status_code == 404  # it goes with its table
    assert (detail["kind"], detail["parent_id"]) == ("chart", artifact["artifact_id"])
    assert "vega-lite" in detail["spec"]["$schema"]
    values = detail["spec"]["data"]["values"]
    expected = {tuple(row) for row in by_hand(live, BY_COUNTRY)[:10]}
    assert {tuple(value.values()) for value in values} == expected
    assert (png.status_code, png.headers["Content-Type"]) == (200, "image/png")
    assert png.content.startswith(b"\x89PNG\r\n")
    assert png.headers["Content-Disposition"].startswith('attachment; filename="result.png"')
    assert svg.headers["Content-Type"].startswith("image/svg+xml")
    assert "sandbox" in svg.headers["Content-Security-Policy"]
    assert svg.text.startswith("<svg")
    for answer in (wrong, rows, drawn_rows):
        assert (answer.status_code, answer.json()["error_code"]) == (422, "bad_input")
    assert wrong.json()["details"] == {"parent_id": artifact["artifact_id"]}


@pytest.mark.parametrize(
    "query",
    [
        "format=exe",
        "format=png",
        "limit=0",
        "limit=1001",
        "limit=x",
        "offset=-1",
        "bom=perhaps",
        "user_id=bob",
        "sort=" + "x" * 501,
        "format=json&sort=Country",
    ],
)
async def test_a_question_that_makes_no_sense_is_422(live: LiveServer, query: str) -> None:
    url = f"{URL}/{(await kept(live))['artifact_id']}"
    async with live.http() as client:
        answer = await client.get(f"{url}?{query}")
    assert (answer.status_code, answer.json()["error_code"]) == (422, "bad_input")


@pytest.mark.parametrize("fmt", ["csv", "xlsx", "parquet", "json"])
async def test_an_artefact_whose_file_went_is_not_found(live: LiveServer, fmt: str) -> None:
    artifact_id = (await kept(live))["artifact_id"]
    artifacts = live.container.core.data.service.artifacts
    artifact = await live.on_server(artifacts.get(artifact_id, owner="alice"))
    artifacts.path_of(artifact).unlink()
    async with live.http() as client:
        for tail in (f"?format={fmt}", "?limit=5"):
            answer = await client.get(f"{URL}/{artifact_id}{tail}")
            assert (answer.status_code, answer.json()["error_code"]) == (404, "artifact_not_found")


async def test_a_reader_who_stands_still_keeps_nobody_waiting_and_one_who_leaves_ends_it(
    live: LiveServer,
) -> None:
    live.hold_little()
    capacity = live.container.capacity
    artifact_id = (await kept(live, BIG, limit=200_000))["artifact_id"]
    request = (
        f"GET {URL}/{artifact_id}?format=csv HTTP/1.1\r\nHost: x\r\n"
        "X-API-Key: alice-key-4f9a0c\r\n\r\n"
    )
    reader, writer = await asyncio.open_connection(*live.address, limit=4096)
    writer.write(request.encode())
    assert (await reader.readline()).startswith(b"HTTP/1.1 200")
    async with live.http() as client:
        whole = await client.get(f"{URL}/{artifact_id}?format=csv")
        assert len(whole.content.splitlines()) == 200_001
    assert capacity.used == 1  # the first is still at it
    writer.transport.abort()
    await live.until(lambda: capacity.used == 0)


async def test_downloads_take_a_slot(live: LiveServer) -> None:
    artifact_id = (await kept(live))["artifact_id"]
    capacity = live.container.capacity

    async def fill(taken: int) -> None:
        for _ in range(taken):
            capacity.take()

    async def empty(taken: int) -> None:
        for _ in range(taken):
            capacity.release()

    await live.on_server(fill(capacity.limit))
    try:
        async with live.http() as client:
            download = await client.get(f"{URL}/{artifact_id}?format=csv")
            query = await client.post(QUERY, json={"sql": "SELECT 1 AS n"})
    finally:
        await live.on_server(empty(capacity.limit))
    for answer in (download, query):
        assert (answer.status_code, answer.json()["error_code"]) == (503, "too_many_connections")
        assert int(answer.headers["Retry-After"]) > 0
