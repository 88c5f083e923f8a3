"""Decisions as they come over the wire, and the handler that waits for them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from dataagent_core.errors import BadDecision
from dataagent_core.hitl import ActionRequest, Decision, EditedAction
from dataagent_server.hitl import WebHITLHandler, WebSocketHITLHandler, decision_of
from dataagent_server.models.chat import DecisionRequest
from dataagent_server.ws import ConnectionManager
from tests.requirements import requirement


@requirement("R18.3")
@pytest.mark.parametrize(
    ("sent", "decision"),
    [
        ({"type": "approve"}, Decision("approve")),
        ({"type": "reject", "message": "no"}, Decision("reject", "no")),
        ({"type": "respond", "message": "use March"}, Decision("respond", "use March")),
        (
            {"type": "edit", "edited_action": {"name": "ls", "args": {"path": "/"}}},
            Decision("edit", None, EditedAction("ls", {"path": "/"})),
        ),
    ],
)
def test_each_kind_of_answer_is_understood(sent: dict[str, object], decision: Decision) -> None:
    assert decision_of(DecisionRequest.model_validate(sent)) == decision


@requirement("R18.3")
@pytest.mark.parametrize("sent", [{"type": "edit"}, {"type": "respond"}])
def test_an_answer_without_its_content_is_refused(sent: dict[str, object]) -> None:
    with pytest.raises(BadDecision):
        decision_of(DecisionRequest.model_validate(sent))


WRITE = ActionRequest("write_file", {"file_path": "/a"}, request_id="r1")
READ = ActionRequest("read_file", {}, request_id="r2")


async def asked(handler: WebHITLHandler, action: ActionRequest) -> asyncio.Task[Decision]:
    task = asyncio.create_task(handler.request_approval(action, "s"))
    await asyncio.sleep(0)
    return task


@requirement("R18.1", "R18.3")
async def test_each_request_gets_the_decision_that_names_it() -> None:
    connections = ConnectionManager()
    handler = WebHITLHandler(connections)
    write, read = await asked(handler, WRITE), await asked(handler, READ)
    connections.resolve_decision("s", {"request_id": "r2", "type": "reject", "message": "no"})
    connections.resolve_decision("other", {"request_id": "r1", "type": "reject"})
    connections.resolve_decision("s", {"request_id": "r1", "type": "approve"})
    assert (await write, await read) == (Decision("approve"), Decision("reject", "no"))


@requirement("R18.3")
async def test_a_decision_without_a_name_is_for_the_request_that_waits_longest() -> None:
    connections = ConnectionManager()
    handler = WebHITLHandler(connections)
    write, read = await asked(handler, WRITE), await asked(handler, READ)
    connections.resolve_decision("s", {"type": "approve"})
    connections.resolve_decision("s", {"type": "reject"})
    assert (await write, await read) == (Decision("approve"), Decision("reject"))


async def test_a_decision_that_is_quicker_than_its_request_counts_for_that_request_only() -> None:
    connections = ConnectionManager()
    handler = WebHITLHandler(connections, timeout=0.01)
    connections.resolve_decision("s", {"type": "approve"})
    connections.resolve_decision("s", {"request_id": "r1", "type": "approve"})
    assert (await handler.request_approval(READ, "s")).type == "reject"
    assert await handler.request_approval(WRITE, "s") == Decision("approve")
    assert (await handler.request_approval(WRITE, "s")).type == "reject"


@requirement("R18.4", "R18.5", "P29")
async def test_no_decision_in_time_is_a_rejection() -> None:
    handler = WebSocketHITLHandler(ConnectionManager(), timeout=0.01)
    assert await handler.request_approval(WRITE, "s") == Decision(
        "reject", "No answer came in time."
    )


@requirement("R17.6", "P28")
async def test_who_waits_when_the_sockets_are_gone_is_told_no() -> None:
    connections = ConnectionManager()
    waiting = await asked(WebHITLHandler(connections), WRITE)
    connections.disconnect("s")
    assert (await waiting).type == "reject"


@pytest.mark.parametrize("sent", [{}, {"type": "perhaps"}, {"type": "edit"}, {"kind": "approve"}])
async def test_what_is_no_decision_is_an_error(sent: dict[str, Any]) -> None:
    connections = ConnectionManager()
    waiting = await asked(WebHITLHandler(connections), WRITE)
    connections.resolve_decision("s", sent)
    with pytest.raises(BadDecision):
        await waiting
