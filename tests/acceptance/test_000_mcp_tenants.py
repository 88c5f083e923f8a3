"""000 R30-R35: MCP servers of users, isolation, workspaces, memory and tenants, on a server."""

from __future__ import annotations

import asyncio
import json
import os
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.acceptance.running import Running, of_type, running, said
from tests.acceptance.states import states
from tests.standins.mcp_server import PROGRAM, http_server, stdio_command
from tests.waiting import until

GIB = 1024**3


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("server")
    everyones = folder / "mcp.json"
    shared = {"name": "shared", **stdio_command(), "read_only_tools": ["add"]}
    everyones.write_text(json.dumps({"servers": [shared]}), encoding="utf-8")
    with running(
        folder,
        DATAAGENT_MCP_STDIO="any",
        DATAAGENT_MCP_CONFIG=str(everyones),
        DATAAGENT_MCP_MAX_SERVERS="3",
        DATAAGENT_MCP_TIMEOUT="25",
        DATAAGENT_MCP_HEALTH_INTERVAL="1",
        DATAAGENT_AUTO_APPROVE="true",
        DATAAGENT_WORKSPACE_QUOTA="20000",
        DATAAGENT_ALLOW_PRIVATE_HOSTS="127.0.0.1",
    ) as started:
        yield started


@pytest.fixture(scope="module")
def tenants(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(
        tmp_path_factory.mktemp("tenants"),
        DATAAGENT_MULTI_TENANT="true",
        DATAAGENT_MCP_STDIO="any",
        DATAAGENT_AUTO_APPROVE="true",
    ) as started:
        yield started


def path_of(user: str = "alice", name: str = "") -> str:
    return f"/api/v1/users/{user}/mcp-servers" + (f"/{name}" if name else "")


def add(server: Running, name: str, user: str = "alice", **fields: Any) -> dict[str, Any]:
    answer = server.post(path_of(user), {"name": name, **stdio_command(), **fields}, user)
    assert answer.is_success, answer.text
    return answer.json()


@pytest.fixture
def clean(server: Running) -> Iterator[Running]:
    """The server, whose users have no servers of their own before and after."""
    forget(server)
    yield server
    forget(server)


def forget(server: Running) -> None:
    for user in ("alice", "bob"):
        for each in server.get(path_of(user), user).json()["items"]:
            server.send("DELETE", path_of(user, each["name"]), None, user)


def calls(server: Running, tool: str, args: str, user: str = "alice", **fields: Any) -> list[Any]:
    """The results of one call in a conversation."""
    events = server.chat(f"!tool {tool} {args}", user, **fields)["events"]
    return of_type(events, "tool_result")


def can_add(server: Running, name: str, user: str = "alice", **fields: Any) -> bool:
    """Whether the agent can use the tool of a server."""
    [result] = calls(server, f"{name}__add", '{"a": 2, "b": 3}', user, **fields)
    return result["data"]["status"] == "success" and "5" in str(result["data"]["result"])


# -- R30: MCP servers of a user ---------------------------------------------------------------


@states(
    "R30.2",
    "GET /api/v1/users/{user_id}/mcp-servers",
    "POST /api/v1/users/{user_id}/mcp-servers",
    "PUT /api/v1/users/{user_id}/mcp-servers/{server_name}",
    "DELETE /api/v1/users/{user_id}/mcp-servers/{server_name}",
)
@states("R30.1", "REST manages a user's servers")
def test_a_users_servers_are_managed(clean: Running) -> None:
    add(clean, "sums", disabled=True)
    assert names(clean) >= {"sums"}
    changed = clean.send("PUT", path_of(name="sums"), {"timeout": 7})
    assert changed.status_code == 200
    assert changed.json()["timeout"] == 7
    assert clean.send("DELETE", path_of(name="sums")).is_success
    assert "sums" not in names(clean)


def names(server: Running, user: str = "alice") -> set[str]:
    return {each["name"] for each in server.get(path_of(user), user).json()["items"]}


@states("R30.2", "the list has the user's own servers only")
def test_the_list_is_the_users_own(clean: Running) -> None:
    add(clean, "sums", disabled=True)
    assert names(clean) == {"sums"}
    assert names(clean, "bob") == set()


@states("R30.2", "PUT takes a whole server, its name too")
def test_a_whole_server_can_be_put(clean: Running) -> None:
    add(clean, "sums", disabled=True)
    body: dict[str, Any] = {
        "name": "sums",
        **stdio_command(),
        "env": {},
        "disabled": True,
        "timeout": 9,
    }
    changed = clean.send("PUT", path_of(name="sums"), body)
    assert changed.status_code == 200
    assert changed.json()["timeout"] == 9


@states("R30.3", "servers are kept: after a restart they are there")
def test_servers_are_kept(clean: Running) -> None:
    add(clean, "kept", disabled=True)
    clean.stop()
    clean.start()
    assert "kept" in names(clean)


@states("R30.4", "the user's conversation has the tools of the user's servers")
@states("P49", "one user's change does not change another's tools")
def test_a_conversation_has_the_users_tools(clean: Running) -> None:
    add(clean, "sums")
    assert can_add(clean, "sums")
    assert not can_add(clean, "sums", "bob")


@states("R30.5", "a user's servers are there beside the global ones")
def test_a_users_servers_are_beside_the_global_ones(clean: Running) -> None:
    add(clean, "sums")
    message = "\n".join(f'!tool {each}__add {{"a": 2, "b": 3}}' for each in ("sums", "shared"))
    results = of_type(clean.chat(message)["events"], "tool_result")
    assert [each["data"]["status"] for each in results] == ["success", "success"]


@states("R30.5", "everyone has the global servers", "a user's server of the same name replaces it")
def test_a_users_server_replaces_a_global_one(clean: Running) -> None:
    assert can_add(clean, "shared")
    assert can_add(clean, "shared", "bob")
    add(clean, "shared", command="no-such-program-anywhere", args=[])
    assert not can_add(clean, "shared")
    assert can_add(clean, "shared", "bob")


@states("R30.6", "a change holds for the next session", "a session that is there goes on as it was")
def test_a_change_holds_for_the_next_session(clean: Running) -> None:
    before = clean.chat("!echo Hi.")["session_id"]
    add(clean, "sums")
    assert can_add(clean, "sums")
    assert not can_add(clean, "sums", session_id=before)


@states("001 §MCP Configuration REST API", "a server that is in use is connected")
@states("001 §MCP Configuration REST API", "DELETE ends the connection: its tools are gone")
def test_deleting_a_server_disconnects_it(clean: Running) -> None:
    add(clean, "sums")
    session_id = clean.chat("!echo Hi.")["session_id"]
    assert can_add(clean, "sums", session_id=session_id)
    [found] = clean.get(path_of()).json()["items"]
    assert (found["name"], found["status"]) == ("sums", "connected")
    assert clean.send("DELETE", path_of(name="sums")).is_success
    assert not can_add(clean, "sums", session_id=session_id)
    assert not can_add(clean, "sums")


@states("R30.7", "a WebSocket message tells the client of a change")
def test_a_change_is_announced_over_the_socket(clean: Running) -> None:
    with clean.socket() as it:
        it.receive()
        add(clean, "told", disabled=True)
        while it.until("mcp_changed")[-1]["data"]["name"] != "told":
            pass  # the end of a server of the test before


# -- R31: connections -------------------------------------------------------------------------


@states("R31.2", "the number of servers can be set", "one too many is refused")
def test_one_server_too_many_is_refused(clean: Running) -> None:
    for number in range(3):
        add(clean, f"server-{number}", disabled=True)
    answer = clean.post(path_of(), {"name": "too-many", **stdio_command()})
    assert answer.status_code == 429
    assert "too-many" not in names(clean)


def programs_of(server: Running, program: str = PROGRAM) -> list[int]:
    """The MCP servers that run on behalf of a server."""
    found: list[int] = []
    for each in server.process.process.children(recursive=True):
        try:
            found += [each.pid] if program in each.cmdline() else []
        except psutil.Error:
            continue
    return found


@states("R31.1", "each user's connections are their own: a server of the same name runs for each")
def test_each_user_has_connections_of_their_own(clean: Running) -> None:
    seen = set(programs_of(clean))
    own: dict[str, set[int]] = {}
    for user in ("alice", "bob"):
        add(clean, "sums", user)
        assert can_add(clean, "sums", user)
        own[user] = set(programs_of(clean)) - seen
        assert own[user]
        seen |= own[user]
    clean.send("DELETE", path_of("alice", "sums"))
    assert own["bob"] <= set(programs_of(clean))


@states("R31.3", "connections are released when a user's sessions end")
@states("P50", "connections are released when a user's sessions end")
@states("R13.4 (departs)", "a session that timed out lets its resources go and keeps its history")
async def test_a_sessions_end_releases_its_connections(tmp_path: Path) -> None:
    settings = {"DATAAGENT_MCP_STDIO": "any", "DATAAGENT_AUTO_APPROVE": "true"}
    with started(tmp_path, DATAAGENT_SESSION_TIMEOUT="1", **settings) as server:
        add(server, "sums")
        session_id = server.chat('!tool sums__add {"a": 2, "b": 3}\n!echo Done.')["session_id"]
        await until(lambda: programs_of(server) == [])
        history = server.get(f"/api/v1/sessions/{session_id}/messages").json()["items"]
        assert history[-1]["content"] == "Done."


def started(folder: Path, **settings: str) -> Any:
    """A server, started in a thread, because the test has a loop of its own."""
    return _Beside(folder, settings)


class _Beside:
    def __init__(self, folder: Path, settings: dict[str, str]) -> None:
        from concurrent.futures import ThreadPoolExecutor

        self._worker = ThreadPoolExecutor(1)
        self._running = running(folder, **settings)

    def __enter__(self) -> Running:
        return self._worker.submit(self._running.__enter__).result()

    def __exit__(self, *_: object) -> None:
        self._worker.submit(self._running.__exit__, None, None, None).result()
        self._worker.shutdown()


@states("R31.4", "a connection that was lost is made again")
def test_a_lost_connection_is_made_again(clean: Running) -> None:
    with http_server() as far:
        body = {"name": "far", "url": far.url, "transport": "streamable_http"}
        assert clean.post(path_of(), body).is_success
        assert can_add(clean, "far")
        far.stop()
        assert not can_add(clean, "far")
        far.start()
        while not can_add(clean, "far"):
            pass


def status_of(server: Running, name: str) -> str:
    return next(
        each["status"] for each in server.get(path_of()).json()["items"] if each["name"] == name
    )


@states("R31.4", "connections are checked: a server that died is seen without a call")
async def test_a_dead_server_is_noticed(clean: Running) -> None:
    with http_server() as far:
        body = {"name": "far", "url": far.url, "transport": "streamable_http"}
        assert clean.post(path_of(), body).is_success
        assert can_add(clean, "far")
        assert status_of(clean, "far") == "connected"
        far.stop()
        await until(lambda: status_of(clean, "far") == "error")
        far.start()
        await until(lambda: status_of(clean, "far") == "connected")


@states("R31.6", "the time-out can be set, for all servers and for one")
def test_the_time_out_of_connections_is_in_use(clean: Running) -> None:
    assert add(clean, "usual", disabled=True)["timeout"] == 25
    assert add(clean, "patient", disabled=True, timeout=40)["timeout"] == 40


@states("R31.6", "DATAAGENT_MCP_TIMEOUT, 30 seconds by default")
@states("R31.2", "DATAAGENT_MCP_MAX_SERVERS, 5 by default")
def test_the_limits_of_connections_have_defaults(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from dataagent_server.config import ServerSettings

    monkeypatch.chdir(tmp_path)
    assert (ServerSettings().mcp_timeout, ServerSettings().mcp_max_servers) == (30, 5)


@states("R31.5", "a server that does not answer is logged by its name and its user's")
@states("R31.5", "it is disconnected")
async def test_a_silent_server_is_logged_and_disconnected(clean: Running) -> None:
    add(clean, "silent-one", command="sleep", args=["1000"], timeout=1)
    assert said(clean.chat("!echo Hi.")["events"]) == "Hi."
    clean.post(f"{path_of(name='silent-one')}/test")
    lines = [json.loads(line) for line in clean.log().splitlines() if line.startswith("{")]
    named = "MCP server silent-one of user alice "
    levels = {each["level"].upper() for each in lines if named in each["message"]}
    assert levels & {"WARNING", "ERROR"}
    await until(lambda: status_of(clean, "silent-one") == "error")
    await until(lambda: programs_of(clean, "sleep") == [])


# -- R32: isolation ---------------------------------------------------------------------------


@states("R32.1", "sessions are the user's own")
@states("R32.5", "a user sees their own sessions only")
@states("R32.3", "history is the user's own")
@states("P51", "a user sees their own sessions only")
def test_a_user_sees_their_own_sessions_only(server: Running) -> None:
    mine = server.chat("!echo Mine.")["session_id"]
    theirs = server.chat("!echo Theirs.", "bob")["session_id"]
    listed = {each["session_id"] for each in server.get("/api/v1/sessions").json()["items"]}
    assert mine in listed
    assert theirs not in listed
    for path in ("", "/messages", "/events"):
        assert server.get(f"/api/v1/sessions/{theirs}{path}").status_code == 404
    assert (
        server.post("/api/v1/chat", {"message": "!echo", "session_id": theirs}).status_code == 404
    )


def write(server: Running, name: str, text: str, user: str = "alice") -> dict[str, Any]:
    """The result of writing a file."""
    args = json.dumps({"file_path": name, "content": text})
    [result] = calls(server, "write_file", args, user)
    return result["data"]


def workspace(server: Running, user: str = "alice") -> Path:
    return server.process.home / "data" / "workspaces" / user


@states("R32.4", "a workspace for each user")
@states("R32.6", "file tools stay in the user's workspace")
@states("R33.3", "file tools are confined to the workspace")
@states("R33.2", "files/", "uploads/", "outputs/")
def test_files_are_written_to_the_users_workspace(server: Running) -> None:
    assert write(server, "/files/mine.txt", "one")["status"] == "success"
    assert write(server, "/files/theirs.txt", "two", "bob")["status"] == "success"
    assert (workspace(server) / "files" / "mine.txt").read_text(encoding="utf-8") == "one"
    assert not (workspace(server) / "files" / "theirs.txt").exists()
    folders = {path.name for path in workspace(server).iterdir()}
    assert {"files", "uploads", "outputs"} <= folders
    [result] = calls(server, "read_file", '{"file_path": "/files/theirs.txt"}')
    assert "two" not in str(result["data"]["result"])


@states("R33.4", "a path outside of the workspace is a permission error")
@states("P52", "a path outside of the workspace is refused by the tools")
@pytest.mark.parametrize("path", ["/../bob/files/a.txt", "../../secret.txt"])
def test_a_path_outside_is_refused(server: Running, path: str) -> None:
    result = write(server, path, "x")
    assert result["status"] in {"error", "denied"}
    assert not list(server.process.home.rglob("secret.txt"))


@states("R32.6", "no file tool reaches what is outside of the workspace")
@states("R33.3", "read_file, edit_file, ls, glob and grep are confined as well")
@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("read_file", {"file_path": "/../bob/files/secret.txt"}),
        ("read_file", {"file_path": "{workspaces}/bob/files/secret.txt"}),
        (
            "edit_file",
            {"file_path": "/../bob/files/secret.txt", "old_string": "tu", "new_string": ""},
        ),
        ("ls", {"path": "/../bob/files"}),
        ("glob", {"pattern": "{workspaces}/**"}),
        ("glob", {"pattern": "**/secret.txt"}),
        ("grep", {"pattern": "lips", "path": "{workspaces}"}),
        ("grep", {"pattern": "lips"}),
    ],
)
def test_no_tool_reaches_outside(server: Running, tool: str, args: dict[str, str]) -> None:
    assert write(server, "/files/secret.txt", "tulips", "bob")["status"] in {"success", "error"}
    secret = workspace(server, "bob") / "files" / "secret.txt"
    given = json.dumps(args).replace("{workspaces}", str(workspace(server).parent))
    [result] = calls(server, tool, given)
    assert "tulips" not in str(result["data"]["result"])
    if result["data"]["status"] == "success":  # an error may name what was asked for
        assert "secret.txt" not in str(result["data"]["result"])
    assert secret.read_text(encoding="utf-8") == "tulips"


