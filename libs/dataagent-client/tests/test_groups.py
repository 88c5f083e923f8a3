"""Each group of the client against a real server. The sync twin: what it calls is the async one."""

from __future__ import annotations

import io
import json
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from dataagent_client import (
    ClientError,
    ConflictError,
    DeniedError,
    DoneEvent,
    HITLRequestEvent,
    InvalidError,
    LimitError,
    NotAuthenticatedError,
    NotFoundError,
    SyncDataAgentClient,
    TemplateParameter,
    TextEvent,
    ToolCallEvent,
    ToolResultEvent,
)
from tests.end_to_end.server import USER, Server
from tests.requirements import requirement

BOSS, PASSWORD = "boss", "a-long-word-7"
SKILL = "---\nname: my-way\ndescription: How I like it\n---\nBe short.\n"
Client = SyncDataAgentClient


@pytest.mark.slow
@requirement("R19.1")
def test_a_login_counts_for_requests_and_for_sockets(server: Server) -> None:
    with Client(server.url) as client:
        with pytest.raises(NotAuthenticatedError) as wrong:
            client.auth.log_in(BOSS, "not-it-at-all")
        assert wrong.value.error_code == "wrong_login"
        user = client.auth.log_in(BOSS, PASSWORD)
        assert (user.username, user.role, user.status) == (BOSS, "admin", "active")
        assert client.auth.me() == user
        made = client.create_session()  # a write, for which a cookie alone is not enough
        said = list(client.chat("!echo by cookie", made.session_id))
        assert isinstance(said[-1].event, DoneEvent)
        client.auth.log_out()
        with pytest.raises(NotAuthenticatedError):
            client.auth.me()


@pytest.mark.slow
def test_a_changed_password_keeps_this_login_and_ends_keys(server: Server, root: Client) -> None:
    user = root.admin.users.create("carol", "first-word-9")
    with Client(server.url) as carol:
        carol.auth.log_in("carol", "first-word-9")
        key = carol.keys.create("nightly")
        assert key.key not in repr(key)
        assert [each.key_id for each in carol.keys.list().items] == [key.key_id]
        with Client(server.url, key.key) as program:
            assert program.auth.me().user_id == user.user_id
            with pytest.raises(ClientError, match="has a key"):
                program.auth.log_in("carol", "first-word-9")
            carol.auth.change_password("first-word-9", "second-word-9")
            assert carol.auth.me().username == "carol"
            with pytest.raises(NotAuthenticatedError):
                program.auth.me()
        with pytest.raises(DeniedError) as denied:
            carol.admin.users.list()
        assert denied.value.status == 403
        again = carol.keys.create("again")
        carol.keys.revoke(again.key_id)
        assert carol.keys.list().total == 0
    root.admin.users.delete(user.user_id)


def test_a_token_is_a_bearer(server: Server) -> None:
    with Client(server.url) as client:
        client.auth.log_in(BOSS, PASSWORD)
        token = client._calls._http.credentials()["Cookie"].partition("=")[2]
        with Client(server.url, token=token) as bearer:
            assert bearer.auth.me().username == BOSS
            assert isinstance(list(bearer.chat("!echo hello"))[-1].event, DoneEvent)


@requirement("R14.1")
def test_accounts_are_administered(server: Server, root: Client) -> None:
    users = root.admin.users
    dave = users.create("dave", "some-word-77")
    assert [each.username for each in users.list(search="dav").items] == ["dave"]
    assert users.set_role(dave.user_id, "admin").role == "admin"
    assert users.set_status(dave.user_id, "disabled").status == "disabled"
    users.set_status(dave.user_id, "active")
    users.reset_password(dave.user_id, "other-word-77")
    with Client(server.url) as client:
        assert client.auth.log_in("dave", "other-word-77").role == "admin"
    with pytest.raises(ConflictError):
        users.create("dave", "some-word-77")
    users.delete(dave.user_id)
    assert users.list(search="dav").total == 0


def test_tenants_are_administered(root: Client) -> None:
    tenants = root.admin.tenants
    made = tenants.create("Sales", tenant_id="sales", max_users=2)
    assert (made.max_users, made.workspace_quota) == (2, 1024**3)
    assert tenants.get("sales") == made
    changed = tenants.replace("sales", "Selling", workspace_quota=10_000_000)
    assert (changed.name, changed.max_users, changed.workspace_quota) == (
        "Selling",
        100,
        10_000_000,
    )
    assert "sales" in {each.tenant_id for each in tenants.list().items}
    assert tenants.put_user("sales", "erin", role="admin").role == "admin"
    assert [each.user_id for each in tenants.users("sales").items] == ["erin"]
    tenants.remove_user("sales", "erin")
    tenants.delete("sales")
    with pytest.raises(NotFoundError):
        tenants.get("sales")


