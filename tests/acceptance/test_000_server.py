"""000 R16-R24 and 001 P23-P41: the server over HTTP and WebSocket, and its settings."""

from __future__ import annotations

import inspect
import json
import signal
import socket
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from pydantic import BaseModel, ValidationError
from websockets.exceptions import ConnectionClosed, InvalidStatus

from tests.acceptance.running import WRITE, Running, of_type, running, said
from tests.acceptance.states import states
from tests.end_to_end.server import Server, free_port
from tests.programs import programs, quick
from tests.services import fresh_database, fresh_redis_prefix, redis_url
from tests.source import ROOT
from tests.waiting import WAIT_SECONDS, until


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("server"), DATAAGENT_LOG_LEVEL="INFO") as started:
        yield started


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """One with a short patience, room for one connection, whose end ends its run, and origins."""
    with running(
        tmp_path_factory.mktemp("strict"),
        DATAAGENT_HITL_TIMEOUT="0.5",
        DATAAGENT_MAX_CONNECTIONS="1",
        DATAAGENT_ON_DISCONNECT="cancel",
        DATAAGENT_CORS_ORIGINS="https://one.example,https://two.example",
    ) as started:
        yield started


@pytest.fixture
def roomy(strict: Running) -> Running:
    """The same, once the connections of the tests before are gone."""
    wait_for_room(strict)
    return strict


def wait_for_room(server: Running) -> None:
    while server.post("/api/v1/chat", {"message": "!echo Hi."}).status_code == 503:
        pass


@pytest.fixture(scope="module")
def everyones(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    settings = {"DATAAGENT_API_KEYS": "", "DATAAGENT_ADMIN_API_KEYS": ""}
    folder = tmp_path_factory.mktemp("everyones")
    with running(folder, DATAAGENT_AUTH_DISABLED="true", **settings) as started:
        yield started


# -- R16: REST --------------------------------------------------------------------------------


@states("R16.1", "/api/v1")
@states("R16.2", "POST /api/v1/chat")
@states("R21.3", "session_id", "events")
@states("P23", "/api/v1/chat is there")
def test_chat_answers_with_the_session_and_the_events(server: Running) -> None:
    answer = server.post("/api/v1/chat", {"message": "!echo Hello there."})
    assert answer.status_code == 200
    body = answer.json()
    assert {"session_id", "events"} <= set(body)
    assert said(body["events"]) == "Hello there."
    assert body["events"][-1]["event_type"] == "done"


@states("R16.2", "GET /api/v1/sessions")
@states("R21.4", "session_id", "user_id", "assistant_id", "created_at", "last_active")
@states("P23", "/api/v1/sessions is there")
@states("P33", "SessionInfo has its fields")
def test_sessions_are_listed(server: Running) -> None:
    session_id = server.chat("!echo Hi.")["session_id"]
    answer = server.get("/api/v1/sessions").json()
    [found] = [each for each in answer["items"] if each["session_id"] == session_id]
    wanted = {"session_id", "user_id", "assistant_id", "created_at", "last_active"}
    assert wanted <= set(found)
    assert found["user_id"] == "alice"


@states("R16.2", "GET /api/v1/sessions/{session_id}", "DELETE /api/v1/sessions/{session_id}")
def test_a_session_is_shown_and_deleted(server: Running) -> None:
    path = f"/api/v1/sessions/{server.chat('!echo Hi.')['session_id']}"
    assert server.get(path).json()["session_id"] == path.rpartition("/")[2]
    assert server.send("DELETE", path).is_success
    assert server.get(path).status_code == 404


@states("R16.2", "GET /api/v1/agents")
def test_agents_are_listed(server: Running) -> None:
    items = server.get("/api/v1/agents").json()["items"]
    assert items
    assert all({"id", "name"} <= set(each) for each in items)


@states("R16.2", "GET /api/v1/health")
@states("R22.3", "/api/v1/health")
@states("R22.4", "status", "version", "uptime")
@states("P34", "status", "version", "uptime")
@states("P23", "/api/v1/health is there")
def test_health_says_status_version_and_uptime(server: Running) -> None:
    answer = server.get("/api/v1/health", user=None)
    assert answer.status_code == 200
    assert {"status", "version", "uptime"} <= set(answer.json())
    assert isinstance(answer.json()["uptime"], float)


@states("R16.3", "JSON")
@states("P24", "Content-Type: application/json")
@pytest.mark.parametrize("path", ["/health", "/sessions", "/agents", "/no-such-thing"])
def test_an_answer_is_json(server: Running, path: str) -> None:
    answer = server.get(f"/api/v1{path}")
    assert answer.headers["content-type"].startswith("application/json")
    answer.json()


@states("R16.4", "error_code", "message")
@states("P25", "error_code", "message")
@states("R21.5", "error_code", "message", "details")
@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", "/api/v1/sessions/00000000-0000-4000-8000-000000000000", None, 404),
        ("GET", "/api/v1/no-such-thing", None, 404),
        ("GET", "/api/v1/users/bob/mcp-servers", None, 403),
        ("POST", "/api/v1/chat", {}, 422),
        ("POST", "/api/v1/chat", {"message": 7}, 422),
        ("PATCH", "/api/v1/health", None, 405),
    ],
)
def test_an_error_has_a_code_and_a_message(
    server: Running, method: str, path: str, body: Any, status: int
) -> None:
    answer = server.send(method, path, body)
    assert answer.status_code == status
    assert {"error_code", "message"} <= set(answer.json()) <= {"error_code", "message", "details"}
    assert isinstance(answer.json()["error_code"], str)


