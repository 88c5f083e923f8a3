"""000 R2-R8, R11, R13, R14 and 001 P1-P22: the core as a library."""

from __future__ import annotations

import dataclasses
import inspect
import json
import logging
import subprocess
import threading
from collections.abc import AsyncIterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import BaseTool, tool
from pydantic import SecretStr

from dataagent_core import events as ev
from dataagent_core import hitl
from tests.acceptance.library import (
    WRITE,
    Handler,
    NotingModel,
    agent_of,
    kinds,
    set_up,
    turn,
    turn_with,
)
from tests.acceptance.states import states
from tests.programs import quick
from tests.tiers import examples

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)
ARGS = st.dictionaries(st.text(max_size=8), JSON, max_size=3)
TEXT = st.text(max_size=30)


def made(kind: Any, **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Objects built with these fields alone, by keyword."""
    return st.fixed_dictionaries(fields).map(lambda values: kind(**values))


STATUS = st.sampled_from(["success", "error"])
EVENTS: dict[str, st.SearchStrategy[Any]] = {
    "text": made(ev.TextEvent, content=TEXT, is_final=st.booleans()),
    "tool_call": made(ev.ToolCallEvent, tool_name=TEXT, tool_args=ARGS, tool_call_id=TEXT),
    "tool_result": made(ev.ToolResultEvent, tool_call_id=TEXT, result=JSON, status=STATUS),
    "hitl_request": made(
        ev.HITLRequestEvent,
        request_id=TEXT,
        action=made(hitl.ActionRequest, name=TEXT, args=ARGS, description=TEXT),
    ),
    "todo_update": made(ev.TodoUpdateEvent, todos=st.lists(made(dict, content=TEXT), max_size=3)),
    "file_operation": made(
        ev.FileOperationEvent,
        operation=st.sampled_from(["read", "write", "edit"]),
        file_path=TEXT,
        metrics=made(dict, lines_read=st.integers(0, 9)),
        diff=st.none() | TEXT,
        status=STATUS,
    ),
    "error": made(ev.ErrorEvent, error=TEXT, recoverable=st.booleans()),
    "done": made(
        ev.DoneEvent,
        token_usage=st.none() | st.dictionaries(TEXT, st.integers(0, 9), max_size=2),
        cancelled=st.booleans(),
    ),
}
CLASSES = {
    "text": "TextEvent",
    "tool_call": "ToolCallEvent",
    "tool_result": "ToolResultEvent",
    "hitl_request": "HITLRequestEvent",
    "todo_update": "TodoUpdateEvent",
    "file_operation": "FileOperationEvent",
    "error": "ErrorEvent",
    "done": "DoneEvent",
}


# -- R2, R14: events --------------------------------------------------------------------------


@states(
    "R2.1",
    "TextEvent",
    "ToolCallEvent",
    "ToolResultEvent",
    "HITLRequestEvent",
    "TodoUpdateEvent",
    "FileOperationEvent",
    "ErrorEvent",
    "DoneEvent",
)
@states("R2.5", "each inherits ExecutionEvent", "each has to_dict()")
@pytest.mark.parametrize("event_type", CLASSES)
def test_the_event_type_is_defined(event_type: str) -> None:
    kind = getattr(ev, CLASSES[event_type])
    assert issubclass(kind, ev.ExecutionEvent)
    assert callable(kind.to_dict)
    assert kind.event_type == event_type


@states("P1", "an event comes back from its dictionary as it was")
@states("P2", "event_type and timestamp in every dictionary")
@states("P3", "the dictionary is JSON")
@states("R2.6", "event_type", "timestamp")
@states("R14.1", "to_dict()")
@states("R14.2", "json.dumps takes it")
@states("R14.3", "event_type", "timestamp")
@states("R14.5", "an event is rebuilt by its event_type")
@pytest.mark.parametrize("event_type", EVENTS)
def test_an_event_survives_being_written_and_read(event_type: str) -> None:
    @settings(max_examples=examples(100))
    @given(event=EVENTS[event_type])
    def check(event: Any) -> None:
        written = json.loads(json.dumps(event.to_dict()))
        assert written["event_type"] == event_type
        assert isinstance(written["timestamp"], float)
        assert ev.event_from_dict(written) == event

    check()


@settings(max_examples=examples(100))
@given(content=st.text(), is_final=st.booleans())
@states("P4", "content", "is_final")
@states("R2.2", "content", "is_final")
def test_a_text_event_has_its_fields(content: str, is_final: bool) -> None:
    written = ev.TextEvent(content=content, is_final=is_final).to_dict()
    assert (written["event_type"], written["content"], written["is_final"]) == (
        "text",
        content,
        is_final,
    )


@states("P5", "tool_name", "tool_args", "tool_call_id")
@states("R2.3", "tool_name", "tool_args", "tool_call_id")
def test_a_tool_call_event_has_its_fields() -> None:
    written = ev.ToolCallEvent(tool_name="ls", tool_args={"path": "/"}, tool_call_id="1").to_dict()
    assert (written["tool_name"], written["tool_args"], written["tool_call_id"]) == (
        "ls",
        {"path": "/"},
        "1",
    )


@states("P6", "tool_call_id", "result", "status")
@states("R2.4", "tool_call_id", "result", "status")
def test_a_tool_result_event_needs_no_other_fields() -> None:
    made: Any = ev.ToolResultEvent
    written = made(tool_call_id="1", result={"rows": 3}, status="success").to_dict()
    assert (written["tool_call_id"], written["result"], written["status"]) == (
        "1",
        {"rows": 3},
        "success",
    )


@states("R2.2", "text of the agent is a TextEvent")
@states("R5.4", "DoneEvent(cancelled=False) at the end")
@states("P14", "DoneEvent(cancelled=False) at the end")
async def test_a_turn_says_its_text_and_ends(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    set_up(monkeypatch, tmp_path)
    events = await turn("!echo Hello there.")
    texts = [event for event in events if isinstance(event, ev.TextEvent)]
    assert "".join(event.content for event in texts) == "Hello there."
    assert texts[-1].is_final
    assert isinstance(events[-1], ev.DoneEvent)
    assert events[-1].cancelled is False
    assert kinds(events).count("done") == 1


@states("R2.3", "a call of a tool is a ToolCallEvent")
@states("R2.4", "its end is a ToolResultEvent")
@states("R5.6", "FileOperationEvent for what is done to files")
@states("P15", "write_file, edit_file and read_file are followed")
@states("R8.5", "the result's status is success")
@states("P8", "without a handler every call is approved")
@states("R3.5", "without a handler every call is approved")
async def test_calls_results_and_file_operations_are_events(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    set_up(monkeypatch, tmp_path)
    events = await turn(
        '!tool write_file {"file_path": "/files/a.txt", "content": "one\\n"}\n'
        '!tool edit_file {"file_path": "/files/a.txt", "old_string": "one", "new_string": "two"}\n'
        '!tool read_file {"file_path": "/files/a.txt"}\n!echo Done.'
    )
    calls = [event for event in events if isinstance(event, ev.ToolCallEvent)]
    results = [event for event in events if isinstance(event, ev.ToolResultEvent)]
    files = [event for event in events if isinstance(event, ev.FileOperationEvent)]
    assert [call.tool_name for call in calls] == ["write_file", "edit_file", "read_file"]
    assert [call.tool_call_id for call in calls] == [result.tool_call_id for result in results]
    assert {result.status for result in results} == {"success"}
    assert [event.operation for event in files] == ["write", "edit", "read"]
    assert "+two" in (files[1].diff or "")


# -- R3: approvals ----------------------------------------------------------------------------


@states("R3.1", "request_approval(action_request, session_id)", "it is asynchronous")
def test_the_handler_protocol_has_one_asynchronous_method() -> None:
    method = hitl.HITLHandler.request_approval
    assert inspect.iscoroutinefunction(method)
    assert list(inspect.signature(method).parameters)[1:3] == ["action_request", "session_id"]


@states("R3.2", "name", "args", "description")
@states("R3.3", "type", "message")
def test_a_request_and_a_decision_have_their_fields() -> None:
    request = hitl.ActionRequest(name="write_file", args={"a": 1}, description="Write.")
    decision = hitl.Decision(type="reject", message="No.")
    assert (request.name, request.args, request.description) == ("write_file", {"a": 1}, "Write.")
    assert (decision.type, decision.message) == ("reject", "No.")
    assert hitl.Decision(type="approve").type == "approve"


@states("R3.4", 'Decision(type="reject") ends the run')
@states("P7", "reject → DoneEvent(cancelled=True)")
@states("R5.5", "reject → DoneEvent(cancelled=True)")
async def test_a_rejected_call_cancels_the_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    set_up(monkeypatch, tmp_path)
    handler = Handler(lambda: hitl.Decision(type="reject"))
    events = await turn_with(handler)
    assert len(handler.requests) == 1
    assert isinstance(events[-1], ev.DoneEvent)
    assert events[-1].cancelled is True
    assert "Written." not in "".join(getattr(event, "content", "") for event in events)


@states("R3.1", "the handler is asked with the request and the session's id")
@states("R2.1", "a request for approval is a HITLRequestEvent")
async def test_an_approved_call_goes_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    set_up(monkeypatch, tmp_path)
    handler = Handler(lambda: hitl.Decision(type="approve"))
    events = await turn_with(handler)
    assert "hitl_request" in kinds(events)
    assert "Written." in "".join(getattr(event, "content", "") for event in events)
    [(_request, session_id)] = handler.requests
    assert session_id


# -- R4: the factory --------------------------------------------------------------------------


@states(
    "R4.1",
    "assistant_id",
    "model",
    "enable_memory",
    "enable_skills",
    "enable_shell",
    "auto_approve",
    "sandbox_type",
    "system_prompt",
    "extra_tools",
    "extra_middleware",
)
def test_an_agents_config_has_the_fields() -> None:
    from dataagent_core.engine import AgentConfig

    names = {field.name for field in dataclasses.fields(AgentConfig)}
    wanted = "assistant_id model enable_memory enable_skills enable_shell auto_approve sandbox_type"
    assert {*wanted.split(), "system_prompt", "extra_tools", "extra_middleware"} <= names


@states("R4.2", "create_agent() gives (agent, backend)")
@states("P9", "(Pregel, CompositeBackend)")
def test_the_factory_gives_an_agent_and_its_backend(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from deepagents.backends import CompositeBackend
    from langgraph.pregel import Pregel  # pyright: ignore[reportMissingTypeStubs] it has none

    from dataagent_core.engine import AgentConfig, AgentFactory

    set_up(monkeypatch, tmp_path)
    made = AgentFactory().create_agent(AgentConfig(assistant_id="helper"))
    assert isinstance(made, tuple)
    agent, backend = made
    assert isinstance(agent, Pregel)
    assert isinstance(backend, CompositeBackend)


@states("R4.3", "without a model the settings' default model is used")
async def test_the_default_model_is_the_settings(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    set_up(monkeypatch, tmp_path, DATAAGENT_MODEL="scripted")
    assert "ab" in "".join(getattr(event, "content", "") for event in await turn("!echo ab"))


@states("R4.1", "system_prompt is what the model is told")
async def test_the_system_prompt_reaches_the_model(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    set_up(monkeypatch, tmp_path)
    model = NotingModel()
    await turn("Hi", model=model, system_prompt="You speak of tulips.")
    assert "You speak of tulips." in model.told


@states("R4.1", "auto_approve asks nobody")
async def test_auto_approve_asks_no_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    set_up(monkeypatch, tmp_path)
    handler = Handler(lambda: hitl.Decision(type="reject"))
    events = await turn_with(handler, auto_approve=True)
    assert handler.requests == []
    assert "Written." in "".join(getattr(event, "content", "") for event in events)


def remember(home: Path, user_id: str, text: str) -> None:
    folder = home / "memories" / user_id / "helper"
    folder.mkdir(parents=True)
    (folder / "AGENTS.md").write_text(text, encoding="utf-8")


@states("R4.4", "what is added is AgentMemoryMiddleware", "False adds none")
@states("R4.5", "what is added is SkillsMiddleware", "False adds none")
@pytest.mark.parametrize(
    ("field", "name"),
    [("enable_memory", "AgentMemoryMiddleware"), ("enable_skills", "SkillsMiddleware")],
)
@pytest.mark.parametrize("enabled", [True, False])
def test_the_named_middleware_is_added(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, field: str, name: str, enabled: bool
) -> None:
    set_up(monkeypatch, tmp_path)
    kind = getattr(import_module("dataagent_core.middleware"), name)
    found = [each for each in agent_of(**{field: enabled}).middleware if isinstance(each, kind)]
    assert len(found) == enabled


@states("R4.4", "enable_memory=True adds AgentMemoryMiddleware")
@states("P10", "with memory the agent has AgentMemoryMiddleware")
@states("R7.2", "what was stored is in the context")
@pytest.mark.parametrize("enabled", [True, False])
async def test_memory_is_in_the_context_where_it_is_enabled(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, enabled: bool
) -> None:
    home = set_up(monkeypatch, tmp_path)
    remember(home, "ana", "Revenue is net of returns.")
    model = NotingModel()
    await turn("Hi", model=model, enable_memory=enabled, user_id="ana")
    assert ("Revenue is net of returns." in model.told) is enabled


@states("R4.5", "enable_skills=True adds SkillsMiddleware")
@states("P11", "with skills the agent has SkillsMiddleware")
@states("R7.3", "skills are loaded into the context")
@pytest.mark.parametrize("enabled", [True, False])
async def test_skills_are_in_the_context_where_they_are_enabled(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, enabled: bool
) -> None:
    skill = tmp_path / "skills" / "tulip-prices"
    skill.mkdir(parents=True)
    text = "---\nname: tulip-prices\ndescription: How tulips were priced.\n---\nLook it up.\n"
    (skill / "SKILL.md").write_text(text, encoding="utf-8")
    set_up(monkeypatch, tmp_path, DATAAGENT_SKILLS_DIRS=str(skill.parent))
    model = NotingModel()
    await turn("Hi", model=model, enable_skills=enabled)
    assert ("How tulips were priced." in model.told) is enabled


@states("R4.6", "sandbox_type makes a sandbox backend")
def test_a_sandbox_type_gives_a_backend_that_executes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from deepagents.backends.protocol import SandboxBackendProtocol

    from dataagent_core.engine import AgentConfig, AgentFactory

    set_up(monkeypatch, tmp_path)
    _, backend = AgentFactory().create_agent(
        AgentConfig(assistant_id="helper", sandbox_type="bwrap")
    )
    assert isinstance(backend.default, SandboxBackendProtocol)


@states("R4.6", "without a sandbox_type there is none", "commands run in the sandbox of that type")
async def test_commands_of_an_agent_run_in_its_sandbox(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from deepagents.backends.protocol import SandboxBackendProtocol

    from dataagent_core.engine import AgentConfig, AgentFactory

    set_up(monkeypatch, tmp_path)
    _, backend = AgentFactory().create_agent(AgentConfig(assistant_id="helper"))
    assert not isinstance(backend.default, SandboxBackendProtocol)
    outside = tmp_path / "outside.txt"
    outside.write_text("tulips", encoding="utf-8")
    message = f'!tool execute {{"command": "echo $((40 + 2)); cat {outside}"}}'
    config = AgentConfig(assistant_id="helper", sandbox_type="bwrap", enable_shell=True)
    async with AgentFactory() as factory:
        agent, _ = factory.create_agent(config)
        events = await turn(message, agent=agent)
    [result] = [event for event in events if isinstance(event, ev.ToolResultEvent)]
    assert "42" in str(result.result)
    assert "tulips" not in str(result.result)


@states("R4.6", "a sandbox_type that does not exist is refused by name")
def test_an_unknown_sandbox_type_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from dataagent_core.engine import AgentConfig, AgentFactory

    set_up(monkeypatch, tmp_path)
    with pytest.raises(Exception, match="marzipan"):
        AgentFactory().create_agent(AgentConfig(assistant_id="helper", sandbox_type="marzipan"))


# -- R5, R11: the executor --------------------------------------------------------------------


@states("R5.1", "execute() gives an AsyncIterator of ExecutionEvent")
@states("P12", "execute() gives an AsyncIterator of ExecutionEvent")
@states("R5.2", "user_input", "session_id", "context")
async def test_execute_takes_three_arguments_and_gives_events(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from dataagent_core.engine import AgentExecutor

    set_up(monkeypatch, tmp_path)
    executor = AgentExecutor(agent_of())
    stream = executor.execute(user_input="!echo Hi.", session_id="s-1", context=None)
    assert isinstance(stream, AsyncIterator)
    assert all([isinstance(event, ev.ExecutionEvent) async for event in stream])


@states("R5.2", "context says for whom it is: what it has is not the configuration's")
async def test_the_context_of_a_turn_is_used(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from dataagent_core.engine import AgentExecutor

    set_up(monkeypatch, tmp_path)
    handler = Handler(lambda: hitl.Decision(type="reject"))
    executor = AgentExecutor(agent_of(user_id="ana"), hitl_handler=handler)
    own: dict[str, Any] = {"user_id": "ben", "auto_approve": True}
    events = [event async for event in executor.execute(WRITE, "s-1", own)]
    assert handler.requests == []
    assert "Written." in "".join(getattr(event, "content", "") for event in events)
    [written] = (tmp_path / "data" / "workspaces").rglob("note.txt")
    assert "ben" in written.parts


class _Broken(ValueError):
    pass


@states("R5.3", "an exception becomes an ErrorEvent")
@states("P13", "an exception becomes an ErrorEvent, nothing is raised")
@states("R11.1", "every exception becomes an ErrorEvent")
@states("R11.2", "error", "recoverable")
@states("R11.4", "an error that is not recoverable ends the run")
@pytest.mark.parametrize("error", [_Broken("no"), RuntimeError("no"), KeyError("no")], ids=repr)
async def test_an_exception_becomes_an_error_event(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, error: Exception
) -> None:
    set_up(monkeypatch, tmp_path)
    events = await turn("Hi", model=NotingModel(answers=[error]))
    assert kinds(events)[-2:] == ["error", "done"]
    written = events[-2].to_dict()
    assert isinstance(written["error"], str)
    assert written["recoverable"] is False


@states("R11.3", "after a recoverable error the user tries again")
async def test_a_recoverable_error_can_be_tried_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    set_up(monkeypatch, tmp_path)
    agent = agent_of()
    first = await turn("!fail recoverable", agent=agent)
    assert first[-2].to_dict()["recoverable"] is True
    second = await turn("!echo Again.", agent=agent)
    assert kinds(second)[-1] == "done"
    assert "error" not in kinds(second)


@states("R11.5", "logging", "DEBUG, INFO, WARNING, ERROR")
def test_logs_go_through_logging(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from dataagent_core.config import Settings

    for level in ("DEBUG", "INFO", "WARNING", "ERROR"):
        set_up(monkeypatch, tmp_path, DATAAGENT_LOG_LEVEL=level)
        assert Settings().log_level == level
    import_module("dataagent_core.engine")
    assert [name for name in logging.root.manager.loggerDict if name.startswith("dataagent_core.")]


# -- R6: settings -----------------------------------------------------------------------------


@states("R6.1", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "TAVILY_API_KEY")
@states("P16", "the keys come from the environment")
@pytest.mark.parametrize("name", ["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "TAVILY_API_KEY"])
def test_a_key_comes_from_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    from dataagent_core.config import Settings

    set_up(monkeypatch, tmp_path, **{name: "a-key"})
    found: Any = getattr(Settings(), name.lower())
    assert getattr(found, "get_secret_value", lambda: found)() == "a-key"


@states("R6.2", "create_model(model_name) makes a chat model")
def test_settings_make_a_model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from langchain_core.language_models import BaseChatModel

    from dataagent_core.config import Settings

    set_up(monkeypatch, tmp_path)
    assert isinstance(Settings().create_model("scripted"), BaseChatModel)
    assert isinstance(Settings().create_model(model_name="offline"), BaseChatModel)


@states("R6.2", "model_name may be one of OpenAI's or of Anthropic's, with the key of R6.1")
@pytest.mark.parametrize(
    ("model_name", "variable"),
    [
        ("openai:gpt-4o", "OPENAI_API_KEY"),
        ("anthropic:claude-sonnet-4-5", "ANTHROPIC_API_KEY"),
    ],
)
def test_settings_make_a_model_of_a_provider(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, model_name: str, variable: str
) -> None:
    from langchain_core.language_models import BaseChatModel

    from dataagent_core.config import Settings

    set_up(monkeypatch, tmp_path, **{variable: "the-key"})
    made = Settings().create_model(model_name)
    assert isinstance(made, BaseChatModel)
    assert model_name.endswith(
        f":{getattr(made, 'model_name', None) or getattr(made, 'model', '')}"
    )
    keys = [each for each in vars(made).values() if isinstance(each, SecretStr)]
    assert [each.get_secret_value() for each in keys] == ["the-key"]


@states("R6.3", "ensure_agent_dir(assistant_id) makes ~/.deepagents/{assistant_id}/")
@states("P17", "ensure_agent_dir() makes the folder")
def test_settings_make_an_agents_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from dataagent_core.config import Settings

    set_up(monkeypatch, tmp_path)
    made = Settings().ensure_agent_dir("helper")
    assert Path(made) == tmp_path / ".deepagents" / "helper"
    assert Path(made).is_dir()


@states("R6.4", "with nothing set there are usable defaults")
@states("P18", "with nothing set there are usable defaults")
def test_with_nothing_set_there_are_defaults(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from dataagent_core.config import Settings

    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert Settings().create_model(None) is not None


@states("R6.5", "thread_id", "auto_approve")
def test_a_sessions_state_has_its_fields() -> None:
    from dataagent_core.config import SessionState

    state = SessionState(thread_id="t-1", auto_approve=True)
    assert (state.thread_id, state.auto_approve) == ("t-1", True)


# -- R7: middleware ---------------------------------------------------------------------------


@states(
    "R7.1",
    "AgentMemoryMiddleware",
    "SkillsMiddleware",
    "ShellMiddleware",
    "all are LangChain AgentMiddleware",
)
@pytest.mark.parametrize("name", ["AgentMemoryMiddleware", "SkillsMiddleware", "ShellMiddleware"])
def test_middleware_is_langchains(name: str) -> None:
    assert issubclass(getattr(import_module("dataagent_core.middleware"), name), AgentMiddleware)


@states("R7.4", "the shell runs commands")
@states("R4.1", "enable_shell gives the shell")
async def test_the_shell_runs_commands(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    set_up(monkeypatch, tmp_path)
    having, lacking = NotingModel(), NotingModel()
    await turn("Hi", model=having, enable_shell=True)
    await turn("Hi", model=lacking, enable_shell=False)
    [shell] = set(having.tools) - set(lacking.tools)
    events = await turn(f'!tool {shell} {{"command": "echo $((40 + 2))"}}', enable_shell=True)
    [result] = [event for event in events if isinstance(event, ev.ToolResultEvent)]
    assert result.status == "success"
    assert "42" in str(result.result)


class _Marking(AgentMiddleware):
    """Adds a word to what the model is told."""

    async def awrap_model_call(self, request: Any, handler: Any) -> Any:
        self.was_used = True
        return await handler(request)


@states("R7.5", "AgentConfig.extra_middleware is used")
@states("P19", "the agent has extra_middleware")
@states("R4.1", "extra_middleware is a list of AgentMiddleware")
async def test_own_middleware_is_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    set_up(monkeypatch, tmp_path)
    own = _Marking()
    await turn("Hi", model=NotingModel(), extra_middleware=[own])
    assert own.was_used


# -- R8: tools --------------------------------------------------------------------------------


@states("R8.1", "http_request", "fetch_url", "web_search")
@states("R8.4", "built-in tools are BaseTool with _run or _arun")
@pytest.mark.parametrize("name", ["http_request", "fetch_url", "web_search"])
def test_a_built_in_tool_is_langchains(name: str) -> None:
    found = getattr(import_module("dataagent_core.tools"), name)
    assert isinstance(found, BaseTool)
    assert found.name == name
    bases = type(found).__mro__
    own = {name for kind in bases[: bases.index(BaseTool)] for name in vars(kind)}
    assert own & {"_run", "_arun"}


@states("R8.1", "an agent has http_request and fetch_url", "web_search needs TAVILY_API_KEY")
async def test_an_agent_has_the_built_in_tools(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    set_up(monkeypatch, tmp_path)
    without = NotingModel()
    await turn("Hi", model=without)
    set_up(monkeypatch, tmp_path, TAVILY_API_KEY="a-key")
    having = NotingModel()
    await turn("Hi", model=having)
    assert {"http_request", "fetch_url"} <= set(without.tools)
    assert "web_search" not in without.tools
    assert "web_search" in having.tools


class _Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = b"<html><body><h1>Tulips</h1></body></html>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        del format, args


@pytest.fixture(scope="module")
def page() -> Any:
    server = HTTPServer(("127.0.0.1", 0), _Page)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()
    thread.join()


@states("R8.1", "http_request sends a request", "fetch_url reads a page")
@pytest.mark.parametrize("name", ["http_request", "fetch_url"])
def test_a_built_in_tool_reads_a_page(tmp_path: Path, page: str, name: str) -> None:
    program = (
        f"import asyncio; from dataagent_core.tools import {name} as it;"
        f"print(asyncio.run(it.ainvoke({{'url': {page!r}}})))"
    )
    where = {"HOME": str(tmp_path), "DATAAGENT_HOME": str(tmp_path / "data"), "PATH": ""}
    done = subprocess.run(
        [quick("python"), "-c", program],
        env={**where, "DATAAGENT_ALLOW_PRIVATE_HOSTS": "127.0.0.1"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Tulips" in done.stdout, done.stderr


@tool
def tulips(colour: str) -> str:
    """How many tulips of a colour there are."""
    return f"7 {colour} tulips"


@tool
def thorns(colour: str) -> str:
    """Fails."""
    raise ValueError(f"no thorns on {colour} tulips")


@states("R8.3", "AgentConfig.extra_tools can be called")
@states("P20", "the agent has extra_tools")
@states("R4.1", "extra_tools is a list of BaseTool")
async def test_own_tools_can_be_called(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    set_up(monkeypatch, tmp_path)
    events = await turn('!tool tulips {"colour": "red"}', extra_tools=[tulips])
    [result] = [event for event in events if isinstance(event, ev.ToolResultEvent)]
    assert (result.status, "7 red tulips" in str(result.result)) == ("success", True)


@states("R8.5", "the status of a tool that fails is error")
async def test_a_tool_that_fails_has_the_status_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    set_up(monkeypatch, tmp_path)
    events = await turn('!tool thorns {"colour": "red"}', extra_tools=[thorns])
    [result] = [event for event in events if isinstance(event, ev.ToolResultEvent)]
    assert result.status == "error"
    assert events[-1].cancelled is False


@states("R8.2", "read_file", "write_file", "edit_file", "diff")
@pytest.mark.parametrize(
    ("name", "args", "added"),
    [
        ("write_file", {"file_path": "/a.txt", "content": "one\n"}, "+one"),
        ("edit_file", {"file_path": "/a.txt", "old_string": "x", "new_string": "y"}, None),
        ("read_file", {"file_path": "/a.txt"}, None),
    ],
)
def test_the_tracker_follows_a_file_operation(
    name: str, args: dict[str, Any], added: str | None
) -> None:
    from dataagent_core.tools import FileOpTracker

    tracker = FileOpTracker()
    assert tracker.start_operation(name, args, "call-1") is None
    record: Any = tracker.complete_with_message(ToolMessage("ok", tool_call_id="call-1", name=name))
    assert record is not None
    assert record.file_path == "/a.txt"
    if added:
        assert added in record.diff


# -- R13: sessions ----------------------------------------------------------------------------


@states(
    "R13.1",
    "session_id",
    "user_id",
    "assistant_id",
    "created_at",
    "last_active",
    "state",
    "metadata",
)
def test_a_session_has_its_fields() -> None:
    from dataagent_core.session import Session

    names = {field.name for field in dataclasses.fields(Session)}
    wanted = "session_id user_id assistant_id created_at last_active state metadata"
    assert set(wanted.split()) <= names


@states("R13.2", "get", "update", "delete", "list_by_user", "SessionStore is abstract")
def test_a_store_has_its_methods() -> None:
    from dataagent_core.session import SessionStore

    assert inspect.isabstract(SessionStore)
    abstract: frozenset[str] = SessionStore.__abstractmethods__
    assert {"get", "update", "delete", "list_by_user"} <= abstract


@states("R13.2", "create")
def test_a_store_is_what_creates_sessions() -> None:
    from dataagent_core.session import SessionStore

    assert "create" in SessionStore.__abstractmethods__


@states("R13.3", "get_or_create_session()", "get_executor()")
async def test_the_manager_gives_sessions_and_executors(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from dataagent_core.engine import AgentConfig, AgentExecutor
    from dataagent_core.session import MemorySessionStore, SessionManager

    set_up(monkeypatch, tmp_path)
    manager = SessionManager(MemorySessionStore())
    session = await manager.get_or_create_session("ana", "helper")
    assert await manager.get_or_create_session("ana", "helper", session.session_id) == session
    executor = await manager.get_executor(session, AgentConfig(assistant_id="helper"))
    assert isinstance(executor, AgentExecutor)
    events = [event async for event in executor.execute("!echo Hi.", session.session_id)]
    assert kinds(events)[-1] == "done"


@states("R13.4 (departs)", "cleanup_expired(seconds) deletes, and returns how many")
@states("P21", "what has timed out is cleaned up")
async def test_a_store_deletes_what_has_expired() -> None:
    from dataagent_core.session import MemorySessionStore

    store = MemorySessionStore()
    session = await store.create("ana", "helper")
    assert await store.cleanup_expired(3600) == 0
    assert await store.cleanup_expired(-1) == 1
    assert await store.get(session.session_id) is None


@states("R13.5", "memory", "database")
def test_sessions_are_kept_in_memory_or_in_a_database() -> None:
    from dataagent_core.session import SessionStore, SessionStoreFactory

    assert isinstance(SessionStoreFactory.create("memory"), SessionStore)
    made = SessionStoreFactory.create("mysql", host="127.0.0.1")
    assert isinstance(made, SessionStore)


@states("R4.1", "model may be a chat model")
async def test_a_model_of_ones_own_answers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    set_up(monkeypatch, tmp_path)
    call = AIMessage("", tool_calls=[{"name": "tulips", "args": {"colour": "red"}, "id": "c1"}])
    model = NotingModel(answers=[call, "Seven."])
    events = await turn("How many?", model=model, extra_tools=[tulips])
    assert "tulips" in model.tools
    assert "Seven." in "".join(getattr(event, "content", "") for event in events)
