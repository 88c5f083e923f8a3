"""What is replaced in the libraries is still there, and each replacement still applies."""

from __future__ import annotations

import importlib
from collections import deque
from importlib.metadata import version
from types import FunctionType
from typing import Any

import langsmith
import pytest

# its saver is open
from langchain.agents import create_agent  # pyright: ignore[reportUnknownVariableType]
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

from dataagent_core.engine import AgentConfig, AgentFactory
from dataagent_core.engine.graph import last_node, message_channel
from dataagent_core.middleware import TodoList
from dataagent_core.middleware.upstream import (
    REPLACEMENTS,
    Replacement,
    reduce_messages,
    skip_thread_scans,
    untraced_hooks,
)
from dataagent_core.models.messages import Thread
from dataagent_core.models.scripted import ScriptedChatModel


@pytest.mark.parametrize("replaced", REPLACEMENTS, ids=lambda each: each.name)
def test_each_replaced_name_exists_in_the_version_it_was_measured_in(
    replaced: Replacement,
) -> None:
    assert version(replaced.package) == replaced.version
    parts = deque(replaced.name.split("."))
    found: Any = importlib.import_module(parts.popleft())
    while parts:
        name = parts.popleft()
        if not hasattr(found, name):
            importlib.import_module(f"{found.__name__}.{name}")
        found = getattr(found, name)
    assert found is not None


def test_the_messages_of_our_agents_are_reduced_by_our_reducer(factory: AgentFactory) -> None:
    graph, _ = factory.create_agent(AgentConfig("agent"))
    assert message_channel(graph).reducer is reduce_messages


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


def test_libraries_look_at_a_plain_thread_no_more() -> None:
    models: Any = importlib.import_module("langchain_core.language_models.chat_models")
    agents: Any = importlib.import_module("langchain.agents.factory")
    skip_thread_scans()
    skip_thread_scans()  # once more changes nothing
    plain = Thread([HumanMessage("hi", id="a"), AIMessage("ho", id="b")])
    image: Any = [{"type": "image", "source_type": "base64", "data": "QQ==", "mime_type": "x/y"}]
    other = plain.with_messages([HumanMessage(image, id="c")])
    system = SystemMessage([{"type": "text", "text": "be kind"}])
    for look in (models._normalize_messages, agents._patch_invalid_tool_calls):
        assert look(plain) is plain
        assert look(plain) == look(list(plain)) == look.__wrapped__(plain)
        assert look(plain.with_system_message(system)) == look.__wrapped__([system, *plain])
        assert look(other) == look.__wrapped__(list(other))
        assert not hasattr(look.__wrapped__, "__wrapped__")