@states("R16.5", "CORS can be configured")
@states("R20.2", "DATAAGENT_CORS_ORIGINS with commas")
def test_the_origins_of_the_settings_are_allowed(strict: Running) -> None:
    with strict.http() as client:
        for origin in ("https://one.example", "https://two.example"):
            answer = client.get("/api/v1/health", headers={"Origin": origin})
            assert answer.headers["access-control-allow-origin"] == origin
        other = client.get("/api/v1/health", headers={"Origin": "https://three.example"})
    assert "access-control-allow-origin" not in other.headers


# -- R17: WebSocket ---------------------------------------------------------------------------


@states("R17.1", "/ws/chat/{session_id}")
@states("R17.3", "type", "payload")
@states("R17.4", "event_type", "the event's data")
@states("R17.5", "events come as they happen")
@states("R14.4", "WebSocket messages are JSON")
@states("P27", "event_type", "timestamp")
def test_a_socket_sends_what_the_agent_does(server: Running) -> None:
    with server.socket() as it:
        messages = it.chat("!think Hm.\n!echo Hello there.")
    assert said(messages) == "Hello there."
    assert all({"event_type", "data", "timestamp"} <= set(each) for each in messages)
    assert messages[-1]["data"]["cancelled"] is False


@states("R17.2", "the session_id is checked", "another user's session is refused")
@states("P51", "no socket of another user's session")
@pytest.mark.parametrize("whose", ["nobody's", "alice's"])
def test_a_socket_of_a_session_that_is_not_ones_own_is_refused(server: Running, whose: str) -> None:
    session_id = server.chat("!echo Mine.")["session_id"] if whose == "alice's" else "no-such"
    with server.socket(session_id, "bob") as it, pytest.raises(ConnectionClosed) as closed:
        it.until("done")
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code in {4403, 4404}


@states("R17.3", "a message without type and payload is an error")
@states("P26", "a message without type or payload is answered with an error")
@pytest.mark.parametrize(
    "frame", ["{}", '{"type": "chat"}', '{"payload": {}}', "[]", "no", '{"type": 1, "payload": {}}']
)
def test_a_malformed_message_is_an_error_and_no_end(server: Running, frame: str) -> None:
    with server.socket() as it:
        it.raw.send(frame)
        assert it.until("error")[-1]["data"]
        it.say("ping")
        it.until("pong")


@states("R17.6 (departs)", "the connection is cleaned up, the run goes on")
def test_a_dropped_connection_leaves_the_run(server: Running) -> None:
    with server.socket() as it:
        it.say("chat", {"message": "!slow 10 20\n!echo End."})
        it.until("text")
        it.raw.socket.shutdown(socket.SHUT_RDWR)
    with server.socket(it.session_id) as again:
        connected = again.receive()
        if connected["data"]["active_run"]:
            again.until("done")
    messages = server.get(f"/api/v1/sessions/{it.session_id}/messages").json()["items"]
    assert messages[-1]["content"].endswith("End.")


