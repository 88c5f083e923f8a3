"""The tuning still has its effect on the libraries it tunes."""

from __future__ import annotations

import asyncio
import gc
import importlib
import subprocess
import sys
import threading
import weakref
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from types import FunctionType
from typing import Any

import langsmith
import pytest

# its saver is open
from langchain.agents import create_agent  # pyright: ignore[reportUnknownVariableType]
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from pydantic import BaseModel, TypeAdapter

from dataagent_core.engine import AgentConfig, AgentFactory, tune_loop, tune_process, tuning
from dataagent_core.engine.graph import last_node
from dataagent_core.engine.tuning import (
    cache_decision_schemas,
    cache_prompts,
    cache_signatures,
    pause_after,
    skip_thread_scans,
    speed_up_request_overrides,
    untraced_hooks,
)
from dataagent_core.identity import RunContext
from dataagent_core.middleware import ApprovalRules, ApprovalsMiddleware, TodoList
from dataagent_core.models.messages import Thread
from dataagent_core.models.rule_based import Call
from dataagent_core.models.scripted import ScriptedChatModel
from tests.requirements import requirement
from tests.waiting import WAIT_SECONDS


def traced_hooks(graph: Any) -> list[str]:
    """The hooks around a graph's model calls that carry a LangSmith wrapper."""
    found: list[str] = []
    seen: set[int] = set()
    waiting: list[Any] = [graph.nodes["model"].bound.afunc, graph.nodes["model"].bound.func]
    while waiting:
        thing = waiting.pop()
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        if isinstance(thing, list | tuple):
            waiting += thing
        elif isinstance(thing, FunctionType):
            if getattr(thing, "__langsmith_traceable__", False):
                found.append(thing.__qualname__)
            waiting += [cell.cell_contents for cell in thing.__closure__ or ()]
    return found


def small_agent() -> Any:
    return create_agent(ScriptedChatModel(), middleware=[TodoList()])


def test_graph_built_under_it_has_hooks_without_spans() -> None:
    assert traced_hooks(small_agent())
    with untraced_hooks():
        assert traced_hooks(small_agent()) == []
    assert traced_hooks(small_agent())  # and the library is as it was


def test_tracing_that_is_on_stays_on() -> None:
    # LangSmith leaves parts open
    with (
        langsmith.tracing_context(enabled=True),  # pyright: ignore[reportUnknownMemberType]
        untraced_hooks(),
    ):
        assert traced_hooks(small_agent())


def test_failing_build_leaves_the_library_as_it_was() -> None:
    with pytest.raises(ZeroDivisionError), untraced_hooks():
        raise ZeroDivisionError
    assert traced_hooks(small_agent())


def test_our_agents_are_built_without_spans(factory: AgentFactory) -> None:
    graph, _ = factory.create_agent(AgentConfig("agent"))
    assert traced_hooks(graph) == []


@pytest.mark.parametrize("enable_skills", [False, True])
def test_graph_has_no_step_but_model_and_tools(
    factory: AgentFactory, *, enable_skills: bool
) -> None:
    graph, _ = factory.create_agent(AgentConfig("agent", enable_skills=enable_skills))
    assert set(graph.nodes) == {"__start__", "model", "tools"}
    assert last_node(graph) == "model"


@contextmanager
def untouched_process() -> Generator[None]:
    """Take back what `tune_process` sets."""
    threshold = gc.get_threshold()
    langsmith.set_runtime_overrides(aio_to_thread=None)
    try:
        yield
    finally:
        gc.unfreeze()
        gc.set_threshold(*threshold)
        langsmith.set_runtime_overrides(aio_to_thread=None)


async def test_tuned_process_prepares_spans_without_a_thread() -> None:
    threads: list[str] = []

    @langsmith.traceable  # pyright: ignore[reportUnknownMemberType] LangSmith leaves parts open
    async def work() -> str:
        return "done"

    loop = asyncio.get_running_loop()
    original = loop.run_in_executor

    def noted(executor: Any, function: Any, *arguments: Any) -> Any:
        threads.append("hop")
        return original(executor, function, *arguments)

    with untouched_process(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop, "run_in_executor", noted)
        assert await work() == "done"
        hops = len(threads)
        tune_process()
        assert await work() == "done"
        assert gc.get_threshold() == (50_000, 20, 100)
        assert gc.get_freeze_count() > 0
    assert hops > 0
    assert len(threads) == hops


