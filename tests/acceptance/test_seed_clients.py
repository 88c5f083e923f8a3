"""Clients written from the requirement documents alone work with the server as it is."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Generator
from typing import Any

import pytest

from tests.acceptance.seed_clients import ChatClient, FrontEnd
from tests.acceptance.states import states
from tests.end_to_end.server import Server
from tests.waiting import WAIT_SECONDS

KEY = "key-of-a-script"
CHIEF = ("chief", "correct horse")
NAMES = {"text_delta", "tool_call_start", "tool_call_result", "thinking", "error", "done"}


@pytest.fixture
def page(url: str) -> Generator[FrontEnd]:
    with FrontEnd.opened(url, WAIT_SECONDS) as opened:
        yield opened


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    server = Server(
        tmp_path_factory.mktemp("clients"),
        ADMIN_USERNAME=CHIEF[0],
        ADMIN_PASSWORD=CHIEF[1],
        DATAAGENT_API_KEYS=KEY,
    )
    asyncio.run(server.start())
    yield server.url
    asyncio.run(server.signal())


def call(name: str, **args: Any) -> str:
    """A message that makes the scripted model call a tool."""
    return f"!tool {name} {json.dumps(args)}"


# -- the web application's front end ----------------------------------------------------------


@states(
    "003 a front end",
    "login sets the cookie access_token, which later requests carry",
    "a conversation is created, filled, renamed, listed first and removed",
    "logout ends it",
)
def test_a_front_end_logs_in_talks_and_logs_out(page: FrontEnd) -> None:
    assert page.me() is None
    user = page.login(*CHIEF)
    assert page.http.cookies.get("access_token")
    assert page.me() == user
    assert (user["username"], user["role"], user["status"]) == ("chief", "admin", "active")

    first = page.create()
    second = page.create("Second")
    assert (first["title"], second["title"]) == ("New Conversation", "Second")
    assert len(first["thread_id"]) == 8
    answer = page.chat(first["thread_id"], "!think Let me see.\n!echo Hello there.")
    assert (answer.text, "".join(answer.thinking)) == ("Hello there.", "Let me see.")
    assert answer.is_done
    page.rename(second["id"], "Renamed")
    assert [each["id"] for each in page.conversations()][:2] == [second["id"], first["id"]]
    page.remove(second["id"])
    assert [each["id"] for each in page.conversations()] == [first["id"]]

    page.logout()
    assert page.me() is None


@states(
    "003 a front end",
    "an upload is named by file_ids and read by the agent",
    "the stream has the document's events and ends with done",
    "the history has the question as it was typed, and the answer",
)
def test_a_front_end_uploads_a_file_and_asks_about_it(page: FrontEnd) -> None:
    page.login(*CHIEF)
    thread_id = page.create()["thread_id"]
    file_id = page.upload("sales.csv", b"region,amount\nnorth,7\n")
    question = call("read_uploaded_file", file_id=file_id) + "\n!echo Seven."
    answer = page.chat(thread_id, question, file_ids=[file_id])
    assert {event for event, _ in answer.events} <= NAMES
    assert answer.events[-1][0] == "done"
    [read] = answer.calls.values()
    assert (read["name"], read["args"], read["status"]) == (
        "read_uploaded_file",
        {"file_id": file_id},
        "success",
    )
    assert "north" in read["output"]
    assert answer.text == "Seven."
    asked, answered = page.history(thread_id)
    assert (asked["role"], asked["content"]) == ("user", question)
    assert (answered["role"], answered["content"]) == ("assistant", "Seven.")


@states("003 a front end", "an agent's chip sends agent, and its failure is an error event")
def test_a_front_end_chooses_an_agent_and_shows_its_failure(page: FrontEnd) -> None:
    page.login(*CHIEF)
    thread_id = page.create()["thread_id"]
    answer = page.chat(thread_id, "!fail", agent="sql")
    assert answer.error
    assert [event for event, _ in answer.events] == ["error", "done"]
    assert page.http.get("/login").headers["Content-Type"].startswith("text/html")


# -- the WebSocket protocol of the server's design ----------------------------------------------


@states(
    "001 a WebSocket client",
    "chat is answered with text, tool_call and tool_result, and ends with done",
    "ping is answered",
)
def test_a_socket_client_talks(url: str) -> None:
    with ChatClient.connected(url, KEY, WAIT_SECONDS) as client:
        client.send("ping", {})
        client.until("pong")
        client.send("chat", {"message": call("ls", path="/") + "\n!echo Listed."})
        said = client.until("done")
    types = [each["event_type"] for each in said]
    assert types.index("tool_call") < types.index("tool_result") < types.index("text")
    text = "".join(each["data"]["content"] for each in said if each["event_type"] == "text")
    assert text == "Listed."
    assert said[-1]["data"]["cancelled"] is False


@states(
    "001 a WebSocket client",
    'hitl_request is answered with hitl_decision {"type": "approve" | "reject", "message"}',
)
@pytest.mark.parametrize(("decision", "is_cancelled"), [("approve", False), ("reject", True)])
def test_a_socket_client_decides(url: str, decision: str, is_cancelled: bool) -> None:
    with ChatClient.connected(url, KEY, WAIT_SECONDS) as client:
        write = call("write_file", file_path="/files/note.txt", content="x")
        client.send("chat", {"message": f"{write}\n!echo Written."})
        asked = client.until("hitl_request")[-1]["data"]
        assert asked["action"]["name"] == "write_file"
        client.send("hitl_decision", {"type": decision, "message": None})
        said = client.until("done")
    assert said[-1]["data"]["cancelled"] is is_cancelled
    texts = [each["data"]["content"] for each in said if each["event_type"] == "text"]
    assert ("Written." in texts) is not is_cancelled


@states(
    "001 a WebSocket client",
    'cancel {"session_id"} ends the turn with done, cancelled, reason user_cancelled',
    "the session goes on after it",
)
def test_a_socket_client_cancels(url: str) -> None:
    with ChatClient.connected(url, KEY, WAIT_SECONDS) as client:
        client.send("chat", {"message": "!slow 100000 20"})
        client.until("text")
        client.send("cancel", {"session_id": client.session_id})
        done = client.until("done")[-1]["data"]
        assert (done["cancelled"], done["reason"]) == (True, "user_cancelled")
        client.send("chat", {"message": "!echo Still here."})
        said = client.until("done")
    assert "Still here." in [each["data"].get("content") for each in said]