@states("R17.6", "DATAAGENT_ON_DISCONNECT=cancel: the run ends with its connection")
def test_a_dropped_connection_can_end_the_run(roomy: Running) -> None:
    with roomy.socket() as it:
        it.say("chat", {"message": "!slow 100000 20"})
        run_id = it.until("text")[-1]["run_id"]
        it.raw.socket.shutdown(socket.SHUT_RDWR)
    while (run := roomy.get(f"/api/v1/runs/{run_id}").json())["status"] == "running":
        pass
    assert run["status"] == "cancelled"


@states("R17.6", "a connection that drops is cleaned up")
@states("P28", "what a connection held is released")
def test_a_dropped_connection_makes_room_for_another(roomy: Running) -> None:
    with roomy.socket() as it:
        it.until("connected")
        it.raw.socket.shutdown(socket.SHUT_RDWR)
    wait_for_room(roomy)
    with roomy.socket() as it:
        assert said(it.chat("!echo Next.")) == "Next."


@states("R17.7", "a heartbeat: ping is answered with pong")
def test_ping_is_answered_with_pong(server: Running) -> None:
    with server.socket() as it:
        it.say("ping")
        assert it.until("pong")


# -- R18: approvals ---------------------------------------------------------------------------


@states("R18.1", "WebHITLHandler implements HITLHandler")
def test_the_web_handler_asks_as_any_handler() -> None:
    from dataagent_server.hitl import WebHITLHandler

    method = WebHITLHandler.request_approval
    assert inspect.iscoroutinefunction(method)
    assert list(inspect.signature(method).parameters)[1:3] == ["action_request", "session_id"]


@states("R18.2", "HITLRequestEvent over the WebSocket")
@states("R18.3", "approve over the WebSocket", "reject over the WebSocket")
@pytest.mark.parametrize(("decision", "cancelled"), [("approve", False), ("reject", True)])
def test_a_call_is_decided_over_the_socket(server: Running, decision: str, cancelled: bool) -> None:
    with server.socket() as it:
        it.say("chat", {"message": WRITE})
        request = it.until("hitl_request")[-1]["data"]
        assert request["action"]["name"] == "write_file"
        assert {"args", "description"} <= set(request["action"])
        it.say("hitl_decision", {"request_id": request["request_id"], "type": decision})
        ended = it.until("done")
    assert ended[-1]["data"]["cancelled"] is cancelled
    assert (said(ended) == "Written.") is not cancelled


@states("R18.4", "300 seconds by default")
def test_a_request_expires_after_300_seconds(server: Running) -> None:
    with server.socket() as it:
        it.say("chat", {"message": WRITE})
        request = it.until("hitl_request")[-1]
        it.say("cancel")
        it.until("done")
    assert request["data"]["expires_at"] - request["timestamp"] == pytest.approx(300, abs=1)


@states("R18.5", "no answer in time is a rejection")
@states("P29", "no answer in time is a rejection")
def test_a_request_without_an_answer_is_rejected(roomy: Running) -> None:
    with roomy.socket() as it:
        it.say("chat", {"message": WRITE})
        messages = it.until("done")
    assert of_type(messages, "hitl_request")
    assert messages[-1]["data"]["cancelled"] is True


# -- R19: who may come in ---------------------------------------------------------------------


@states("R19.1", "API keys")
@states("R19.2", "X-API-Key")
@states("R19.4", "several keys")
@states("R20.2", "DATAAGENT_API_KEYS with commas")
@states("P31", "each key of the list lets in")
@pytest.mark.parametrize("user", ["alice", "bob", "service"])
def test_each_key_lets_in(server: Running, user: str) -> None:
    assert server.get("/api/v1/sessions", user).status_code == 200


@states("R19.3", "401 without a valid key")
@states("P30", "401 without a valid key")
@pytest.mark.parametrize("headers", [{}, {"X-API-Key": "wrong"}, {"X-API-Key": ""}])
@pytest.mark.parametrize("path", ["/chat", "/sessions", "/agents"])
def test_without_a_valid_key_it_is_401(server: Running, path: str, headers: dict[str, str]) -> None:
    with httpx.Client(base_url=server.url, headers=headers, timeout=WAIT_SECONDS) as client:
        send = client.post if path == "/chat" else client.get
        answer = send(f"/api/v1{path}")
    assert answer.status_code == 401
    assert {"error_code", "message"} <= set(answer.json())


