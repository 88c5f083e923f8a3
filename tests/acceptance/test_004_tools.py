"""Seed 004: which tools an agent is bound to, replaced as a whole with each update."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import httpx
import pytest

from tests.acceptance.states import states
from tests.acceptance.web_server import (
    Json,
    Web,
    call,
    chat,
    conversation,
    items,
    ok,
    outputs,
    running,
    sent_events,
    wait_until,
)

AGENTS = "/api/v1/agents"
NO_TOOL = 987_654


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Generator[Web]:
    with running(tmp_path_factory.mktemp("tools") / "server") as started:
        yield started


@pytest.fixture(scope="module")
def root(web: Web) -> Generator[httpx.Client]:
    """A program of the administrator's."""
    with web.key() as client:
        yield client


@pytest.fixture(scope="module")
def numbers(root: httpx.Client) -> list[int]:
    """The numbers of five tools there are."""
    return [each["id"] for each in items(root.get("/api/v1/tools"))][:5]


def agent(root: httpx.Client, name: str, **fields: Any) -> Json:
    return ok(root.post(AGENTS, json={"name": name, "description": "A test's.", **fields}))


def bound(root: httpx.Client, made: Json) -> list[int]:
    return ok(root.get(f"{AGENTS}/{made['id']}"))["toolIds"]


def update(root: httpx.Client, made: Json, tool_ids: list[int]) -> httpx.Response:
    return root.put(f"{AGENTS}/{made['id']}", json={"toolIds": tool_ids})


# -- what a tool is -------------------------------------------------------------------------


@states("004 Key Entities", "Tool：已有实体，表示可被 Agent 调用的工具")
@states("004 Assumptions", "Tool 实体已存在于系统中，有独立的 Tool 管理功能: GET /api/v1/tools")
@states("004 US1", "toolIds are numbers (Tool ID 列表 [1,2,3])")
def test_tools_have_numbers(root: httpx.Client) -> None:
    found = items(root.get("/api/v1/tools"))
    assert len(found) >= 5
    assert all(isinstance(each["id"], int) and each["name"] for each in found)
    assert len({each["id"] for each in found}) == len(found)


# -- US1: binding by update -----------------------------------------------------------------


@states("004 US1.1", "更新 Agent 并传入 toolIds=[1,2,3] → 绑定变为 [1,2,3]")
@states("004 FR-001", "更新 Agent 时指定 toolIds 列表，实现 Tools 绑定")
def test_an_update_binds_tools(root: httpx.Client, numbers: list[int]) -> None:
    made = agent(root, "us-1-1")
    changed = ok(update(root, made, numbers[:3]))
    assert sorted(changed["toolIds"]) == numbers[:3]
    assert sorted(bound(root, made)) == numbers[:3]


@states("004 US1.2", "绑定 [1,2,3]，传入 toolIds=[4,5] → [4,5]（全量替换）")
@states("004 FR-002", "每次更新 toolIds 时，完全替换原有绑定")
@states("004 SC-003", "更新后仅保留最新指定的 Tools")
def test_an_update_replaces_all_tools(root: httpx.Client, numbers: list[int]) -> None:
    made = agent(root, "us-1-2", toolIds=numbers[:3])
    ok(update(root, made, numbers[3:5]))
    assert sorted(bound(root, made)) == numbers[3:5]
    ok(update(root, made, [numbers[4], numbers[0]]))
    assert sorted(bound(root, made)) == [numbers[0], numbers[4]]


@states("004 US1", "一个已存在的 Agent: one that is shipped is bound as well")
def test_a_shipped_agents_tools_are_replaced(root: httpx.Client, numbers: list[int]) -> None:
    shipped = next(each for each in items(root.get(AGENTS)) if each["kind"] == "builtin")
    try:
        ok(update(root, shipped, numbers[:3]))
        assert sorted(bound(root, shipped)) == numbers[:3]
        ok(update(root, shipped, []))
        assert bound(root, shipped) == []
    finally:
        ok(update(root, shipped, shipped["toolIds"]))


@states("004 US1.3", "传入 toolIds=[]（空列表）→ 绑定被清空")
@states("004 FR-003", "传入空列表以清空 Agent 的 Tools 绑定")
def test_an_empty_list_unbinds_all(root: httpx.Client, numbers: list[int]) -> None:
    made = agent(root, "us-1-3", toolIds=numbers[:3])
    assert ok(update(root, made, []))["toolIds"] == []
    assert bound(root, made) == []


@states("004 US1", "an update without toolIds leaves the binding as it is")
def test_an_update_of_something_else_keeps_the_tools(
    root: httpx.Client, numbers: list[int]
) -> None:
    made = agent(root, "us-1-other", toolIds=numbers[:2])
    changed = ok(root.put(f"{AGENTS}/{made['id']}", json={"description": "Other."}))
    assert sorted(changed["toolIds"]) == numbers[:2]
    assert changed["description"] == "Other."


