"""A data source of one's own files: for anyone, seen by its owner, gone with all it had."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import httpx
import pytest

if TYPE_CHECKING:
    from conftest import LiveServer

URL = "/api/v1/data-sources"
ORDERS = b"name,amount\nana,1\nbo,41\n"


async def upload(
    client: httpx.AsyncClient, name: str, *files: tuple[str, bytes], **fields: Any
) -> httpx.Response:
    return await client.post(
        f"{URL}/upload",
        data={"name": name, **fields},
        files=[("file", each) for each in files],
    )


async def total(client: httpx.AsyncClient, source_id: str, table: str) -> Any:
    answer = await client.post(
        f"{URL}/{source_id}/query", json={"sql": f"SELECT sum(amount) AS total FROM {table}"}
    )
    assert answer.status_code == 200, answer.text
    return answer.json()


def loaded(live: LiveServer, source_id: str) -> list[Path]:
    folder = live.container.settings.home_dir / "sources"
    return [*folder.glob(f"{source_id}-*.duckdb")]


def copies(live: LiveServer, user_id: str) -> list[str]:
    folder = live.container.settings.home_dir / "sources" / "uploads" / user_id
    return sorted(each.name for each in folder.rglob("*") if each.is_file())


@pytest.mark.slow
async def test_files_become_tables_of_their_owner_and_go_without_a_trace(live: LiveServer) -> None:
    name = f"s{uuid4().hex[:8]}"
    async with live.http() as alice, live.http("bob") as bob:
        answer = await upload(
            alice, name, ("Orders 2024.csv", ORDERS), ("人员.json", b'[{"n": 1}]'), description="d"
        )
        assert answer.status_code == 201, answer.text
        source = answer.json()
        assert (source["name"], source["kind"], source["description"]) == (name, "files", "d")
        assert (source["is_own"], source["owner_id"]) == (True, None)
        catalogue = (await alice.get(f"{URL}/{name}/catalogue")).json()
        assert {"Orders_2024", "人员"} <= {each["name"] for each in catalogue["tables"]}
        assert "42" in str(await total(alice, source["source_id"], "Orders_2024"))
        assert (await alice.get("/api/files")).json()["total"] == 0
        used = (await alice.get("/api/v1/users/alice/workspace")).json()["bytes_used"]
        assert used >= len(ORDERS)
        assert len(loaded(live, source["source_id"])) == 1
        assert copies(live, "alice") == ["Orders_2024.csv", "人员.json"]
        for path in (f"{URL}/{name}", f"{URL}/{source['source_id']}/catalogue"):
            assert (await bob.get(path)).status_code == 404
        assert (await bob.delete(f"{URL}/{source['source_id']}")).status_code == 404
        assert (await alice.delete(f"{URL}/{source['source_id']}")).status_code == 204
        assert (await alice.get(f"{URL}/{name}")).status_code == 404
    assert loaded(live, source["source_id"]) == []
    assert copies(live, "alice") == []


async def test_earlier_uploads_become_a_source_and_stay_as_files(live: LiveServer) -> None:
    async with live.http() as alice, live.http("bob") as bob, live.http("root") as root:
        answer = await alice.post("/api/files/upload", files={"file": ("orders.csv", ORDERS)})
        file_id = answer.json()["file_id"]
        name = f"s{uuid4().hex[:8]}"
        fields = {"name": (None, name), "file_ids": (None, file_id)}
        stolen = await bob.post(f"{URL}/upload", files=fields)
        assert (stolen.status_code, stolen.json()["error_code"]) == (404, "file_not_found")
        made = await alice.post(f"{URL}/upload", files=fields)
        assert made.status_code == 201, made.text
        source_id = made.json()["source_id"]
        assert "42" in str(await total(alice, source_id, "orders"))
        assert (await alice.delete(f"/api/files/{file_id}")).status_code == 204
        assert "42" in str(await total(alice, source_id, "orders"))
        again = await alice.post(
            f"{URL}/upload", files={"name": (None, name), "file": ("a.csv", ORDERS)}
        )
        assert again.status_code == 409
        others = await bob.post(
            f"{URL}/upload", files={"name": (None, name), "file": ("a.csv", ORDERS)}
        )
        assert others.status_code == 201, others.text
        assert others.json()["name"].startswith(f"{name}-")
        assert (await bob.delete(f"{URL}/{others.json()['source_id']}")).status_code == 204
        assert (await root.delete(f"{URL}/{source_id}")).status_code == 204
    assert loaded(live, source_id) == []
    assert copies(live, "alice") == copies(live, "bob") == []


async def test_a_user_cannot_delete_a_source_that_is_not_theirs(live: LiveServer) -> None:
    async with live.http() as alice:
        refused = await alice.delete(f"{URL}/chinook")
        assert (refused.status_code, refused.json()["error_code"]) == (403, "denied")
        assert (await alice.get(f"{URL}/chinook")).status_code == 200


BAD: dict[str, dict[str, Any]] = {
    "no name": {"file": ("a.csv", ORDERS)},
    "bad name": {"name": (None, "a/b"), "file": ("a.csv", ORDERS)},
    "no file": {"name": (None, "lonely")},
    "unknown field": {"name": (None, "x"), "owner_id": (None, "bob"), "file": ("a.csv", ORDERS)},
    "no table": {"name": (None, "x"), "file": ("a.png", b"\x89PNG\r\n\x1a\n")},
    "no rows": {"name": (None, "x"), "file": ("a.parquet", b"PAR1" + b"\0" * 16 + b"PAR1")},
    "odd id": {"name": (None, "x"), "file_ids": (None, "../x")},
}


@pytest.mark.parametrize("name", BAD)
async def test_what_cannot_be_a_source_is_refused_and_leaves_nothing(
    live: LiveServer, name: str
) -> None:
    async with live.http("service", headers={"X-User-Id": "carol"}) as carol:
        answer = await carol.post(f"{URL}/upload", files=BAD[name])
        assert answer.status_code == 422, answer.text
        assert (await carol.get("/api/files")).json()["total"] == 0
        assert (await carol.get("/api/v1/users/carol/workspace")).json()["bytes_used"] == 0
        listed = (await carol.get(URL)).json()["items"]
        assert [each["name"] for each in listed if not each["is_sample"]] == []
    assert copies(live, "carol") == []


async def test_a_total_row_is_left_out_and_the_answer_to_the_upload_says_so(
    live: LiveServer,
) -> None:
    name = f"s{uuid4().hex[:8]}"
    async with live.http() as alice:
        answer = await upload(alice, name, ("orders.csv", ORDERS + b"Total,42\n"))
        source = answer.json()
        assert (await total(alice, source["source_id"], "orders"))["preview"] == [["42"]]
        catalogue = (await alice.get(f"{URL}/{name}/catalogue")).json()
        await alice.delete(f"{URL}/{source['source_id']}")
    assert source["left_out"] == catalogue["left_out"]
    assert source["left_out"] == [
        "'orders.csv', table orders: 1 row that sums up others, no data: “Total · 42”."
    ]