@states("R19.3", "no socket without a valid key: it is closed with 4401")
@pytest.mark.parametrize("headers", [{}, {"X-API-Key": "wrong"}])
def test_a_socket_without_a_valid_key_is_closed(server: Running, headers: dict[str, str]) -> None:
    with server.socket(user=None, **headers) as it, pytest.raises(ConnectionClosed) as closed:
        it.chat("!echo Hi.")
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 4401


@states("R19.5", "DATAAGENT_AUTH_DISABLED=true lets everyone in")
def test_without_authentication_everyone_is_let_in(everyones: Running) -> None:
    assert everyones.get("/api/v1/sessions", user=None).status_code == 200
    with everyones.socket(user=None) as it:
        assert said(it.chat("!echo Hi.")) == "Hi."


@states("R19.5", "DATAAGENT_AUTH_DISABLED=true is all that has to be set")
def test_authentication_can_be_switched_off_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DATAAGENT_AUTH_DISABLED", "true")
    assert settings_now().auth_disabled is True


# -- R20: settings ----------------------------------------------------------------------------


def settings_now() -> Any:
    """The server's settings from the environment."""
    return import_module("dataagent_server.config").ServerSettings()


@states(
    "R20.2",
    "DATAAGENT_HOST is 0.0.0.0 by default",
    "DATAAGENT_PORT is 8000 by default",
    "DATAAGENT_WORKERS is 1 by default",
    "DATAAGENT_SESSION_TIMEOUT is 3600 by default",
)
@states("R20.4", "what is not set has a default")
@states("P32", "what is not set has a default")
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("host", "0.0.0.0"),
        ("port", 8000),
        ("workers", 1),
        ("session_timeout", 3600),
        ("api_keys", []),
    ],
)
def test_a_setting_has_its_default(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, field: str, value: object
) -> None:
    monkeypatch.chdir(tmp_path)
    assert getattr(settings_now(), field) == value


@states("R20.1", "settings come from the environment")
@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("HOST", "127.0.0.1", "127.0.0.1"),
        ("PORT", "9000", 9000),
        ("API_KEYS", "a-key,b-key", ["a-key", "b-key"]),
        ("CORS_ORIGINS", "https://a.example,https://b.example", None),
        ("SESSION_TIMEOUT", "60", 60),
    ],
)
def test_a_setting_comes_from_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, text: str, value: object
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(f"DATAAGENT_{name}", text)
    assert getattr(settings_now(), name.lower()) == (value or text.split(","))