# -- conversations ------------------------------------------------------------------------------


def test_conversations_are_found_renamed_put_away_and_brought_back(alice: Client) -> None:
    made = alice.conversations.create(title="Before")
    assert alice.conversations.get(made.conversation_id) == made
    word = f"needle{uuid.uuid4().hex}"
    alice.chat_sync(f"!echo {word}", made.conversation_id)
    found = alice.conversations.list(search=word).items
    assert [each.conversation_id for each in found] == [made.conversation_id]
    assert alice.conversations.rename(made.conversation_id, "After").title == "After"
    alice.conversations.delete(made.conversation_id)
    with pytest.raises(NotFoundError):
        alice.conversations.get(made.conversation_id)
    assert alice.conversations.restore(made.conversation_id).title == "After"
    history = alice.conversations.history(made.thread_id, limit=1, offset=0)
    assert (history.total, len(history.messages)) == (2, 1)


@requirement("R17.5")
def test_the_web_apps_chat_has_the_same_events(alice: Client) -> None:
    thread_id = alice.conversations.create().thread_id
    message = "!tool sql_db_list_tables {}\n!echo listed"
    items = list(alice.conversations.chat(thread_id, message, agent="sql"))
    kept = list(alice.run_events(items[0].run_id))
    assert [each.seq for each in items] == [each.seq for each in kept]
    assert [each.event.data() for each in items] == [each.event.data() for each in kept]
    kinds = {type(each.event) for each in items}
    assert {TextEvent, ToolCallEvent, ToolResultEvent, DoneEvent} <= kinds
    watched = alice.conversations.events(thread_id, after=items[0].seq)
    assert [next(watched) for _ in items[1:]][-1].event.data() == items[-1].event.data()
    watched.close()


def test_a_run_that_waits_is_seen_in_the_web_apps_chat(alice: Client) -> None:
    thread_id = alice.conversations.create().thread_id
    message = '!tool write_file {"file_path": "/a.txt", "content": "a"}'
    for item in alice.conversations.chat(thread_id, message):
        if isinstance(item.event, HITLRequestEvent):
            assert item.event.action.name == "write_file"
            alice.cancel_run(item.run_id)
    # it has events
    assert isinstance(item.event, DoneEvent)  # pyright: ignore[reportPossiblyUnboundVariable]


# -- files, skills, memory ----------------------------------------------------------------------


def test_files_are_sent_listed_read_and_saved(alice: Client, tmp_path: Path) -> None:
    local = tmp_path / "sales.csv"
    local.write_bytes(b"region,amount\nNorth,3\n")
    sent = alice.files.upload(local)
    assert (sent.filename, sent.size) == ("sales.csv", 22)
    also = alice.files.upload(io.BytesIO(b"hello\n"), filename="hello.txt")
    listed = {each.file_id: each for each in alice.files.list().items}
    assert (listed[sent.file_id].origin, listed[also.file_id].size) == ("upload", 6)
    assert alice.files.content(also.file_id).content == "hello\n"
    assert alice.files.read(sent.file_id) == local.read_bytes()
    named = b"".join(alice.files.stream_named(sent.file_id, "sales.csv"))
    assert named == local.read_bytes()
    saved = alice.files.download(sent.file_id, tmp_path / "copy.csv")
    assert saved.read_bytes() == local.read_bytes()
    alice.files.delete(sent.file_id)
    with pytest.raises(NotFoundError) as missing:
        alice.files.download(sent.file_id, saved)
    assert missing.value.error_code == "file_not_found"
    assert saved.read_bytes() == local.read_bytes()  # what was there is still there
    assert [each.name for each in tmp_path.iterdir() if "partial" in each.name] == []


def test_what_cannot_be_sent_says_why(alice: Client) -> None:
    with pytest.raises(ClientError, match="no name"):
        alice.files.upload(b"nameless")
    with pytest.raises(InvalidError) as wrong:
        alice.files.upload(b"MZ\0\0", filename="a.exe")
    assert wrong.value.status == 422
    with pytest.raises(LimitError) as large:
        alice.files.upload(b"a" * 200_000, filename="large.txt")
    assert (large.value.status, large.value.error_code) == (413, "too_large")


