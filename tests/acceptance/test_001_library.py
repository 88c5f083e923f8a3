"""001 Components and Interfaces, Data Models, Error Handling: the core as it is written there."""

from __future__ import annotations

import asyncio
import dataclasses
import errno
import inspect
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest
from langchain_core.messages import ToolMessage
from langchain_core.tools import tool

from dataagent_core import events as ev
from dataagent_core import hitl
from tests.acceptance.library import WRITE, Handler, NotingModel, kinds, set_up, turn, turn_with
from tests.acceptance.states import states

NO_DEFAULT = dataclasses.MISSING


def fields_of(kind: Any) -> dict[str, dataclasses.Field[Any]]:
    return {field.name: field for field in dataclasses.fields(kind)}


# -- 1. events --------------------------------------------------------------------------------


@states(
    "001 §事件数据模型",
    'TextEvent: event_type "text", timestamp, content, is_final',
    'ToolCallEvent: event_type "tool_call", timestamp, tool_name, tool_args, tool_call_id',
    'ToolResultEvent: event_type "tool_result", timestamp, tool_call_id, result, status',
    'FileOperationEvent: event_type "file_operation", timestamp, operation, file_path, metrics,'
    " diff, status",
    'ErrorEvent: event_type "error", timestamp, error, recoverable',
    'DoneEvent: event_type "done", timestamp, token_usage, cancelled',
)
@pytest.mark.parametrize(
    ("name", "event_type", "values"),
    [
        ("TextEvent", "text", {"content": "a", "is_final": True}),
        ("ToolCallEvent", "tool_call", {"tool_name": "a", "tool_args": {}, "tool_call_id": "1"}),
        ("ToolResultEvent", "tool_result", {"tool_call_id": "1", "result": 4, "status": "success"}),
        (
            "FileOperationEvent",
            "file_operation",
            {
                "operation": "edit",
                "file_path": "/a.txt",
                "metrics": {"lines_added": 1, "lines_removed": 2},
                "diff": "+a",
                "status": "success",
            },
        ),
        ("ErrorEvent", "error", {"error": "no", "recoverable": True}),
        ("DoneEvent", "done", {"token_usage": {"input_tokens": 1}, "cancelled": False}),
    ],
)
def test_an_event_has_the_fields_of_its_model(
    name: str, event_type: str, values: dict[str, Any]
) -> None:
    written = getattr(ev, name)(timestamp=12.5, **values).to_dict()
    assert {"event_type": event_type, "timestamp": 12.5, **values}.items() <= written.items()


@states("001 §事件系统", "the base is a dataclass", "timestamp is time.time() by default")
def test_an_events_time_is_now() -> None:
    assert dataclasses.is_dataclass(ev.ExecutionEvent)
    before = time.time()
    made = ev.TextEvent(content="a", is_final=False)
    assert before <= made.timestamp <= time.time()


@states("001 §事件系统", "to_dict() is flat: event_type, timestamp and the event's own fields")
def test_a_dictionary_is_flat() -> None:
    written = ev.ErrorEvent(error="no", recoverable=False).to_dict()
    assert {"event_type", "timestamp", "error", "recoverable"} <= set(written)
    assert "data" not in written


@states(
    "001 §错误处理策略",
    'ErrorEvent(event_type="error", timestamp=time.time(), error=…, recoverable=False)',
)
def test_an_event_can_be_built_with_its_type() -> None:
    made: Any = ev.ErrorEvent
    event = made(event_type="error", timestamp=time.time(), error="no", recoverable=False)
    assert event.to_dict()["error"] == "no"