@states("R20.2 (departs)", "`make run` listens on 127.0.0.1 unless DATAAGENT_HOST is set")
@pytest.mark.parametrize(("set_to", "wanted"), [(None, "127.0.0.1"), ("0.0.0.0", "0.0.0.0")])
def test_make_run_is_for_this_machine(
    set_to: str | None, wanted: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("DATAAGENT_HOST", raising=False)
    if set_to is not None:
        monkeypatch.setenv("DATAAGENT_HOST", set_to)
    server = tmp_path / "dataagent-server"
    server.write_text('#!/bin/sh\necho "listens on $DATAAGENT_HOST"\n', encoding="utf-8")
    server.chmod(0o755)
    nothing_to_set_up = [f"BIN={tmp_path}", "SETUP=", "WEB_APP=", "-o", "bubblewrap"]
    make = ["make", "run", *nothing_to_set_up]
    done = subprocess.run(make, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout == f"listens on {wanted}\n", done.stderr


@pytest.mark.slow
@states("R20.2", "DATAAGENT_WORKERS sets the number of processes")
@states("R23.3", "each worker is a process that serves")
async def test_each_worker_is_a_process(tmp_path: Path) -> None:
    with ExitStack() as stack:
        url = stack.enter_context(fresh_database("postgres", tmp_path))
        prefix = stack.enter_context(fresh_redis_prefix())
        shared = {"DATAAGENT_REDIS_URL": redis_url(), "DATAAGENT_REDIS_PREFIX": prefix}
        server = Server(tmp_path, **shared, DATAAGENT_DATABASE_URL=url, DATAAGENT_WORKERS="2")
        await server.start()
        try:
            await until(lambda: len(listeners(server)) == 2)
        finally:
            await server.signal(signal.SIGTERM)


def listeners(server: Server) -> set[int]:
    """The processes of a server that listen on its port."""
    found: set[int] = set()
    for each in server.process.children():
        with suppress(psutil.Error):
            if any(it.laddr.port == server.port for it in each.net_connections("tcp")):
                found.add(each.pid)
    return found


@states("R23.3", "workers can be set")
def test_workers_can_be_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DATAAGENT_WORKERS", "4")
    monkeypatch.setenv("DATAAGENT_REDIS_URL", "redis://127.0.0.1:6379/0")
    monkeypatch.setenv("DATAAGENT_DATABASE_URL", "postgresql://postgres@127.0.0.1/test")
    assert settings_now().workers == 4


@states("R20.3", "--host", "--port", "--workers")
def test_the_help_shows_the_options() -> None:
    shown = subprocess.run(
        [quick("dataagent-server"), "--help"], capture_output=True, text=True, check=True
    ).stdout
    assert all(option in shown for option in ("--host", "--port", "--workers"))


@states("R20.3", "the command line overrides the environment")
@states("R15.5", "uvicorn serves the application")
async def test_the_command_line_overrides_the_environment(tmp_path: Path) -> None:
    port = free_port()
    env = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "DATAAGENT_PORT": str(free_port())}
    env |= {"DATAAGENT_SAMPLE_DATA": "false", "DATAAGENT_MODEL": "scripted"}
    words = ["dataagent-server", "--host", "127.0.0.1", "--port", str(port)]
    program = programs().start(words, env=env, log=tmp_path / "log", cwd=tmp_path)
    try:
        await until(lambda: answers(port) or not program.is_alive)
        assert answers(port), (tmp_path / "log").read_text()
    finally:
        program.kill()


def answers(port: int) -> bool:
    """Whether a server answers there."""
    try:
        return httpx.get(f"http://127.0.0.1:{port}/api/v1/health").status_code == 200
    except httpx.HTTPError:
        return False


# -- R21: models ------------------------------------------------------------------------------


@states("R21.1", "Pydantic models")
@states("R21.2", "message", "session_id is optional", "assistant_id is optional")
@states("R21.3", "ChatResponse is exported")
@states("R21.4", "SessionInfo is exported")
@states("R21.5", "details is optional")
@states("R21.6", "type", "payload")
@states("P33", "ChatRequest, ChatResponse, SessionInfo, ErrorResponse have their fields")
@pytest.mark.parametrize(
    ("name", "required", "optional"),
    [
        ("ChatRequest", {"message"}, {"session_id", "assistant_id"}),
        ("ChatResponse", {"session_id", "events"}, set[str]()),
        (
            "SessionInfo",
            {"session_id", "user_id", "assistant_id", "created_at", "last_active"},
            set[str](),
        ),
        ("ErrorResponse", {"error_code", "message"}, {"details"}),
        ("WebSocketMessage", {"type", "payload"}, set[str]()),
    ],
)
def test_a_model_has_its_fields(name: str, required: set[str], optional: set[str]) -> None:
    model = getattr(import_module("dataagent_server.models"), name)
    assert issubclass(model, BaseModel)
    fields = model.model_fields
    assert required | optional <= set(fields)
    assert {each for each in required if not fields[each].is_required()} == set()
    assert {each for each in optional if fields[each].is_required()} == set()


@states("R21.2", "a request without message is refused")
def test_a_chat_request_needs_a_message() -> None:
    model = import_module("dataagent_server.models").ChatRequest
    assert model(message="Hi").session_id is None
    with pytest.raises(ValidationError):
        model(session_id="a")


# -- R22: logs --------------------------------------------------------------------------------


@states("R22.1", "logs are JSON")
@states("R22.2", "timestamp", "level", "message", "request_id")
@states("R22.5", "the request's id is in the log")
@states("P35", "each request has an id of its own, which is in the log")
async def test_a_request_is_logged_with_its_id(server: Running) -> None:
    first, second = (server.get("/api/v1/sessions") for _ in range(2))
    ids = [each.headers["x-request-id"] for each in (first, second)]
    assert len(set(ids)) == 2
    await until(lambda: ids[1] in server.log())
    lines = [json.loads(line) for line in server.log().splitlines() if line.startswith("{")]
    found = [line for line in lines if line.get("request_id") == ids[0]]
    assert found
    assert all({"timestamp", "level", "message", "request_id"} <= set(line) for line in found)
    assert all({"timestamp", "level", "message", "request_id"} <= set(line) for line in lines)


# -- R23: many at once ------------------------------------------------------------------------


@pytest.mark.slow
@states("R23.1", "100 users at once")
@states("R23.2", "connections do not block each other")
def test_a_hundred_users_are_answered_at_once(server: Running) -> None:
    with ExitStack() as stack:
        sockets = [stack.enter_context(server.socket()) for _ in range(100)]
        for it in sockets:
            it.say("chat", {"message": "!slow 3 20\n!echo End."})
        assert all(said(it.until("done")).endswith("End.") for it in sockets)


@states("R23.4", "one user's run does not hold up another's")
@states("P36", "one connection does not hold up another")
def test_a_slow_answer_delays_no_other(server: Running) -> None:
    with server.socket() as slow, server.socket(user="bob") as quick_one:
        slow.say("chat", {"message": "!slow 100000 50"})
        slow.until("text")
        assert said(quick_one.chat("!echo Quick.")) == "Quick."
        slow.say("cancel")
        assert slow.until("done")[-1]["data"]["cancelled"] is True


@states("R23.5", "connections may come and go at once")
@states("P37", "connections may come and go at once")
def test_connections_that_come_and_go_leave_nothing(server: Running) -> None:
    session_id = str(uuid.uuid4())
    with ExitStack() as stack:
        for _ in range(10):
            stack.enter_context(server.socket(session_id))
    with server.socket(session_id) as it:
        assert said(it.chat("!echo Still here.")) == "Still here."


@states("R23.6", "503 over capacity", "with a hint to try again later")
@states("P38", "503 over capacity")
def test_a_connection_too_many_is_503(roomy: Running) -> None:
    with roomy.socket() as it:
        it.receive()
        with pytest.raises(InvalidStatus) as refused, roomy.socket():
            pass
    response = refused.value.response
    assert response.status_code == 503
    assert response.headers["Retry-After"]
    assert "again" in json.loads(response.body or b"{}")["message"].lower()


@states("R23.6", "503 over capacity over REST, with a hint to try again later")
def test_a_request_too_many_is_503(roomy: Running) -> None:
    with roomy.socket() as it:
        it.receive()
        answer = roomy.post("/api/v1/chat", {"message": "!echo Hi."})
    assert answer.status_code == 503
    assert answer.headers["Retry-After"]
    assert {"error_code", "message"} <= set(answer.json())
    assert "again" in answer.json()["message"].lower()


# -- R24: stopping ----------------------------------------------------------------------------


@states("R24.1", "cancel over the WebSocket")
@states("R24.2", "the run stops")
@states("R24.3", "DoneEvent(cancelled=True)")
@states("R24.5", "at once")
@states("P39", "cancel → DoneEvent(cancelled=True)")
@states("P40", "at once")
def test_cancel_stops_the_run(server: Running) -> None:
    with server.socket() as it:
        it.say("chat", {"message": "!slow 100000 50\n!echo End."})
        it.until("text")
        it.say("cancel")
        messages = it.until("done")
    assert messages[-1]["data"]["cancelled"] is True
    assert "End." not in said(messages)


@states("R24.4", "POST /api/v1/chat/{session_id}/cancel")
@states("R24.6", "what the run held is released")
@states("P41", "what the run held is released: the next message is answered")
def test_cancel_over_rest_stops_the_run(server: Running) -> None:
    with server.socket() as it:
        it.say("chat", {"message": "!slow 100000 50"})
        it.until("text")
        answer = server.post(f"/api/v1/chat/{it.session_id}/cancel")
        assert answer.status_code == 200
        assert it.until("done")[-1]["data"]["cancelled"] is True
        assert said(it.chat("!echo Next.")) == "Next."


@states("R24.2", "the run stops in the middle of a tool")
@states("R24.6", "what a tool had started is ended")
async def test_cancel_ends_what_a_tool_has_started(server: Running) -> None:
    with server.socket() as it:
        it.say("chat", {"message": '!tool execute {"command": "sleep 31415"}'})
        await until(lambda: sleepers(server) != [])
        it.say("cancel")
        assert it.until("done")[-1]["data"]["cancelled"] is True
    await until(lambda: sleepers(server) == [])


def sleepers(server: Running) -> list[int]:
    """The processes of that command."""
    found: list[int] = []
    for each in server.process.process.children(recursive=True):
        with suppress(psutil.Error):
            found += [each.pid] if "sleep 31415" in " ".join(each.cmdline()) else []
    return found