def test_skills_of_ones_own_are_kept(alice: Client) -> None:
    assert alice.skills.put("my-way", SKILL).source == "own"
    assert "my-way" in {each.name for each in alice.skills.list().items}
    detail = alice.skills.get("my-way")
    assert (detail.content.strip(), detail.files) == ("Be short.", ())
    alice.skills.delete("my-way")
    with pytest.raises(NotFoundError):
        alice.skills.get("my-way")


def test_memory_is_written_read_and_erased(alice: Client) -> None:
    alice.memory.write(USER, "agent", "notes/likes.md", "Tea.")
    assert alice.memory.read(USER, "agent", "notes/likes.md").content == "Tea."
    assert "notes/likes.md" in {each.path for each in alice.memory.list(USER).items}
    alice.memory.erase_one(USER, "agent", "notes/likes.md")
    alice.memory.write(USER, "agent", "other.md", "Milk.")
    alice.memory.erase(USER, assistant_id="agent")
    assert alice.memory.list(USER).items == []
    assert alice.workspace(USER).quota > 0


# -- data ---------------------------------------------------------------------------------------


@requirement("R34.1")
def test_agents_are_made_with_tools_and_changed(root: Client, alice: Client) -> None:
    numbers = [each.tool_id for each in root.tools().items][:2]
    made = root.admin.agents.create(
        "helper", description="Helps", system_prompt="Help.", tool_ids=[*numbers, 999_999]
    )
    assert (sorted(made.tool_ids), made.ignored_tool_ids) == (sorted(numbers), (999_999,))
    assert alice.agent("helper").system_prompt is None
    changed = root.admin.agents.update(made.agent_id, tool_ids=numbers[:1])
    assert (changed.tool_ids, changed.description) == ((numbers[0],), "Helps")
    assert "helper" in {each.name for each in alice.agent_choices().items}
    root.admin.agents.delete(made.agent_id)
    with pytest.raises(NotFoundError):
        root.agent(made.agent_id)


def test_the_log_is_searched_saved_and_verified(root: Client, tmp_path: Path) -> None:
    since = datetime.now(UTC) - timedelta(minutes=5)
    key = root.admin.users.create("logged", "some-word-77")
    root.admin.users.delete(key.user_id)
    records = root.admin.audit.list(action="create_user", since=since).items
    assert records[0].outcome == "success"
    assert records[0].at > since
    saved = root.admin.audit.export(tmp_path / "audit.jsonl", "jsonl", action="create_user")
    lines = [json.loads(line) for line in saved.read_text(encoding="utf-8").splitlines()]
    assert {line["action"] for line in lines} == {"create_user"}
    assert b"create_user" in b"".join(root.admin.audit.stream(action="create_user"))
    verdict = root.admin.audit.verify()
    assert (verdict.is_whole, verdict.first_bad, verdict.problem) == (True, None, None)
    assert verdict.checked > 0


def test_the_server_tells_its_state_and_what_was_used(root: Client, alice: Client) -> None:
    system = root.admin.system()
    assert (system.status, system.model) == ("ready", "scripted")
    assert system.versions.dataagent == root.info().version == root.live().version
    assert root.ready().checks["database"] == "ok"
    alice.chat_sync("!echo counted")
    today = datetime.now(UTC).date()
    days = root.usage(all_users=True, since=today - timedelta(days=1)).items
    assert USER in {each.user_id for each in days}
    with pytest.raises(DeniedError):
        alice.usage(all_users=True)


def test_mcp_templates_and_switches(root: Client) -> None:
    parameter = TemplateParameter(name="root", is_required=True)
    made = root.mcp.templates.create(
        "tree", "python3", args=["-m", "x", "{root}"], parameters=[parameter]
    )
    assert made.parameters == (parameter,)
    assert root.mcp.templates.get(made.template_id) == made
    again = root.mcp.templates.replace(made.template_id, "tree", "python3", args=["-m", "y"])
    assert (again.args, again.parameters) == (("-m", "y"), ())
    assert [each.name for each in root.mcp.templates.list().items] == ["tree"]
    root.mcp.templates.delete(made.template_id)
    shared = root.mcp.admin.add("quiet", command="false", disabled=True)
    assert not root.mcp.admin.enable(shared.server_id).disabled
    assert root.mcp.admin.disable(shared.server_id).disabled
    root.mcp.admin.delete(shared.server_id)