@states("R33.4", "the error says that it is not permitted")
def test_the_refusal_says_why(server: Running) -> None:
    text = str(write(server, "/../bob/files/a.txt", "x")["result"]).lower()
    assert any(word in text for word in ("permission", "denied", "not allowed", "outside"))


@states("R32.7", "DATAAGENT_WORKSPACE_ROOT", "/data/workspaces/{user_id} in containers")
def test_the_workspaces_are_where_the_setting_says(tmp_path: Path) -> None:
    root = tmp_path / "elsewhere"
    settings = {"DATAAGENT_WORKSPACE_ROOT": str(root), "DATAAGENT_AUTO_APPROVE": "true"}
    with running(tmp_path, **settings) as server:
        assert write(server, "/files/here.txt", "x")["status"] == "success"
        assert (root / "alice" / "files" / "here.txt").is_file()
    image = (Path(__file__).parents[2] / "infra").rglob("*ockerfile*")
    assert any("DATAAGENT_HOME=/data" in each.read_text(encoding="utf-8") for each in image)


# -- R33: workspaces --------------------------------------------------------------------------


@states("R33.1", "the workspace is made at the first login")
def test_the_first_login_makes_the_workspace(server: Running) -> None:
    account = {"username": f"u{uuid.uuid4().hex[:8]}", "password": "correct horse"}
    made = server.post("/api/users", {**account, "role": "user"}, "root")
    assert made.is_success, made.text
    with server.http(None, Origin=server.url) as client:
        assert client.post("/api/auth/login", json=account).is_success
    folders = {path.name for path in workspace(server, made.json()["id"]).iterdir()}
    assert {"files", "uploads", "outputs"} <= folders


