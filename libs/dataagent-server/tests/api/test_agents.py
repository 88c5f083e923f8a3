"""Agents and their tools over REST: binding, also under pressure."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import httpx
import pytest
from inline_snapshot import snapshot

from tests.requirements import requirement

if TYPE_CHECKING:
    from conftest import LiveServer

StartServer = Callable[..., "LiveServer"]
URL = "/api/v1/agents"
LS = '!tool ls {"path": "/"}'
WRITE = '!tool write_file {"file_path": "/files/a.txt", "content": "x"}'


@pytest.fixture
async def root(live: LiveServer) -> AsyncGenerator[httpx.AsyncClient]:
    async with live.http("root") as client:
        yield client


async def ok(answer: httpx.Response) -> Any:
    assert answer.is_success, answer.text
    return answer.json()


async def numbers(client: httpx.AsyncClient) -> dict[str, int]:
    """The tools' numbers by name."""
    return {
        each["name"]: each["id"] for each in (await ok(await client.get("/api/v1/tools")))["items"]
    }


async def made(client: httpx.AsyncClient, **fields: Any) -> Any:
    body = {"name": f"a-{uuid4().hex[:8]}", **fields}
    return await ok(await client.post(URL, json=body))


async def bind(client: httpx.AsyncClient, agent: Any, *tool_ids: int) -> Any:
    return await ok(await client.put(f"{URL}/{agent['id']}", json={"toolIds": list(tool_ids)}))


