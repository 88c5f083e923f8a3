"""What the agents every installation has can do, over REST: code, files, skills, SQL, bindings."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tests.requirements import requirement
from tests.waiting import WAIT_SECONDS

if TYPE_CHECKING:
    import httpx

    from conftest import LiveServer

AGENTS = "/api/v1/agents"
CODE = "open('/output/made.txt', 'w').write('by code')\nprint(6 * 7)"


async def ok(answer: httpx.Response) -> Any:
    assert answer.is_success, answer.text
    return answer.json()


async def called(client: httpx.AsyncClient, tool: str, **arguments: Any) -> dict[str, Any]:
    """The result of one call by the general agent."""
    body = {"message": f"!tool {tool} {json.dumps(arguments)}"}
    answer = await ok(await client.post("/api/v1/chat", json=body))
    [found] = [each["data"] for each in answer["events"] if each["event_type"] == "tool_result"]
    assert found["status"] == "success", found
    return found


async def tools_of(client: httpx.AsyncClient, agent: str) -> set[str]:
    """The names of the tools that an agent's `toolIds` stand for."""
    names = {
        one["id"]: one["name"] for one in (await ok(await client.get("/api/v1/tools")))["items"]
    }
    return {names[one] for one in (await ok(await client.get(f"{AGENTS}/{agent}")))["toolIds"]}


@requirement("S2.2.3a", "S2.4.1e", "S2.4.1f", "S3.6b", "S5.3")
async def test_general_runs_code_reads_files_and_activates_skills(
    start_server: Callable[..., LiveServer],
) -> None:
    server = start_server(auto_approve=True)
    async with server.http() as client, server.http("bob") as other:
        skill = (await ok(await client.get("/api/skills")))["items"][0]
        assert (
            skill["name"] in (await called(client, "activate_skill", name=skill["name"]))["result"]
        )
        upload = {"file": ("notes.txt", b"what I noted")}
        file = await ok(await client.post("/api/files/upload", files=upload))
        read = await called(client, "read_uploaded_file", file_id=file["file_id"])
        assert "what I noted" in read["result"]
        assert "42" in (await called(client, "execute_python", code="print(6 * 7)"))["result"]
        made = await called(client, "execute_python_with_file", code=CODE, filename="made.txt")
        url = made["result"].partition("[made.txt](")[2].partition(")")[0]
        assert url.startswith("/api/files/")
        assert url.endswith("/made.txt")
        assert (await client.get(url)).content == b"by code"
        assert (await other.get(url)).status_code == 404


@requirement("S2.2.2b", "S2.2.5.2a", "S2.2.5.2b")
async def test_the_sql_agent_has_the_standard_tools_and_general_has_them_too(
    start_server: Callable[..., LiveServer],
) -> None:
    server = start_server(model="offline")
    async with server.http() as client:
        sql, everything = await tools_of(client, "sql"), await tools_of(client, "general")
        assert {
            *("sql_db_list_tables", "sql_db_schema", "sql_db_query", "sql_db_query_checker"),
        } <= sql
        assert sql | await tools_of(client, "research") <= everything
        question = {"message": "How many artists are there?", "assistant_id": "sql"}
        answer = await ok(await client.post("/api/v1/chat", json=question))
        called_tools = {
            each["data"]["tool_name"]
            for each in answer["events"]
            if each["event_type"] == "tool_call"
        }
        assert "sql_db_query" in called_tools
        count = await ok(
            await client.post(
                "/api/v1/data-sources/chinook/query", json={"sql": "SELECT count(*) FROM Artist"}
            )
        )
        [[expected]] = count["preview"]
        said = "".join(
            each["data"]["content"] for each in answer["events"] if each["event_type"] == "text"
        )
        assert str(expected) in said.replace(",", "")


@requirement("B19", "B23")
async def test_a_tool_is_bound_to_several_agents_in_no_time(live: LiveServer) -> None:
    async with live.http("root") as root:
        ids = sorted(one["id"] for one in (await ok(await root.get("/api/v1/tools")))["items"])[:3]
        agents = [await ok(await root.post(AGENTS, json={"name": f"a-{uuid.uuid4().hex[:8]}"}))
                  for _ in range(2)]  # fmt: skip
        async with asyncio.timeout(WAIT_SECONDS):
            for agent in agents:
                await ok(await root.put(f"{AGENTS}/{agent['id']}", json={"toolIds": ids}))
        listed = {
            each["id"]: each["toolIds"] for each in (await ok(await root.get(AGENTS)))["items"]
        }
        assert [listed[agent["id"]] for agent in agents] == [ids, ids]
        await ok(await root.put(f"{AGENTS}/{agents[0]['id']}", json={"toolIds": []}))
        left = await ok(await root.get(f"{AGENTS}/{agents[1]['id']}"))
        assert left["toolIds"] == ids


@requirement("S10.5b")
async def test_ids_of_files_cannot_be_guessed(live: LiveServer) -> None:
    async with live.http() as client:
        upload = {"file": ("a.txt", b"a")}
        found = [await ok(await client.post("/api/files/upload", files=upload)) for _ in range(2)]
    one, two = (uuid.UUID(each["file_id"]) for each in found)
    assert (one.version, two.version) == (4, 4)
    assert one != two