async def test_tuned_loop_runs_many_blocking_calls_at_once() -> None:
    loop = asyncio.get_running_loop()
    tune_loop(loop)
    together = threading.Barrier(40, timeout=WAIT_SECONDS)
    await asyncio.gather(*(asyncio.to_thread(together.wait) for _ in range(40)))


def test_libraries_look_at_a_plain_thread_no_more() -> None:
    models: Any = importlib.import_module("langchain_core.language_models.chat_models")
    agents: Any = importlib.import_module("langchain.agents.factory")
    skip_thread_scans()
    skip_thread_scans()  # once more changes nothing
    plain = Thread([HumanMessage("hi", id="a"), AIMessage("ho", id="b")])
    image: Any = [{"type": "image", "source_type": "base64", "data": "QQ==", "mime_type": "x/y"}]
    other = plain.with_messages([HumanMessage(image, id="c")])
    system = SystemMessage([{"type": "text", "text": "be kind"}])
    for look in (
        models._format_for_tracing,
        models._normalize_messages,
        agents._patch_invalid_tool_calls,
    ):
        assert look(plain) is plain
        assert look(plain) == look(list(plain)) == look.__wrapped__(plain)
        assert look(plain.with_system_message(system)) == look.__wrapped__([system, *plain])
        assert look(other) == look.__wrapped__(list(other))
        assert not hasattr(look.__wrapped__, "__wrapped__")


def test_changed_copy_of_a_request_is_what_the_library_would_make() -> None:
    requests: Any = importlib.import_module("langchain.agents.middleware.types")
    speed_up_request_overrides()
    speed_up_request_overrides()  # once more changes nothing
    request: Any = requests.ModelRequest(
        model=ScriptedChatModel(), messages=[HumanMessage("hi")], system_prompt="be kind"
    )
    original = requests.ModelRequest.override.__wrapped__
    several: list[dict[str, Any]] = [
        {"messages": []},
        {"system_message": SystemMessage("be brief"), "tool_choice": "any"},
        {"system_message": None},
        {"system_prompt": "be quick"},
        {"tools": None},
        {"model_settings": {"temperature": 0}},
    ]
    for changes in several:
        changed = request.override(**changes)
        assert vars(changed) == vars(original(request, **changes))
        assert type(changed) is requests.ModelRequest
    assert request.system_prompt == "be kind"
    assert len(request.messages) == 1
    with pytest.raises(TypeError):
        request.override(colour="red")


def test_section_is_added_to_a_prompt_once_and_as_the_library_would() -> None:
    cache_prompts()
    cache_prompts()  # once more changes nothing
    prompts: Any = importlib.import_module("deepagents.middleware.filesystem")
    add = prompts.append_to_system_message
    first, same = SystemMessage("be kind"), SystemMessage("be kind")
    longer = add(first, "be brief")
    assert longer == add.__wrapped__(first, "be brief")
    assert add(first, "be brief") is longer
    assert add(longer, "be quick") is add(add(first, "be brief"), "be quick")
    assert add(first, "be quick") == add.__wrapped__(first, "be quick")
    assert add(same, "be brief") is not longer  # another object may become another text
    assert add(None, "alone") == add.__wrapped__(None, "alone")


@pytest.mark.slow
async def test_call_after_call_has_the_same_prompt(factory: AgentFactory) -> None:
    tune_process()
    seen: list[SystemMessage] = []

    def heard(messages: Any) -> Any:
        seen.append(messages[0])
        return ["yes"]

    built: Any = factory.create_agent(AgentConfig("agent", model=ScriptedChatModel(heard)))[0]
    for _ in range(2):
        await built.ainvoke(
            {"messages": [HumanMessage("hi")]}, context=RunContext("u", "s", "r", "agent")
        )
    assert seen[0] is seen[1]
    assert "write_todos" in seen[0].text