@states(
    "001 §文件操作事件",
    "operation: read, write, edit",
    "metrics: lines_read",
    "metrics: lines_written",
    "metrics: lines_added",
    "metrics: lines_removed",
)
async def test_a_file_operation_counts_its_lines(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    set_up(monkeypatch, tmp_path)
    events = await turn(
        '!tool write_file {"file_path": "/files/a.txt", "content": "one\\ntwo\\nthree\\n"}\n'
        '!tool edit_file {"file_path": "/files/a.txt", "old_string": "one\\ntwo",'
        ' "new_string": "four"}\n'
        '!tool read_file {"file_path": "/files/a.txt"}\n!echo Done.'
    )
    write, edit, read = (event for event in events if isinstance(event, ev.FileOperationEvent))
    assert (write.operation, write.metrics["lines_written"]) == ("write", 3)
    assert (edit.metrics["lines_added"], edit.metrics["lines_removed"]) == (1, 2)
    assert (read.operation, read.metrics["lines_read"], read.diff) == ("read", 2, None)


# -- 2. approvals -----------------------------------------------------------------------------


@states(
    "001 §HITL 协议", 'ActionRequest is a TypedDict: request["name"], ["args"], ["description"]'
)
def test_a_request_is_read_as_a_dictionary() -> None:
    made: Any = hitl.ActionRequest(name="write_file", args={"a": 1}, description="Write.")
    assert (made["name"], made["args"], made["description"]) == ("write_file", {"a": 1}, "Write.")


@states("001 §HITL 协议", 'Decision is a TypedDict: decision["type"], ["message"]')
def test_a_decision_is_read_as_a_dictionary() -> None:
    made: Any = hitl.Decision(type="reject", message="No.")
    assert (made["type"], made["message"]) == ("reject", "No.")


@states("001 §HITL 协议", "a handler's request has name, args and description")
@states("001 §HITL 协议", 'a handler may answer {"type": …, "message": …}')
@pytest.mark.parametrize(("answer", "cancelled"), [("approve", False), ("reject", True)])
async def test_a_handler_reads_and_answers_with_dictionaries(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, answer: str, cancelled: bool
) -> None:
    set_up(monkeypatch, tmp_path)
    handler = Handler(lambda: {"type": answer, "message": None})
    events = await turn_with(handler)
    assert events[-1].cancelled is cancelled
    [(request, _session_id)] = handler.requests
    assert request["name"] == "write_file"
    assert request["args"]["file_path"] == "/files/note.txt"
    assert isinstance(request["description"], str)


# -- 3. the factory ---------------------------------------------------------------------------


@states(
    "001 §Agent 工厂",
    "assistant_id: str",
    "model: str | BaseChatModel | None = None",
    "enable_memory: bool = True",
    "enable_skills: bool = True",
    "enable_shell: bool = True",
    "auto_approve: bool = False",
    "sandbox_type: str | None = None",
    "system_prompt: str | None = None",
    "extra_tools: list[BaseTool] = []",
    "extra_middleware: list[AgentMiddleware] = []",
)
@states("001 §配置数据模型", "recursion_limit", "timeout: float | None")
@states(
    "001 §Updated AgentConfig for Multi-Tenant",
    "user_id: str | None = None",
    "tenant_id: str | None = None",
    "enable_mcp: bool = True",
    "sandbox_id: str | None = None",
    "mcp_config: MCPConfig | None = None",
    "workspace_root: Path | None = None",
    "recursion_limit: int = 1000",
)
@pytest.mark.parametrize(
    ("name", "default"),
    [
        ("assistant_id", NO_DEFAULT),
        ("user_id", None),
        ("tenant_id", None),
        ("model", None),
        ("enable_memory", True),
        ("enable_skills", True),
        ("enable_shell", True),
        ("enable_mcp", True),
        ("auto_approve", False),
        ("sandbox_type", None),
        ("sandbox_id", None),
        ("system_prompt", None),
        ("extra_tools", []),
        ("extra_middleware", []),
        ("mcp_config", None),
        ("workspace_root", None),
        ("recursion_limit", 1000),
        ("timeout", None),
    ],
)
def test_a_field_of_the_config_has_its_default(name: str, default: object) -> None:
    from dataagent_core.engine import AgentConfig

    field = fields_of(AgentConfig)[name]
    if default is NO_DEFAULT:
        assert field.default is field.default_factory is NO_DEFAULT
    else:
        assert getattr(AgentConfig(assistant_id="helper"), name) == default


@states("001 §Agent 工厂", "AgentFactory.create_agent(config)")
def test_the_factory_takes_a_config(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from dataagent_core.engine import AgentConfig, AgentFactory

    set_up(monkeypatch, tmp_path)
    assert len(AgentFactory().create_agent(config=AgentConfig(assistant_id="helper"))) == 2


@states("001 §Updated AgentConfig for Multi-Tenant", "workspace_root is where the user's files are")
async def test_the_workspace_root_is_where_files_are_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    set_up(monkeypatch, tmp_path)
    root = tmp_path / "elsewhere"
    events = await turn(WRITE, workspace_root=root, user_id="ana")
    assert "error" not in kinds(events)
    [written] = root.rglob("note.txt")
    assert written.read_text(encoding="utf-8") == "one\ntwo\n"


@states("001 §Updated AgentConfig for Multi-Tenant", "user_id says whose workspace it is")
async def test_the_user_id_says_whose_files_they_are(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    home = set_up(monkeypatch, tmp_path)
    await turn(WRITE, user_id="ana")
    await turn(WRITE.replace("note", "other"), user_id="ben")
    assert [path.relative_to(home / "workspaces") for path in home.rglob("note.txt")] == [
        Path("ana/files/note.txt")
    ]
    assert [path.relative_to(home / "workspaces") for path in home.rglob("other.txt")] == [
        Path("ben/files/other.txt")
    ]


@tool
def who() -> str:
    """Says for whom it was called."""
    from dataagent_core.workspace import run_context

    run = run_context()
    return f"{run.user_id}, {run.tenant_id}, {run.sandbox_id}"


@states(
    "001 §Updated AgentConfig for Multi-Tenant",
    "user_id, tenant_id and sandbox_id are those of the run",
)
async def test_a_run_is_of_the_configured_user_tenant_and_sandbox(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    set_up(monkeypatch, tmp_path)
    fields = {"user_id": "ana", "tenant_id": "acme", "sandbox_id": "box-1"}
    events = await turn("!tool who {}", extra_tools=[who], **fields)
    [result] = [event for event in events if isinstance(event, ev.ToolResultEvent)]
    assert "ana, acme, box-1" in str(result.result)


@states("001 §Updated AgentConfig for Multi-Tenant", "sandbox_id names no one else's sandbox")
async def test_a_sandbox_that_is_not_the_users_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    set_up(monkeypatch, tmp_path)
    fields = {"sandbox_type": "bwrap", "sandbox_id": "no-such"}
    events = await turn('!tool execute {"command": "echo $((40 + 2))"}', **fields)
    [result] = [event for event in events if isinstance(event, ev.ToolResultEvent)]
    assert result.status == "error"
    assert "42" not in str(result.result)


@tool
def again() -> str:
    """Says that it has to be called again."""
    return "Call me again."


@states("001 §配置数据模型", "recursion_limit ends a turn that goes round in circles")
async def test_the_recursion_limit_ends_a_turn(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    set_up(monkeypatch, tmp_path)
    message = "\n".join(["!tool again {}"] * 40)
    config = {"extra_tools": [again], "recursion_limit": 8}
    events = await turn_with(None, message, **config)
    assert kinds(events)[-2:] == ["error", "done"]
    assert kinds(events).count("tool_call") < 40


@states("001 §配置数据模型", "timeout ends a turn that takes longer")
async def test_the_timeout_ends_a_turn(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    set_up(monkeypatch, tmp_path)
    events = await turn_with(None, "!slow 100000 50", timeout=0.3)
    assert kinds(events)[-2:] == ["error", "done"]


# -- 4. the executor --------------------------------------------------------------------------


@states(
    "001 §执行器",
    "execute(user_input, session_id, context: dict | None = None)",
    "it gives an AsyncIterator[ExecutionEvent]",
)
async def test_the_context_is_a_dictionary(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from dataagent_core.engine import AgentConfig, AgentExecutor, AgentFactory

    set_up(monkeypatch, tmp_path)
    agent, _ = AgentFactory().create_agent(AgentConfig(assistant_id="helper"))
    parameters = inspect.signature(AgentExecutor.execute).parameters
    assert list(parameters)[1:4] == ["user_input", "session_id", "context"]
    assert parameters["context"].default is None
    stream = AgentExecutor(agent).execute("!echo Hi.", "s-1", {"ticket": "A-17"})
    assert isinstance(stream, AsyncIterator)
    assert kinds([event async for event in stream])[-1] == "done"


@states(
    "001 §执行器取消支持",
    "cancellation_token: asyncio.Event | None = None",
    'once it is set: DoneEvent(cancelled=True, reason="user_cancelled")',
)
async def test_a_cancellation_token_ends_the_turn(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from dataagent_core.engine import AgentConfig, AgentExecutor, AgentFactory

    set_up(monkeypatch, tmp_path)
    agent, _ = AgentFactory().create_agent(AgentConfig(assistant_id="helper"))
    token = asyncio.Event()
    made: Any = AgentExecutor(agent).execute
    events: list[Any] = []
    async for event in made("!slow 100000 20", "s-1", cancellation_token=token):
        events.append(event)
        token.set()
    assert kinds(events)[-1] == "done"
    assert (events[-1].cancelled, events[-1].reason) == (True, "user_cancelled")


@states(
    "001 §执行器取消支持",
    'a cancelled task gets DoneEvent(cancelled=True, reason="user_cancelled"), then CancelledError',
)
async def test_a_cancelled_task_gets_its_end(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from dataagent_core.engine import AgentConfig, AgentExecutor, AgentFactory

    set_up(monkeypatch, tmp_path)
    agent, _ = AgentFactory().create_agent(AgentConfig(assistant_id="helper"))
    events: list[Any] = []
    started = asyncio.Event()

    async def read() -> None:
        async for event in AgentExecutor(agent).execute("!slow 100000 20", "s-1"):
            events.append(event)
            started.set()

    task = asyncio.create_task(read())
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert kinds(events)[-1] == "done"
    assert (events[-1].cancelled, events[-1].reason) == (True, "user_cancelled")


# -- 5. middleware, 6. tools ------------------------------------------------------------------


@states("001 §中间件系统", "AgentMemoryMiddleware", "SkillsMiddleware", "ShellMiddleware")
@states("001 §工具系统", "http_request", "fetch_url", "web_search", "FileOpTracker")
def test_middleware_and_tools_are_exported() -> None:
    middleware, tools = (
        import_module(f"dataagent_core.{name}") for name in ("middleware", "tools")
    )
    assert {"AgentMemoryMiddleware", "SkillsMiddleware", "ShellMiddleware"} <= {*middleware.__all__}
    assert {"http_request", "fetch_url", "web_search", "FileOpTracker"} <= {*tools.__all__}


@states(
    "001 §工具系统",
    "start_operation(tool_name, args, tool_call_id) -> None",
    "complete_with_message(message: ToolMessage) -> FileOpRecord | None",
)
def test_the_tracker_has_the_documented_methods() -> None:
    from dataagent_core.tools import FileOpTracker

    tracker = FileOpTracker()
    args = {"file_path": "/a.txt", "content": "one\n"}
    tracker.start_operation(tool_name="write_file", args=args, tool_call_id="c-1")
    done = ToolMessage("ok", tool_call_id="c-1", name="write_file")
    record: Any = tracker.complete_with_message(message=done)
    assert type(record).__name__ == "FileOpRecord"
    unknown = ToolMessage("ok", tool_call_id="c-2", name="ls")
    assert tracker.complete_with_message(unknown) is None


# -- 7. sessions ------------------------------------------------------------------------------


@states(
    "001 §会话管理",
    "Session(session_id, user_id, assistant_id, created_at, last_active, state, metadata)",
)
def test_a_session_is_built_from_seven_fields() -> None:
    from dataagent_core.session import Session

    now = datetime.now(UTC)
    made: Any = Session
    session = made(
        session_id="s-1",
        user_id="ana",
        assistant_id="helper",
        created_at=now,
        last_active=now,
        state={"step": 1},
        metadata={"ticket": "A-17"},
    )
    assert (session.state, session.metadata) == ({"step": 1}, {"ticket": "A-17"})
    assert list(fields_of(Session))[:5] == [
        *("session_id", "user_id", "assistant_id", "created_at", "last_active")
    ]


@states(
    "001 §会话管理",
    "create(user_id, assistant_id) -> Session",
    "get(session_id) -> Session | None",
    "update(session) -> None",
    "delete(session_id)",
    "list_by_user(user_id) -> list[Session]",
)
async def test_a_store_works_as_documented() -> None:
    from dataagent_core.session import MemorySessionStore

    store = MemorySessionStore()
    made = await store.create("ana", "helper")
    assert await store.get(made.session_id) == made
    assert await store.get("no-such") is None
    made.metadata = {"ticket": "A-17"}
    await store.update(made)
    assert (await store.list_by_user("ana"))[0].metadata == {"ticket": "A-17"}
    assert await store.list_by_user("ben") == []
    await store.delete(made.session_id)
    assert await store.get(made.session_id) is None


@states(
    "001 §会话管理",
    "SessionStore is an ABC whose methods are these (and list_by_assistant, cleanup_expired)",
    "a store of one's own serves a SessionManager",
)
async def test_a_store_of_ones_own_serves_the_manager(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from dataagent_core.engine import AgentConfig
    from dataagent_core.session import MemorySessionStore, Session, SessionManager, SessionStore

    set_up(monkeypatch, tmp_path)
    kept = MemorySessionStore()

    class Own(SessionStore):
        async def create(self, user_id: str, assistant_id: str, **more: Any) -> Session:
            return await kept.create(user_id, assistant_id, **more)

        async def get(self, session_id: str) -> Session | None:
            return await kept.get(session_id)

        async def update(self, session: Session) -> None:
            await kept.update(session)

        async def delete(self, session_id: str, **more: Any) -> Any:
            return await kept.delete(session_id, **more)

        async def list_by_user(self, user_id: str, **more: Any) -> list[Session]:
            return await kept.list_by_user(user_id, **more)

        async def list_by_assistant(self, assistant_id: str) -> list[Session]:
            return await kept.list_by_assistant(assistant_id)

        async def cleanup_expired(self, timeout_seconds: float) -> int:
            return await kept.cleanup_expired(timeout_seconds)

    own: Any = Own  # it is not abstract
    manager = SessionManager(own())
    session = await manager.get_or_create_session("ana", "helper")
    executor = await manager.get_executor(session, AgentConfig(assistant_id="helper"))
    events = [event async for event in executor.execute("!echo Hi.", session.session_id)]
    assert kinds(events)[-1] == "done"


@states(
    "001 §会话管理",
    "get_or_create_session(user_id, assistant_id, session_id=None)",
    "get_executor(session, config, hitl_handler=None)",
)
async def test_the_manager_works_as_documented(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from dataagent_core.session import SessionManager

    set_up(monkeypatch, tmp_path)
    found = inspect.signature(SessionManager.get_or_create_session).parameters
    assert list(found)[1:4] == ["user_id", "assistant_id", "session_id"]
    assert found["session_id"].default is None
    found = inspect.signature(SessionManager.get_executor).parameters
    assert list(found)[1:4] == ["session", "config", "hitl_handler"]
    assert found["hitl_handler"].default is None


@states("001 §会话管理", "the turns of a session are one conversation")
async def test_the_executor_of_a_session_remembers_what_was_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from dataagent_core.engine import AgentConfig
    from dataagent_core.session import MemorySessionStore, SessionManager

    set_up(monkeypatch, tmp_path)
    manager = SessionManager(MemorySessionStore())
    session = await manager.get_or_create_session("ana", "helper")
    model = NotingModel()
    config = AgentConfig(assistant_id="helper", model=model)
    for message in ("My name is Ana.", "Who am I?"):
        executor = await manager.get_executor(session, config)
        assert [event async for event in executor.execute(message, session.session_id)]
    assert "My name is Ana." in model.told


@states("P21", "the manager itself frees what a session held that timed out, not its history")
async def test_the_manager_frees_what_a_session_held_that_timed_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from dataagent_core.engine import AgentConfig
    from dataagent_core.session import MemorySessionStore, SessionManager

    set_up(monkeypatch, tmp_path)
    freed: list[str] = []
    store = MemorySessionStore()
    manager = SessionManager(store, timeout_seconds=0, on_idle=freed.append)
    config = AgentConfig(assistant_id="helper")
    first, second = [await manager.get_or_create_session(each, "helper") for each in ("ana", "ben")]
    executor = await manager.get_executor(first, config)
    assert [event async for event in executor.execute("!echo Hi.", first.session_id)]
    await manager.get_executor(second, config)
    assert first.session_id in freed
    assert await manager.get_executor(first, config) is not executor
    assert await store.get(first.session_id) is not None


@states("001 §配置数据模型", "SessionState: thread_id, auto_approve, current_todos")
def test_a_sessions_state_has_its_fields() -> None:
    from dataagent_core.config import SessionState

    made = SessionState(thread_id="t-1", auto_approve=False, current_todos=[{"content": "Look"}])
    assert made.current_todos == [{"content": "Look"}]


# -- error handling ---------------------------------------------------------------------------


def _answer(status: int) -> Any:  # the SDK has an httpx of its own
    return httpx.Response(status, request=httpx.Request("POST", "https://api.example.com/"))


@states(
    "001 §错误分类",
    "a time-out of the network is recoverable",
    "a rate limit is recoverable",
    "a file that cannot be reached for now is recoverable",
)
@pytest.mark.parametrize(
    "error",
    [
        TimeoutError("late"),
        ConnectionResetError("gone"),
        OSError(errno.EBUSY, "busy"),
        BlockingIOError(errno.EAGAIN, "locked"),
        openai.RateLimitError("Slow down.", response=_answer(429), body=None),
    ],
    ids=repr,
)
async def test_a_failing_network_is_recoverable(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, error: Exception
) -> None:
    set_up(monkeypatch, tmp_path)
    events = await turn("Hi", model=NotingModel(answers=[error]))
    assert events[-2].to_dict()["recoverable"] is True


@states(
    "001 §错误分类",
    "a wrong configuration is not recoverable",
    "a refused credential is not recoverable",
    "a fatal internal error is not recoverable",
)
@pytest.mark.parametrize(
    "error",
    [
        ValueError("no such model"),
        AssertionError("bug"),
        openai.AuthenticationError("Wrong key.", response=_answer(401), body=None),
    ],
    ids=repr,
)
async def test_a_wrong_setting_is_not_recoverable(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, error: Exception
) -> None:
    set_up(monkeypatch, tmp_path)
    events = await turn("Hi", model=NotingModel(answers=[error]))
    assert events[-2].to_dict()["recoverable"] is False


@states("001 §日志规范", "logging.getLogger(__name__)")
def test_loggers_are_named_after_their_modules() -> None:
    import dataagent_core

    paths = Path(dataagent_core.__file__).parent.rglob("*.py")
    texts = [path.read_text(encoding="utf-8") for path in paths]
    made = [line for text in texts for line in text.splitlines() if "logging.getLogger(" in line]
    own = [line for line in made if line.startswith("logger = ")]
    assert own
    assert {line.strip() for line in own} == {"logger = logging.getLogger(__name__)"}
