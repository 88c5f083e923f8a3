"""Seed 002: MCP servers over SSE, their tools, who may call them, and what is written down."""

from __future__ import annotations

import base64
import json
import re
import socket
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import httpx
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.acceptance.sse_shop import DETAIL, SEARCH, Shop, shop
from tests.acceptance.states import states
from tests.acceptance.web_server import (
    Endpoint,
    Json,
    Sent,
    Web,
    call,
    chat,
    endpoint,
    items,
    named,
    offered,
    ok,
    running,
    text,
    wait_until,
)
from tests.standins.openai_server import text as said

SERVERS, TOOLS, LISTS = "/api/v1/mcp/servers", "/api/v1/mcp/tools", "/api/v1/mcp/allowlists"
CALLS = "/api/v1/mcp/calls"
TOKEN = "c4n4ry-token-91b2"
SETTINGS = {"DATAAGENT_AUTO_APPROVE": "true", "DATAAGENT_MCP_HEALTH_INTERVAL": "1"}


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Generator[Web]:
    folder = tmp_path_factory.mktemp("mcp") / "server"
    with running(folder, DATAAGENT_MULTI_TENANT="true", **SETTINGS) as started:
        yield started


@pytest.fixture(scope="module")
def root(web: Web) -> Generator[httpx.Client]:
    with web.key() as client:
        yield client


@pytest.fixture(scope="module")
def mall(root: httpx.Client) -> Generator[RegisteredShop]:
    """A shop that stays open, registered."""
    with shop("mall", token=TOKEN) as opened:
        yield RegisteredShop(root, opened, register(root, "mall", opened, call_timeout=5))


class RegisteredShop:
    """A registered shop as its administrator sees it."""

    def __init__(self, root: httpx.Client, shop: Shop, server: Json) -> None:
        self.root = root
        self.shop = shop
        self.server_id: str = server["server_id"]

    def look(self) -> Json:
        return ok(self.root.get(f"{SERVERS}/{self.server_id}"))

    def tool(self, name: str) -> Json:
        listed = items(self.root.get(TOOLS, params={"server_id": self.server_id}))
        return next(each for each in listed if each["name"] == name)

    def exposed(self, name: str) -> str:
        return self.tool(name)["exposed_name"]


def register(root: httpx.Client, name: str, opened: Shop, **fields: Any) -> Json:
    """Register a shop over SSE and connect to it."""
    body: Json = {"name": name, "transport": "sse", "url": opened.url, **fields}
    if opened.token is not None:
        body["headers"] = {"Authorization": f"Bearer {opened.token}"}
    made = ok(root.post(SERVERS, json=body))
    assert ok(root.post(f"{SERVERS}/{made['server_id']}/test"))["ok"]
    return made


def bind(root: httpx.Client, agent: Json, *tools: tuple[str, str]) -> None:
    """Let an agent call these tools: (server id, tool name)."""
    listed = [{"server_id": server_id, "tool_name": name} for server_id, name in tools]
    ok(root.put(LISTS, json={"agent_id": agent["id"], "tools": listed}))


def agent(root: httpx.Client, name: str, *tools: tuple[str, str]) -> Json:
    """A new agent that may call these tools."""
    made = ok(root.post("/api/v1/agents", json={"name": name, "description": "A test's."}))
    bind(root, made, *tools)
    return made


def turn(web: Web, made: Json, *lines: str) -> list[Sent]:
    """The events of a turn with an agent."""
    return chat(web.admin, "\n".join(lines), agent=made["name"])


def result_of(events: Sequence[Sent]) -> Json:
    [result] = named(events, "tool_call_result")
    return result


def error_of(events: Sequence[Sent]) -> Json:
    """The error object of the one call of a turn."""
    return json.loads(result_of(events)["output"])["error"]


def rows(root: httpx.Client, count: int = 1, **wanted: str) -> list[Json]:
    """The rows of the call log that fit, once there are so many, the newest first."""
    wait_until(lambda: len(items(root.get(CALLS, params=wanted))) >= count)
    return items(root.get(CALLS, params=wanted))


def row_of(web: Web, root: httpx.Client, events: Sequence[Sent]) -> Json:
    """The call log's row of a turn's one call."""
    run = ok(web.admin.get(f"/api/v1/runs/{events[0].data['run_id']}"))
    [row] = rows(root, session_id=run["session_id"])
    return row


# -- registration, handshake, health --------------------------------------------------------


@states("002 registration", "server_id: given by the administrator, and kept")
def test_a_server_is_registered_by_its_server_id(root: httpx.Client) -> None:
    with shop("named") as opened:
        body = {"server_id": "mall4j", "name": "named", "transport": "sse", "url": opened.url}
        made = ok(root.post(SERVERS, json=body))
        assert made["server_id"] == "mall4j"
        assert ok(root.get(f"{SERVERS}/mall4j"))["url"] == opened.url
        assert root.post(SERVERS, json={**body, "name": "other"}).status_code == 409
        assert root.delete(f"{SERVERS}/mall4j").is_success


