"""001 DataAgentServer 设计: directories, names, settings, cancelling, the connection manager."""

from __future__ import annotations

import asyncio
import inspect
import json
import signal
import uuid
from collections.abc import Iterator, MutableMapping
from importlib import import_module
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import Depends, FastAPI, HTTPException, WebSocket
from pydantic_settings import BaseSettings

from dataagent_core import events as ev
from dataagent_core import hitl
from tests.acceptance.running import Running, running, said
from tests.acceptance.states import states
from tests.end_to_end.server import free_port
from tests.programs import programs
from tests.services import fresh_database, fresh_redis_prefix, redis_url
from tests.waiting import WAIT_SECONDS, until

LIB = Path(__file__).parents[2] / "libs/dataagent-server"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("server")) as started:
        yield started


# -- directories ------------------------------------------------------------------------------


@states(
    "001 §Server Directory Structure",
    "pyproject.toml",
    "README.md",
    "dataagent_server/__init__.py",
    "main.py",
    "api/__init__.py",
    "api/deps.py",
    "api/v1/__init__.py",
    "api/v1/chat.py",
    "api/v1/sessions.py",
    "api/v1/agents.py",
    "api/v1/health.py",
    "ws/__init__.py",
    "ws/manager.py",
    "ws/handlers.py",
    "hitl/__init__.py",
    "hitl/websocket_handler.py",
    "models/__init__.py",
    "models/chat.py",
    "models/sessions.py",
    "models/fields.py",
    "auth/__init__.py",
    "auth/api_key.py",
    "config/__init__.py",
    "config/settings.py",
    "tests/conftest.py",
)
@states("001 §MCP Configuration REST API", "api/v1/mcp.py")
@pytest.mark.parametrize(
    "path",
    [
        "pyproject.toml",
        "README.md",
        *(
            f"dataagent_server/{name}"
            for name in (
                *("__init__.py", "main.py", "api/__init__.py", "api/deps.py", "api/v1/__init__.py"),
                *("api/v1/chat.py", "api/v1/sessions.py", "api/v1/agents.py", "api/v1/health.py"),
                *("api/v1/mcp.py", "ws/__init__.py", "ws/manager.py", "ws/handlers.py"),
                *("hitl/__init__.py", "hitl/websocket_handler.py", "models/__init__.py"),
                *("models/chat.py", "models/sessions.py", "models/fields.py", "auth/__init__.py"),
                *("auth/api_key.py", "config/__init__.py", "config/settings.py"),
            )
        ),
        "tests/conftest.py",
    ],
)
def test_the_file_is_where_the_document_has_it(path: str) -> None:
    assert (LIB / path).is_file()


@states("001 §Server Directory Structure", "tests of api, ws and models in folders of their own")
@pytest.mark.parametrize("folder", ["api", "ws", "models"])
def test_the_tests_are_where_the_document_has_them(folder: str) -> None:
    folders = [LIB / "tests" / folder, LIB / "tests" / f"test_{folder}"]
    assert any(list(each.glob("test_*.py")) for each in folders)


@states(
    "001 §Server Architecture",
    "ConnectionManager",
    "WebSocketChatHandler",
    "WebSocketHITLHandler",
)
@pytest.mark.parametrize(
    ("package", "name"),
    [("ws", "ConnectionManager"), ("ws", "WebSocketChatHandler"), ("hitl", "WebSocketHITLHandler")],
)
def test_the_class_has_its_name(package: str, name: str) -> None:
    assert inspect.isclass(getattr(import_module(f"dataagent_server.{package}"), name))


@states("R18.1", "WebHITLHandler and WebSocketHITLHandler are one class")
@states("001 §WebSocket HITL 处理器", "WebSocketHITLHandler is a HITLHandler")
def test_the_two_names_of_the_handler_are_one() -> None:
    names = import_module("dataagent_server.hitl")
    assert names.WebHITLHandler is names.WebSocketHITLHandler
    assert hitl.HITLHandler in names.WebSocketHITLHandler.__mro__
    assert inspect.iscoroutinefunction(names.WebHITLHandler.request_approval)


# -- REST and WebSocket -----------------------------------------------------------------------


