"""Pages that a run wants to read: whose addresses are asked about."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dataagent_core.events import HITLRequestEvent, ToolResultEvent
from dataagent_core.hitl import Decision
from tests.requirements import requirement

PAGE = "http://127.0.0.1:9/page"  # no address that may be reached


def line(tool: str, **arguments: Any) -> str:
    return f"!tool {tool} {json.dumps(arguments)}"


def hidden(text: str) -> str:
    """JSON of the same meaning, in which no address stands."""
    return text.replace("/", r"\/")


async def test_an_address_of_the_users_message_is_not_asked_about(chat: Any) -> None:
    events = await chat.ask(line("fetch_url", url=PAGE))
    assert not any(isinstance(event, HITLRequestEvent) for event in events)
    [result] = [event for event in events if isinstance(event, ToolResultEvent)]
    assert "DATAAGENT_ALLOW_PRIVATE_HOSTS" in str(result.result)


@requirement("R3.1")
@pytest.mark.parametrize("is_helper", [False, True])
async def test_an_address_that_the_model_made_up_waits_for_a_person(
    chat: Any, is_helper: bool
) -> None:
    message = hidden(line("fetch_url", url=PAGE))
    if is_helper:  # what an agent tells its helper is not the user's word
        task = f"Read {PAGE}.\n{line('fetch_url', url=PAGE)}"
        message = hidden(line("task", description=task, subagent_type="general-purpose"))
    run = await chat.start(message)
    (request,) = await chat.requests(run)
    assert (request.action.name, request.action.args["url"]) == ("fetch_url", PAGE)
    await chat.decide(run, request.request_id, Decision("reject"))
    events = await chat.events(run)
    assert events[-1].reason == "rejected"
