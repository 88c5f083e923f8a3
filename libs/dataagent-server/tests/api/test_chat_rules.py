"""What a caller may say about a run's tools over REST and the socket, and what not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from conftest import LiveServer

WRITE = '!tool write_file {"file_path": "/files/a.txt", "content": "x"}\n!echo on'


def results(events: list[dict[str, Any]]) -> list[tuple[str, str]]:
    found = [event["data"] for event in events if event["event_type"] == "tool_result"]
    return [(each["tool_name"], each["status"]) for each in found]


@pytest.mark.parametrize("rule", [{"mode": "plan"}, {"deny": ["write_*"]}])
async def test_a_call_that_a_rule_refuses_is_denied_over_rest(
    live: LiveServer, rule: dict[str, Any]
) -> None:
    async with live.http() as client:
        answer = (await client.post("/api/v1/chat", json={"message": WRITE, **rule})).json()
    assert answer["status"] == "done"
    assert results(answer["events"]) == [("write_file", "denied")]


async def test_a_rule_holds_over_the_socket_and_for_its_run_only(live: LiveServer) -> None:
    async with live.socket() as socket:
        await socket.chat(WRITE, mode="plan")
        assert results(await socket.until("done")) == [("write_file", "denied")]
        await socket.chat(WRITE)
        *_, asked = await socket.until("hitl_request")
        assert asked["data"]["action"]["diff"].endswith("@@ -0,0 +1 @@\n+x")
        await socket.say("cancel")
        await socket.until("done")


async def test_a_run_ends_when_its_tokens_are_used(live: LiveServer) -> None:
    async with live.http() as client:
        body = {"message": "!echo never said", "max_tokens": 10}
        answer = (await client.post("/api/v1/chat", json=body)).json()
    assert answer["events"][-1]["data"]["reason"] == "budget"


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        ({"allow": ["*"]}, "A caller cannot allow tools on a server"),
        ({"mode": "auto"}, "plan"),
        ({"deny": ["a b"]}, "pattern"),
        ({"deny": ["x"] * 101}, "100"),
        ({"max_tokens": 0}, "greater than or equal to 1"),
    ],
)
async def test_a_rule_that_cannot_be_is_refused_with_a_sentence(
    live: LiveServer, rule: dict[str, Any], told: str
) -> None:
    async with live.http() as client, live.socket() as socket:
        answer = await client.post("/api/v1/chat", json={"message": "hi", **rule})
        assert answer.status_code == 422
        assert told in answer.text
        await socket.say("chat", {"message": "hi", **rule})
        assert told in (await socket.next("error"))["data"]["error"]