def error_of(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error_code"]


async def results(
    client: httpx.AsyncClient, message: str, agent: str
) -> list[tuple[str, str, str]]:
    """Name, status and text of the tool results of a chat turn."""
    body = {"message": message, "assistant_id": agent}
    said = (await ok(await client.post("/api/v1/chat", json=body)))["events"]
    found = [each["data"] for each in said if each["event_type"] == "tool_result"]
    return [(each["tool_name"], each["status"], str(each["result"])) for each in found]


# -- binding ---------------------------------------------------------------------------------


@requirement("B1", "B2", "B3", "B4", "B9", "B10", "B11", "B12", "B13", "B20", "B21", "B22")
async def test_an_update_replaces_all_tools_of_an_agent(root: httpx.AsyncClient) -> None:
    first, second, third, fourth, fifth = sorted((await numbers(root)).values())[:5]
    agent = await made(root)
    for wanted in ([first, second, third], [fourth, fifth], []):
        assert (await bind(root, agent, *wanted))["toolIds"] == wanted
        assert (await ok(await root.get(f"{URL}/{agent['id']}")))["toolIds"] == wanted
        listed = {each["id"]: each["toolIds"] for each in (await ok(await root.get(URL)))["items"]}
        assert listed[agent["id"]] == wanted


@requirement("B4", "B5", "B14", "B15", "B20")
async def test_an_agent_is_created_with_its_tools_or_with_none(root: httpx.AsyncClient) -> None:
    known = await numbers(root)
    both = sorted([known["ls"], known["read_file"]])
    agent = await made(root, toolIds=both)
    assert agent["toolIds"] == both
    assert (await ok(await root.get(f"{URL}/{agent['name']}")))["toolIds"] == both  # by name, too
    assert (await made(root))["toolIds"] == []


@requirement("B6", "B7", "B16", "B17", "B22")
async def test_numbers_sent_twice_count_once_and_unknown_ones_are_named(
    root: httpx.AsyncClient,
) -> None:
    known = await numbers(root)
    ls = known["ls"]
    agent = await made(root, toolIds=[ls, 999_999, ls, -1, 2**70, 999_999])
    assert (agent["toolIds"], agent["ignoredToolIds"]) == ([ls], [999_999, -1, 2**70])
    again = await bind(root, agent, known["glob"], known["glob"], 0)
    assert (again["toolIds"], again["ignoredToolIds"]) == ([known["glob"]], [0])
    assert "ignoredToolIds" not in await ok(await root.get(f"{URL}/{agent['id']}"))


@requirement("B2")
async def test_an_update_without_tool_ids_leaves_the_tools(root: httpx.AsyncClient) -> None:
    known = await numbers(root)
    agent = await made(root, toolIds=[known["ls"]], description="Before", icon="x")
    changed = await ok(await root.put(f"{URL}/{agent['id']}", json={"description": "After"}))
    assert (changed["description"], changed["toolIds"]) == ("After", [known["ls"]])
    assert changed["icon"] == "x"


@requirement("S2.2.2a")
async def test_an_agent_has_every_field_of_its_shape(root: httpx.AsyncClient) -> None:
    agent = await made(
        root, name="shape", description="d", system_prompt="Be brief.", model="offline"
    )
    assert agent.pop("id").startswith("agent_")
    assert agent == snapshot(
        {
            "name": "shape",
            "description": "d",
            "system_prompt": "Be brief.",
            "model": "offline",
            "icon": "",
            "show_in_selector": True,
            "kind": "custom",
            "status": "IDLE",
            "toolIds": [],
            "ignoredToolIds": [],
        }
    )


@requirement("B2")
async def test_updates_at_the_same_moment_are_never_mixed(root: httpx.AsyncClient) -> None:
    every = sorted((await numbers(root)).values())
    sets = [every[i : i + 4] for i in range(8)]
    agent = await made(root)
    seen = await asyncio.gather(*(bind(root, agent, *each) for each in sets))
    assert all(each["toolIds"] in sets for each in seen)
    kept = (await ok(await root.get(f"{URL}/{agent['id']}")))["toolIds"]
    assert kept in sets


async def test_changes_of_different_fields_at_the_same_moment_are_all_kept(
    root: httpx.AsyncClient,
) -> None:
    ls = (await numbers(root))["ls"]
    one = f"{URL}/{(await made(root))['id']}"
    bodies = [{"description": "d"}, {"icon": "i"}, {"toolIds": [ls]}, {"system_prompt": "p"}]
    await asyncio.gather(*(root.put(one, json=body) for body in bodies))
    kept = await ok(await root.get(one))
    assert {name: kept[name] for body in bodies for name in body} == {
        "description": "d",
        "icon": "i",
        "toolIds": [ls],
        "system_prompt": "p",
    }


# -- an agent that works ---------------------------------------------------------------------


@requirement("B8", "B18")
async def test_an_agent_with_an_active_run_is_not_changed(
    live: LiveServer, root: httpx.AsyncClient
) -> None:
    known = await numbers(root)
    agent = await made(root, toolIds=[known["write_file"]])
    one = f"{URL}/{agent['id']}"
    async with live.socket() as socket:
        await socket.chat("!slow 1000 20", assistant_id=agent["id"])
        await socket.until("text")
        assert (await ok(await root.get(one)))["status"] == "WORKING"
        changes: list[dict[str, Any]] = [{"toolIds": []}, {"description": "x"}]
        for change in changes:
            refused = await root.put(one, json=change)
            assert error_of(refused) == (409, "agent_busy")
            assert refused.json()["details"] == {"status": "WORKING"}
        assert error_of(await root.delete(one)) == (409, "agent_busy")
        await socket.say("cancel")
        await socket.until("done")
        await socket.chat(WRITE, assistant_id=agent["name"])  # by name it is the same agent
        await socket.until("hitl_request")
        assert (await ok(await root.get(one)))["status"] == "THINKING"
        assert error_of(await root.put(one, json={"toolIds": []})) == (409, "agent_busy")
        await socket.say("cancel")
        await socket.until("done")
    assert (await ok(await root.get(one)))["status"] == "IDLE"
    assert (await bind(root, agent))["toolIds"] == []


@requirement("B8")
async def test_a_run_that_the_supervisor_hands_over_is_a_run_of_the_agent_that_answers(
    live: LiveServer, root: httpx.AsyncClient
) -> None:
    agent, other = await made(root), await made(root)
    route = json.dumps({"agent_name": agent["name"], "task_description": "it"})
    async with live.socket() as socket:
        await socket.chat(f"!tool route {route}\n!slow 1000 20", assistant_id="supervisor")
        await socket.until("text")
        assert error_of(await root.put(f"{URL}/{agent['id']}", json={"toolIds": []})) == (
            409,
            "agent_busy",
        )
        assert (await ok(await root.get(f"{URL}/{agent['id']}")))["status"] == "WORKING"
        assert (await bind(root, other))["status"] == "IDLE"
        await socket.say("cancel")
        await socket.until("done")
    assert (await bind(root, agent))["status"] == "IDLE"


@requirement("B8")
async def test_a_run_of_another_agent_is_no_run_of_this_one(
    live: LiveServer, root: httpx.AsyncClient
) -> None:
    agent = await made(root)
    async with live.socket() as socket:
        await socket.chat("!slow 1000 20", assistant_id="agent")
        await socket.until("text")
        assert (await bind(root, agent))["status"] == "IDLE"
        general = await ok(await root.get(f"{URL}/general"))
        assert general["status"] == "WORKING"  # by its other name
        await socket.say("cancel")
        await socket.until("done")


# -- what is not bound -----------------------------------------------------------------------


@requirement("B1")
async def test_a_tool_that_is_not_bound_is_not_called_even_if_the_model_names_it(
    live: LiveServer, root: httpx.AsyncClient
) -> None:
    known = await numbers(root)
    agent = await made(root, toolIds=[known["ls"]])
    async with live.http() as client:
        found = await results(client, f"{WRITE}\n{LS}", agent["id"])
        assert [each[:2] for each in found] == [("write_file", "denied"), ("ls", "success")]
        assert "not bound" in found[0][2]
        assert "Use one of: ls." in found[0][2]
        assert (await results(client, '!tool no_such {"a": 1}', agent["id"]))[0][1] == "denied"
        await bind(root, agent)
        (refused,) = await results(client, LS, agent["id"])
        assert refused[1] == "denied"
        await bind(root, agent, known["ls"])
        assert (await results(client, LS, agent["id"]))[0][1] == "success"
    await live.on_server(live.container.core.observers.audit.flush())
    page = await ok(await root.get("/api/v1/audit", params={"action": "tool.call", "limit": 50}))
    outcomes = {(each["target"], each["outcome"]) for each in page["items"]}
    assert ("write_file", "denied") in outcomes


async def test_tools_of_a_built_in_agent_can_be_bound_anew_and_given_back(
    start_server: StartServer,
) -> None:
    live = start_server(sample_data=False)
    async with live.http("root") as root:
        known = await numbers(root)
        before = await ok(await root.get(f"{URL}/sql"))
        assert known["sql_db_query"] in before["toolIds"]
        assert known["http_request"] not in before["toolIds"]
        changed = await ok(await root.put(f"{URL}/sql", json={"toolIds": [known["ls"]]}))
        assert changed["toolIds"] == [known["ls"]]
        assert (await results(root, "!tool sql_db_list_tables {}", "sql"))[0][1] == "denied"
        back = await ok(await root.put(f"{URL}/sql", json={"toolIds": None}))
        assert back["toolIds"] == before["toolIds"]
        general = await ok(await root.get(f"{URL}/agent"))  # its other name
        assert (general["id"], general["toolIds"]) == ("general", sorted(known.values()))
        await ok(await root.put(f"{URL}/general", json={"toolIds": [known["ls"]]}))
        assert (await results(root, WRITE, "agent"))[0][1] == "denied"
        every = await ok(await root.put(f"{URL}/general", json={"toolIds": sorted(known.values())}))
        assert every["toolIds"] == sorted(known.values())


async def test_a_built_in_agent_keeps_its_name_and_cannot_be_deleted(
    root: httpx.AsyncClient,
) -> None:
    renamed = await root.put(f"{URL}/sql", json={"name": "sequel"})
    assert error_of(renamed) == (409, "conflict")
    deleted = await root.delete(f"{URL}/general")
    assert error_of(deleted) == (409, "conflict")
    assert "built in" in deleted.json()["message"]
    same = await root.put(f"{URL}/sql", json={"name": "sql", "kind": "custom"})
    assert error_of(same) == (422, "bad_input")


async def test_what_an_administrator_says_of_a_built_in_agent_holds_until_it_is_taken_back(
    root: httpx.AsyncClient,
) -> None:
    before = await ok(await root.get(f"{URL}/research"))
    assert before["system_prompt"]
    changed = await ok(
        await root.put(
            f"{URL}/research", json={"system_prompt": "Mine.", "show_in_selector": False}
        )
    )
    assert (changed["system_prompt"], changed["show_in_selector"]) == ("Mine.", False)
    names = [each["name"] for each in (await ok(await root.get("/api/agents")))["items"]]
    assert "research" not in names
    body = {"system_prompt": None, "show_in_selector": None}
    after = await ok(await root.put(f"{URL}/research", json=body))
    assert {**after, "ignoredToolIds": []} == {**before, "ignoredToolIds": []}


# -- created agents --------------------------------------------------------------------------


@requirement("S8.1")
async def test_a_created_agent_answers_with_its_own_prompt_and_may_be_renamed(
    live: LiveServer, root: httpx.AsyncClient
) -> None:
    known = await numbers(root)
    agent = await made(root, toolIds=[known["ls"]])
    async with live.http() as client:
        body = {"message": "!echo hi", "assistant_id": agent["name"]}
        first = await ok(await client.post("/api/v1/chat", json=body))
        session = await ok(await client.get(f"/api/v1/sessions/{first['session_id']}"))
        assert session["assistant_id"] == agent["id"]
        renamed = await ok(
            await root.put(f"{URL}/{agent['id']}", json={"name": f"{agent['name']}-2"})
        )
        assert renamed["toolIds"] == [known["ls"]]
        again = {"message": WRITE, "session_id": first["session_id"]}
        said = (await ok(await client.post("/api/v1/chat", json=again)))["events"]
        assert [e["data"]["status"] for e in said if e["event_type"] == "tool_result"] == ["denied"]
        assert error_of(await root.get(f"{URL}/{agent['name']}")) == (404, "agent_not_found")


async def test_a_deleted_agent_is_gone_for_its_sessions_too(
    live: LiveServer, root: httpx.AsyncClient
) -> None:
    agent = await made(root)
    one = f"{URL}/{agent['id']}"
    async with live.http() as client:
        body = {"message": "!echo hi", "assistant_id": agent["name"]}
        session_id = (await ok(await client.post("/api/v1/chat", json=body)))["session_id"]
        assert (await root.delete(one)).status_code == 204
        for answer in (
            await client.get(one),
            await root.put(one, json={"toolIds": []}),
            await root.delete(one),
            await client.post("/api/v1/chat", json={"message": "hi", "session_id": session_id}),
            await client.post("/api/v1/chat", json={"message": "hi", "assistant_id": agent["id"]}),
            await client.post("/api/v1/sessions", json={"assistant_id": agent["id"]}),
        ):
            assert error_of(answer) == (404, "agent_not_found")
        other = {"message": "!echo hi", "session_id": session_id, "assistant_id": "agent"}
        assert (await client.post("/api/v1/chat", json=other)).status_code == 200


@pytest.mark.parametrize("name", ["sql", "general"])
async def test_a_name_is_given_once(root: httpx.AsyncClient, name: str) -> None:
    assert error_of(await root.post(URL, json={"name": name})) == (409, "conflict")
    agent = await made(root)
    assert error_of(await root.post(URL, json={"name": agent["name"]})) == (409, "conflict")
    taken = await root.put(f"{URL}/{agent['id']}", json={"name": name})
    assert error_of(taken) == (409, "conflict")


async def test_ten_who_ask_for_one_name_get_it_once(root: httpx.AsyncClient) -> None:
    answers = await asyncio.gather(*(root.post(URL, json={"name": "race"}) for _ in range(10)))
    assert sorted(each.status_code for each in answers) == [201, *[409] * 9]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"name": ""},
        {"name": "Upper"},
        {"name": "-x"},
        {"name": "a b"},
        {"name": "x" * 65},
        {"name": "agent"},
        {"name": "supervisor"},
        {"name": "agent_" + "0" * 32},
        {"name": "x", "toolIds": ["1"]},
        {"name": "x", "toolIds": [1.5]},
        {"name": "x", "toolIds": [True]},
        {"name": "x", "toolIds": None},
        {"name": "x", "toolIds": {}},
        {"name": "x", "tool_ids": [1]},
        {"name": "x", "system_prompt": "a\u0000"},
        {"name": "x", "kind": "builtin"},
    ],
    ids=str,
)
async def test_a_body_that_does_not_fit_is_refused(
    root: httpx.AsyncClient, body: dict[str, Any]
) -> None:
    assert error_of(await root.post(URL, json=body)) == (422, "bad_input")
