"""An agent that is not there does not answer, at no door, and nothing is stored."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import httpx

    from conftest import LiveServer

UNKNOWN = "no-such-agent"


def error_of(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error_code"]


@requirement("S3.4a")
async def test_the_web_chat_says_that_there_is_no_such_agent(live: LiveServer) -> None:
    async with live.http() as client:
        made = (await client.post("/api/conversations", json={})).json()
        body = {"thread_id": made["thread_id"], "message": "hi", "agent": UNKNOWN}
        assert error_of(await client.post("/api/chat", json=body)) == (404, "agent_not_found")
        history = (await client.get(f"/api/threads/{made['thread_id']}/history")).json()
        assert (history["messages"], history["last_seq"]) == ([], 0)


async def test_a_socket_says_that_there_is_no_such_agent_and_goes_on(live: LiveServer) -> None:
    async with live.socket() as socket:
        await socket.say("chat", {"message": "hi", "assistant_id": UNKNOWN})
        assert (await socket.next("error"))["data"]["error_code"] == "agent_not_found"
        await socket.chat("!echo here")
        assert (await socket.until("done"))[0]["data"]["content"] == "here"
    async with live.http() as client:
        url = f"/api/v1/sessions/{socket.session_id}/messages"
        assert (await client.get(url)).json()["total"] == 2


async def test_no_session_is_made_for_an_agent_that_is_not_there(live: LiveServer) -> None:
    async with live.http() as client:
        before = (await client.get("/api/v1/sessions")).json()["total"]
        answer = await client.post("/api/v1/sessions", json={"assistant_id": UNKNOWN})
        assert error_of(answer) == (404, "agent_not_found")
        assert (await client.get("/api/v1/sessions")).json()["total"] == before


@pytest.mark.parametrize("name", ["agent", "general", "supervisor", "sql", "research"])
async def test_the_agents_there_are_have_sessions(live: LiveServer, name: str) -> None:
    async with live.http() as client:
        answer = await client.post("/api/v1/sessions", json={"assistant_id": name})
        assert (answer.status_code, answer.json()["assistant_id"]) == (201, name)


async def test_a_session_whose_package_is_gone_takes_messages_for_another_agent(
    start_server: Callable[..., LiveServer], tmp_path: Path
) -> None:
    package, home = tmp_path / "packages" / "auditor", tmp_path / "home"
    package.mkdir(parents=True)
    (package / "AGENTS.md").write_text("---\ndescription: Checks the books.\n---\nCheck.\n")
    first = start_server(home=home, packages_dirs=[str(package.parent)], sample_data=False)
    async with first.http() as client:
        made = await client.post("/api/v1/sessions", json={"assistant_id": "auditor"})
        session_id = made.json()["session_id"]
    first.stop()
    second = start_server(home=home, sample_data=False)
    async with second.http() as client:
        body = {"message": "!echo hi", "session_id": session_id}
        assert error_of(await client.post("/api/v1/chat", json=body)) == (404, "agent_not_found")
        answer = await client.post("/api/v1/chat", json={**body, "assistant_id": "agent"})
        assert answer.json()["status"] == "done"
