"""What users used, over REST; how many messages and runs they may have at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from unittest.mock import ANY

import httpx
import pytest

from tests.requirements import requirement

if TYPE_CHECKING:
    from conftest import LiveServer

StartServer = Callable[..., "LiveServer"]
URL = "/api/v1/usage"
CHAT = "/api/v1/chat"


def error_of(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error_code"]


async def test_usage_is_told_by_day(live: LiveServer) -> None:
    async with live.http("alice") as client:
        said = await client.post(CHAT, json={"message": '!tool ls {"path": "/"}\n!echo hi'})
        assert said.status_code == 200
        answer = (await client.get(URL)).json()
        (today,) = answer["items"]
        assert answer["total"] == 1
        assert today == {
            "user_id": "alice",
            "username": None,
            "day": ANY,
            "runs": 1,
            "input_tokens": ANY,
            "output_tokens": ANY,
            "tool_calls": 1,
            "sql_seconds": 0.0,
            "wall_seconds": ANY,
            "cost": None,
            "currency": None,
        }
        assert today["input_tokens"] > 0
        assert today["wall_seconds"] > 0
        assert (await client.get(URL, params={"to": "2020-01-01"})).json()["total"] == 0
        span: dict[str, Any] = {"from": today["day"], "to": today["day"], "user_id": "alice"}
        assert (await client.get(URL, params=span)).json() == answer
    async with live.http("root") as client:
        assert (await client.get(URL, params={"user_id": "alice"})).json() == answer
        assert (await client.get(URL)).json()["total"] == 0


@requirement("R32.1")
async def test_nobody_but_an_administrator_sees_anothers(live: LiveServer) -> None:
    async with live.http("bob") as client:
        assert error_of(await client.get(URL, params={"user_id": "alice"})) == (403, "denied")
        assert (await client.get(URL)).json() == {"items": [], "total": 0}
    async with live.http(None) as client:
        assert error_of(await client.get(URL)) == (401, "not_authenticated")


@pytest.mark.parametrize(
    "params",
    [
        *({"from": "yesterday"}, {"to": "2026-13-01"}, {"user_id": "../x"}, {"day": "1"}),
        *({"all_users": "true", "user_id": "bob"}, {"limit": "0"}, {"all_users": "perhaps"}),
    ],
)
async def test_a_question_that_does_not_fit_is_refused(
    live: LiveServer, params: dict[str, str]
) -> None:
    async with live.http("alice") as client:
        assert error_of(await client.get(URL, params=params)) == (422, "bad_input")


@requirement("R32.1")
async def test_an_administrator_sees_what_all_users_used_and_what_it_cost(
    start_server: StartServer,
) -> None:
    server = start_server(sample_data=False, price_input=3.0, price_output=15.0)
    user = await server.on_server(server.container.users.create("dora"))
    _, key = await server.on_server(server.container.users.keys.create(user.user_id, "k"))
    for headers in ({"X-API-Key": key}, {"X-API-Key": "alice-key-4f9a0c"}):
        async with server.http(None, headers=headers) as client:
            assert (await client.post(CHAT, json={"message": "!echo hi"})).status_code == 200
            refused = await client.get(URL, params={"all_users": "true"})
            assert error_of(refused) == (403, "denied")
    async with server.http("root") as client:
        answer = (await client.get(URL, params={"all_users": "true"})).json()
        assert answer["total"] == 2
        assert {(each["user_id"], each["username"]) for each in answer["items"]} == {
            (user.user_id, "dora"),
            ("alice", None),
        }
        for each in answer["items"]:
            cost = (each["input_tokens"] * 3.0 + each["output_tokens"] * 15.0) / 1_000_000
            assert each["cost"] == pytest.approx(cost, abs=1e-6)
            assert each["cost"] > 0
            assert each["currency"] == "USD"
        pages = [
            (await client.get(URL, params={"all_users": "true", "limit": 1, "offset": n})).json()
            for n in range(3)
        ]
        assert [each for page in pages for each in page["items"]] == answer["items"]
        assert {page["total"] for page in pages} == {2}


@requirement("G12")
async def test_too_many_runs_at_once_are_429_and_leave_nothing_behind(
    start_server: StartServer,
) -> None:
    server = start_server(max_runs_per_user=1, sample_data=False)
    async with server.http("alice") as client, server.socket() as first, server.socket() as second:
        await first.chat("!slow 1000 60")
        answer = await client.post(CHAT, json={"message": "!echo second"})
        assert error_of(answer) == (429, "too_many_runs")
        assert answer.json()["details"] == {"limit": 1, "used": 1}
        assert answer.headers["Retry-After"] == "5"
        assert (await client.get("/api/v1/sessions")).json()["total"] == 2  # the sockets' own
        await second.say("chat", {"message": "!echo second", "client_message_id": "m1"})
        refused = (await second.next("error"))["data"]
        assert (refused["error_code"], refused["retry_after"]) == ("too_many_runs", 5)
        assert (refused["recoverable"], refused["client_message_id"]) == (True, "m1")
        async with server.http("bob") as other:
            assert (await other.post(CHAT, json={"message": "!echo hi"})).status_code == 200
        await first.say("cancel")
        await first.until("done")
        await second.chat("!echo second")
        await second.until("done")


async def test_runs_of_a_service_key_count_for_the_user_it_acts_for(
    start_server: StartServer,
) -> None:
    server = start_server(max_runs_per_user=1, sample_data=False)
    for person in ("one", "two"):
        who = {"X-User-Id": person}
        async with server.socket(user="service", headers=who) as socket:
            await socket.chat("!slow 1000 60")
            async with server.http("service", headers=who) as client:
                answer = await client.post(CHAT, json={"message": "!echo second"})
            assert error_of(answer) == (429, "too_many_runs")


@requirement("G12")
async def test_conversations_that_hold_too_much_take_no_more_until_one_is_deleted(
    start_server: StartServer,
) -> None:
    server = start_server(conversation_quota=100_000, sample_data=False)
    long = {"message": "!echo " + "x" * 20_000}
    async with server.http("alice") as client, server.socket() as socket:
        session_ids: list[str] = []
        while (answer := await client.post(CHAT, json=long)).status_code == 200:
            session_ids.append(answer.json()["session_id"])
        assert len(session_ids) == 2
        assert error_of(answer) == (429, "user_limit")
        details = answer.json()["details"]
        assert (details["what"], details["limit"]) == ("conversation_bytes", 100_000)
        assert details["used"] >= 100_000
        assert "DELETE /api/v1/sessions" in answer.json()["message"]
        assert error_of(await client.post("/api/v1/sessions", json={})) == (429, "user_limit")
        await socket.say("chat", {"message": "!echo hi"})
        assert (await socket.next("error"))["data"]["error_code"] == "user_limit"
        async with server.http("bob") as other:
            assert (await other.post(CHAT, json=long)).status_code == 200

        for path in (f"/api/conversations/{session_ids[0]}", f"/api/v1/sessions/{session_ids[1]}"):
            refused = await client.post(CHAT, json={"message": "!echo hi"})
            assert error_of(refused) == (429, "user_limit"), "a deletion that can be undone counts"
            assert (await client.delete(path)).status_code == 204
        await socket.chat("!echo hi")
        await socket.until("done")


@requirement("G12")
async def test_messages_that_come_too_fast_are_429_and_leave_nothing_behind(
    start_server: StartServer,
) -> None:
    server = start_server(rate_limit_per_minute=2, sample_data=False)
    async with server.http("alice") as client:
        statuses = [
            (await client.post(CHAT, json={"message": "!echo hi"})).status_code for _ in range(2)
        ]
        assert statuses == [200, 200]
        answer = await client.post(CHAT, json={"message": "!echo hi"})
        assert error_of(answer) == (429, "rate_limited")
        assert answer.json()["details"] == {"limit": 2, "per": "minute"}
        assert 0 < int(answer.headers["Retry-After"]) <= 30
        assert (await client.get("/api/v1/sessions")).json()["total"] == 2
    async with server.socket() as socket:
        await socket.say("chat", {"message": "!echo hi"})
        refused = (await socket.next("error"))["data"]
        assert refused["error_code"] == "rate_limited"
        assert 0 < refused["retry_after"] <= 30
    async with server.http("bob") as other:
        assert (await other.post(CHAT, json={"message": "!echo hi"})).status_code == 200


async def test_a_day_that_is_used_up_is_429_until_it_ends(start_server: StartServer) -> None:
    server = start_server(user_daily_tool_calls=1, sample_data=False)
    body = {"message": '!tool ls {"path": "/"}\n!tool ls {"path": "/"}'}
    async with server.http("alice") as client:
        said = (await client.post(CHAT, json=body)).json()
        assert said["status"] == "done"
        assert said["events"][-1]["data"]["reason"] == "budget"
        answer = await client.post(CHAT, json=body)
        assert error_of(answer) == (429, "budget_exhausted")
        details = answer.json()["details"]
        assert (details["what"], details["scope"]) == ("tool_calls", "day")
        assert details["resets"].endswith("T00:00:00+00:00")
        assert 0 < int(answer.headers["Retry-After"]) <= 86_400
