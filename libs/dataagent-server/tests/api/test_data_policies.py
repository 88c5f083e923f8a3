"""Policies over REST: two users ask the same and each gets their own."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

if TYPE_CHECKING:
    from conftest import LiveServer

URL = "/api/v1/data-sources"
RULES: dict[str, Any] = {
    "subjects": {"roles": ["user"]},
    "tables": {
        "customers": {
            "row_filter": "region = :user.region",
            "deny_columns": ["phone"],
            "masks": {"email": "partial"},
        },
        "salaries": {"grant": False},
    },
}


@pytest.fixture
async def source(live: LiveServer, tmp_path: Path) -> dict[str, Any]:
    """A source that alice and bob may read."""
    path = tmp_path / "people.sqlite"
    with sqlite3.connect(path) as connection:
        connection.executescript(
            """
            CREATE TABLE customers (id INTEGER, region TEXT, email TEXT, phone TEXT);
            CREATE TABLE salaries (person TEXT, amount INTEGER);
            INSERT INTO customers VALUES
                (1, 'north', 'ann.miller@mail.example', '111'),
                (2, 'south', 'bert.smith@mail.example', '222'),
                (3, 'north', 'cora.jones@mail.example', '333');
            INSERT INTO salaries VALUES ('canary-person', 424242);
            """
        )
    connection.close()
    body = {
        "name": f"people-{uuid4().hex[:8]}",
        "url": f"sqlite:///{path}",
        "grants": [{"subject_kind": "everyone"}],
    }
    async with live.http("root") as client:
        answer = await client.post(URL, json=body)
        for user, region in (("alice", "north"), ("bob", "south")):
            await client.put(
                f"/api/v1/users/{user}/attributes", json={"attributes": {"region": region}}
            )
    assert answer.status_code == 201, answer.text
    return answer.json()


async def put_policy(live: LiveServer, source: dict[str, Any]) -> dict[str, Any]:
    async with live.http("root") as client:
        answer = await client.post(
            f"{URL}/{source['source_id']}/policies", json={"name": "regions", "rules": RULES}
        )
    assert answer.status_code == 201, answer.text
    return answer.json()


async def test_a_policy_is_added_listed_replaced_and_removed(
    live: LiveServer, source: dict[str, Any]
) -> None:
    url = f"{URL}/{source['source_id']}/policies"
    policy = await put_policy(live, source)
    assert (policy["name"], policy["rules"], policy["is_from_config"]) == ("regions", RULES, False)
    async with live.http("root") as client:
        assert (await client.get(url)).json() == {"items": [policy], "total": 1}
        other = {
            "name": "none",
            "rules": {"subjects": "everyone", "tables": {"*": {"grant": True}}},
        }
        one = f"{url}/{policy['policy_id']}"
        replaced = (await client.put(one, json=other)).json()
        assert (replaced["name"], replaced["rules"]) == (other["name"], other["rules"])
        assert replaced["policy_id"] == policy["policy_id"]
        assert (await client.get(url)).json()["total"] == 1
        assert (await client.delete(one)).status_code == 204
        for answer in (await client.delete(one), await client.put(one, json=other)):
            assert (answer.status_code, answer.json()["error_code"]) == (404, "not_found")
        assert (await client.get(url)).json() == {"items": [], "total": 0}


async def test_two_users_see_each_their_rows_and_masked_columns(
    live: LiveServer, source: dict[str, Any]
) -> None:
    await put_policy(live, source)
    sql = "SELECT c.id, c.email FROM customers AS c JOIN customers AS d ON c.id = d.id ORDER BY 1"
    seen: dict[str, list[int]] = {}
    for user in ("alice", "bob", "root"):
        async with live.http(user) as client:
            answer = await client.post(
                f"{URL}/{source['source_id']}/query", json={"sql": sql, "title": "people"}
            )
            body = answer.json()
            assert answer.status_code == 200, answer.text
            seen[user] = [row[0] for row in body["preview"]]
            is_bound = user != "root"
            assert bool(body["policy"]) is is_bound
            assert ("@mail" in str(body["preview"])) is not is_bound
            artifact = (
                await client.get(f"/api/v1/artifacts/{body['artifact']['artifact_id']}")
            ).json()
            assert artifact["receipt"]["policy"] == body["policy"]
            assert artifact["receipt"]["sql_executed"] == body["sql_executed"]
    assert seen == {"alice": [1, 3], "bob": [2], "root": [1, 2, 3]}


async def test_the_statement_that_is_shown_has_nothing_of_the_policy(
    live: LiveServer, source: dict[str, Any]
) -> None:
    await put_policy(live, source)
    url = f"{URL}/{source['source_id']}"
    async with live.http("alice") as client:
        for route in ("query", "check"):
            answer = await client.post(f"{url}/{route}", json={"sql": "SELECT id FROM customers"})
            assert answer.json()["sql_executed"] == 'SELECT id FROM "customers"', answer.text


async def test_a_policy_for_a_role_holds_in_chat_as_over_rest(
    live: LiveServer, source: dict[str, Any]
) -> None:
    rules = {"subjects": {"roles": ["admin"]}, "tables": {"salaries": {"grant": False}}}
    url = f"{URL}/{source['source_id']}"
    sql = "SELECT amount FROM salaries"
    async with live.http("root") as client:
        added = await client.post(f"{url}/policies", json={"name": "admins", "rules": rules})
        assert added.status_code == 201, added.text
        refused = await client.post(f"{url}/query", json={"sql": sql})
        assert refused.status_code == 403, refused.text
        call = json.dumps({"query": sql, "source": source["name"]})
        chat = await client.post("/api/v1/chat", json={"message": f"!tool sql_db_query {call}"})
    results = [e for e in chat.json()["events"] if e["event_type"] == "tool_result"]
    assert "424242" not in chat.text
    assert len(results) == 1


async def test_who_has_no_such_attribute_sees_no_row(
    live: LiveServer, source: dict[str, Any]
) -> None:
    await put_policy(live, source)
    async with live.http("service") as client:
        answer = await client.post(
            f"{URL}/{source['source_id']}/query", json={"sql": "SELECT id FROM customers"}
        )
    assert answer.json()["row_count"] == 0


FORBIDDEN = (
    "SELECT * FROM salaries",
    "SELECT id FROM customers UNION SELECT amount FROM salaries",
    "SELECT phone FROM customers",
    "WITH s AS (SELECT * FROM salaries) SELECT COUNT(*) FROM s",
)


async def test_what_is_forbidden_is_absent_everywhere(
    live: LiveServer, source: dict[str, Any]
) -> None:
    await put_policy(live, source)
    url = f"{URL}/{source['source_id']}"
    async with live.http("alice") as client:
        catalogue = await client.get(f"{url}/catalogue")
        listed = await client.get(f"{url}/tables")
        found = await client.get(f"{url}/catalogue", params={"search": "salaries amount person"})
        named = await client.get(f"{url}/catalogue", params={"table": "salaries"})
        queries = [
            await client.post(f"{url}/{door}", json={"sql": sql})
            for door in ("check", "query")
            for sql in FORBIDDEN
        ]
        forbidden, invented = [
            await client.post(f"{url}/query", json={"sql": f"SELECT * FROM {name}"})
            for name in ("salaries", "expenses")
        ]
        typo = await client.post(f"{url}/query", json={"sql": "SELECT * FROM salariez"})
    assert [table["key"] for table in catalogue.json()["tables"]] == ["customers"]
    assert listed.json()["items"] == [{"key": "customers", "comment": None, "row_count": None}]
    assert "phone" not in catalogue.text
    assert catalogue.json()["tables"][0]["row_count"] is None
    assert "north" not in catalogue.text  # no sampled values of a filtered table
    for answer in (catalogue, found, *queries, typo):
        assert "424242" not in answer.text
        assert "canary" not in answer.text
    assert "salaries" not in found.text
    assert (named.status_code, named.json()["error_code"]) == (422, "unknown_name")
    for answer in queries:
        assert (answer.status_code, answer.json()["error_code"]) == (403, "data_denied")
    assert invented.status_code == 403  # what is not there is told in the same words
    assert invented.text.replace("expenses", "salaries") == forbidden.text
    assert "salaries" not in typo.text  # not even as the nearest name


async def test_a_changed_policy_and_attribute_hold_at_once(
    live: LiveServer, source: dict[str, Any]
) -> None:
    policy = await put_policy(live, source)
    url = f"{URL}/{source['source_id']}"

    async def count() -> int:
        async with live.http("alice") as client:
            answer = await client.post(f"{url}/query", json={"sql": "SELECT id FROM customers"})
        return answer.json()["row_count"]

    assert await count() == 2
    async with live.http("root") as client:
        body = {"attributes": {"region": "south", "plans": ["a", 1, True, 0.5]}}
        answer = await client.put("/api/v1/users/alice/attributes", json=body)
        assert answer.json() == {"user_id": "alice", **body}
        assert await count() == 1
        body = {"attributes": {"region": "south"}}  # what is not named is forgotten
        answer = await client.put("/api/v1/users/alice/attributes", json=body)
        assert (await client.get("/api/v1/users/alice/attributes")).json() == answer.json()
        assert answer.json() == {"user_id": "alice", **body}
        await client.delete(f"{url}/policies/{policy['policy_id']}")
    assert await count() == 3


POLICIES: dict[str, dict[str, Any]] = {
    "no rules": {"name": "p"},
    "no tables": {"name": "p", "rules": {"subjects": "everyone"}},
    "no subjects": {"name": "p", "rules": {"tables": {"customers": {"grant": True}}}},
    "unknown key": {
        "name": "p",
        "rules": {"subjects": "everyone", "tables": {"customers": {"hide": True}}},
    },
    "unknown table": {
        "name": "p",
        "rules": {"subjects": "everyone", "tables": {"custmers": {"grant": True}}},
    },
    "unknown column": {
        "name": "p",
        "rules": {"subjects": "everyone", "tables": {"customers": {"deny_columns": ["fone"]}}},
    },
    "no filter": {
        "name": "p",
        "rules": {
            "subjects": "everyone",
            "tables": {"customers": {"row_filter": "1 = 1; DROP TABLE customers"}},
        },
    },
    "two names": {
        "name": "p",
        "rules": {"name": "q", "subjects": "everyone", "tables": {"*": {"grant": True}}},
    },
    "empty name": {
        "name": " ",
        "rules": {"subjects": "everyone", "tables": {"*": {"grant": True}}},
    },
    "unknown field": {"name": "p", "rules": RULES, "enabled": True},
}


@pytest.mark.parametrize("name", POLICIES)
async def test_a_policy_that_does_not_fit_is_422_and_not_kept(
    live: LiveServer, source: dict[str, Any], name: str
) -> None:
    url = f"{URL}/{source['source_id']}/policies"
    async with live.http("root") as client:
        answer = await client.post(url, json=POLICIES[name])
        assert (answer.status_code, answer.json()["error_code"]) == (422, "bad_input"), answer.text
        assert (await client.get(url)).json()["total"] == 0


@pytest.mark.parametrize(
    "attributes",
    [{"a b": 1}, {"region": None}, {"region": {"x": 1}}, {"1x": "y"}, {"r": [[1]]}],
    ids=str,
)
async def test_an_attribute_that_makes_no_sense_is_422(
    live: LiveServer, attributes: dict[str, Any]
) -> None:
    async with live.http("root") as client:
        answer = await client.put("/api/v1/users/carol/attributes", json={"attributes": attributes})
        kept = (await client.get("/api/v1/users/carol/attributes")).json()
    assert (answer.status_code, answer.json()["error_code"]) == (422, "bad_input")
    assert kept == {"user_id": "carol", "attributes": {}}