@states("R33.5", "1 GB by default", "the quota can be set")
def test_the_quota_is_a_gigabyte(
    server: Running, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from dataagent_server.config import ServerSettings

    monkeypatch.chdir(tmp_path)
    assert ServerSettings().workspace_quota == GIB
    assert server.get("/api/v1/users/alice/workspace").json()["quota"] == 20_000


@states("R33.6", "more than the quota is not written", "the user is told")
@states("P53", "more than the quota is not written")
def test_more_than_the_quota_is_refused(server: Running) -> None:
    result = write(server, "/files/large.txt", "x" * 30_000)
    assert result["status"] == "error"
    assert "quota" in str(result["result"]).lower()
    assert not (workspace(server) / "files" / "large.txt").exists()


@states("R33.6", "an upload over the quota is refused")
def test_an_upload_over_the_quota_is_refused(server: Running) -> None:
    with server.http() as client:
        answer = client.post("/api/files/upload", files={"file": ("a.txt", b"x" * 30_000)})
    assert answer.status_code == 429
    assert answer.json()["error_code"] == "quota_exceeded"
    assert "full" in answer.json()["message"]
    assert list((workspace(server) / "uploads").iterdir()) == []


def grow_old(folder: Path, days: float) -> None:
    """Make a folder look unused for so long."""
    then = time.time() - days * 86_400
    for path in [*folder.rglob("*"), folder]:
        os.utime(path, (then, then))


@states("R33.7", "a workspace nobody used for 30 days is archived, and comes back with its use")
@states("R34.5", "a memory nobody used for 90 days is erased")
async def test_unused_workspaces_and_memories_are_archived(tmp_path: Path) -> None:
    with started(tmp_path, DATAAGENT_AUTO_APPROVE="true") as server:
        for user in ("alice", "bob"):
            assert write(server, "/files/old.txt", "Old.", user)["status"] == "success"
            assert write(server, "/memories/AGENTS.md", "Known.", user)["status"] == "success"
        await asyncio.to_thread(server.stop)
        for user, days, months in (("alice", 31, 91), ("bob", 29, 89)):
            grow_old(workspace(server, user), days)
            grow_old(memory(server, user), months)
        await asyncio.to_thread(server.start)
        await until(lambda: not list(memory(server, "alice").rglob("*.md")))
        assert not workspace(server).exists()
        assert (workspace(server, "bob") / "files" / "old.txt").is_file()
        assert list(memory(server, "bob").rglob("*.md"))
        [back] = calls(server, "read_file", '{"file_path": "/files/old.txt"}')
        assert "Old." in str(back["data"]["result"])


@states("R33.7", "30 days by default", "the days can be set")
def test_the_days_until_a_workspace_is_archived(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from dataagent_server.config import ServerSettings

    monkeypatch.chdir(tmp_path)
    assert ServerSettings().workspace_archive_days == 30
    monkeypatch.setenv("DATAAGENT_WORKSPACE_ARCHIVE_DAYS", "7")
    assert ServerSettings().workspace_archive_days == 7


# -- R34: memory ------------------------------------------------------------------------------


def memory(server: Running, user: str) -> Path:
    return server.process.home / "data" / "memories" / user


@states("R34.1", "memory is kept for each user")
@states("R34.3", "a user's memory only is read")
@states("R32.2", "memory is the user's own")
@states("P54", "a conversation reads the user's memory only")
def test_memory_is_the_users_own(server: Running) -> None:
    write(server, "/memories/AGENTS.md", "Revenue is net of returns.")
    [own] = calls(server, "read_file", '{"file_path": "/memories/AGENTS.md"}')
    [other] = calls(server, "read_file", '{"file_path": "/memories/AGENTS.md"}', "bob")
    assert "net of returns" in str(own["data"]["result"])
    assert "net of returns" not in str(other["data"]["result"])


@states("R34.2", "{storage_root}/memories/{user_id}/{assistant_id}/")
@pytest.mark.parametrize("assistant_id", ["general", "sql"])
def test_memory_is_kept_under_the_assistant(server: Running, assistant_id: str) -> None:
    text = f"For {assistant_id}."
    args = json.dumps({"file_path": "/memories/AGENTS.md", "content": text})
    server.chat(f"!tool write_file {args}", "bob", assistant_id=assistant_id)
    found = [
        path.relative_to(memory(server, "bob"))
        for path in memory(server, "bob").rglob("*.md")
        if path.read_text(encoding="utf-8") == text
    ]
    assert [path.parts[0] for path in found] == [assistant_id]


@states("R34.4", "DELETE /api/v1/users/{user_id}/memory")
def test_a_user_erases_their_memory(server: Running) -> None:
    write(server, "/memories/AGENTS.md", "To be forgotten.")
    assert server.get("/api/v1/users/alice/memory").json()["items"]
    assert server.send("DELETE", "/api/v1/users/alice/memory").is_success
    assert server.get("/api/v1/users/alice/memory").json()["items"] == []
    assert list(memory(server, "alice").rglob("*.md")) == []


@states("R34.5", "90 days by default", "the days can be set")
def test_the_days_a_memory_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from dataagent_server.config import ServerSettings

    monkeypatch.chdir(tmp_path)
    assert ServerSettings().memory_retention_days == 90
    monkeypatch.setenv("DATAAGENT_MEMORY_RETENTION_DAYS", "7")
    assert ServerSettings().memory_retention_days == 7


# -- R35: tenants -----------------------------------------------------------------------------

ACME = {
    "tenant_id": "acme",
    "name": "Acme",
    "max_users": 1,
    "max_sessions_per_user": 2,
    "max_mcp_servers": 1,
    "workspace_quota": 1000,
    "features_enabled": {"mcp": True, "tool:read_file": False},
}


@pytest.fixture(scope="module")
def acme(tenants: Running) -> Running:
    """A tenant with alice in it."""
    made = tenants.post("/api/v1/tenants", ACME, "root")
    assert made.is_success, made.text
    joined = tenants.send("PUT", "/api/v1/tenants/acme/users/alice", {"role": "member"}, "root")
    assert joined.is_success, joined.text
    return tenants


@states("R35.1", "DATAAGENT_MULTI_TENANT=true", "off by default")
def test_tenants_are_off_by_default(server: Running) -> None:
    assert server.post("/api/v1/tenants", ACME, "root").is_error


@states(
    "R35.2",
    "tenant_id",
    "name",
    "max_users",
    "max_sessions_per_user",
    "max_mcp_servers",
    "workspace_quota",
    "features_enabled",
)
def test_a_tenant_has_its_fields(acme: Running) -> None:
    found = acme.get("/api/v1/tenants/acme", "root").json()
    assert ACME.items() <= found.items()


@states("R35.3", "REST manages tenants", "for administrators only")
@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/api/v1/tenants", None),
        ("POST", "/api/v1/tenants", {"name": "Mine"}),
        ("PUT", "/api/v1/tenants/acme", {"name": "Mine"}),
        ("DELETE", "/api/v1/tenants/acme", None),
    ],
)
def test_tenants_are_for_administrators(acme: Running, method: str, path: str, body: Any) -> None:
    assert acme.send(method, path, body, "bob").status_code == 403
    if method == "GET":
        assert acme.send(method, path, body, "root").status_code == 200