@states(
    "002 registration",
    "SSE URL: url, transport sse",
    "认证头: headers, sent with the handshake",
    "超时: timeout (and call_timeout 5)",
    "注册 is for administrators",
)
def test_a_server_is_registered_with_url_headers_and_timeout(web: Web, root: httpx.Client) -> None:
    with shop("plain", token="t-1") as opened:
        made = register(root, "plain", opened, timeout=7, call_timeout=5)
        assert (made["transport"], made["url"]) == ("sse", opened.url)
        assert (made["timeout"], made["call_timeout"]) == (7, 5)
        assert list(made["headers"]) == ["Authorization"]
        assert opened.opened[0]["authorization"] == "Bearer t-1"
        body = {"name": "mine", "transport": "sse", "url": opened.url}
        assert web.person("dora").post(SERVERS, json=body).status_code == 403
        assert root.delete(f"{SERVERS}/{made['server_id']}").is_success


@states("002 registration", "代理: proxy_url, what requests to the server go through")
def test_a_server_is_reached_through_its_proxy(root: httpx.Client) -> None:
    asked: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as proxy:

        def answer() -> None:
            connection, _ = proxy.accept()
            with connection:
                asked.append(connection.recv(65536))
                connection.sendall(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        address = f"http://127.0.0.1:{proxy.getsockname()[1]}"
        url = "http://127.0.0.1:1/sse"
        body = {"name": "far", "transport": "sse", "url": url, "proxy_url": address, "timeout": 1}
        made = ok(root.post(SERVERS, json=body))
        assert made["proxy_url"] == address
        assert not ok(root.post(f"{SERVERS}/{made['server_id']}/test"))["ok"]
        assert root.delete(f"{SERVERS}/{made['server_id']}").is_success
        thread.join()
    first = asked[0].split(b"\r\n")[0]
    assert first.startswith((b"GET http://127.0.0.1:1/sse", b"CONNECT 127.0.0.1:1"))


@states("002 registration", "通过 SSE 通道（非 stdio）完成握手/工具发现")
@states("002 registration (departs)", "SSE, and besides it streamable HTTP and both protocol eras")
def test_the_handshake_goes_over_sse(mall: RegisteredShop) -> None:
    first = mall.shop.opened[0]
    assert first["path"] == "/sse"
    assert first["accept"] == "text/event-stream"
    assert mall.shop.methods[0] in {"initialize", "server/discover"}
    assert "tools/list" in mall.shop.methods
    assert mall.look()["status"] == "connected"


@states(
    "002 registration",
    "拉取工具列表：名称",
    "拉取工具列表：描述",
    "拉取工具列表：输入 schema",
    "拉取工具列表：输出 schema",
    "拉取工具列表：版本",
)
def test_the_catalogue_has_the_tools(mall: RegisteredShop) -> None:
    listed = items(mall.root.get(TOOLS, params={"server_id": mall.server_id}))
    assert {DETAIL, SEARCH, "count", "slow"} <= {each["name"] for each in listed}
    detail, count = mall.tool(DETAIL), mall.tool("count")
    assert detail["description"] == f"What {DETAIL} does."
    assert detail["input_schema"]["required"] == ["orderId"]
    assert detail["output_schema"] is None
    assert count["output_schema"]["required"] == ["total"]
    assert detail["schema_version"] == 1


@states("002 registration", "缓存至 mcp_tools 表")
@states("002 catalogue", "每个 MCP 工具的元数据持久化")
def test_the_tools_are_rows_of_mcp_tools(web: Web, mall: RegisteredShop) -> None:
    found = web.select(
        "SELECT name, description, input_schema, output_schema, schema_version FROM mcp_tools"
        " WHERE server_id = ?",
        mall.server_id,
    )
    by_name = {row[0]: row for row in found}
    name, description, given, gives, version = by_name["count"]
    assert description == f"What {name} does."
    assert json.loads(given)["type"] == "object"
    assert json.loads(gives)["required"] == ["total"]
    assert version == 1


@states("002 registration", "缓存至内存: a turn does not ask for the list again")
def test_the_list_is_asked_for_once(web: Web, root: httpx.Client, mall: RegisteredShop) -> None:
    made = agent(root, "cached", (mall.server_id, SEARCH))
    turn(web, made, call(mall.exposed(SEARCH)))
    before = mall.shop.methods.count("tools/list")
    for _ in range(2):
        assert result_of(turn(web, made, call(mall.exposed(SEARCH))))["status"] == "success"
    assert mall.shop.methods.count("tools/list") == before


@states("002 registration", "版本: a changed definition is another version")
def test_a_changed_tool_has_a_new_version(root: httpx.Client) -> None:
    with shop("moving") as opened:
        moving = RegisteredShop(root, opened, register(root, "moving", opened, on_change="accept"))
        assert moving.tool(SEARCH)["schema_version"] == 1
        opened.changed = True
        assert ok(root.post(f"{SERVERS}/{moving.server_id}/refresh"))["ok"]
        assert moving.tool(SEARCH)["schema_version"] == 2
        assert moving.tool(SEARCH)["description"] == "Does something else now."
        assert moving.tool(DETAIL)["schema_version"] == 1
        assert root.delete(f"{SERVERS}/{moving.server_id}").is_success


@states("002 registration", "保持健康检查")
def test_a_connected_server_is_probed(root: httpx.Client) -> None:
    with shop("probed") as opened:
        made = register(root, "probed", opened)
        before = len(opened.methods)
        wait_until(lambda: len(opened.methods) >= before + 2)
        assert ok(root.get(f"{SERVERS}/{made['server_id']}"))["status"] == "connected"
        assert root.delete(f"{SERVERS}/{made['server_id']}").is_success


# -- unavailable servers --------------------------------------------------------------------


def status_of(root: httpx.Client, made: Json) -> str:
    return ok(root.get(f"{SERVERS}/{made['server_id']}"))["status"]


@states("002 registration", "超时 → 标记为不可用")
def test_a_server_that_does_not_answer_is_unavailable(root: httpx.Client) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/sse"
        body = {"name": "silent", "transport": "sse", "url": url, "timeout": 1}
        made = ok(root.post(SERVERS, json=body))
        assert not ok(root.post(f"{SERVERS}/{made['server_id']}/test"))["ok"]
        assert status_of(root, made) == "error"
        assert root.delete(f"{SERVERS}/{made['server_id']}").is_success


@states("002 registration", "401 → 标记为不可用", "404 → 标记为不可用")
def test_a_server_that_refuses_is_unavailable(root: httpx.Client) -> None:
    with shop("refusing") as opened:
        made = register(root, "refusing", opened)
        for status in (401, 404):
            opened.refusal = status
            assert not ok(root.post(f"{SERVERS}/{made['server_id']}/refresh"))["ok"]
            assert status_of(root, made) == "error"
            opened.refusal = None
            assert ok(root.post(f"{SERVERS}/{made['server_id']}/refresh"))["ok"]
            assert status_of(root, made) == "connected"
        assert root.delete(f"{SERVERS}/{made['server_id']}").is_success


@states("002 registration", "断线 → 标记为不可用", "重连: connected again once the server is back")
def test_a_server_that_is_cut_off_is_unavailable_until_it_is_back(root: httpx.Client) -> None:
    with shop("mortal") as opened:
        made = register(root, "mortal", opened)
        opened.stop()
        wait_until(lambda: status_of(root, made) == "error")
        opened.start()
        wait_until(lambda: status_of(root, made) == "connected")
        assert root.delete(f"{SERVERS}/{made['server_id']}").is_success


@states("002 registration", "健康探测失败（401/404）→ 不可用, while it was connected")
def test_a_probe_that_is_refused_makes_a_server_unavailable(root: httpx.Client) -> None:
    with shop("fading") as opened:
        made = register(root, "fading", opened)
        for status in (401, 404):
            opened.refusal = status
            wait_until(lambda: status_of(root, made) == "error")
            opened.refusal = None
            assert ok(root.post(f"{SERVERS}/{made['server_id']}/refresh"))["ok"]
        assert root.delete(f"{SERVERS}/{made['server_id']}").is_success


@pytest.mark.slow
@states("002 registration", "健康探测失败（超时）→ 不可用, while it was connected")
def test_a_server_that_falls_silent_is_unavailable(root: httpx.Client) -> None:
    with shop("mute") as opened:
        made = register(root, "mute", opened)
        opened.hangs = True
        wait_until(lambda: status_of(root, made) == "error")
        opened.hangs = False
        wait_until(lambda: status_of(root, made) == "connected")
        assert root.delete(f"{SERVERS}/{made['server_id']}").is_success


@pytest.mark.slow
@states("002 registration", "按指数退避策略重连")
def test_attempts_are_farther_and_farther_apart(root: httpx.Client) -> None:
    with shop("away") as opened:
        made = register(root, "away", opened)
        opened.stop()
        seen: dict[int, datetime] = {}

        def note() -> bool:
            server = ok(root.get(f"{SERVERS}/{made['server_id']}"))
            if server["next_retry_at"] is not None:
                seen[server["fail_count"]] = datetime.fromisoformat(server["next_retry_at"])
            return max(seen, default=0) >= 4

        wait_until(note)
        assert root.delete(f"{SERVERS}/{made['server_id']}").is_success
    gaps = {n: (seen[n] - seen[n - 1]).total_seconds() for n in seen if n - 1 in seen}
    assert gaps
    # each pause is at least half of 1, 2, 4, 8 … seconds; how long an attempt took comes on top
    assert all(gap >= 0.5 * 2 ** (n - 1) for n, gap in gaps.items())


@states(
    "002 registration",
    "不可用的服务器不得暴露其工具",
    "停止向 Agent 暴露其工具: the model is not offered them",
)
def test_tools_of_an_unavailable_server_are_not_offered(tmp_path: Path) -> None:
    with endpoint(said("Fine.")) as model, shop("exposed") as opened:
        settings = {**model.settings, **SETTINGS, "DATAAGENT_MCP_WAIT": "1"}
        with running(tmp_path / "server", **settings) as web, web.key() as root:
            server = RegisteredShop(root, opened, register(root, "exposed", opened))
            made = agent(root, "watcher", (server.server_id, SEARCH))
            name = server.exposed(SEARCH)
            assert name in tools_of(web, model, made)
            opened.stop()
            wait_until(lambda: server.look()["status"] == "error")
            assert name not in tools_of(web, model, made)
            opened.start()
            wait_until(lambda: server.look()["status"] == "connected")
            assert name in tools_of(web, model, made)


def tools_of(web: Web, model: Endpoint, made: Json) -> set[str]:
    """What the model is offered in a new conversation with an agent."""
    before = len(model.requests)
    turn(web, made, "hello")
    return set(offered(model.seen[before]))


# -- the catalogue and who may call what ----------------------------------------------------


@states(
    "002 allow-list",
    "按 agent_id 维度维护允许列表",
    "仅允许调用绑定的工具",
    "拒绝未绑定工具调用: 403/业务错误码",
    "拒绝记录到追踪",
)
def test_an_agent_calls_only_what_it_is_bound_to(
    web: Web, root: httpx.Client, mall: RegisteredShop
) -> None:
    made = agent(root, "agent-a", (mall.server_id, DETAIL))
    allowed = turn(web, made, call(mall.exposed(DETAIL), orderId="7"))
    assert result_of(allowed)["status"] == "success"
    before = len(mall.shop.called(SEARCH))
    refused = turn(web, made, call(mall.exposed(SEARCH), text="x"), "!echo Something else.")
    assert result_of(refused)["status"] == "denied"
    assert error_of(refused)["code"]
    assert len(mall.shop.called(SEARCH)) == before
    assert text(refused) == "Something else."
    row = row_of(web, root, refused)
    assert (row["status"], row["tool_name"], row["agent_id"]) == ("denied", SEARCH, made["id"])


@states("002 allow-list", "其他 Agent 对该工具的绑定不受影响", "禁止跨 Agent 泄露")
def test_the_binding_of_another_agent_is_not_touched(
    web: Web, root: httpx.Client, mall: RegisteredShop
) -> None:
    first = agent(root, "agent-first", (mall.server_id, DETAIL))
    second = agent(root, "agent-second", (mall.server_id, SEARCH))
    search, detail = call(mall.exposed(SEARCH)), call(mall.exposed(DETAIL), orderId="7")
    assert result_of(turn(web, first, search))["status"] == "denied"
    assert result_of(turn(web, second, search))["status"] == "success"
    bind(root, first)
    assert result_of(turn(web, first, detail))["status"] == "denied"
    assert result_of(turn(web, second, search))["status"] == "success"
    listed = ok(root.get(LISTS, params={"agent_id": second["id"]}))["tools"]
    assert listed == [{"server_id": mall.server_id, "tool_name": SEARCH}]


@states("002 allow-list", "按 api_key 维度维护允许列表")
def test_a_key_calls_only_what_is_on_its_list(
    web: Web, root: httpx.Client, mall: RegisteredShop
) -> None:
    made = agent(root, "agent-keyed", (mall.server_id, DETAIL), (mall.server_id, SEARCH))
    new = ok(web.person("dora").post("/api/v1/api-keys", json={"name": "limited"}))
    entry = {"server_id": mall.server_id, "tool_name": DETAIL}
    ok(root.put(LISTS, json={"api_key_id": new["id"], "tools": [entry]}))
    statuses: list[str] = []
    with web.key(new["key"]) as limited:
        for line in (call(mall.exposed(DETAIL), orderId="7"), call(mall.exposed(SEARCH))):
            body = {"message": line, "assistant_id": made["id"]}
            events = ok(limited.post("/api/v1/chat", json=body))["events"]
            statuses += [
                each["data"]["status"] for each in events if each["event_type"] == "tool_result"
            ]
    assert statuses == ["success", "denied"]
    free = chat(web.person("dora"), call(mall.exposed(SEARCH)), agent=made["name"])
    assert result_of(free)["status"] == "success"


@states("002 allow-list", "禁止跨租户泄露")
def test_a_tenants_server_belongs_to_that_tenant_alone(web: Web, root: httpx.Client) -> None:
    inside, outside = web.person("inside"), web.person("outside")
    for name, client in (("ours", inside), ("theirs", outside)):
        ok(root.post("/api/v1/tenants", json={"tenant_id": name, "name": name}))
        me = ok(client.get("/api/auth/me"))["id"]
        ok(root.put(f"/api/v1/tenants/{name}/users/{me}", json={"role": "member"}))
    with shop("tenants") as opened:
        made = register(root, "tenants", opened, scope="tenant", tenant_id="ours")
        server = RegisteredShop(root, opened, made)
        user = agent(root, "agent-tenant", (server.server_id, SEARCH))
        line = call(server.exposed(SEARCH))
        assert result_of(chat(inside, line, agent=user["name"]))["status"] == "success"
        calls = len(opened.calls)
        assert result_of(chat(outside, line, agent=user["name"]))["status"] != "success"
        assert len(opened.calls) == calls
        theirs = [each["name"] for each in items(outside.get("/api/v1/tools"))]
        assert server.exposed(SEARCH) not in theirs
        assert server.exposed(SEARCH) in [
            each["name"] for each in items(inside.get("/api/v1/tools"))
        ]
        assert root.delete(f"{SERVERS}/{server.server_id}").is_success


@states("002 catalogue", "元数据持久化: it is there after a restart, also without the server")
def test_the_catalogue_outlives_a_restart(tmp_path: Path) -> None:
    with shop("kept") as opened, running(tmp_path / "server", **SETTINGS) as web:
        with web.key() as root:
            server = RegisteredShop(root, opened, register(root, "kept", opened))
            before = server.tool(DETAIL)
            made = agent(root, "keeper", (server.server_id, DETAIL))
        opened.stop()
        web.stop()
        web.start()
        with web.key() as root:
            server.root = root
            after = server.tool(DETAIL)
            assert {**after, "last_seen_at": ""} == {**before, "last_seen_at": ""}
            listed = ok(root.get(LISTS, params={"agent_id": made["id"]}))["tools"]
            assert listed == [{"server_id": server.server_id, "tool_name": DETAIL}]


# -- schemas --------------------------------------------------------------------------------


@states(
    "002 schema",
    "调用前执行 schema 校验",
    "缺少必填字段 → 拒绝调用",
    "返回包含缺失字段说明的错误对象",
    "错误写入 trace/audit",
    "供 Agent 生成澄清回复: the run goes on",
)
def test_a_call_without_a_required_field_is_refused(
    web: Web, root: httpx.Client, mall: RegisteredShop
) -> None:
    made = agent(root, "agent-schema", (mall.server_id, DETAIL))
    before = len(mall.shop.called(DETAIL))
    events = turn(web, made, call(mall.exposed(DETAIL)), "!echo Which order do you mean?")
    assert result_of(events)["status"] == "error"
    error = error_of(events)
    assert error["code"]
    assert "orderId" in error["message"]
    assert "orderId" in json.dumps(error["errors"])
    assert len(mall.shop.called(DETAIL)) == before
    assert text(events) == "Which order do you mean?"
    row = row_of(web, root, events)
    assert (row["input_valid"], row["status"]) == (False, "invalid")
    assert "orderId" in row["error_message"]


@states("002 schema", "类型不符 → 返回结构化错误")
def test_an_argument_of_another_type_is_refused(
    web: Web, root: httpx.Client, mall: RegisteredShop
) -> None:
    made = agent(root, "agent-type", (mall.server_id, DETAIL))
    before = len(mall.shop.called(DETAIL))
    error = error_of(turn(web, made, call(mall.exposed(DETAIL), orderId=[1, 2])))
    assert "orderId" in json.dumps(error["errors"])
    assert len(mall.shop.called(DETAIL)) == before


@states("002 schema", "调用后执行 schema 校验（输出）: a wrong result is a structured error")
def test_a_result_that_does_not_fit_is_an_error(
    web: Web, root: httpx.Client, mall: RegisteredShop
) -> None:
    made = agent(root, "agent-output", (mall.server_id, "count"))
    assert result_of(turn(web, made, call(mall.exposed("count"))))["status"] == "success"
    mall.shop.total = "about ten"
    try:
        events = turn(web, made, call(mall.exposed("count")))
    finally:
        mall.shop.total = 10
    assert result_of(events)["status"] == "error"
    assert "total" in json.dumps(error_of(events))
    assert row_of(web, root, events)["output_valid"] is False


# -- time-outs, retries, degradation --------------------------------------------------------


@states(
    "002 timeouts",
    "为 MCP 调用设置超时",
    "返回超时错误并提示可重试/降级",
    "继续运行后续逻辑，而不是终止整个 run",
    "状态 timeout",
)
def test_a_call_that_takes_too_long_ends_and_the_run_goes_on(
    web: Web, root: httpx.Client, mall: RegisteredShop
) -> None:
    made = agent(root, "agent-slow", (mall.server_id, "slow"), (mall.server_id, SEARCH))
    ok(root.patch(f"{TOOLS}/{mall.tool('slow')['id']}", json={"timeout": 1}))
    lines = [call(mall.exposed("slow")), call(mall.exposed(SEARCH)), "!echo Without it, then."]
    events = turn(web, made, *lines)
    slow, search = named(events, "tool_call_result")
    assert slow["status"] == "timeout"
    error = json.loads(slow["output"])["error"]
    assert isinstance(error["retryable"], bool)
    assert re.search(r"try|retry|another|without|later", error["message"], re.IGNORECASE)
    assert search["status"] == "success"
    assert text(events) == "Without it, then."
    assert named(events, "error") == []
    found = rows(root, 2, session_id=session_of(web, events))
    assert {each["tool_name"]: each["status"] for each in found} == {
        "slow": "timeout",
        SEARCH: "ok",
    }


def session_of(web: Web, events: Sequence[Sent]) -> str:
    return ok(web.admin.get(f"/api/v1/runs/{events[0].data['run_id']}"))["session_id"]


@states(
    "002 timeouts", "目标 MCP 服务器在 5s 内无响应: the server's call_timeout, in seconds, holds"
)
def test_the_time_out_of_a_servers_calls_holds(web: Web, root: httpx.Client) -> None:
    with shop("late") as opened:
        late = RegisteredShop(root, opened, register(root, "late", opened, call_timeout=1))
        made = agent(root, "agent-late", (late.server_id, "slow"))
        events = turn(web, made, call(late.exposed("slow")), "!echo Without it.")
        assert result_of(events)["status"] == "timeout"
        assert text(events) == "Without it."
        row = row_of(web, root, events)
        assert (row["status"], row["error_code"]) == ("timeout", "MCP_TIMEOUT")
        assert row["duration_ms"] < 30_000  # what it would be without the setting
        assert root.delete(f"{SERVERS}/{late.server_id}").is_success


@states("002 timeouts", "（可选）幂等重试策略: a tool that may be called twice is tried again")
def test_an_idempotent_call_is_tried_again(
    web: Web, root: httpx.Client, mall: RegisteredShop
) -> None:
    made = agent(root, "agent-retry", (mall.server_id, "flaky"))
    one = f"{TOOLS}/{mall.tool('flaky')['id']}"
    ok(root.patch(one, json={"retry_safe": True}))
    mall.shop.failures = 1
    events = turn(web, made, call(mall.exposed("flaky")))
    assert result_of(events)["status"] == "success"
    assert row_of(web, root, events)["attempts"] == 2


@states("002 timeouts", "a call that is not idempotent is made once")
def test_any_other_call_is_made_once(web: Web, root: httpx.Client, mall: RegisteredShop) -> None:
    made = agent(root, "agent-once", (mall.server_id, "flaky"))
    ok(root.patch(f"{TOOLS}/{mall.tool('flaky')['id']}", json={"retry_safe": False}))
    mall.shop.failures, mall.shop.breaks = 5, 0
    events = turn(web, made, call(mall.exposed("flaky")))
    mall.shop.failures = 0
    assert result_of(events)["status"] == "error"
    assert mall.shop.breaks == 1
    assert row_of(web, root, events)["attempts"] == 1


@states("002 timeouts", "服务错误时返回可读错误，并不中断整次会话")
def test_a_servers_error_is_readable_and_the_session_goes_on(
    web: Web, root: httpx.Client, mall: RegisteredShop
) -> None:
    made = agent(root, "agent-error", (mall.server_id, "fail"))
    events = turn(web, made, call(mall.exposed("fail")), "!echo I could not.")
    assert result_of(events)["status"] == "error"
    assert "The order is locked." in error_of(events)["message"]
    assert text(events) == "I could not."
    assert events[-1].data["reason"] == "completed"


# -- traces and audit -----------------------------------------------------------------------


@states(
    "002 traces",
    "记录 trace_id",
    "记录 user_id",
    "记录 session_id",
    "记录 agent_id",
    "记录 server_id",
    "记录 tool_name",
    "记录 schema 版本",
    "记录耗时",
    "记录结果状态 ok",
    "记录输入校验结果",
    "记录开始/结束时间",
)
def test_a_call_is_written_down(web: Web, root: httpx.Client, mall: RegisteredShop) -> None:
    made = agent(root, "agent-traced", (mall.server_id, DETAIL))
    events = turn(web, made, call(mall.exposed(DETAIL), orderId="7"))
    row = row_of(web, root, events)
    assert row["trace_id"]
    assert row["user_id"] == ok(web.admin.get("/api/auth/me"))["id"]
    assert row["session_id"] == session_of(web, events)
    assert (row["agent_id"], row["server_id"]) == (made["id"], mall.server_id)
    assert (row["tool_name"], row["schema_version"]) == (DETAIL, 1)
    assert row["duration_ms"] >= 0
    assert (row["status"], row["input_valid"]) == ("ok", True)
    started, ended = (datetime.fromisoformat(row[each]) for each in ("started_at", "ended_at"))
    assert started <= ended


@states("002 traces", "写入 mcp_tool_call_log", "失败与成功都要闭合 span", "状态 error")
def test_every_call_has_a_closed_row(web: Web, root: httpx.Client, mall: RegisteredShop) -> None:
    names = [DETAIL, "fail", "count"]
    made = agent(root, "agent-rows", *((mall.server_id, name) for name in names))
    lines = [
        call(mall.exposed(DETAIL), orderId="7"),
        call(mall.exposed("fail")),
        call(mall.exposed(DETAIL)),
        call(mall.exposed(SEARCH)),
    ]
    session_id = session_of(web, turn(web, made, *lines))
    rows(root, 4, session_id=session_id)
    stored = web.select(
        "SELECT status, started_at, ended_at, span_id FROM mcp_tool_call_log WHERE session_id = ?",
        session_id,
    )
    assert sorted(row[0] for row in stored) == ["denied", "error", "invalid", "ok"]
    assert all(row[1] and row[2] and row[3] for row in stored)


@states("002 traces", "在审计日志中记录工具名: good calls and bad ones")
def test_calls_are_in_the_audit_log(web: Web, root: httpx.Client, mall: RegisteredShop) -> None:
    made = agent(root, "agent-audit", (mall.server_id, DETAIL))
    name = mall.exposed(DETAIL)
    for line, outcomes in ((call(name, orderId="7"), {"success"}), (call(name), {"failed"})):
        run_id = turn(web, made, line)[0].data["run_id"]
        query = {"run_id": run_id, "action": "tool.call"}
        wait_until(lambda query=query: items(root.get("/api/v1/audit", params=query)))
        found = items(root.get("/api/v1/audit", params=query))
        assert {each["target"] for each in found} == {name}
        assert {each["outcome"] for each in found} == outcomes


@states("002 traces", "会话携带 trace_id: the caller's is the one that is recorded")
def test_the_callers_trace_is_the_calls_trace(
    web: Web, root: httpx.Client, mall: RegisteredShop
) -> None:
    made = agent(root, "agent-trace", (mall.server_id, SEARCH))
    trace_id = "4bf92f3577b34da6a3ce929d0e0e4736"
    parent = f"00-{trace_id}-00f067aa0ba902b7-01"  # how it is carried is not stated: both ways
    headers = {"traceparent": parent, "X-Request-Id": trace_id}
    body = {"message": call(mall.exposed(SEARCH)), "assistant_id": made["id"]}
    answer = ok(root.post("/api/v1/chat", json=body, headers=headers))
    [row] = rows(root, session_id=answer["session_id"])
    assert row["trace_id"] == trace_id


@states("002 traces", "透传 trace_id: the server is told it with the call")
def test_the_trace_goes_along_with_the_call(
    web: Web, root: httpx.Client, mall: RegisteredShop
) -> None:
    made = agent(root, "agent-passing", (mall.server_id, SEARCH))
    events = turn(web, made, call(mall.exposed(SEARCH)))
    row = row_of(web, root, events)
    assert row["trace_id"] in json.dumps(mall.shop.called(SEARCH)[-1].meta)


@states("002 traces", "禁止记录密钥", "响应中不得包含敏感凭据")
def test_no_secret_is_written_down_or_shown(
    web: Web, root: httpx.Client, mall: RegisteredShop
) -> None:
    made = agent(root, "agent-secret", (mall.server_id, DETAIL))
    events = turn(web, made, call(mall.exposed(DETAIL), orderId="pass-7Zq"))
    row = row_of(web, root, events)
    assert "pass-7Zq" not in json.dumps(row)
    shown = [
        root.get(SERVERS).text,
        root.get(f"{SERVERS}/{mall.server_id}").text,
        root.get(TOOLS).text,
        root.get(CALLS).text,
        root.get("/api/v1/audit").text,
        json.dumps([each.data for each in events]),
        web.log(),
    ]
    assert not any(TOKEN in each for each in shown)
    stored = b"".join(each.read_bytes() for each in web.home.glob("dataagent.db*"))
    assert TOKEN.encode() not in stored


class Langfuse(BaseHTTPRequestHandler):
    """Stands for Langfuse: it keeps what it is sent."""

    sent: ClassVar[list[tuple[str, str, bytes]]] = []

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.headers.get("Content-Encoding") == "gzip":
            import gzip

            body = gzip.decompress(body)
        self.sent.append((self.path, self.headers.get("Authorization", ""), body))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 its own name
        """Nothing."""


@contextmanager
def langfuse() -> Generator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Langfuse)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@states("002 traces", "在 Langfuse 中记录工具名与状态: calls that work and calls that fail")
@states("002 traces", "在 Langfuse 中记录输入校验结果、开始/结束时间")
def test_calls_are_seen_in_langfuse(tmp_path: Path) -> None:
    with langfuse() as address, shop("seen", token=TOKEN) as opened:
        settings = {
            **SETTINGS,
            "LANGFUSE_BASE_URL": address,
            "LANGFUSE_PUBLIC_KEY": "pk-lf-1",
            "LANGFUSE_SECRET_KEY": "sk-lf-1",
        }
        with running(tmp_path / "server", **settings) as web, web.key() as root:
            server = RegisteredShop(root, opened, register(root, "seen", opened))
            made = agent(root, "seen-by", (server.server_id, DETAIL), (server.server_id, "fail"))
            turn(
                web,
                made,
                call(server.exposed(DETAIL), orderId="7"),
                call(server.exposed(DETAIL)),
                call(server.exposed("fail")),
            )
            wanted = (DETAIL.encode(), b"MCP_INVALID_ARGUMENT", b"MCP_TOOL_ERROR")
            wait_until(lambda: all(each in spans() for each in wanted))
    assert input_checks() == [True, False, True]
    pair = base64.b64encode(b"pk-lf-1:sk-lf-1").decode()
    assert {each[1] for each in Langfuse.sent} == {f"Basic {pair}"}
    assert TOKEN.encode() not in spans()
    assert server.server_id.encode() in spans()