@states(
    "001 §REST API 路由",
    "POST /api/v1/chat",
    "GET /api/v1/sessions",
    "GET /api/v1/sessions/{id}",
    "DELETE /api/v1/sessions/{id}",
    "GET /api/v1/agents",
    "GET /api/v1/health",
)
@states("P23", "every route is registered")
def test_the_routes_are_registered(server: Running) -> None:
    paths = server.get("/openapi.json", user=None).json()["paths"]
    wanted = {
        ("/api/v1/chat", "post"),
        ("/api/v1/sessions", "get"),
        ("/api/v1/sessions/{session_id}", "get"),
        ("/api/v1/sessions/{session_id}", "delete"),
        ("/api/v1/agents", "get"),
        ("/api/v1/health", "get"),
        ("/api/v1/chat/{session_id}/cancel", "post"),
        ("/api/v1/sessions/{session_id}/messages", "get"),
        ("/api/v1/users/{user_id}/mcp-servers", "get"),
        ("/api/v1/users/{user_id}/mcp-servers", "post"),
        ("/api/v1/users/{user_id}/mcp-servers/{server_name}", "put"),
        ("/api/v1/users/{user_id}/mcp-servers/{server_name}", "delete"),
    }
    assert wanted <= {(path, method) for path, methods in paths.items() for method in methods}


@states(
    "001 §WebSocket 协议",
    '{"type": "chat", "payload": {"message"}}',
    '{"type": "hitl_decision", …}',
    '{"type": "ping", "payload": {}}',
    '{"event_type", "data", "timestamp"}',
    "event_type text",
    "event_type tool_call",
    "event_type tool_result",
    "event_type hitl_request",
    "event_type done",
)
def test_a_conversation_over_the_socket(server: Running) -> None:
    message = '!tool write_file {"file_path": "/files/a.txt", "content": "x"}\n!echo Written.'
    with server.socket() as it:
        it.raw.send('{"type": "ping", "payload": {}}')
        it.until("pong")
        it.raw.send(json.dumps({"type": "chat", "payload": {"message": message}}))
        asked = it.until("hitl_request")
        decision = {"request_id": asked[-1]["data"]["request_id"], "type": "approve"}
        it.raw.send(json.dumps({"type": "hitl_decision", "payload": decision}))
        messages = [*asked, *it.until("done")]
    types = [each["event_type"] for each in messages]
    assert {"text", "tool_call", "tool_result", "hitl_request", "done"} <= set(types)
    assert all({"event_type", "data", "timestamp"} <= set(each) for each in messages)
    assert all(isinstance(each["timestamp"], float) for each in messages)


@states(
    "001 §WebSocket 取消协议",
    '{"type": "cancel", "payload": {"session_id"}}',
    'done with data {"cancelled": true, "reason": "user_cancelled"}',
)
def test_cancel_names_the_session(server: Running) -> None:
    with server.socket() as it:
        it.say("chat", {"message": "!slow 100000 50"})
        it.until("text")
        it.say("cancel", {"session_id": it.session_id})
        done = it.until("done")[-1]
    assert done["data"]["cancelled"] is True
    assert done["data"]["reason"] == "user_cancelled"
    assert isinstance(done["timestamp"], float)


@states("001 §Server Architecture", "Middleware Layer: CORS, every origin unless it is set")
def test_any_origin_may_read_the_api(server: Running) -> None:
    with server.http() as client:
        answer = client.get("/api/v1/health", headers={"Origin": "https://any.example"})
    assert answer.headers["access-control-allow-origin"] == "*"


@states("001 §Server Architecture", "Middleware Layer: Auth, RequestID")
@states("P25", "a refusal has error_code and message")
@pytest.mark.parametrize(("user", "status"), [(None, 401), ("alice", 403)])
def test_a_refusal_has_a_code_a_message_and_an_id(
    server: Running, user: str | None, status: int
) -> None:
    answer = server.get("/api/v1/tenants", user)
    assert answer.status_code == status
    assert {"error_code", "message"} <= set(answer.json()) <= {"error_code", "message", "details"}
    assert answer.headers["x-request-id"]


@states(
    "001 §REST API 取消端点",
    'POST /{session_id}/cancel: 200 {"status": "cancelled", "session_id"}',
)
def test_a_run_is_cancelled_over_rest(server: Running) -> None:
    with server.socket() as it:
        it.say("chat", {"message": "!slow 100000 50"})
        it.until("text")
        answer = server.post(f"/api/v1/chat/{it.session_id}/cancel")
        it.until("done")
    assert answer.status_code == 200
    assert (answer.json()["status"], answer.json()["session_id"]) == ("cancelled", it.session_id)


