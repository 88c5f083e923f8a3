"""A newcomer with no key asks about the sample data over HTTP and gets the true numbers."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pytest

from tests.end_to_end.conftest import StartServer
from tests.end_to_end.server import Server

Case = tuple[str, str]
_SALES = "SELECT {what}, SUM(i.Total) FROM Invoice i JOIN Customer c USING (CustomerId) "
_LINES = (
    "SELECT {what}, SUM(l.UnitPrice * l.Quantity) FROM InvoiceLine l "
    "JOIN Track t USING (TrackId) {joins} GROUP BY 1"
)
_ARTISTS = _LINES.format(
    what="ar.Name", joins="JOIN Album al USING (AlbumId) JOIN Artist ar USING (ArtistId)"
)
_GENRES = _LINES.format(what="g.Name", joins="JOIN Genre g ON g.GenreId = t.GenreId")
_MONTHS = (
    "SELECT strftime('%Y-%m', InvoiceDate), SUM(Total) FROM Invoice "
    "WHERE InvoiceDate >= '2023-01-01' AND InvoiceDate < '2024-01-01' GROUP BY 1"
)
_BY_COUNTRY = _SALES.format(what="c.Country") + "GROUP BY 1"
_GERMANY = _SALES.format(what="c.Country") + "WHERE c.Country = 'Germany' GROUP BY 1"

# question → a statement written by hand; its last column is what was asked for
ALONE: tuple[Case, ...] = (
    ("How many customers are there?", "SELECT COUNT(*) FROM Customer"),
    ("一共有多少客户？", "SELECT COUNT(*) FROM Customer"),
    ("What is the total of all invoices?", "SELECT SUM(Total) FROM Invoice"),
    ("发票总金额是多少？", "SELECT SUM(Total) FROM Invoice"),
    ("What is the average invoice total?", "SELECT AVG(Total) FROM Invoice"),
    ("Top 5 artists by sales", f"{_ARTISTS} ORDER BY 2 DESC, 1 LIMIT 5"),
    ("销售额最高的5位艺术家", f"{_ARTISTS} ORDER BY 2 DESC, 1 LIMIT 5"),
    ("Total sales by country", _BY_COUNTRY),
    ("每个国家的销售总额", _BY_COUNTRY),
    ("Sales by genre", _GENRES),
    ("Which five genres sell most?", f"{_GENRES} ORDER BY 2 DESC, 1 LIMIT 5"),
    ("哪五个流派卖得最好？", f"{_GENRES} ORDER BY 2 DESC, 1 LIMIT 5"),
    ("Which country buys most?", f"{_BY_COUNTRY} ORDER BY 2 DESC, 1 LIMIT 1"),
    ("Sales by month in 2023", _MONTHS),
    ("按月统计2023年的销售额", _MONTHS),
    ("How many customers are in Germany?", "SELECT COUNT(*) FROM Customer WHERE Country='Germany'"),
    ("德国有多少客户？", "SELECT COUNT(*) FROM Customer WHERE Country='Germany'"),
)
FOLLOWED: tuple[tuple[Case, Case], ...] = (
    (("Total sales by country", _BY_COUNTRY), ("and only for Germany", _GERMANY)),
    (("每个国家的销售总额", _BY_COUNTRY), ("只看德国呢？", _GERMANY)),
)


@pytest.fixture(scope="module")
def asked_of() -> Any:
    return {"DATAAGENT_MODEL": "offline", "DATAAGENT_SAMPLE_DATA": "true"}


async def ask(server: Server, question: str, session_id: str | None = None) -> dict[str, Any]:
    body = {"message": question} | ({"session_id": session_id} if session_id else {})
    status, answer = await server.post("/chat", body)
    assert (status, answer["status"]) == (200, "done"), answer
    return answer


def artifacts(answer: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    found = [e["data"] for e in answer["events"] if e["event_type"] == "artifact"]
    return [one for one in found if one["kind"] == kind]


async def check(server: Server, answer: dict[str, Any], sql: str) -> None:
    """The last result, its text and its figures are what the hand-written statement says."""
    path = server.home / "data/sample/chinook.sqlite"
    with sqlite3.connect(path) as connection:
        expected = connection.execute(sql).fetchall()
    table = artifacts(answer, "table")[-1]
    page = await server.get(f"/artifacts/{table['artifact_id']}?limit=1000")
    assert plain(page["page"]["rows"]) == plain(expected)
    text = "".join(e["data"]["content"] for e in answer["events"] if e["event_type"] == "text")
    assert "```sql" in text
    assert "ffline" in text or "离线" in text
    figures = answer["events"][-1]["data"]["metadata"]["figures"]
    assert figures["unbacked"] == []
    assert figures["verified"]


def plain(rows: Sequence[Sequence[Any]]) -> list[tuple[Any, ...]]:
    """Rows to compare: numbers to the cent, in a fixed order."""
    return sorted(tuple(_cell(cell) for cell in row) for row in rows)


def _cell(cell: Any) -> Any:
    if isinstance(cell, int | float):
        return Decimal(str(cell)).quantize(Decimal("0.01"))
    return cell


async def test_questions_without_a_key_get_the_true_numbers(
    start_server: StartServer, asked_of: dict[str, str]
) -> None:
    server = await start_server(**asked_of)
    for question, sql in ALONE:
        await check(server, await ask(server, question), sql)
    for (first, first_sql), (then, then_sql) in FOLLOWED:
        answer = await ask(server, first)
        await check(server, answer, first_sql)
        await check(server, await ask(server, then, answer["session_id"]), then_sql)


@pytest.mark.slow
async def test_charts_are_made_and_drawn_without_a_key(
    start_server: StartServer, asked_of: dict[str, str]
) -> None:
    server = await start_server(**asked_of)
    for question in ("Show sales by country as a chart", "按月统计2023年的销售额，画成图"):
        answer = await ask(server, question)
        (chart,) = artifacts(answer, "chart")
        shown = await server.get(f"/artifacts/{chart['artifact_id']}")
        assert shown["spec"]["data"]["values"]
        url = f"/api/v1/artifacts/{chart['artifact_id']}?format=png"
        async with server.http() as http, http.get(url) as picture:
            assert picture.status == 200, await picture.text()
            assert (await picture.read()).startswith(b"\x89PNG")


async def test_what_it_cannot_do_it_says_without_a_number(
    start_server: StartServer, asked_of: dict[str, str]
) -> None:
    server = await start_server(**asked_of)
    for question in ("Predict next year's revenue per customer segment", "为什么销售额下降了？"):
        answer = await ask(server, question)
        assert artifacts(answer, "table") == []
        text = "".join(e["data"]["content"] for e in answer["events"] if e["event_type"] == "text")
        assert text.strip()
