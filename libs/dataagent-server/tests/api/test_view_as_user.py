"""An administrator sees data as a user would: their rows, their tables, and a record of it."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

from tests.requirements import requirement
from tests.waiting import WAIT_SECONDS

if TYPE_CHECKING:
    import httpx

    from conftest import LiveServer

URL = "/api/v1/data-sources"
RULES: dict[str, Any] = {
    "subjects": {"roles": ["user"]},
    "tables": {
        "customers": {"row_filter": "region = :user.region", "deny_columns": ["phone"]},
        "salaries": {"grant": False},
    },
}
SQL = "SELECT id, region FROM customers ORDER BY id"


@pytest.fixture
async def source(live: LiveServer, tmp_path: Path) -> str:
    """The address of a source that bob may read, with a policy for users."""
    path = tmp_path / "people.sqlite"
    with sqlite3.connect(path) as connection:
        connection.executescript(
            """
            CREATE TABLE customers (id INTEGER, region TEXT, phone TEXT);
            CREATE TABLE salaries (person TEXT, amount INTEGER);
            INSERT INTO customers VALUES (1, 'north', '111'), (2, 'south', '222');
            """
        )
    connection.close()
    grants = [{"subject_kind": "user", "subject_id": "bob"}]
    body = {"name": f"people-{uuid4().hex[:8]}", "url": f"sqlite:///{path}", "grants": grants}
    async with live.http("root") as root:
        made = await root.post(URL, json=body)
        assert made.status_code == 201, made.text
        url = f"{URL}/{made.json()['source_id']}"
        policy = {"name": "regions", "rules": RULES}
        assert (await root.post(f"{url}/policies", json=policy)).status_code == 201
        attributes = {"attributes": {"region": "south"}}
        await root.put("/api/v1/users/bob/attributes", json=attributes)
    return url


async def tables(client: httpx.AsyncClient, url: str, **query: str) -> set[str]:
    answer = await client.get(f"{url}/catalogue", params=query)
    assert answer.status_code == 200, answer.text
    return {each["key"] for each in answer.json()["tables"]}


async def records(client: httpx.AsyncClient, **wanted: str) -> list[dict[str, Any]]:
    return (await client.get("/api/v1/audit", params=wanted)).json()["items"]


async def query_record(client: httpx.AsyncClient, source_name: str) -> dict[str, Any]:
    """The only statement over a source; what ran is recorded within half a second."""
    async with asyncio.timeout(WAIT_SECONDS):
        while True:
            found = await records(client, action="sql.query")
            if of_source := [each for each in found if each["target"] == source_name]:
                (record,) = of_source
                return record
            await asyncio.sleep(0.05)


@requirement("R32.1")
async def test_what_is_seen_is_what_the_user_would_see(live: LiveServer, source: str) -> None:
    as_bob = {"as_user": "bob"}
    async with live.http("root") as root, live.http("bob") as bob:
        assert await tables(root, source) == {"customers", "salaries"}
        assert await tables(root, source, **as_bob) == await tables(bob, source) == {"customers"}
        for way in ("check", "query"):
            for sql in (SQL, "SELECT phone FROM customers", "SELECT * FROM salaries"):
                seen = await root.post(f"{source}/{way}", params=as_bob, json={"sql": sql})
                own = await bob.post(f"{source}/{way}", json={"sql": sql})
                assert seen.status_code == own.status_code
                for name in ("sql_executed", "policy", "preview", "error_code", "message"):
                    assert seen.json().get(name) == own.json().get(name), (way, sql, name)
        rows = (await root.post(f"{source}/query", params=as_bob, json={"sql": SQL})).json()
        assert rows["preview"] == [[2, "south"]]
        everything = (await root.post(f"{source}/query", json={"sql": SQL})).json()
        assert everything["preview"] == [[1, "north"], [2, "south"]]


async def test_what_the_user_may_not_see_is_not_there(live: LiveServer, source: str) -> None:
    as_alice = {"as_user": "alice"}
    async with live.http("root") as root:
        assert (await root.get(f"{source}/catalogue", params=as_alice)).status_code == 404
        refused = await root.post(f"{source}/query", params=as_alice, json={"sql": SQL})
        assert refused.status_code == 404
        source_id = source.rpartition("/")[2]
        for user, is_seen in (("alice", False), ("bob", True)):
            listed = (await root.get(URL, params={"as_user": user})).json()["items"]
            assert (source_id in {each["source_id"] for each in listed}) is is_seen


@requirement("R32.1")
async def test_the_result_and_the_record_are_the_administrators(
    live: LiveServer, source: str
) -> None:
    async with live.http("root") as root, live.http("bob") as bob:
        answer = await root.post(f"{source}/query", params={"as_user": "bob"}, json={"sql": SQL})
        url = f"/api/v1/artifacts/{answer.json()['artifact']['artifact_id']}"
        assert (await root.get(url)).status_code == 200
        assert (await bob.get(url)).status_code == 404
        (looked, *_) = await records(root, action="view_as_user", outcome="success")
        assert (looked["user_id"], looked["target"]) == ("root", "bob")
        assert looked["details"] == {"address": f"{source}/query"}
        name = (await root.get(source)).json()["name"]
        ran = await query_record(root, name)
        assert (ran["user_id"], ran["details"]["as_user"]) == ("root", "bob")


@requirement("R32.1")
async def test_nobody_else_looks_as_another(live: LiveServer, source: str) -> None:
    asked = {"as_user": "bob"}
    async with live.http("alice") as alice:
        for answer in (
            await alice.get(URL, params=asked),
            await alice.get(f"{source}/catalogue", params=asked),
            await alice.post(f"{source}/check", params=asked, json={"sql": SQL}),
            await alice.post(f"{source}/query", params=asked, json={"sql": SQL}),
        ):
            assert (answer.status_code, answer.json()["error_code"]) == (403, "denied")
    async with live.http("root") as root:
        (tried, *_) = await records(root, action="view_as_user", outcome="denied")
        assert (tried["user_id"], tried["target"]) == ("alice", "bob")
        assert (await root.get(URL, params={"as_user": "../x"})).status_code == 422


async def test_an_account_is_seen_with_its_own_role(live: LiveServer, source: str) -> None:
    users = live.container.users
    boss = await live.on_server(users.create(f"u_{uuid4().hex[:12]}", role="admin"))
    async with live.http("alice") as alice, live.http("root") as root:
        assert (await alice.get(f"{source}/catalogue")).status_code == 404
        for user_id in (boss.user_id, "root"):
            assert await tables(root, source, as_user=user_id) == {"customers", "salaries"}