@states(
    "001 §REST API 取消端点", "404 with nothing running", "No active chat found for this session"
)
@pytest.mark.parametrize("is_known", [True, False])
def test_nothing_to_cancel_is_404(server: Running, is_known: bool) -> None:
    session_id = server.chat("!echo Hi.")["session_id"] if is_known else str(uuid.uuid4())
    answer = server.post(f"/api/v1/chat/{session_id}/cancel")
    assert answer.status_code == 404
    assert {"error_code", "message"} <= set(answer.json())
    if is_known:
        assert "no active chat found for this session" in answer.json()["message"].lower()


# -- the connection manager -------------------------------------------------------------------


class Wire:
    """The other end of a WebSocket: what was sent to it."""

    def __init__(self) -> None:
        self.sent: list[MutableMapping[str, Any]] = []
        self._first = True

    def socket(self) -> WebSocket:
        """A socket that is connecting."""
        scope: dict[str, Any] = {
            "type": "websocket",
            "path": "/ws/chat/s-1",
            "headers": [],
            "query_string": b"",
            "subprotocols": [],
            "extensions": {},
        }
        return WebSocket(scope, self._receive, self._send)

    async def _receive(self) -> MutableMapping[str, Any]:
        if self._first:
            self._first = False
            return {"type": "websocket.connect"}
        return await asyncio.Future()

    async def _send(self, message: MutableMapping[str, Any]) -> None:
        self.sent.append(message)

    @property
    def messages(self) -> list[dict[str, Any]]:
        """What was sent, read as JSON."""
        sent = [each for each in self.sent if each["type"] == "websocket.send"]
        return [json.loads(each.get("text") or each.get("bytes") or "") for each in sent]


def manager(**fields: Any) -> Any:
    """A `ConnectionManager` as the document builds it."""
    return import_module("dataagent_server.ws").ConnectionManager(**fields)


@states(
    "001 §连接管理器",
    "ConnectionManager(max_connections: int = 200)",
    "connect(websocket, session_id) -> bool, accepts the socket",
    "disconnect(session_id)",
    "send_event(session_id, event): {event_type, data, timestamp}",
)
async def test_a_manager_connects_sends_and_disconnects() -> None:
    kind = import_module("dataagent_server.ws").ConnectionManager
    assert inspect.signature(kind).parameters["max_connections"].default == 200
    connections, wire = manager(), Wire()
    assert await connections.connect(wire.socket(), "s-1") is True
    assert wire.sent[0]["type"] == "websocket.accept"
    await connections.send_event("s-1", ev.TextEvent(content="Hi.", is_final=True))
    await until(lambda: wire.messages)
    [message] = wire.messages
    assert (message["event_type"], message["data"]["content"]) == ("text", "Hi.")
    assert isinstance(message["timestamp"], float)
    connections.disconnect("s-1")
    await connections.send_event("s-1", ev.TextEvent(content="Gone.", is_final=True))
    assert len(wire.messages) == 1


@states(
    "001 §连接管理器线程安全设计",
    "connect() is False when max_connections are there",
    "disconnect() makes room",
)
async def test_a_full_manager_takes_no_more() -> None:
    connections = manager(max_connections=1)
    assert await connections.connect(Wire().socket(), "s-1") is True
    assert await connections.connect(Wire().socket(), "s-2") is False
    connections.disconnect("s-1")
    assert await connections.connect(Wire().socket(), "s-2") is True


@states(
    "001 §负载过高保护",
    "check_capacity() raises HTTPException 503",
    "Service temporarily unavailable, please try again later",
)
async def test_a_full_manager_raises_an_error() -> None:
    connections = manager(max_connections=1)
    await connections.check_capacity()
    await connections.connect(Wire().socket(), "s-1")
    with pytest.raises(HTTPException) as refused:
        await connections.check_capacity()
    assert refused.value.status_code == 503
    assert refused.value.detail == ("Service temporarily unavailable, please try again later")


@states(
    "001 §连接管理器",
    "wait_for_decision(session_id, timeout) -> dict",
    "resolve_decision(session_id, decision)",
)
async def test_a_decision_that_is_waited_for_is_resolved() -> None:
    connections = manager()
    await connections.connect(Wire().socket(), "s-1")
    waiting = asyncio.create_task(connections.wait_for_decision("s-1", timeout=WAIT_SECONDS))
    while not waiting.done():
        await asyncio.sleep(0)
        connections.resolve_decision("s-1", {"type": "approve"})
    assert waiting.result() == {"type": "approve"}


