"""Who sees which agents, and how much of them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import httpx
import pytest

from tests.requirements import requirement

if TYPE_CHECKING:
    from conftest import LiveServer

StartServer = Callable[..., "LiveServer"]
URL = "/api/v1/agents"


@pytest.fixture
async def root(live: LiveServer) -> AsyncGenerator[httpx.AsyncClient]:
    async with live.http("root") as client:
        yield client


async def ok(answer: httpx.Response) -> Any:
    assert answer.is_success, answer.text
    return answer.json()


async def made(client: httpx.AsyncClient, **fields: Any) -> Any:
    body = {"name": f"a-{uuid4().hex[:8]}", **fields}
    return await ok(await client.post(URL, json=body))


def error_of(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error_code"]


async def test_everyone_sees_agents_and_tools_but_only_administrators_the_prompts(
    live: LiveServer, root: httpx.AsyncClient
) -> None:
    agent = await made(root, system_prompt="A secret recipe.")
    async with live.http() as client:
        assert (await ok(await client.get(f"{URL}/{agent['id']}")))["system_prompt"] is None
        listed = await client.get(URL)
        assert "recipe" not in listed.text
        names = [each["name"] for each in (await ok(listed))["items"]]
        assert names[-1] == "general"
        assert {"sql", "research", agent["name"]} < set(names)
        tools = await ok(await client.get("/api/v1/tools"))
        assert tools == await ok(await root.get("/api/v1/tools"))
        assert set(tools["items"][0]) == {
            *("id", "name", "description", "kind", "server_id", "input_schema"),
        }
        for answer in (
            await client.post(URL, json={"name": "x"}),
            await client.put(f"{URL}/{agent['id']}", json={"toolIds": []}),
            await client.delete(f"{URL}/{agent['id']}"),
        ):
            assert error_of(answer) == (403, "denied")


@requirement("S3.4c")
async def test_a_selector_shows_strangers_only_what_was_not_created_here(
    live: LiveServer, root: httpx.AsyncClient
) -> None:
    agent = await made(root, description="Knows the merger.")
    async with live.http(None) as nobody, live.http() as alice:
        public = await ok(await nobody.get("/api/agents"))
        assert [each["name"] for each in public["items"] if each["kind"] == "builtin"] == [
            "research",
            "sql",
            "general",
        ]
        assert set(public["items"][0]) == {"id", "name", "description", "icon", "kind"}
        assert agent["name"] not in [each["name"] for each in public["items"]]
        own = await ok(await alice.get("/api/agents"))
        assert agent["name"] in [each["name"] for each in own["items"]]


@requirement("R35.5")
async def test_an_agent_that_is_switched_off_is_not_listed_and_cannot_be_chosen_by_any_name(
    start_server: StartServer,
) -> None:
    live = start_server(multi_tenant=True, sample_data=False)
    async with live.http("root") as root, live.http() as alice:
        agent = await made(root, name="helper")
        off = {"agent:helper": False, "agent:general": False}
        body = {"name": "Acme", "tenant_id": "acme", "features_enabled": off}
        await ok(await root.post("/api/v1/tenants", json=body))
        await ok(await root.put("/api/v1/tenants/acme/users/alice", json={}))
        for url in (URL, "/api/agents"):
            names = {each["name"] for each in (await ok(await alice.get(url)))["items"]}
            assert {"sql", "research"} <= names
            assert names.isdisjoint({"helper", "general"})
        assert error_of(await alice.get(f"{URL}/helper")) == (404, "agent_not_found")
        for chosen in ("helper", agent["id"], "general", "agent"):
            answer = await alice.post(
                "/api/v1/chat", json={"message": "hi", "assistant_id": chosen}
            )
            assert error_of(answer) == (403, "agent_disabled"), chosen
        everyone = {each["name"] for each in (await ok(await root.get(URL)))["items"]}
        assert {"helper", "general"} < everyone
