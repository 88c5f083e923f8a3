"""Seed 003: `POST /api/chat`, what it takes and the events it streams."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from tests.acceptance.states import states
from tests.acceptance.web_server import (
    PASSWORD,
    Sent,
    Web,
    call,
    chat,
    conversation,
    named,
    ok,
    running,
    sent_events,
    text,
)


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Generator[Web]:
    with running(tmp_path_factory.mktemp("chat") / "server") as started:
        yield started


def names(events: list[Sent]) -> list[str]:
    return [each.event for each in events]


# -- 3.4: the request -----------------------------------------------------------------------


@states("003 §3.4", "POST /api/chat 返回 SSE 流 (text/event-stream)")
@states("003 §5.1", "chat() 端点 answers with an SSE 事件流")
def test_a_chat_is_answered_with_an_event_stream(web: Web) -> None:
    client = web.person("dora")
    body = {"thread_id": conversation(client)["thread_id"], "message": "hello"}
    with client.stream("POST", "/api/chat", json=body) as answer:
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/event-stream")
        lines = answer.read().decode().splitlines()
    assert "event: text_delta" in lines
    assert any(line.startswith("data: {") for line in lines)
    assert "" in lines


@states(
    "003 §3.4", "ChatRequest.thread_id: string (required)", "ChatRequest.message: string (required)"
)
def test_a_chat_needs_a_thread_and_a_message(web: Web) -> None:
    client = web.person("dora")
    thread_id = conversation(client)["thread_id"]
    for body in ({"thread_id": thread_id}, {"message": "hi"}, {"thread_id": 1, "message": "hi"}):
        assert client.post("/api/chat", json=body).status_code == 422
    answer = client.post("/api/chat", json={"thread_id": "ffffffff", "message": "hi"})
    assert answer.status_code == 404
    assert text(chat(client, "only these two", thread_id)) == "only these two"


@states("003 §3.4", "ChatRequest.agent?: 直接路由到指定 Agent（跳过 Supervisor）")
def test_agent_goes_straight_to_an_agent(web: Web) -> None:
    events = chat(web.person("dora"), call("sql_db_list_tables"), agent="sql")
    [result] = named(events, "tool_call_result")
    assert "not a valid tool" not in str(result["output"])  # the agent `sql` has it
    assert "route" not in str(named(events, "thinking"))


@states("003 §3.4", "ChatRequest.agent: one there is not is refused with 404")
def test_an_unknown_agent_is_refused(web: Web) -> None:
    client = web.person("dora")
    body = {"thread_id": conversation(client)["thread_id"], "message": "x", "agent": "nobody"}
    answer = client.post("/api/chat", json=body)
    assert answer.status_code == 404
    assert "nobody" in answer.json()["message"]


@states("003 §3.4", "ChatRequest.skill?: 激活技能（使用 general Agent）")
def test_skill_activates_a_skill_with_the_general_agent(web: Web) -> None:
    events = chat(web.person("dora"), call("execute_python", code="print(1)"), skill="sql-review")
    [result] = named(events, "tool_call_result")
    assert result["name"] == "execute_python"  # a tool of `general`
    assert "not a valid tool" not in str(result["output"])
    assert "general" in str(named(events, "thinking"))


@states("003 §3.4", "ChatRequest.file_ids?: string[] 上传文件 ID 列表")
def test_file_ids_attach_uploads(web: Web) -> None:
    client = web.person("dora")
    sent = [
        ok(client.post("/api/files/upload", files={"file": (name, name.encode())}))["file_id"]
        for name in ("one.txt", "two.txt")
    ]
    message = "\n".join(call("read_uploaded_file", file_id=each) for each in sent)
    events = chat(client, message, file_ids=sent)
    first, second = named(events, "tool_call_result")
    assert "one.txt" in first["output"]
    assert "two.txt" in second["output"]
    assert text(chat(client, "none", file_ids=[])) == "none"


@states("003 §3.4", "ChatRequest.file_ids: others' files are not found")
def test_a_file_of_another_user_cannot_be_attached(web: Web) -> None:
    theirs = ok(web.person("eve").post("/api/files/upload", files={"file": ("a.txt", b"private")}))[
        "file_id"
    ]
    client = web.person("dora")
    body = {"thread_id": conversation(client)["thread_id"], "message": "x", "file_ids": [theirs]}
    assert client.post("/api/chat", json=body).status_code == 404


# -- 4: the events --------------------------------------------------------------------------


@states("003 §4", "text_delta { text: string }")
def test_text_comes_as_text_delta(web: Web) -> None:
    events = chat(web.person("dora"), "!slow 5 1")
    assert text(events) == "chunk0 chunk1 chunk2 chunk3 chunk4 "
    assert all(isinstance(each["text"], str) for each in named(events, "text_delta"))


@states("003 §4", "tool_call_start { id, name, args }")
@states("003 §5.1", "Agent 执行工具 is seen as tool_call_start, then tool_call_result")
def test_a_call_starts_with_id_name_and_args(web: Web) -> None:
    events = chat(web.person("dora"), call("ls", path="/"), agent="general")
    [started] = named(events, "tool_call_start")
    assert isinstance(started["id"], str)
    assert started["name"] == "ls"
    assert started["args"] == {"path": "/"}
    assert names(events).index("tool_call_start") < names(events).index("tool_call_result")


@states("003 §4", "tool_call_result { id, name, status, output }")
def test_a_call_ends_with_id_name_status_and_output(web: Web) -> None:
    message = "\n".join([call("ls", path="/"), call("no_such_tool")])
    events = chat(web.person("dora"), message, agent="general")
    started, results = named(events, "tool_call_start"), named(events, "tool_call_result")
    assert [each["id"] for each in started] == [each["id"] for each in results]
    assert [each["name"] for each in results] == ["ls", "no_such_tool"]
    assert [each["status"] for each in results] == ["success", "error"]
    assert all("output" in each for each in results)


@states("003 §4", "thinking { content: string }")
def test_reasoning_comes_as_thinking(web: Web) -> None:
    events = chat(web.person("dora"), "!think let me see\n!echo fine")
    assert "".join(each["content"] for each in named(events, "thinking")) == "let me see"
    assert names(events).index("thinking") < names(events).index("text_delta")


@states("003 §4", "error { message: string }")
def test_a_failure_comes_as_error(web: Web) -> None:
    events = chat(web.person("dora"), "!fail")
    [error] = named(events, "error")
    assert error["message"]
    assert names(events)[-2:] == ["error", "done"]


@states("003 §4", "done 流结束: one, at the end of every stream")
def test_done_ends_every_stream(web: Web) -> None:
    for message in ("hello", "!fail", call("ls", path="/"), "!slow 3 1"):
        events = chat(web.person("dora"), message)
        assert names(events).count("done") == 1
        assert names(events)[-1] == "done"


@states("003 §4", "隐藏工具 route is shown as thinking, not as a tool card")
def test_route_is_shown_as_thinking(web: Web) -> None:
    message = f"{call('route', agent_name='sql', task_description='count the artists')}\n!echo ok"
    events = chat(web.person("dora"), message)
    assert "sql" in str(named(events, "thinking"))
    cards = [*named(events, "tool_call_start"), *named(events, "tool_call_result")]
    assert "route" not in [each["name"] for each in cards]


@states("003 §4", "隐藏工具 think_tool is shown as thinking, not as a tool card")
def test_think_tool_is_shown_as_thinking(web: Web) -> None:
    events = chat(web.person("dora"), call("think_tool", reflection="two left"), agent="research")
    assert "two left" in str(named(events, "thinking"))
    assert named(events, "tool_call_start") == []
    assert named(events, "tool_call_result") == []


@states("003 §4 (DESIGN §4)", "id: <seq>", "data has seq and run_id beside the stated fields")
def test_each_event_has_its_number_and_its_run(web: Web) -> None:
    events = chat(web.person("dora"), call("ls", path="/"), agent="general")
    assert [int(each.id) for each in events] == [each.data["seq"] for each in events]
    assert [each.data["seq"] for each in events] == list(range(1, len(events) + 1))
    assert len({each.data["run_id"] for each in events}) == 1


@states("003 §7.3", "流式取消：停止按钮中断响应")
@states("003 §7.2", "useChat.cancel() 取消当前请求")
def test_a_stream_that_is_cancelled_ends(web: Web) -> None:
    client = web.person("dora")
    made = conversation(client)
    body = {"thread_id": made["thread_id"], "message": "!slow 100000 20"}
    with client.stream("POST", "/api/chat", json=body) as answer:
        events = sent_events(answer)
        assert next(events).event == "text_delta"
        assert client.post(f"/api/v1/chat/{made['id']}/cancel").status_code == 200
        rest = list(events)
    assert rest[-1].event == "done"
    assert rest[-1].data["cancelled"] is True


@states("003 §5.1", "a turn: 消息 → Agent → SSE, and the next turn of the thread after it")
def test_turns_of_a_thread_follow_each_other(web: Web) -> None:
    client = web.person("dora")
    thread_id = conversation(client)["thread_id"]
    assert text(chat(client, "!echo one", thread_id)) == "one"
    assert text(chat(client, "!echo two", thread_id)) == "two"


@states(
    "003 §5.1", "完整消息流程: a front end that knows the document's names alone works unchanged"
)
@states("003 §7.3", "Cookie 自动管理: the browser sends access_token back")
def test_a_front_end_of_the_document_works_unchanged(web: Web) -> None:
    web.person("unchanged")
    login = {"username": "unchanged", "password": PASSWORD}
    cookie = web.stranger.post("/api/auth/login", json=login).headers["set-cookie"]
    web.stranger.cookies.clear()
    name, _, token = cookie.split(";")[0].partition("=")
    assert name == "access_token"
    with web.client(Cookie=f"access_token={token}") as browser:
        assert ok(browser.get("/api/auth/me"))["username"] == "unchanged"
        made = conversation(browser, title="Ships")
        sent = {"file": ("ships.csv", b"name\nEver Given\n", "text/csv")}
        file_id = ok(browser.post("/api/files/upload", files=sent))["file_id"]
        message = f"{call('read_uploaded_file', file_id=file_id)}\n!echo One ship."
        events = chat(browser, message, made["thread_id"], file_ids=[file_id])
        assert {"thinking", "tool_call_start", "tool_call_result", "text_delta", "done"} <= {
            each.event for each in events
        }
        assert "Ever Given" in str(named(events, "tool_call_result")[0]["output"])
        assert text(events) == "One ship."
        history = ok(browser.get(f"/api/threads/{made['thread_id']}/history"))
        assert [each["role"] for each in history["messages"]] == ["user", "assistant"]
        assert browser.get(f"/api/files/{file_id}/download").text == "name\nEver Given\n"
        assert browser.post("/api/auth/logout").is_success
