"""A server's question in the middle of a call is answered over any door, and the run goes on."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.programs import quick

if TYPE_CHECKING:
    from conftest import LiveServer, Socket

PROGRAM = Path(__file__).parents[3] / "dataagent-core/tests/mcp/hub/shop_server.py"
ASKING = "!tool mall__colour {}"


@pytest.fixture
async def server(live: LiveServer) -> AsyncGenerator[LiveServer]:
    """A server whose agent may use the tool that asks."""
    body = {"name": "mall", "command": quick("python"), "args": [str(PROGRAM), "stdio"]}
    async with live.http("root") as root:
        made = (await root.post("/api/v1/mcp/servers", json=body)).json()
        url = f"/api/v1/mcp/servers/{made['server_id']}"
        tried = (await root.post(f"{url}/test")).json()
        colour = next(each for each in tried["tools"] if each["name"] == "colour")
        seen = {"definition_hash": colour["definition_hash"]}
        approved = await root.post(f"/api/v1/mcp/tools/{colour['id']}/approve", json=seen)
        assert approved.status_code == 200
        tools = [{"server_id": made["server_id"], "tool_name": "colour"}]
        bound = {"agent_id": "general", "tools": tools}
        assert (await root.put("/api/v1/mcp/allowlists", json=bound)).status_code == 200
        yield live
        assert (await root.delete(url)).status_code == 204


def said(events: list[dict[str, Any]]) -> list[tuple[str, str]]:
    results = [each["data"] for each in events if each["event_type"] == "tool_result"]
    return [(each["status"], each["result"]) for each in results]


async def asked(socket: Socket) -> dict[str, Any]:
    request = (await socket.until("hitl_request"))[-1]["data"]
    assert request["action"]["description"] == "Server 'mall' asks: Which colour?"
    assert request["action"]["args_schema"]["required"] == ["colour"]
    assert request["allowed"] == ["edit", "reject", "respond"]
    return request


async def test_a_question_is_answered_over_the_socket(server: LiveServer) -> None:
    async with server.socket() as socket:
        await socket.chat(ASKING)
        request = await asked(socket)
        answered = {"request_id": request["request_id"], "type": "edit"}
        unfit = {"name": "mall__colour", "args": {"colour": 7}}
        await socket.say("hitl_decision", {**answered, "edited_action": unfit})
        assert (await socket.until("error"))[-1]["data"]["error_code"] == "bad_decision"
        fit = {"name": "mall__colour", "args": {"colour": "red"}}
        await socket.say("hitl_decision", {**answered, "edited_action": fit})
        events = await socket.until("done")
    assert said(events) == [("success", "accept red")]
    assert events[-1]["data"]["reason"] == "completed"


async def test_a_question_is_answered_over_rest_and_survives_a_reconnect(
    server: LiveServer,
) -> None:
    async with server.socket() as socket:
        accepted = await socket.chat(ASKING)
        await asked(socket)
    run_url = f"/api/v1/runs/{accepted['run_id']}"
    async with server.socket(socket.session_id, after=0) as again, server.http() as client:
        request = await asked(again)
        run = (await client.get(run_url)).json()
        assert run["status"] == "waiting"
        assert [each["request_id"] for each in run["pending"]] == [request["request_id"]]
        decide = f"{run_url}/decisions/{request['request_id']}"
        async with server.http("bob") as stranger:
            refused = await stranger.post(decide, json={"type": "reject"})
            assert refused.status_code == 404
        answer = await client.post(decide, json={"type": "respond", "message": "blue"})
        assert answer.status_code == 200, answer.text
        events = await again.until("done")
    assert said(events) == [("success", "accept blue")]


async def test_declining_a_question_does_not_end_the_run(server: LiveServer) -> None:
    async with server.socket() as socket:
        await socket.chat(ASKING)
        request = await asked(socket)
        await socket.say("hitl_decision", {"request_id": request["request_id"], "type": "reject"})
        events = await socket.until("done")
    assert said(events) == [("success", "decline None")]
    assert events[-1]["data"]["cancelled"] is False