@states("001 §连接管理器", "wait_for_decision() is None when nobody decides in time")
async def test_a_decision_that_does_not_come_is_none() -> None:
    connections = manager()
    await connections.connect(Wire().socket(), "s-1")
    assert await connections.wait_for_decision("s-1", timeout=0.01) is None


@states(
    "001 §任务取消机制",
    "start_task(session_id, coro) -> asyncio.Task",
    "cancel_task(session_id) is True and cancels it",
    "cancel_task(session_id) is False with nothing to cancel",
)
async def test_a_task_is_started_and_cancelled() -> None:
    connections = manager()
    assert await connections.cancel_task("s-1") is False
    task = await connections.start_task("s-1", asyncio.sleep(WAIT_SECONDS))
    assert isinstance(task, asyncio.Task)
    assert await connections.cancel_task("s-1") is True
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await connections.cancel_task("s-1") is False


@states("P28", "disconnect() ends all that the session had: socket, decision, task")
@states("P41", "a cancelled task is forgotten: another can be started")
async def test_disconnecting_leaves_nothing_of_a_session() -> None:
    connections, wire = manager(max_connections=1), Wire()
    await connections.connect(wire.socket(), "s-1")
    waiting = asyncio.create_task(connections.wait_for_decision("s-1", timeout=WAIT_SECONDS))
    task = await connections.start_task("s-1", asyncio.Event().wait())
    await asyncio.sleep(0)
    connections.disconnect("s-1")
    assert await waiting is None
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await connections.cancel_task("s-1") is False
    assert await connections.connect(Wire().socket(), "s-2") is True
    again = await connections.start_task("s-1", asyncio.sleep(0, "done"))
    assert await again == "done"


@states("P37", "many that connect and disconnect at once are counted right")
@states("001 §连接管理器线程安全设计", "no more than max_connections of those who come at once")
async def test_connections_that_come_at_once_are_counted() -> None:
    connections = manager(max_connections=20)
    names = [f"s-{number}" for number in range(50)]
    connected = await asyncio.gather(
        *(connections.connect(Wire().socket(), name) for name in names)
    )
    assert connected.count(True) == 20

    async def leave(name: str) -> None:
        connections.disconnect(name)

    async def come(name: str) -> bool:
        return await connections.connect(Wire().socket(), f"{name}-again")

    present = [name for name, is_in in zip(names, connected, strict=True) if is_in]
    await asyncio.gather(*(leave(name) for name in present), *(come(name) for name in present))
    with pytest.raises(HTTPException):
        await connections.check_capacity()
    for name in present:
        connections.disconnect(f"{name}-again")
    assert all([await come(name) for name in present])


@states(
    "001 §WebSocket HITL 处理器",
    "request_approval(action_request, session_id) -> Decision",
    "it is the decision that the manager is given",
)
@states("P29", "a handler whose time is up rejects")
async def test_a_handler_waits_for_the_managers_decision() -> None:
    handler = import_module("dataagent_server.hitl").WebSocketHITLHandler
    connections = manager()
    request = hitl.ActionRequest(name="write_file", args={}, description="Write.")
    for answer in ("approve", "reject"):
        waiting = asyncio.create_task(handler(connections).request_approval(request, "s-1"))
        while not waiting.done():
            await asyncio.sleep(0)
            connections.resolve_decision("s-1", {"type": answer})
        assert waiting.result()["type"] == answer
    late = await handler(connections, timeout=0.01).request_approval(request, "s-1")
    assert late["type"] == "reject"


# -- who may come in --------------------------------------------------------------------------


@states(
    "001 §认证中间件",
    "APIKeyAuth(api_keys, disabled=False)",
    "await auth(request) -> str | None",
    "a wrong or missing key is 401",
)
@pytest.mark.parametrize(
    ("key", "status"), [("a-key", 200), ("b-key", 200), ("no", 401), ("", 401)]
)
async def test_the_key_of_a_request_is_checked(key: str, status: int) -> None:
    auth = import_module("dataagent_server.auth").APIKeyAuth(["a-key", "b-key"])
    async with application(auth) as client:
        answer = await client.get("/", headers={"X-API-Key": key} if key else {})
    assert answer.status_code == status
    if status == 200:
        assert isinstance(answer.json(), str)


