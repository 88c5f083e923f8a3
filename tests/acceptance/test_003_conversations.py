"""Seed 003: conversations, whose they are, and how a thread goes on where it was."""

from __future__ import annotations

import re
import uuid
from collections.abc import Generator
from datetime import datetime
from pathlib import Path

import pytest

from tests.acceptance.states import states
from tests.acceptance.web_server import (
    Web,
    chat,
    conversation,
    endpoint,
    items,
    ok,
    running,
    words_of,
)
from tests.standins.openai_server import text as said

MINE = "/api/conversations"


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Generator[Web]:
    with running(tmp_path_factory.mktemp("conversations") / "server") as started:
        yield started


def ids(web: Web, who: str) -> list[str]:
    return [each["id"] for each in items(web.person(who).get(MINE))]


@states(
    "003 §2.1",
    "Conversation.id: UUID",
    "Conversation.thread_id: LangGraph 线程 ID（8字符）",
    "Conversation.title: str",
    "Conversation.created_at: datetime",
    "Conversation.updated_at: datetime",
)
@states("003 §3.3", "POST /api/conversations 创建新对话")
def test_a_conversation_has_these_fields(web: Web) -> None:
    made = conversation(web.person("dora"), title="Sales in May")
    assert str(uuid.UUID(made["id"])) == made["id"]
    assert re.fullmatch(r"[0-9a-f]{8}", made["thread_id"])
    assert made["title"] == "Sales in May"
    for moment in (made["created_at"], made["updated_at"]):
        assert datetime.fromisoformat(moment).tzinfo is not None


@states("003 §3.3", 'ConversationCreate.title?: 默认 "New Conversation"')
def test_a_conversation_without_a_title_is_a_new_conversation(web: Web) -> None:
    assert conversation(web.person("dora"))["title"] == "New Conversation"


@states("003 §2.1", "title 最长50字符")
def test_a_title_has_at_most_50_characters(web: Web) -> None:
    client = web.person("dora")
    assert conversation(client, title="问" * 50)["title"] == "问" * 50
    made = conversation(client)
    answers = [
        client.post(MINE, json={"title": "x" * 51}),
        client.patch(f"{MINE}/{made['id']}", json={"title": "x" * 51}),
    ]
    for answer in answers:
        assert answer.status_code == 422 or len(answer.json()["title"]) <= 50
    assert all(len(each["title"]) <= 50 for each in items(client.get(MINE)))
    chat(client, "!echo fine " + "words " * 40, conversation(client)["thread_id"])
    assert all(len(each["title"]) <= 50 for each in items(client.get(MINE)))


@states("003 §6.2", "线程 ID：8 字符十六进制字符串（uuid4().hex[:8]）")
@states("003 §2.1 (departs)", "thread_id is kept at 8 hex digits, unique")
def test_thread_ids_are_8_hexadecimal_digits_and_differ(web: Web) -> None:
    client = web.person("many")
    found = [conversation(client)["thread_id"] for _ in range(20)]
    assert all(re.fullmatch(r"[0-9a-f]{8}", each) for each in found)
    assert len(set(found)) == 20


@states(
    "003 §3.3",
    "GET /api/conversations 获取用户对话列表",
    "GET /api/conversations/{id} 获取对话详情",
)
def test_a_user_lists_and_opens_their_conversations(web: Web) -> None:
    client = web.person("lister")
    made = [conversation(client, title=title) for title in ("one", "two")]
    assert {each["id"] for each in made} == set(ids(web, "lister"))
    assert ok(client.get(f"{MINE}/{made[0]['id']}")) == made[0]


@states("003 §2.1", "对话列表按 updated_at 降序排列")
def test_the_last_updated_conversation_is_first(web: Web) -> None:
    client = web.person("sorter")
    first, second, third = (conversation(client, title=title) for title in "123")
    assert ids(web, "sorter") == [third["id"], second["id"], first["id"]]
    chat(client, "hello", first["thread_id"])
    assert ids(web, "sorter") == [first["id"], third["id"], second["id"]]
    listed = [each["updated_at"] for each in items(client.get(MINE))]
    assert listed == sorted(listed, reverse=True)


@states("003 §3.3", "PATCH /api/conversations/{id} 更新对话标题")
def test_a_conversation_is_renamed(web: Web) -> None:
    client = web.person("dora")
    one = f"{MINE}/{conversation(client, title='before')['id']}"
    assert ok(client.patch(one, json={"title": "after"}))["title"] == "after"
    assert ok(client.get(one))["title"] == "after"
    assert client.patch(one, json={}).status_code == 422


