"""Memory and workspace over HTTP: one's own, and for administrators what they need and no more."""

from __future__ import annotations

import asyncio
import itertools
import socket as sockets
from typing import TYPE_CHECKING

import pytest

from tests.requirements import requirement
from tests.waiting import WAIT_SECONDS

if TYPE_CHECKING:
    from conftest import LiveServer

MINE = "/api/v1/users/alice/memory"
RAW_PATHS = [
    "agent/../../bob/agent/AGENTS.md",
    "agent/..%2f..%2fbob%2fagent%2fAGENTS.md",
    "agent/%2e%2e/%2e%2e/bob/agent/AGENTS.md",
    "agent/..%5c..%5cbob%5cagent%5cAGENTS.md",
    "agent/a%00b",
    "agent/%ff%fe",
    "agent/%252e%252e%252fx",
    "agent/%2fetc%2fpasswd",
    "..%2f..%2f/AGENTS.md",
    "%2e%2e/AGENTS.md",
    "agent/" + "x" * 2000,
    "agent/" + "d/" * 200 + "x",
]


@requirement("R34.4")
async def test_memory_is_seen_corrected_and_erased(live: LiveServer) -> None:
    async with live.http() as client:
        url = f"{MINE}/agent/AGENTS.md"
        assert (await client.put(url, json={"content": "Prefers tea. 茶"})).status_code == 204
        assert (await client.put(f"{MINE}/sql/a/b.md", json={"content": "x"})).status_code == 204
        assert (await client.put(f"{MINE}/sql/c.md", json={"content": "y"})).status_code == 204
        assert (await client.delete(f"{MINE}/sql/c.md")).status_code == 204
        again = await client.delete(f"{MINE}/sql/c.md")
        assert (again.status_code, again.json()["error_code"]) == (404, "file_not_found")
        listed = (await client.get(MINE)).json()
        assert listed["total"] == 2
        assert [(i["assistant_id"], i["path"], i["bytes"]) for i in listed["items"]] == [
            ("agent", "AGENTS.md", 16),
            ("sql", "a/b.md", 1),
        ]
        assert set(listed["items"][0]) == {"assistant_id", "path", "bytes", "updated_at"}
        assert (await client.get(url)).json() == {
            "assistant_id": "agent",
            "path": "AGENTS.md",
            "content": "Prefers tea. 茶",
        }
        gone = await client.delete(MINE, params={"assistant_id": "agent"})
        assert gone.status_code == 204
        assert (await client.get(url)).json()["error_code"] == "file_not_found"
        assert (await client.get(MINE)).json()["total"] == 1
        assert (await client.delete(MINE)).status_code == 204
        assert (await client.get(MINE)).json() == {"items": [], "total": 0}


@requirement("R32.2", "R34.3")
async def test_others_see_nothing_and_administrators_no_text(live: LiveServer) -> None:
    url = f"{MINE}/agent/AGENTS.md"
    async with live.http() as alice:
        await alice.put(url, json={"content": "of alice"})
    async with live.http("bob") as bob, live.http("root") as root, live.http(None) as nobody:
        for path in (MINE, url, "/api/v1/users/alice/workspace"):
            assert (await bob.get(path)).status_code == 404
            assert (await nobody.get(path)).status_code == 401
        assert (await bob.put(url, json={"content": "x"})).status_code == 404
        assert (await bob.delete(MINE)).status_code == 404
        assert (await bob.delete(url)).status_code == 404
        assert (await root.get(url)).status_code == 404
        assert (await root.put(url, json={"content": "x"})).status_code == 404
        assert (await root.get(MINE)).json()["total"] == 1
        assert (await root.get("/api/v1/users/alice/workspace")).json()["user_id"] == "alice"
        unknown = (await root.get("/api/v1/users/no-one/workspace")).json()
        assert (unknown["bytes_used"], unknown["files"]) == (0, 0)
        assert not live.container.core.workspaces.get_user_workspace("no-one").exists()
    async with live.http() as alice:
        assert (await alice.get(url)).json()["content"] == "of alice"


@requirement("R33.4")
async def test_no_raw_path_leads_out_of_a_memory(live: LiveServer) -> None:
    async with live.http("bob") as bob:
        await bob.put("/api/v1/users/bob/memory/agent/AGENTS.md", json={"content": "of bob"})
    async with live.http() as alice:
        key = alice.headers["X-API-Key"]
    for method, path in itertools.product(("GET", "DELETE"), RAW_PATHS):
        answer = await asyncio.to_thread(_raw, live.address, method, f"{MINE}/{path}", key)
        assert 400 <= int(answer.split(b" ", 2)[1]) < 500, (path, answer[:200])
        assert b"of bob" not in answer
        assert b"root:" not in answer
    async with live.http("bob") as bob:
        kept = await bob.get("/api/v1/users/bob/memory/agent/AGENTS.md")
        assert kept.json()["content"] == "of bob"


def _raw(address: tuple[str, int], method: str, path: str, key: str) -> bytes:
    """What the server answers to a path that no client has tidied up."""
    with sockets.create_connection(address, timeout=WAIT_SECONDS) as connection:
        request = f"{method} {path} HTTP/1.1\r\nHost: x\r\nX-API-Key: {key}\r\n"
        connection.sendall(f"{request}Connection: close\r\n\r\n".encode())
        received = b""
        while piece := connection.recv(65536):
            received += piece
        return received


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"content": 5},
        {"content": "a\0b"},
        {"content": "x", "more": 1},
        {"content": "x" * 300_000},
    ],
)
async def test_a_body_that_does_not_fit_is_422(live: LiveServer, body: dict[str, object]) -> None:
    async with live.http() as client:
        answer = await client.put(f"{MINE}/agent/AGENTS.md", json=body)
    assert answer.status_code == 422
    assert answer.json()["error_code"] == "bad_input"