def input_checks() -> list[bool]:
    """What the spans of calls say of their arguments, in the order of the calls."""
    requests = [ExportTraceServiceRequest.FromString(each[2]) for each in Langfuse.sent]
    found = sorted(
        (span.start_time_unix_nano, attribute.value.bool_value)
        for request in requests
        for resource in request.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
        for attribute in span.attributes
        if attribute.key == "dataagent.mcp.input_valid" and span.end_time_unix_nano
    )
    return [is_valid for _, is_valid in found]


def spans() -> bytes:
    return b"".join(each[2] for each in list(Langfuse.sent))


# -- several servers ------------------------------------------------------------------------


@states(
    "002 several servers",
    "多个 MCP 服务器的并行注册与使用",
    "按 server_id 或别名区分: tools of the same name have names of their own",
    "根据绑定解析到 serverB 并仅在该服务器上执行",
    "绑定互不影响",
    "追踪记录需包含 server_id",
)
def test_a_call_goes_to_the_server_it_is_bound_to(web: Web, root: httpx.Client) -> None:
    with shop("shop-a") as first, shop("shop-b") as second:
        a = RegisteredShop(root, first, register(root, "serverA", first, alias="servera"))
        b = RegisteredShop(root, second, register(root, "serverB", second, alias="serverb"))
        assert a.exposed(SEARCH) != b.exposed(SEARCH)
        made = agent(root, "agent-b", (b.server_id, SEARCH))
        events = turn(web, made, call(b.exposed(SEARCH), text="shoes"))
        assert result_of(events)["output"] == f"shop-b: {SEARCH}"
        assert (len(first.calls), len(second.calls)) == (0, 1)
        assert row_of(web, root, events)["server_id"] == b.server_id
        refused = turn(web, made, call(a.exposed(SEARCH), text="shoes"))
        assert result_of(refused)["status"] == "denied"
        assert row_of(web, root, refused)["server_id"] == a.server_id
        assert first.calls == []
        for each in (a, b):
            assert root.delete(f"{SERVERS}/{each.server_id}").is_success


@states(
    "002 several servers",
    "serverA 故障不影响此次调用",
    "健康状态互不影响",
    "健康检查记录需包含 server_id",
)
def test_a_server_that_fails_does_not_touch_another(web: Web, root: httpx.Client) -> None:
    with shop("bad") as bad, shop("good") as good:
        a, b = (
            RegisteredShop(root, each, register(root, name, each))
            for name, each in (("bad", bad), ("good", good))
        )
        made = agent(root, "agent-good", (b.server_id, SEARCH), (a.server_id, SEARCH))
        bad.stop()
        wait_until(lambda: a.look()["status"] == "error")
        events = turn(web, made, call(b.exposed(SEARCH)))
        assert result_of(events)["output"] == f"good: {SEARCH}"
        assert b.look()["status"] == "connected"
        listed = {each["server_id"]: each["status"] for each in items(root.get(SERVERS))}
        assert (listed[a.server_id], listed[b.server_id]) == ("error", "connected")
        for each in (a, b):
            assert root.delete(f"{SERVERS}/{each.server_id}").is_success