@states("004 US1", "Agent 在执行任务时能够调用这些工具: the bound ones, and no others")
def test_an_agent_calls_the_tools_it_is_bound_to(web: Web, root: httpx.Client) -> None:
    by_name = {each["name"]: each["id"] for each in items(root.get("/api/v1/tools"))}
    made = agent(root, "us-1-calls", toolIds=[by_name["ls"]])
    message = "\n".join([call("ls", path="/"), call("glob", pattern="*")])

    def worked() -> list[bool]:
        events = chat(web.admin, message, agent=made["name"])
        results = [*outputs(events, "ls"), *outputs(events, "glob")]
        return [each["status"] == "success" for each in results]

    assert worked() == [True, False]
    ok(update(root, made, [by_name["glob"]]))
    assert worked() == [False, True]


@states("004 US1", "管理员 binds: nobody else may", "004: an update by another user is 403")
def test_only_administrators_bind_tools(web: Web, root: httpx.Client, numbers: list[int]) -> None:
    made = agent(root, "us-1-admin", toolIds=numbers[:1])
    client = web.person("dora")
    assert update(client, made, numbers[:2]).status_code == 403
    body = {"name": "us-1-dora", "description": "x", "toolIds": numbers[:2]}
    assert client.post(AGENTS, json=body).status_code == 403
    assert web.stranger.put(f"{AGENTS}/{made['id']}", json={"toolIds": []}).status_code == 401
    assert bound(root, made) == numbers[:1]


# -- US2: asking ----------------------------------------------------------------------------


@states("004 US2.1", "查询 Agent 详情 → toolIds=[1,2,3]")
@states("004 FR-004", "Agent 详情和列表查询中返回 toolIds 字段")
@states("004 SC-002", "查询 Agent 详情时能正确返回绑定的 toolIds 列表")
def test_detail_and_list_have_the_tools(root: httpx.Client, numbers: list[int]) -> None:
    made = agent(root, "us-2-1", toolIds=numbers[:3])
    assert sorted(bound(root, made)) == numbers[:3]
    listed = {each["id"]: each for each in items(root.get(AGENTS))}
    assert sorted(listed[made["id"]]["toolIds"]) == numbers[:3]
    assert all(isinstance(each["toolIds"], list) for each in listed.values())


@states("004 US2.2", "未绑定任何 Tools 的 Agent → toolIds 为空列表")
def test_an_agent_without_tools_has_an_empty_list(root: httpx.Client) -> None:
    made = agent(root, "us-2-2", toolIds=[])
    assert bound(root, made) == []
    listed = {each["id"]: each for each in items(root.get(AGENTS))}
    assert listed[made["id"]]["toolIds"] == []


# -- US3: binding when an agent is created --------------------------------------------------


@states("004 US3.1", "创建 Agent 时传入 toolIds=[1,2] → 已绑定 [1,2]")
@states("004 FR-005", "在创建 Agent 时指定 toolIds 列表")
def test_a_new_agent_is_bound_to_its_tools(root: httpx.Client, numbers: list[int]) -> None:
    made = agent(root, "us-3-1", toolIds=numbers[:2])
    assert sorted(made["toolIds"]) == numbers[:2]
    assert sorted(bound(root, made)) == numbers[:2]


@states("004 US3.2", "创建 Agent 时未传入 toolIds → toolIds 为空列表")
def test_a_new_agent_without_tools_has_none(root: httpx.Client) -> None:
    made = agent(root, "us-3-2")
    assert made["toolIds"] == []
    assert bound(root, made) == []


# -- edges ----------------------------------------------------------------------------------


@states("004 FR-006", "对传入的 toolIds 进行去重处理")
@states("004 Edge Cases", "重复 ID：自动去重")
@states("004 Assumptions", "重复的 Tool ID 会自动去重")
def test_duplicates_are_dropped(root: httpx.Client, numbers: list[int]) -> None:
    first, second = numbers[:2]
    made = agent(root, "fr-006", toolIds=[first, first, second, first])
    assert sorted(bound(root, made)) == [first, second]
    ok(update(root, made, [second, second, second]))
    assert bound(root, made) == [second]


@states("004 FR-007", "对不存在的 Tool ID 进行过滤，仅绑定有效的 Tool")
@states("004 Edge Cases", "不存在的 Tool ID：忽略，仅绑定存在的")
@states("004 Assumptions", "不存在的 Tool ID 会被静默忽略，不会抛出错误")
def test_unknown_tools_are_left_out(root: httpx.Client, numbers: list[int]) -> None:
    made = agent(root, "fr-007", toolIds=[numbers[0], NO_TOOL, -1, 0])
    assert bound(root, made) == [numbers[0]]
    answer = update(root, made, [NO_TOOL, numbers[1]])
    assert answer.status_code == 200
    assert bound(root, made) == [numbers[1]]
    assert update(root, made, [NO_TOOL]).status_code == 200
    assert bound(root, made) == []


@states("004 FR-007 (DESIGN §7)", "ignoredToolIds names what was left out")
def test_omitted_tools_are_named(root: httpx.Client, numbers: list[int]) -> None:
    made = agent(root, "fr-007-named", toolIds=[numbers[0], NO_TOOL])
    assert made["ignoredToolIds"] == [NO_TOOL]
    assert ok(update(root, made, [numbers[0]]))["ignoredToolIds"] == []


