"""Files in messages, at every door: one's own reach the run, another's start none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import uuid4

import httpx

from tests.requirements import requirement

if TYPE_CHECKING:
    from conftest import LiveServer


async def uploaded(client: httpx.AsyncClient) -> str:
    answer = await client.post("/api/files/upload", files={"file": ("a.csv", b"a,b\n1,2\n")})
    return answer.json()["file_id"]


async def messages(client: httpx.AsyncClient, session_id: str) -> list[dict[str, Any]]:
    return (await client.get(f"/api/v1/sessions/{session_id}/messages")).json()["items"]


@requirement("R32.4", "S5.2")
async def test_own_files_are_part_of_the_message_and_the_text_is_untouched(
    live: LiveServer,
) -> None:
    async with live.http() as client:
        file_id = await uploaded(client)
        answer = await client.post(
            "/api/v1/chat", json={"message": "!echo done", "file_ids": [file_id, file_id]}
        )
        assert answer.status_code == 200, answer.text
        asked = (await messages(client, answer.json()["session_id"]))[0]
        run = await live.on_server(
            live.container.core.runs.get(answer.json()["run_id"], owner="alice")
        )
    assert asked["content"] == "!echo done"
    assert asked["metadata"] == {
        "files": [
            {
                "file_id": file_id,
                "filename": "a.csv",
                "size": 8,
                "content_type": "text/csv",
                "path": f"/uploads/{file_id}.csv",
            }
        ]
    }
    assert list(run.run.input.files) == asked["metadata"]["files"]


@requirement("R32.4")
async def test_another_users_file_starts_no_run_over_rest(live: LiveServer) -> None:
    async with live.http() as alice, live.http("bob") as bob:
        file_id = await uploaded(alice)
        before = (await bob.get("/api/v1/sessions")).json()["total"]
        for ids in ([file_id], ["unknown"]):
            answer = await bob.post("/api/v1/chat", json={"message": "x", "file_ids": ids})
            assert (answer.status_code, answer.json()["error_code"]) == (404, "file_not_found")
        assert (await bob.get("/api/v1/sessions")).json()["total"] == before
        session_id = (await bob.post("/api/v1/sessions", json={})).json()["session_id"]
        answer = await bob.post(
            "/api/v1/chat", json={"message": "x", "session_id": session_id, "file_ids": [file_id]}
        )
        assert answer.status_code == 404
        assert await messages(bob, session_id) == []


@requirement("R32.4")
async def test_another_users_file_starts_no_run_over_a_socket(live: LiveServer) -> None:
    async with live.http() as alice:
        file_id = await uploaded(alice)
    async with live.socket(user="bob") as socket, live.http("bob") as bob:
        await socket.say("chat", {"message": "x", "file_ids": [file_id]})
        error = await socket.next("error")
        assert error["data"]["error_code"] == "file_not_found"
        assert await messages(bob, socket.session_id) == []
        accepted = await socket.chat("!echo fine", file_ids=[await uploaded(bob)])
        assert accepted["run_id"]
        await socket.until("done")


@requirement("R32.4")
async def test_another_users_file_starts_no_run_over_the_web_door(live: LiveServer) -> None:
    async with live.http() as alice, live.http("bob") as bob:
        file_id = await uploaded(alice)
        talk = (await bob.post("/api/conversations", json={"title": uuid4().hex[:8]})).json()
        body = {"thread_id": talk["thread_id"], "message": "!echo web"}
        refused = await bob.post("/api/chat", json={**body, "file_ids": [file_id]})
        assert (refused.status_code, refused.json()["error_code"]) == (404, "file_not_found")
        assert await messages(bob, talk["id"]) == []
        taken = await bob.post("/api/chat", json={**body, "file_ids": [await uploaded(bob)]})
        assert taken.status_code == 200, taken.text
        assert "web" in taken.text
        assert len((await messages(bob, talk["id"]))[0]["metadata"]["files"]) == 1