@states("001 §认证中间件", "disabled=True lets everyone in")
async def test_there_is_no_request_where_it_is_disabled() -> None:
    auth = import_module("dataagent_server.auth").APIKeyAuth(api_keys=[], disabled=True)
    async with application(auth) as client:
        answer = await client.get("/")
    assert answer.status_code == 200


def application(auth: Any) -> httpx.AsyncClient:
    """An application of one's own with the dependency."""
    app = FastAPI()

    async def whose(caller: Any = Depends(auth)) -> Any:  # noqa: B008 a dependency
        return caller

    app.add_api_route("/", whose)
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    return httpx.AsyncClient(transport=transport, base_url="http://here")


# -- settings ---------------------------------------------------------------------------------


@states(
    "001 §Server Configuration",
    'host: "0.0.0.0"',
    "port: 8000",
    "workers: 1",
    "api_keys: []",
    'cors_origins: ["*"]',
    "session_timeout: 3600",
    "auth_disabled: False",
    "max_connections: 200",
)
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("host", "0.0.0.0"),
        ("port", 8000),
        ("workers", 1),
        ("api_keys", []),
        ("cors_origins", ["*"]),
        ("session_timeout", 3600),
        ("auth_disabled", False),
        ("max_connections", 200),
    ],
)
def test_a_setting_has_its_default(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, field: str, value: object
) -> None:
    monkeypatch.chdir(tmp_path)
    assert getattr(import_module("dataagent_server.config").ServerSettings(), field) == value


@states(
    "001 §Server Configuration",
    "ServerSettings is a BaseSettings",
    "env_prefix DATAAGENT_",
    "env_file .env",
)
def test_settings_are_read_from_an_env_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".env").write_text("DATAAGENT_PORT=9000\nDATAAGENT_MAX_CONNECTIONS=7\n")
    monkeypatch.setenv("DATAAGENT_PORT", "9001")
    kind = import_module("dataagent_server.config").ServerSettings
    assert issubclass(kind, BaseSettings)
    made: Any = kind()
    assert (made.port, made.max_connections) == (9001, 7)


@states(
    "001 §多进程部署",
    "uvicorn dataagent_server.main:app --host --port",
)
async def test_uvicorn_serves_the_app(tmp_path: Path) -> None:
    await check_uvicorn(tmp_path)


@pytest.mark.slow
@states(
    "001 §多进程部署 (departs)",
    "uvicorn dataagent_server.main:app --workers 4, with Redis and a database server",
)
async def test_uvicorn_serves_the_app_in_several_processes(tmp_path: Path) -> None:
    with fresh_database("postgres", tmp_path) as url, fresh_redis_prefix() as prefix:
        await check_uvicorn(
            tmp_path,
            *("--workers", "4"),
            DATAAGENT_DATABASE_URL=url,
            DATAAGENT_REDIS_URL=redis_url(),
            DATAAGENT_REDIS_PREFIX=prefix,
        )


async def check_uvicorn(folder: Path, *options: str, **settings: str) -> None:
    """A message is answered by what uvicorn serves."""
    port = free_port()
    env = {"HOME": str(folder), "PATH": "/usr/bin:/bin", "DATAAGENT_HOME": str(folder / "data")}
    env |= {"DATAAGENT_SAMPLE_DATA": "false", "DATAAGENT_MODEL": "scripted", **settings}
    words = ["dataagent_server.main:app", "--host", "127.0.0.1", "--port", str(port), *options]
    program = programs().start(
        ["python", "-m", "uvicorn", *words],
        env={**env, "DATAAGENT_API_KEYS": "a-key"},
        cwd=folder,
        log=folder / "log",
    )
    try:
        await until(lambda: not program.is_alive or is_up(port))
        assert program.is_alive, (folder / "log").read_text(encoding="utf-8")
        answer = httpx.post(
            f"http://127.0.0.1:{port}/api/v1/chat",
            json={"message": "!echo Hi."},
            headers={"X-API-Key": "a-key"},
            timeout=WAIT_SECONDS,
        )
        assert said(answer.json()["events"]) == "Hi."
    finally:
        program.send_signal(signal.SIGTERM)  # it ends the processes it has started
        program.wait()


def is_up(port: int) -> bool:
    """Whether a server answers there."""
    try:
        return httpx.get(f"http://127.0.0.1:{port}/api/v1/health").status_code == 200
    except httpx.HTTPError:
        return False