@states("004 SC-004", "正确处理边界情况（空列表、重复 ID、无效 ID）: all at once")
def test_all_edges_at_once(root: httpx.Client, numbers: list[int]) -> None:
    made = agent(root, "sc-004", toolIds=[NO_TOOL, NO_TOOL])
    assert bound(root, made) == []
    ok(update(root, made, [numbers[2], NO_TOOL, numbers[2], numbers[1], NO_TOOL]))
    assert sorted(bound(root, made)) == numbers[1:3]
    ok(update(root, made, []))
    assert bound(root, made) == []


@states("004 FR-008", "Agent 处于 WORKING 状态时禁止更新", "禁止任何更新, not of toolIds alone")
@states("004 Edge Cases", "Agent 处于工作状态：工作中禁止更新")
def test_a_working_agent_is_not_updated(web: Web, root: httpx.Client, numbers: list[int]) -> None:
    made = agent(root, "fr-008-working", toolIds=numbers[:1])
    talk = conversation(web.admin)
    body = {"thread_id": talk["thread_id"], "message": "!slow 100000 20", "agent": made["name"]}
    with web.admin.stream("POST", "/api/chat", json=body) as answer:
        events = sent_events(answer)
        assert next(events).event == "text_delta"
        assert ok(root.get(f"{AGENTS}/{made['id']}"))["status"] == "WORKING"
        assert update(root, made, numbers[:3]).status_code == 409
        other = root.put(f"{AGENTS}/{made['id']}", json={"description": "Other."})
        assert other.status_code == 409
        ok(web.admin.post(f"/api/v1/chat/{talk['id']}/cancel"))
        assert list(events)[-1].event == "done"
    assert bound(root, made) == numbers[:1]
    wait_until(lambda: ok(root.get(f"{AGENTS}/{made['id']}"))["status"] == "IDLE")
    assert update(root, made, numbers[:3]).status_code == 200


@states("004 FR-008", "Agent 处于 THINKING 状态时禁止更新")
def test_a_thinking_agent_is_not_updated(web: Web, root: httpx.Client) -> None:
    by_name = {each["name"]: each["id"] for each in items(root.get("/api/v1/tools"))}
    write = by_name["write_file"]
    made = agent(root, "fr-008-thinking", toolIds=[write])
    message = call("write_file", file_path="/files/a.txt", content="a")
    talk = conversation(web.admin)
    body = {"thread_id": talk["thread_id"], "message": message, "agent": made["name"]}
    with web.admin.stream("POST", "/api/chat", json=body) as answer:
        events = sent_events(answer)
        assert "hitl_request" in (each.event for each in events)  # its run waits for a person
        assert ok(root.get(f"{AGENTS}/{made['id']}"))["status"] == "THINKING"
        assert update(root, made, []).status_code == 409
        ok(web.admin.post(f"/api/v1/chat/{talk['id']}/cancel"))
        assert list(events)[-1].event == "done"
    assert bound(root, made) == [write]
    wait_until(lambda: ok(root.get(f"{AGENTS}/{made['id']}"))["status"] == "IDLE")
    assert update(root, made, []).status_code == 200


# -- entities and measures ------------------------------------------------------------------


@states(
    "004 Key Entities",
    "Agent：新增 toolIds 属性",
    "Agent-Tool 关联：多对多关系",
    "一个 Agent 可绑定多个 Tools，一个 Tool 可被多个 Agent 使用",
)
@states("004 Assumptions", "Agent 与 Tool 的关联关系存储在独立的关联表中: agent_tools")
def test_many_agents_use_many_tools(web: Web, root: httpx.Client, numbers: list[int]) -> None:
    first = agent(root, "entity-1", toolIds=numbers[:3])
    second = agent(root, "entity-2", toolIds=numbers[1:4])
    stored = set(web.select("SELECT agent_id, tool_id FROM agent_tools"))
    assert {(first["id"], each) for each in numbers[:3]} <= stored
    assert {(second["id"], each) for each in numbers[1:4]} <= stored
    ok(update(root, first, []))
    assert sorted(bound(root, second)) == numbers[1:4]


@states(
    "004 SC-001",
    "管理员 binds all tools of an agent in one request (its 3 seconds are not measured)",
)
def test_one_request_binds_every_tool(root: httpx.Client) -> None:
    every = [each["id"] for each in items(root.get("/api/v1/tools"))]
    made = agent(root, "sc-001")
    assert sorted(ok(update(root, made, every))["toolIds"]) == sorted(every)


@states("004 US1", "a tool that does not fit the type is refused: toolIds is a list of numbers")
def test_tool_ids_are_a_list_of_numbers(root: httpx.Client) -> None:
    made = agent(root, "typed")
    for wrong in ("1,2", ["x"], {"1": 2}, 7):
        answer = root.put(f"{AGENTS}/{made['id']}", json={"toolIds": wrong})
        assert answer.status_code == 422