@states("R35.3", "PUT takes a whole tenant, its id too")
def test_a_whole_tenant_can_be_put(acme: Running) -> None:
    changed = acme.send("PUT", "/api/v1/tenants/acme", ACME, "root")
    assert changed.status_code == 200, changed.text
    assert changed.json()["name"] == "Acme"


@states("R35.4", "429 over the number of sessions")
def test_one_session_too_many_is_429(acme: Running) -> None:
    for each in acme.get("/api/v1/sessions").json()["items"]:
        acme.send("DELETE", f"/api/v1/sessions/{each['session_id']}")
    for _ in range(2):
        assert acme.chat("!echo Hi.")
    answer = acme.post("/api/v1/chat", {"message": "!echo Hi."})
    assert answer.status_code == 429
    assert {"error_code", "message"} <= set(answer.json())
    for each in acme.get("/api/v1/sessions").json()["items"]:
        acme.send("DELETE", f"/api/v1/sessions/{each['session_id']}")


@states("R35.4", "429 over the number of MCP servers", "429 over the number of users")
def test_one_server_or_user_too_many_is_429(acme: Running) -> None:
    add(acme, "one", disabled=True)
    answer = acme.post(path_of(), {"name": "two", **stdio_command(), "disabled": True})
    acme.send("DELETE", path_of(name="one"))
    assert answer.status_code == 429
    joined = acme.send("PUT", "/api/v1/tenants/acme/users/bob", {"role": "member"}, "root")
    assert joined.status_code == 429


@states("R35.4", "429 over the bytes of a workspace")
def test_a_file_too_large_for_the_tenant_is_429(acme: Running) -> None:
    with acme.http() as client:
        answer = client.post("/api/files/upload", files={"file": ("a.txt", b"x" * 2000)})
    assert answer.status_code == 429
    assert {"error_code", "message"} <= set(answer.json())


@states("R35.5", "a tool is switched off for a tenant", "MCP is switched off for a tenant")
def test_a_feature_is_switched_off(acme: Running) -> None:
    [refused] = calls(acme, "read_file", '{"file_path": "/files/a.txt"}')
    assert refused["data"]["status"] in {"denied", "error"}
    [allowed] = calls(acme, "read_file", '{"file_path": "/files/a.txt"}', "bob")
    assert allowed["data"]["status"] != "denied"
    off = {**ACME, "features_enabled": {"mcp": False}}
    del off["tenant_id"]
    assert acme.send("PUT", "/api/v1/tenants/acme", off, "root").is_success
    assert acme.post(path_of(), {"name": "off", **stdio_command()}).status_code in {403, 429}
    del off["features_enabled"]
    assert acme.send("PUT", "/api/v1/tenants/acme", off, "root").is_success
