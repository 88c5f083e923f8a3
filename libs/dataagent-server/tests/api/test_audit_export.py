"""The audit log as a file: all of it, in both formats, for administrators only, and on record."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
from collections.abc import AsyncGenerator
from contextlib import closing
from typing import TYPE_CHECKING

import httpx
import pytest

from dataagent_core.audit import AuditRow
from dataagent_server.api.v1.audit import audit_file

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import LiveServer

URL = "/api/v1/audit/export"


async def acted(live: LiveServer, count: int) -> None:
    """As many records of an administrator, with targets that a spreadsheet would run."""
    audit = live.container.core.observers.audit

    async def note() -> None:
        for number in range(count):
            audit.note("test.act", "success", user_id="root", target=f"=1+{number}")
        await audit.flush()

    await live.on_server(note())


async def test_both_formats_have_every_row_and_field(
    start_server: Callable[..., LiveServer],
) -> None:
    server = start_server()
    await acted(server, 2_345)
    async with server.http("root") as http:
        lines = await http.get(URL, params={"action": "test.act", "format": "jsonl"})
        table = await http.get(URL, params={"action": "test.act", "format": "csv"})
        listed = await http.get("/api/v1/audit", params={"action": "test.act", "limit": 1000})
    objects = [json.loads(line) for line in lines.text.splitlines()]
    assert len(objects) == listed.json()["total"] == 2_345
    assert objects[::-1][:1000] == listed.json()["items"]
    rows = list(csv.DictReader(io.StringIO(table.text)))
    assert [row.keys() for row in rows] == [each.keys() for each in objects]
    assert [row["hash"] for row in rows] == [each["hash"] for each in objects]
    assert rows[7]["target"] == "'=1+7"
    assert json.loads(rows[7]["details"]) == objects[7]["details"]
    assert rows[7]["run_id"] == ""
    assert lines.headers["content-type"] == "application/jsonl"
    assert table.headers["content-disposition"].startswith('attachment; filename="audit.csv"')


async def test_who_takes_a_copy_is_on_record_and_who_may_not_too(live: LiveServer) -> None:
    async with live.http("root") as http:
        whole = await http.get(URL, params={"format": "jsonl", "user_id": "root"})
        kept = (await http.get("/api/v1/audit", params={"action": "export_audit"})).json()
    assert json.loads(whole.text.splitlines()[-1])["action"] == "export_audit"
    record = kept["items"][0]
    assert (record["user_id"], record["outcome"]) == ("root", "success")
    assert record["details"]["values"] == {"user_id": "root"}
    async with live.http("alice") as http:
        assert (await http.get(URL)).status_code == 403
    async with live.http(None) as http:
        assert (await http.get(URL)).status_code == 401
    async with live.http("root") as http:
        params = {"action": "export_audit", "outcome": "denied"}
        [denied, *_] = (await http.get("/api/v1/audit", params=params)).json()["items"]
    assert denied["user_id"] == "alice"


@pytest.mark.parametrize("query", ["format=xlsx", "limit=5", "from=yesterday", "outcome=maybe"])
async def test_what_makes_no_sense_is_refused(live: LiveServer, query: str) -> None:
    async with live.http("root") as http:
        answer = await http.get(f"{URL}?{query}")
    assert (answer.status_code, answer.json()["error_code"]) == (422, "bad_input")


async def test_a_copy_that_cannot_be_finished_is_cut_off_visibly(
    start_server: Callable[..., LiveServer],
) -> None:
    """A row of the second page is damaged in the database's file."""
    server = start_server()
    await acted(server, 1_500)
    file = server.container.core.settings.home / "dataagent.db"
    with closing(sqlite3.connect(file)) as database, database:
        changed = database.execute("UPDATE audit_log SET at = 'never' WHERE position = 1400")
        assert changed.rowcount == 1
    async with server.http("root") as http, http.stream("GET", f"{URL}?format=jsonl") as answer:
        assert answer.status_code == 200
        pages = answer.aiter_bytes()
        assert (await anext(pages)).startswith(b'{"position":1,')
        with pytest.raises(httpx.RemoteProtocolError):
            [page async for page in pages]


async def test_an_empty_log_is_a_header_alone() -> None:
    async def nothing() -> AsyncGenerator[list[AuditRow]]:
        for rows in ():
            yield rows

    assert [piece async for piece in audit_file(nothing(), "jsonl")] == []
    [header] = [piece async for piece in audit_file(nothing(), "csv")]
    assert header.startswith(b"position,at,user_id,")
    assert header.endswith(b",previous_hash,hash\r\n")
