"""Data sources over REST: registered by administrators, seen by those they are granted to."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

if TYPE_CHECKING:
    from conftest import LiveServer

URL = "/api/v1/data-sources"
CANARY = "c4n4ry-pa55word"
FOR_ADMINS = ("owner_id", "address", "folder", "files", "has_credentials", "grants")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


@pytest.fixture
def shop(tmp_path: Path) -> str:
    """The URL of a small database."""
    path = tmp_path / "shop.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, amount INTEGER)")
        connection.executemany("INSERT INTO orders (amount) VALUES (?)", [(7,), (8,)])
    connection.close()
    return f"sqlite:///{path}"


async def created(live: LiveServer, **body: Any) -> dict[str, Any]:
    async with live.http("root") as client:
        answer = await client.post(URL, json={"name": f"s{uuid4().hex[:12]}", **body})
    assert answer.status_code == 201, answer.text
    return answer.json()


async def test_the_sample_is_there_for_everyone_and_its_address_for_administrators(
    live: LiveServer,
) -> None:
    async with live.http("alice") as client:
        listed = (await client.get(URL)).json()
        one = (await client.get(f"{URL}/chinook")).json()
    sample = next(each for each in listed["items"] if each["name"] == "chinook")
    assert listed["total"] == len(listed["items"])
    assert sample == one
    assert sample["is_sample"] is True
    assert TIME.fullmatch(sample["created_at"])
    assert {name: sample[name] for name in FOR_ADMINS} == dict.fromkeys(FOR_ADMINS)
    async with live.http("root") as client:
        shown = (await client.get(f"{URL}/{sample['source_id']}")).json()
    assert shown["address"].startswith("sqlite:////")
    assert shown["grants"] == [{"subject_kind": "everyone", "subject_id": ""}]


async def test_a_source_is_registered_found_changed_and_deleted(
    live: LiveServer, shop: str
) -> None:
    source = await created(
        live,
        url=shop,
        description="Orders",
        time_zone="Asia/Shanghai",
        limits={"max_rows": 100},
        grants=[{"subject_kind": "user", "subject_id": "alice"}],
    )
    url = f"{URL}/{source['source_id']}"
    assert (source["owner_id"], source["is_own"]) == ("root", True)
    assert source["dialect"] == "sqlite"  # it was opened
    assert source["limits"] == {
        "max_rows": 100,
        "max_bytes": 512 * 1024 * 1024,
        "timeout_seconds": 60.0,
    }
    async with live.http("alice") as client:
        seen = (await client.get(url)).json()
        assert (seen["name"], seen["description"]) == (source["name"], "Orders")
    async with live.http("root") as client:
        change = {"description": "All orders", "limits": {"timeout_seconds": 5}}
        changed = (await client.put(url, json=change)).json()
        assert changed == {
            **source,
            "description": "All orders",
            "limits": {**source["limits"], "timeout_seconds": 5.0},
            "updated_at": changed["updated_at"],
        }
        assert (await client.delete(url)).status_code == 204
        assert (await client.get(url)).status_code == 404
        assert (await client.delete(url)).status_code == 404


async def test_a_source_is_seen_by_whom_it_is_granted_to_and_no_one_else(
    live: LiveServer, shop: str
) -> None:
    source = await created(live, url=shop)
    url = f"{URL}/{source['source_id']}"

    async def who_sees() -> set[str]:
        seeing: set[str] = set()
        for user in ("alice", "bob"):
            async with live.http(user) as client:
                is_found = (await client.get(url)).status_code == 200
                listed = [each["source_id"] for each in (await client.get(URL)).json()["items"]]
                assert (source["source_id"] in listed) is is_found
                seeing |= {user} if is_found else set()
        return seeing

    assert await who_sees() == set()
    async with live.http("root") as client:
        for grants, expected in (
            ([{"subject_kind": "user", "subject_id": "bob"}], {"bob"}),
            ([{"subject_kind": "everyone"}], {"alice", "bob"}),
            ([], set[str]()),
        ):
            answer = await client.put(f"{url}/grants", json={"grants": grants})
            assert answer.status_code == 200, answer.text
            assert len(answer.json()["grants"]) == len(grants)
            assert await who_sees() == expected
        odd = await client.put(f"{url}/grants", json={"grants": [{"subject_kind": "user"}]})
    assert (odd.status_code, odd.json()["error_code"]) == (422, "bad_input")


async def test_a_source_unseen_answers_like_one_that_is_not_there(
    live: LiveServer, shop: str
) -> None:
    source = await created(live, url=shop)
    reads = [("GET", tail) for tail in ("", "/catalogue", "/tables")]
    requests = [*reads, ("POST", "/check"), ("POST", "/query")]
    async with live.http("bob") as client:
        for method, tail in requests:
            body = {"sql": "SELECT 1"} if method == "POST" else None
            hidden, absent = [
                await client.request(method, f"{URL}/{name}{tail}", json=body)
                for name in (source["source_id"], str(uuid4()))
            ]
            assert hidden.status_code == absent.status_code == 404
            assert hidden.json()["error_code"] == absent.json()["error_code"] == "source_not_found"
            assert source["name"] not in hidden.text


async def test_credentials_go_in_and_never_come_out(
    live: LiveServer, caplog: pytest.LogCaptureFixture
) -> None:
    address = f"postgresql://reader:{CANARY}@127.0.0.1:1/sales?application_name={CANARY}"
    texts: list[str] = []
    caplog.set_level("DEBUG")
    async with live.http("root") as client:
        name = f"secret-{uuid4().hex[:8]}"
        answer = await client.post(f"{URL}?check=false", json={"name": name, "url": address})
        source = answer.json()
        assert answer.status_code == 201
        assert source["has_credentials"] is True
        url = f"{URL}/{source['source_id']}"
        texts.append(answer.text)
        for method, path, body in (
            ("GET", URL, None),
            ("GET", url, None),
            ("GET", f"{url}/catalogue", None),
            ("POST", f"{url}/refresh", None),
            ("POST", f"{url}/query", {"sql": "SELECT 1"}),
            ("PUT", url, {"description": "x"}),
            ("PUT", url, {"url": address}),
            ("PUT", url, {"url": f"post gres://u:{CANARY}@h"}),
            ("PUT", url, {"url": [CANARY]}),
            ("PUT", url, {"url": f"oracle://u:{CANARY}@h/x"}),
            ("POST", URL, {"name": "two", "url": address}),
            ("POST", URL, {"name": "two", "url": address, CANARY[:4]: 1}),
            ("POST", URL, {"name": name, "url": address}),
            ("GET", f"{url}/policies", None),
            ("DELETE", url, None),
        ):
            texts.append((await client.request(method, path, json=body)).text)
    assert not [text for text in texts if CANARY in text]
    assert CANARY not in caplog.text
    assert CANARY not in repr([vars(record) for record in caplog.records])


async def test_a_source_that_does_not_answer_is_not_registered(
    live: LiveServer, tmp_path: Path
) -> None:
    name = f"down-{uuid4().hex[:8]}"
    wrong = {
        "postgresql://u@127.0.0.1:1/x": (503, "source_unavailable"),
        f"sqlite:///{tmp_path}/absent.db": (503, "source_unavailable"),
        "oracle://u@h/x": (422, "bad_input"),
        "no url": (422, "bad_input"),
    }
    async with live.http("root") as client:
        for url, expected in wrong.items():
            answer = await client.post(URL, json={"name": name, "url": url})
            assert (answer.status_code, answer.json()["error_code"]) == expected, url
            assert (await client.get(f"{URL}/{name}")).status_code == 404
        folder = await client.post(URL, json={"name": name, "folder": str(tmp_path)})
        assert (folder.status_code, folder.json()["error_code"]) == (422, "bad_input")
        assert (await client.get(f"{URL}/{name}")).status_code == 404


async def test_a_new_address_that_does_not_answer_changes_nothing(
    live: LiveServer, shop: str
) -> None:
    source = await created(live, url=shop)
    url = f"{URL}/{source['source_id']}"
    async with live.http("root") as client:
        change = {"url": "postgresql://u:x@127.0.0.1:1/y", "name": "elsewhere"}
        answer = await client.put(url, json=change)
        assert (answer.status_code, answer.json()["error_code"]) == (503, "source_unavailable")
        kept = (await client.get(url)).json()
        assert {**kept, "updated_at": source["updated_at"], "dialect": "sqlite"} == source
        found = await client.post(f"{url}/query", json={"sql": "SELECT SUM(amount) s FROM orders"})
        assert found.json()["preview"] == [[15]]


async def test_a_folder_of_files_is_a_source(live: LiveServer, tmp_path: Path) -> None:
    (tmp_path / "sales.csv").write_text("region,amount\nnorth,3\nsouth,4\n")
    source = await created(live, folder=str(tmp_path))
    assert (source["kind"], source["folder"]) == ("files", str(tmp_path))
    async with live.http("root") as client:
        found = await client.post(
            f"{URL}/{source['source_id']}/query", json={"sql": "SELECT * FROM sales"}
        )
    assert found.json()["preview"] == [["north", 3], ["south", 4]]


BODIES: dict[str, dict[str, Any]] = {
    "nothing": {},
    "no place": {"name": "x"},
    "two places": {"name": "x", "url": "sqlite:///x", "folder": "/x"},
    "unknown field": {"name": "x", "url": "sqlite:///x", "password": "p"},
    "odd name": {"name": "a b", "url": "sqlite:///x"},
    "name like an id": {"name": str(uuid4()), "url": "sqlite:///x"},
    "nul": {"name": "x", "url": "sqlite:///x\x00"},
    "zone": {"name": "x", "url": "sqlite:///x", "time_zone": "Mars/Olympus"},
    "limit": {"name": "x", "url": "sqlite:///x", "limits": {"max_rows": 0}},
    "text limit": {"name": "x", "url": "sqlite:///x", "limits": {"max_rows": "5"}},
    "policy": {"name": "x", "url": "sqlite:///x", "default_policy": "maybe"},
    "grant": {"name": "x", "url": "sqlite:///x", "grants": [{"subject_kind": "planet"}]},
}


@pytest.mark.parametrize("name", BODIES)
async def test_a_source_that_makes_no_sense_is_422(live: LiveServer, name: str) -> None:
    async with live.http("root") as client:
        answer = await client.post(f"{URL}?check=false", json=BODIES[name])
    assert (answer.status_code, answer.json()["error_code"]) == (422, "bad_input"), answer.text


async def test_a_name_is_taken_once(live: LiveServer, shop: str) -> None:
    source = await created(live, url=shop)
    async with live.http("root") as client:
        again = await client.post(URL, json={"name": source["name"], "url": shop})
    assert (again.status_code, again.json()["error_code"]) == (409, "conflict")


async def test_only_administrators_change_sources_policies_and_attributes(
    live: LiveServer, shop: str
) -> None:
    source = await created(live, url=shop, grants=[{"subject_kind": "everyone"}])
    url = f"{URL}/{source['source_id']}"
    policy: dict[str, Any] = {
        "name": "p",
        "rules": {"subjects": "everyone", "tables": {"orders": {}}},
    }
    requests: list[tuple[str, str, dict[str, Any] | None]] = [
        ("POST", URL, {"name": "mine", "url": shop}),
        ("PUT", url, {"description": "mine"}),
        ("DELETE", url, None),
        ("PUT", f"{url}/grants", {"grants": []}),
        ("GET", f"{url}/policies", None),
        ("POST", f"{url}/policies", policy),
        ("PUT", f"{url}/policies/x", policy),
        ("DELETE", f"{url}/policies/x", None),
        ("POST", f"{url}/refresh", None),
        ("GET", "/api/v1/users/alice/attributes", None),
        ("PUT", "/api/v1/users/alice/attributes", {"attributes": {"region": "all"}}),
        ("PUT", "/api/v1/users/alice/attributes", {"nonsense": 1}),
    ]
    async with live.http("alice") as client:
        for method, path, body in requests:
            answer = await client.request(method, path, json=body)
            assert (answer.status_code, answer.json()["error_code"]) == (403, "denied"), path
    async with live.http("root") as client:
        kept = (await client.get(url)).json()
        assert kept == source
        attributes = (await client.get("/api/v1/users/alice/attributes")).json()
        assert attributes == {"user_id": "alice", "attributes": {}}
