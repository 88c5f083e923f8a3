"""Conversations over `/api`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from tests.requirements import requirement

if TYPE_CHECKING:
    import httpx

    from conftest import LiveServer

URL = "/api/conversations"


async def begun(client: httpx.AsyncClient, **body: Any) -> dict[str, Any]:
    answer = await client.post(URL, json=body)
    assert answer.status_code == 201
    return answer.json()


async def renamed(client: httpx.AsyncClient, made: dict[str, Any], title: str) -> dict[str, Any]:
    return (await client.patch(f"{URL}/{made['id']}", json={"title": title})).json()


async def titles(client: httpx.AsyncClient, **query: Any) -> tuple[list[str], int]:
    found = (await client.get(URL, params=query)).json()
    return [each["title"] for each in found["items"]], found["total"]


@requirement("S2.1a", "S3.3")
async def test_a_conversation_is_begun_named_listed_and_deleted(live: LiveServer) -> None:
    async with live.http("root") as client:
        made = await begun(client)
        assert made.keys() == {"id", "thread_id", "title", "created_at", "updated_at"}
        assert made["title"] == "New Conversation"
        assert len(made["thread_id"]) == 8
        assert int(made["thread_id"], 16) >= 0
        url = f"{URL}/{made['id']}"
        renamed = await client.patch(url, json={"title": "  Sales\u3000by year "})
        moment = renamed.json()["updated_at"]
        assert renamed.json() == {**made, "title": "Sales by year", "updated_at": moment}
        assert moment >= made["updated_at"]
        assert (await client.get(url)).json() == renamed.json()
        assert (await client.get(URL)).json() == {"items": [renamed.json()], "total": 1}
        named = await begun(client, title="另一个")
        assert await titles(client) == (["另一个", "Sales by year"], 2)
        assert await titles(client, limit=1, offset=1) == (["Sales by year"], 2)
        for each in (made, named):
            assert (await client.delete(f"{URL}/{each['id']}")).status_code == 204
        assert await titles(client) == ([], 0)


@requirement("S2.1a")
async def test_a_session_and_a_conversation_are_the_same_thing(live: LiveServer) -> None:
    async with live.http("bob") as client:
        made = await begun(client, title="Both")
        session = (await client.get(f"/api/v1/sessions/{made['id']}")).json()
    assert (session["thread_id"], session["title"]) == (made["thread_id"], "Both")


@requirement("S2.1c")
async def test_the_conversation_that_was_used_last_is_first(live: LiveServer) -> None:
    async with live.http("service", headers={"X-User-Id": "otto"}) as client:
        older = await begun(client, title="older")
        await begun(client, title="newer")
        assert (await titles(client))[0] == ["newer", "older"]
        await client.post("/api/v1/chat", json={"message": "hi", "session_id": older["id"]})
        assert (await titles(client))[0] == ["older", "newer"]


@requirement("S2.1c")
async def test_a_conversation_that_was_renamed_is_first(live: LiveServer) -> None:
    async with live.http("service", headers={"X-User-Id": "olga"}) as client:
        older = await begun(client, title="older")
        newer = await begun(client, title="newer")
        while (at := (await renamed(client, older, "renamed"))["updated_at"]) <= newer[
            "updated_at"
        ]:
            continue  # within the same millisecond either may be first
        assert at > older["updated_at"]
        assert (await titles(client))[0] == ["renamed", "newer"]


@requirement("S2.1a")
@pytest.mark.parametrize("title", ["", "   ", "x" * 51, "数" * 51, None, 7, "nul \x00"])
async def test_a_title_that_does_not_fit_is_refused(live: LiveServer, title: Any) -> None:
    async with live.http("bob") as client:
        made = await begun(client, title="x" * 50)
        answer = await client.patch(f"{URL}/{made['id']}", json={"title": title})
        assert (answer.status_code, answer.json()["error_code"]) == (422, "bad_input")
        assert (await client.get(f"{URL}/{made['id']}")).json() == made
        if title is not None:
            assert (await client.post(URL, json={"title": title})).status_code == 422


async def test_bad_questions_are_422(live: LiveServer) -> None:
    async with live.http("bob") as client:
        for query in ("limit=0", "limit=x", "offset=-1", "search=" + "x" * 201, "search=%00"):
            assert (await client.get(f"{URL}?{query}")).status_code == 422, query
        assert (await client.post(URL, json={"titel": "x"})).status_code == 422
        assert (await client.post(URL, content=b"{")).status_code == 422
        made = await begun(client)
        for body in ({}, {"title": "x", "user_id": "alice"}, ["x"]):
            assert (await client.patch(f"{URL}/{made['id']}", json=body)).status_code == 422


async def test_conversations_are_found_by_title_and_by_what_was_said(live: LiveServer) -> None:
    async with live.http("service") as client:
        for message in ("上个月的销售额是多少？", "!echo 100% of Tracks", "!echo 100 percent"):
            await client.post("/api/v1/chat", json={"message": message})
        assert await titles(client, search="销售额") == (["上个月的销售额是多少？"], 1)
        assert await titles(client, search="100%") == (["!echo 100% of Tracks"], 1)
        assert await titles(client, search="TRACKS") == (["!echo 100% of Tracks"], 1)
        assert (await titles(client, search="100"))[1] == 2
        assert await titles(client, search="_") == ([], 0)
        assert (await titles(client, search=" "))[1] == 3
    async with live.http("bob") as client:
        assert await titles(client, search="销售额") == ([], 0)


@requirement("G6")
async def test_a_deleted_conversation_stops_and_is_gone_at_every_door(live: LiveServer) -> None:
    async with live.http() as client:
        made = await begun(client)
        async with live.socket(made["id"]) as socket:
            accepted = await socket.chat("!slow 1000 20")
            await socket.next("text")
            assert (await client.delete(f"{URL}/{made['id']}")).status_code == 204
            assert (await socket.until("done"))[-1]["data"]["cancelled"] is True
            assert (await socket.next("error"))["data"]["error_code"] == "session_not_found"
            assert await socket.closed() == 4404
        run, thread = accepted["run_id"], made["thread_id"]
        session = f"/api/v1/sessions/{made['id']}"
        for method, url, body in (
            ("GET", f"{URL}/{made['id']}", None),
            ("PATCH", f"{URL}/{made['id']}", {"title": "x"}),
            ("DELETE", f"{URL}/{made['id']}", None),
            ("GET", session, None),
            ("GET", f"{session}/messages", None),
            ("GET", f"{session}/events", None),
            ("DELETE", session, None),
            ("GET", f"/api/v1/runs/{run}", None),
            ("GET", f"/api/v1/runs/{run}/events", None),
            ("POST", f"/api/v1/runs/{run}/cancel", None),
            ("POST", f"/api/v1/chat/{made['id']}/cancel", None),
            ("POST", "/api/v1/chat", {"message": "hi", "session_id": made["id"]}),
            ("POST", "/api/chat", {"message": "hi", "thread_id": thread}),
            ("GET", f"/api/chat/{thread}/events", None),
            ("GET", f"/api/threads/{thread}/history", None),
        ):
            answer = await client.request(method, url, json=body)
            assert answer.status_code == 404, (method, url, answer.text)
        assert made["id"] not in (await client.get(URL)).text


@requirement("S2.1a")
async def test_a_deleted_conversation_comes_back_whole(live: LiveServer) -> None:
    async with live.http() as client:
        asked = (await client.post("/api/v1/chat", json={"message": "!echo keep me"})).json()
        url = f"{URL}/{asked['session_id']}"
        before = (await client.get(url)).json()
        history = (await client.get(f"/api/threads/{before['thread_id']}/history")).json()
        await client.delete(url)
        async with live.http("bob") as other:
            assert (await other.post(f"{url}/restore")).status_code == 404
        for _ in range(2):
            restored = await client.post(f"{url}/restore")
            assert (restored.status_code, restored.json()) == (200, before)
        again = (await client.get(f"/api/threads/{before['thread_id']}/history")).json()
        assert again == history
        assert (await client.post(f"{URL}/nothing/restore")).status_code == 404


async def test_a_restored_conversation_is_back_in_its_place(
    start_server: Callable[..., LiveServer],
) -> None:
    server = start_server(sample_data=False)
    async with server.http() as client:
        made = [await begun(client, title=title) for title in ("first", "second", "third")]
        order = ["third", "second", "first"]
        assert await titles(client) == (order, 3)
        url = f"{URL}/{made[1]['id']}"
        assert (await client.delete(url)).status_code == 204
        assert await titles(client) == (["third", "first"], 2)
        assert (await client.post(f"{url}/restore")).status_code == 200
        assert await titles(client) == (order, 3)
        assert await titles(client, limit=1, offset=1) == (["second"], 3)


@requirement("R32.1", "R32.3", "P30", "S2.1b")
async def test_nobody_and_no_other_user_gets_at_a_conversation(live: LiveServer) -> None:
    async with live.http() as client:
        made = await begun(client, title="s3cr3t")
        one, thread = f"{URL}/{made['id']}", made["thread_id"]
        routes: list[tuple[str, str, Any]] = [
            ("GET", one, None),
            ("PATCH", one, {"title": "mine now"}),
            ("DELETE", one, None),
            ("POST", f"{one}/restore", None),
            ("POST", "/api/chat", {"message": "!echo mine now", "thread_id": thread}),
            ("GET", f"/api/chat/{thread}/events", None),
            ("GET", f"/api/threads/{thread}/history", None),
        ]
        for user, status in ((None, 401), ("bob", 404), ("service", 404), ("root", 404)):
            async with live.http(user) as other:
                for method, url, body in routes:
                    answer = await other.request(method, url, json=body)
                    assert answer.status_code == status, (user, method, url)
                    assert "s3cr3t" not in answer.text
                assert "s3cr3t" not in (await other.get(URL)).text
        async with live.http(None) as nobody:
            assert (await nobody.post(URL, json={})).status_code == 401
        assert (await client.get(one)).json() == made
        history = (await client.get(f"/api/threads/{thread}/history")).json()
        assert history["total"] == 0