@states(
    "003 §2.1", "a change of the title is an update: updated_at moves, and the list's order with it"
)
@states("003 §6.3", "对话表 + 更新触发器: nobody has to say when a conversation was updated")
def test_renaming_moves_a_conversation_to_the_top(web: Web) -> None:
    client = web.person("renamer")
    first, second = (conversation(client, title=title) for title in "12")
    renamed = ok(client.patch(f"{MINE}/{first['id']}", json={"title": "new"}))
    assert renamed["updated_at"] > first["updated_at"]
    assert ids(web, "renamer") == [first["id"], second["id"]]


@states("003 §3.3", "DELETE /api/conversations/{id} 删除对话")
@states("003 §2.1", "is_deleted: bool 软删除标记")
def test_a_deleted_conversation_is_hidden_and_still_stored(web: Web) -> None:
    client = web.person("dora")
    made = conversation(client)
    chat(client, "remember me", made["thread_id"])
    assert client.delete(f"{MINE}/{made['id']}").is_success
    assert made["id"] not in ids(web, "dora")
    for answer in (
        client.get(f"{MINE}/{made['id']}"),
        client.patch(f"{MINE}/{made['id']}", json={"title": "x"}),
        client.get(f"/api/threads/{made['thread_id']}/history"),
        client.post("/api/chat", json={"thread_id": made["thread_id"], "message": "hi"}),
    ):
        assert answer.status_code == 404
    stored = web.select("SELECT content FROM messages WHERE session_id = ?", made["id"])
    assert ("remember me",) in stored


@states(
    "003 §2.1",
    "每个用户只能访问自己的对话",
    "所有 CRUD 操作自动过滤 user_id",
    "Conversation.user_id",
)
@states("003 §10.2", "用户隔离：用户只能访问自己的对话")
def test_conversations_of_others_do_not_exist(web: Web) -> None:
    client, other = web.person("dora"), web.person("eve")
    made = conversation(client, title="private")
    chat(client, "a secret plan", made["thread_id"])
    one = f"{MINE}/{made['id']}"
    for stranger in (other, web.admin):
        answers = [
            stranger.get(one),
            stranger.patch(one, json={"title": "mine now"}),
            stranger.delete(one),
            stranger.get(f"/api/threads/{made['thread_id']}/history"),
            stranger.post("/api/chat", json={"thread_id": made["thread_id"], "message": "hi"}),
        ]
        assert [answer.status_code for answer in answers] == [404] * 5
        assert made["id"] not in [each["id"] for each in items(stranger.get(MINE))]
    assert ok(client.get(one))["title"] == "private"
    me = ok(client.get("/api/auth/me"))["id"]
    [(owner,)] = web.select("SELECT user_id FROM sessions WHERE session_id = ?", made["id"])
    assert owner == me


@states("003 §3.4", "GET /api/threads/{id}/history 获取对话历史")
@states("003 §7.2", "useChat.loadHistory(threadId): history by thread_id")
def test_the_history_has_all_messages_in_order(web: Web) -> None:
    client = web.person("dora")
    made = conversation(client)
    chat(client, "!echo first answer", made["thread_id"])
    chat(client, "!echo second answer", made["thread_id"])
    history = ok(client.get(f"/api/threads/{made['thread_id']}/history"))
    assert history["thread_id"] == made["thread_id"]
    assert [(each["role"], each["content"]) for each in history["messages"]] == [
        ("user", "!echo first answer"),
        ("assistant", "first answer"),
        ("user", "!echo second answer"),
        ("assistant", "second answer"),
    ]


@states("003 §2.1", "消息历史存储在 LangGraph Checkpointer")
@states("003 §2.1 (departs)", "checkpoints are keyed by session id; a conversation is a session")
def test_a_turn_leaves_a_checkpoint(web: Web) -> None:
    client = web.person("dora")
    made = conversation(client)
    chat(client, "hello", made["thread_id"])
    found = web.select("SELECT count(*) FROM checkpoints WHERE thread_id = ?", made["id"])
    assert found[0][0] > 0


@states(
    "003 §6.2",
    "每次 astream() 调用自动从 checkpointer 恢复历史",
    "只需发送新消息，历史自动关联",
)
def test_a_thread_goes_on_where_it_was_even_after_a_restart(tmp_path: Path) -> None:
    with endpoint(said("Noted, Dora.")) as model:
        with running(tmp_path / "server", **model.settings) as web:
            made = conversation(web.admin)
            chat(web.admin, "My name is Dora.", made["thread_id"])
            web.stop()
            web.start()
            chat(web.admin, "What is my name?", made["thread_id"])
            chat(web.admin, "Hello?", conversation(web.admin)["thread_id"])
        [again] = [body for body in model.seen if "What is my name?" in words_of(body, "user")]
        assert "My name is Dora." in words_of(again, "user")
        assert "Noted, Dora." in words_of(again, "assistant")
        assert all(
            "My name is Dora." not in words_of(body)
            for body in model.seen
            if "Hello?" in words_of(body, "user")
        )
