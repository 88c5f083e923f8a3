"""The core as a library: an agent and its runs with nothing wired by hand."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from deepagents import create_deep_agent
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import BaseTool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from dataagent_core.engine import AgentConfig, AgentExecutor, AgentFactory
from dataagent_core.errors import Misconfigured
from dataagent_core.events import (
    AnyEvent,
    DoneEvent,
    ErrorEvent,
    FileOperationEvent,
    HITLRequestEvent,
    TextEvent,
    ToolResultEvent,
)
from dataagent_core.hitl import ActionRequest, Decision
from dataagent_core.identity import RunContext
from dataagent_core.middleware import AgentMemoryMiddleware, ShellMiddleware, SkillsMiddleware
from dataagent_core.models.scripted import ScriptedChatModel
from dataagent_core.workspace import run_context
from tests.requirements import requirement
from tests.tiers import examples

WRITE = '!tool write_file {"file_path": "/files/a.txt", "content": "hi"}'


@tool
def who() -> str:
    """Say for whom this runs."""
    run = run_context()
    return f"{run.user_id} {run.tenant_id} {run.assistant_id} {run.sandbox_id} {run.auto_approve}"


class Asked:
    """A handler that gives one answer, and notes what it was asked."""

    def __init__(self, answer: Any) -> None:
        self.asked: list[ActionRequest] = []
        self._answer = answer

    async def request_approval(self, action_request: ActionRequest, session_id: str) -> Any:
        self.asked.append(action_request)
        return self._answer


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The environment of a script: nothing but a home."""
    monkeypatch.setenv("DATAAGENT_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("DATAAGENT_MODEL", "scripted")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "home"


@pytest.fixture
async def library(home: Path) -> AsyncGenerator[AgentFactory]:
    async with AgentFactory() as factory:
        yield factory


async def run(agent: Any, text: str, session_id: str = "s", **more: Any) -> list[AnyEvent]:
    handler = more.pop("hitl_handler", None)
    executor = AgentExecutor(agent, hitl_handler=handler)
    return [event async for event in executor.execute(text, session_id, **more)]


def said(events: list[AnyEvent]) -> str:
    return "".join(e.content for e in events if isinstance(e, TextEvent))


def results(events: list[AnyEvent]) -> list[Any]:
    return [e.result for e in events if isinstance(e, ToolResultEvent)]


# -- the first ten lines --------------------------------------------------------------------------


@requirement("R4.2", "R5.1", "R5.4", "P9", "P12", "P14")
async def test_agent_is_built_and_run_with_nothing_wired(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    agent, backend = AgentFactory().create_agent(AgentConfig(assistant_id="x"))
    events: list[AnyEvent] = []
    async for event in AgentExecutor(agent).execute("hello", "session-1"):
        events.append(event)
    assert "offline model" in said(events)
    assert [e.cancelled for e in events if isinstance(e, DoneEvent)] == [False]
    assert type(backend).__name__ == "CompositeBackend"


@requirement("R8.1")
async def test_built_in_tools_are_there_unless_others_are_given(
    library: AgentFactory, listening: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = listening()
    await run(library.create_agent(AgentConfig("x", model=model))[0], "hi")
    there = {"http_request", "fetch_url", "think_tool", "read_file", "write_file", "shell"}
    assert there <= model.bound[0]
    assert "web_search" not in model.bound[0]
    monkeypatch.setenv("TAVILY_API_KEY", "key")
    async with AgentFactory() as factory:
        searching = listening()
        await run(factory.create_agent(AgentConfig("x", model=searching))[0], "hi")
        assert "web_search" in searching.bound[0]
    async with AgentFactory(tools=[who]) as factory:
        own = listening()
        await run(factory.create_agent(AgentConfig("x", model=own))[0], "hi")
        assert "who" in own.bound[0]
        assert "http_request" not in own.bound[0]


async def test_conversation_goes_on_over_several_messages(library: AgentFactory) -> None:
    model = ScriptedChatModel(["One.", "Two."])
    agent, _ = library.create_agent(AgentConfig("x", model=model))
    executor = AgentExecutor(agent)
    for text in ("first", "second"):
        assert [e async for e in executor.execute(text, "s")]
    graph: Any = executor._graph
    state = await graph.aget_state({"configurable": {"thread_id": "s"}})
    assert [message.type for message in state.values["messages"]] == ["human", "ai", "human", "ai"]


@requirement("P10", "P11", "P19", "R4.4", "R4.5", "R7.5")
@settings(max_examples=examples(100), deadline=None)
@given(memory=st.booleans(), skills=st.booleans(), shell=st.booleans(), extra=st.booleans())
def test_agent_has_the_middlewares_it_was_configured_with(
    factory: AgentFactory, *, memory: bool, skills: bool, shell: bool, extra: bool
) -> None:
    own = OwnMiddleware()
    agent, _ = factory.create_agent(
        AgentConfig(
            "x",
            enable_memory=memory,
            enable_skills=skills,
            enable_shell=shell,
            extra_middleware=[own] if extra else [],
        )
    )
    kinds = {type(each) for each in agent.middleware}
    assert (AgentMemoryMiddleware in kinds) is memory
    assert (SkillsMiddleware in kinds) is skills
    assert (ShellMiddleware in kinds) is shell
    assert (own in agent.middleware) is extra


class OwnMiddleware(AgentMiddleware[Any, Any, Any]):
    """Does nothing."""


# -- for whom -------------------------------------------------------------------------------------


@requirement("R4.1")
async def test_what_the_configuration_says_holds_for_runs_without_a_context(
    library: AgentFactory,
) -> None:
    config = AgentConfig(
        "x", user_id="ann", tenant_id="t", sandbox_id="b", auto_approve=True, extra_tools=[who]
    )
    agent, _ = library.create_agent(config)
    assert results(await run(agent, "!tool who {}")) == ["ann t x b True"]
    other, _ = library.create_agent(AgentConfig("x", extra_tools=config.extra_tools))
    assert results(await run(other, "!tool who {}")) == ["default None x None False"]


@requirement("R5.2")
async def test_context_of_a_run_overrides_it(library: AgentFactory) -> None:
    agent, _ = library.create_agent(AgentConfig("x", user_id="ann", extra_tools=[who]))
    given = {"user_id": "bob", "auto_approve": True, "tenant_id": None}
    assert results(await run(agent, "!tool who {}", context=given)) == ["bob None x None True"]
    whole = RunContext("eve", "s", "r", "y")
    assert results(await run(agent, "!tool who {}", context=whole)) == ["eve None y None False"]


@requirement("R5.3", "P13")
async def test_context_with_an_unknown_field_is_an_error_that_names_it(
    library: AgentFactory,
) -> None:
    agent, _ = library.create_agent(AgentConfig("x"))
    error, done = await run(agent, "hi", context={"user": "bob"})
    assert isinstance(error, ErrorEvent)
    assert "'user'" in error.error
    assert "user_id" in error.error
    assert isinstance(done, DoneEvent)
    assert done.reason == "failed"


async def test_graph_called_by_itself_runs_for_the_configured_user(
    library: AgentFactory, home: Path
) -> None:
    agent, _ = library.create_agent(AgentConfig("x", user_id="ann", extra_tools=[who]))
    answer = await agent.ainvoke({"messages": [("user", "!tool who {}")]})
    assert answer["messages"][-2].text == "ann None x None True"  # nobody could be asked
    await agent.ainvoke({"messages": [("user", WRITE)]})
    assert (home / "workspaces" / "ann" / "files" / "a.txt").read_text() == "hi"
    copy = agent.with_config({"tags": ["mine"]})
    answer = await copy.ainvoke({"messages": [("user", "!tool who {}")]}, context={"user_id": "b"})
    assert answer["messages"][-2].text.startswith("b ")


async def test_graph_called_by_itself_asks_where_its_thread_is_kept(library: AgentFactory) -> None:
    agent, _ = library.create_agent(AgentConfig("x", user_id="ann"))
    keeping = agent.copy({"checkpointer": InMemorySaver()})
    config: Any = {"configurable": {"thread_id": "t"}}
    first = await keeping.ainvoke({"messages": [("user", WRITE)]}, config)
    assert first["__interrupt__"][0].value["name"] == "write_file"
    last = await keeping.ainvoke(Command(resume={"type": "approve"}), config)
    assert isinstance(last["messages"][-2], ToolMessage)
    assert isinstance(last["messages"][-1], AIMessage)


async def test_what_is_kept_of_a_thread_does_not_hold_for_whom_it_ran(
    library: AgentFactory,
) -> None:
    agent, _ = library.create_agent(AgentConfig("x", user_id="ann-the-secret"))
    saver = InMemorySaver()
    assert [e async for e in AgentExecutor(agent, saver).execute("hi", "s")]
    kept = [each async for each in saver.alist({"configurable": {"thread_id": "s"}})]
    assert kept
    assert "ann-the-secret" not in repr([(each.metadata, each.config) for each in kept])


@requirement("R32.6", "R33.2", "R4.1")
async def test_workspace_root_is_where_the_files_are(library: AgentFactory, tmp_path: Path) -> None:
    root = tmp_path / "spaces"
    config = AgentConfig("x", user_id="ann", workspace_root=root)
    agent, _ = library.create_agent(config)
    events = await run(agent, WRITE)
    assert (root / "ann" / "files" / "a.txt").read_text() == "hi"
    assert {each.name for each in (root / "ann").iterdir()} == {"files", "uploads", "outputs"}
    assert any(isinstance(e, FileOperationEvent) for e in events)
    shell = await run(agent, '!tool shell {"command": "pwd"}', "s2")
    assert results(shell) == [str(root / "ann")]
    elsewhere, _ = library.create_agent(AgentConfig("x", user_id="ann"))
    missing = await run(elsewhere, '!tool read_file {"file_path": "/files/a.txt"}', "s3")
    assert "hi" not in results(missing)[0]


@requirement("R34.2", "R34.3", "P54")
@pytest.mark.parametrize(("name", "other"), [("general", "agent"), ("agent", "general")])
async def test_memory_is_kept_under_the_name_that_was_asked_for_and_read_under_both(
    library: AgentFactory, home: Path, listening: Callable[..., Any], name: str, other: str
) -> None:
    note = home / "memories" / "ann" / other / "AGENTS.md"
    note.parent.mkdir(parents=True)
    note.write_text("Prefers euros.")
    model = listening()
    config = AgentConfig(name, user_id="ann", model=model)
    agent, _ = library.create_agent(config)
    call = '{"file_path": "/memories/AGENTS.md", "content": "Likes tables."}'
    await run(agent, f"!tool write_file {call}")
    assert (home / "memories" / "ann" / name / "AGENTS.md").read_text() == "Likes tables."
    await run(agent, "hi", "s2")
    assert "Likes tables." in model.prompt
    assert "Prefers euros." in model.prompt
    await run(agent, "hi", "s3", context={"user_id": "bob"})
    assert "euros" not in model.prompt
    await run(agent, "hi", "s4", context={"assistant_id": "else"})
    assert "euros" not in model.prompt


# -- approvals ------------------------------------------------------------------------------------


@requirement("R3.5", "P8")
async def test_without_a_handler_everything_is_approved(library: AgentFactory, home: Path) -> None:
    agent, _ = library.create_agent(AgentConfig("x"))
    events = await run(agent, WRITE)
    assert (home / "workspaces" / "default" / "files" / "a.txt").read_text() == "hi"
    assert [e.cancelled for e in events if isinstance(e, DoneEvent)] == [False]


@requirement("R3.4", "R5.5", "P7")
@pytest.mark.parametrize(
    "answer", [Decision(type="reject"), {"type": "reject", "message": None}, {"type": "reject"}]
)
async def test_rejection_ends_the_run_as_cancelled(
    library: AgentFactory, home: Path, answer: Any
) -> None:
    handler = Asked(answer)
    agent, _ = library.create_agent(AgentConfig("x"))
    events = await run(agent, WRITE, hitl_handler=handler)
    assert [request["name"] for request in handler.asked] == ["write_file"]
    assert isinstance(events[-1], DoneEvent)
    assert events[-1].cancelled
    assert not (home / "workspaces" / "default" / "files" / "a.txt").exists()


async def test_answer_may_be_a_dictionary(library: AgentFactory, home: Path) -> None:
    agent, _ = library.create_agent(AgentConfig("x"))
    await run(agent, WRITE, hitl_handler=Asked({"type": "approve", "message": None}))
    assert (home / "workspaces" / "default" / "files" / "a.txt").read_text() == "hi"


async def test_answer_that_is_no_decision_ends_the_run_with_an_error(library: AgentFactory) -> None:
    agent, _ = library.create_agent(AgentConfig("x"))
    events = await run(agent, WRITE, hitl_handler=Asked("yes"))
    assert [e.error_code for e in events if isinstance(e, ErrorEvent)] == ["bad_decision"]


@requirement("R4.1")
async def test_auto_approve_asks_no_one(library: AgentFactory) -> None:
    handler = Asked(Decision("reject"))
    agent, _ = library.create_agent(AgentConfig("x", auto_approve=True))
    events = await run(agent, WRITE, hitl_handler=handler)
    assert handler.asked == []
    assert not any(isinstance(e, HITLRequestEvent) for e in events)


async def test_own_tool_asks_if_it_says_so(library: AgentFactory) -> None:
    @tool
    def launch() -> str:
        """Launch it."""
        return "launched"

    launch.metadata = {"approval": "Launch the rocket."}
    handler = Asked(Decision("approve"))
    agent, _ = library.create_agent(AgentConfig("x", extra_tools=[launch]))
    assert results(await run(agent, "!tool launch {}", hitl_handler=handler)) == ["launched"]
    assert [request.description for request in handler.asked] == ["Launch the rocket."]


# -- limits and ends ------------------------------------------------------------------------------


@requirement("R4.1")
async def test_limits_of_the_configuration_hold_for_its_executors(library: AgentFactory) -> None:
    short, _ = library.create_agent(AgentConfig("x", recursion_limit=2))
    events = await run(short, '!tool ls {"path": "/"}')
    assert [e.error_code for e in events if isinstance(e, ErrorEvent)] == ["step_limit"]
    slow, _ = library.create_agent(AgentConfig("x", timeout=0.05))
    events = await run(slow, "!slow 100000 10")
    assert [e.error_code for e in events if isinstance(e, ErrorEvent)] == ["run_timeout"]


@requirement("R24.2", "R24.3")
async def test_token_stops_the_run_and_the_conversation_goes_on(library: AgentFactory) -> None:
    agent, _ = library.create_agent(AgentConfig("x"))
    executor, token = AgentExecutor(agent), asyncio.Event()
    events: list[AnyEvent] = []
    async for event in executor.execute("!slow 100000 10", "s", cancellation_token=token):
        events.append(event)
        token.set()
    assert isinstance(events[-1], DoneEvent)
    assert (events[-1].cancelled, events[-1].reason) == (True, "user_cancelled")
    assert [e for e in events if isinstance(e, DoneEvent)] == events[-1:]
    again = [e async for e in executor.execute("!echo on", "s", cancellation_token=asyncio.Event())]
    assert said(again) == "on"
    graph: Any = executor._graph
    state = await graph.aget_state({"configurable": {"thread_id": "s"}})
    kept = state.values["messages"]
    assert [each.type for each in kept] == ["human", "ai", "human", "ai"]
    assert kept[1].text == said(events)


async def test_token_set_before_the_run_stops_it_at_once(library: AgentFactory) -> None:
    agent, _ = library.create_agent(AgentConfig("x"))
    token = asyncio.Event()
    token.set()
    events = await run(agent, "hi", cancellation_token=token)
    assert [type(e) for e in events] == [DoneEvent]
    assert isinstance(events[0], DoneEvent)
    assert events[0].cancelled


async def test_token_set_while_a_person_is_asked_stops_the_run(library: AgentFactory) -> None:
    token = asyncio.Event()

    class Never:
        async def request_approval(
            self, action_request: ActionRequest, session_id: str
        ) -> Decision:
            token.set()
            await asyncio.Event().wait()
            raise AssertionError

    agent, _ = library.create_agent(AgentConfig("x"))
    events = await run(agent, WRITE, hitl_handler=Never(), cancellation_token=token)
    assert isinstance(events[-1], DoneEvent)
    assert (events[-1].cancelled, events[-1].reason) == (True, "user_cancelled")


async def test_reader_that_leaves_ends_a_run_with_a_token(library: AgentFactory) -> None:
    agent, _ = library.create_agent(AgentConfig("x"))
    events = AgentExecutor(agent).execute("!slow 9999 9", "s", cancellation_token=asyncio.Event())
    await anext(events)
    await events.aclose()
    others = asyncio.all_tasks() - {asyncio.current_task()}
    assert [task for task in others if "work" in str(task.get_coro())] == []


@requirement("R4.6")
@pytest.mark.parametrize("kind", ["bubblewrap", "auto"])
async def test_sandbox_is_opened_for_an_agent_that_asks_for_one(
    library: AgentFactory, kind: str
) -> None:
    agent, _ = library.create_agent(AgentConfig("x", sandbox_type=kind))
    events = await run(agent, '!tool execute {"command": "pwd"}')
    assert "/workspace" in results(events)[0]
    events = await run(agent, '!tool shell {"command": "pwd; ls /home"}', "s2")
    assert results(events)[0].startswith("/workspace")


@requirement("R4.6")
async def test_sandbox_that_there_is_none_of_is_refused(library: AgentFactory) -> None:
    for kind in ("submarine", "off"):
        with pytest.raises(Misconfigured, match=kind):
            library.create_agent(AgentConfig("x", sandbox_type=kind))


async def test_sandbox_keeps_to_the_workspace_root(library: AgentFactory, tmp_path: Path) -> None:
    config = AgentConfig("x", sandbox_type="bubblewrap", workspace_root=tmp_path / "spaces")
    agent, _ = library.create_agent(config)
    await run(agent, WRITE)
    events = await run(agent, '!tool execute {"command": "cat /workspace/files/a.txt"}')
    assert "hi" in results(events)[0]


SCRIPT = """
import asyncio
from dataagent_core.engine import AgentConfig, AgentExecutor, AgentFactory

async def main():
    agent, _ = AgentFactory().create_agent(AgentConfig("x", model="MODEL"))
    executor = AgentExecutor(agent)
    for text in ('!tool http_request {"url": "ADDRESS"}', "hi"):
        async for event in executor.execute(text, "s"):
            print(event.event_type)

asyncio.run(main())
asyncio.run(main())
"""


@pytest.mark.parametrize("model", ["scripted", "openai:any"])
async def test_script_that_simply_ends_leaves_nothing_open(home: Path, model: str) -> None:
    async def answer(_request: web.Request) -> web.Response:
        return web.json_response({"choices": [{"message": {"content": "Hi."}}]})

    app = web.Application()
    app.router.add_route("*", "/{any:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    address = str(runner.addresses[0][1])
    environment = {
        **os.environ,
        "DATAAGENT_ALLOW_PRIVATE_HOSTS": "127.0.0.1",
        "OPENAI_BASE_URL": f"http://127.0.0.1:{address}/v1",
    }
    script = SCRIPT.replace("MODEL", model).replace("ADDRESS", f"http://127.0.0.1:{address}/")
    started = await asyncio.create_subprocess_exec(
        *(sys.executable, "-X", "dev", "-c", script),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=environment,
    )
    said, complained = await started.communicate()
    await runner.cleanup()
    assert said.split().count(b"done") == 4
    assert started.returncode == 0
    assert b"nclosed" not in complained
    assert b"Traceback" not in complained


# -- others' graphs -------------------------------------------------------------------------------


async def test_executor_runs_a_graph_of_somebody_elses() -> None:
    tools: list[BaseTool] = []
    agent: Any = create_deep_agent(ScriptedChatModel(["Hello from elsewhere."]), tools)
    events = await run(agent, "hi")
    assert said(events) == "Hello from elsewhere."
    assert isinstance(events[-1], DoneEvent)


async def test_executor_keeps_to_the_saver_a_graph_was_compiled_with() -> None:
    saver = InMemorySaver()
    agent: Any = create_deep_agent(ScriptedChatModel(["Hi."]), [], checkpointer=saver)
    await run(agent, "hi")
    assert [each async for each in saver.alist({"configurable": {"thread_id": "s"}})]