def test_kind_of_saver_is_looked_at_once() -> None:
    loop: Any = importlib.import_module("langgraph.pregel._loop")
    cache_signatures()
    cache_signatures()  # once more changes nothing

    class New:
        def put(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
            del task_path

    class Old:
        def put(self, config: Any, writes: Any, task_id: str) -> None:
            del task_id

    ask = loop.put_writes_accepts_task_path
    assert [ask(New().put), ask(New().put), ask(Old().put)] == [True, True, False]

    def plain(task_path: str) -> None:
        del task_path

    assert ask(plain)
    assert not hasattr(ask.__wrapped__, "__wrapped__")


@tool
def send(text: str) -> str:
    """Send a text."""
    return text


def test_what_may_be_decided_about_a_tool_is_made_once_and_as_the_library_would() -> None:
    cache_decision_schemas()
    cache_decision_schemas()  # once more changes nothing
    module: Any = importlib.import_module("langchain.agents.middleware.human_in_the_loop")
    schema = module._decision_schema
    asked = (["approve", "edit"], "send", send)
    made = schema(*asked)
    assert schema(*asked) is made
    plain = schema.__wrapped__(*asked)
    assert TypeAdapter[Any](made).json_schema() == TypeAdapter[Any](plain).json_schema()
    assert not hasattr(schema.__wrapped__, "__wrapped__")
    for other in ((["approve"], "send", send), (["approve", "edit"], "send", None)):
        assert schema(*other) is not made


@requirement("G16")
async def test_approvals_leave_no_class_behind() -> None:
    cache_decision_schemas()
    agent: Any = create_agent(
        ScriptedChatModel([Call("send", {"text": "a"}), "sent"]),
        tools=[send],
        middleware=[ApprovalsMiddleware(ApprovalRules({"send": "Send a text."}))],
        checkpointer=InMemorySaver(),
    )

    async def approve(number: int) -> None:
        config = {"configurable": {"thread_id": str(number)}}
        await agent.ainvoke({"messages": [HumanMessage("hi")]}, config)
        [waiting] = (await agent.aget_state(config)).tasks
        answer = {waiting.interrupts[0].id: {"type": "approve"}}
        ended = await agent.ainvoke(Command(resume=answer), config)
        assert ended["messages"][-1].text == "sent"

    async def classes_after(approvals: range) -> Counter[str]:
        for number in approvals:
            await approve(number)
        gc.unfreeze()  # else what is frozen now or later is not counted
        gc.collect()
        models = [each for each in gc.get_objects() if isinstance(each, type(BaseModel))]
        return Counter(f"{each.__module__}.{each.__qualname__}" for each in models)

    before = await classes_after(range(3))
    grown = await classes_after(range(3, 13)) - before
    assert [name for name, count in grown.items() if count >= 10] == []  # one for each approval


_FILL_AND_FREE = """
import psutil
from dataagent_core.engine.tuning import give_back_memory
used = psutil.Process().memory_info
blocks = [bytes(3000) for _ in range(50_000)]
kept = blocks[::100]  # what is left lies between what is free
del blocks
before = used().rss
give_back_memory()
print(before - used().rss)
"""


@pytest.mark.slow
@requirement("G16")
def test_memory_that_is_free_goes_back_to_the_system() -> None:
    said = subprocess.run(
        [sys.executable, "-c", _FILL_AND_FREE], capture_output=True, text=True, check=True
    )
    assert int(said.stdout) > 100_000_000


async def test_a_tuned_loop_gives_memory_back_again_and_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given_back = threading.Semaphore(0)
    monkeypatch.setattr(tuning, "_TRIM_SECONDS", 0.001)
    monkeypatch.setattr(tuning, "trim_heap", given_back.release)
    monkeypatch.setattr(tuning, "collect_garbage", lambda: 0.0)  # of all tests before this one
    tune_loop(asyncio.get_running_loop())
    for _ in range(3):
        assert await asyncio.to_thread(given_back.acquire, timeout=WAIT_SECONDS)


class Ring:
    """Refers to itself: only the garbage collector finds out that nobody uses it."""

    def __init__(self) -> None:
        self.itself = self


@requirement("G16")
async def test_a_tuned_loop_finds_garbage_however_long_it_was_in_use(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tuning, "_TRIM_SECONDS", 0.001)
    ring, gone = Ring(), asyncio.Event()
    weakref.finalize(ring, gone.set)
    gc.collect()  # it was in use when the collector came by: now it is old
    del ring
    tune_loop(asyncio.get_running_loop())
    async with asyncio.timeout(WAIT_SECONDS):
        await gone.wait()


def test_looking_for_garbage_takes_a_thousandth_of_the_time_at_most() -> None:
    assert (pause_after(0.01), pause_after(0.06), pause_after(0.3)) == (60.0, 60.0, 300.0)
