"""The calls into LangGraph whose types are unknown, in one place.

The engine uses compiled graphs through these functions alone, so that the rest of the package can
be checked strictly. They return a `Part` (one piece of the stream) or a `ThreadSnapshot`.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingTypeStubs=false

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import BaseMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.config import get_stream_writer
from langgraph.constants import END, START
from langgraph.graph.state import CompiledStateGraph, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import Interrupt, StateSnapshot, StreamMode

from dataagent_core.agents.types import SUPERVISOR
from dataagent_core.identity import RunContext

Graph = CompiledStateGraph[Any, Any, Any, Any]
Part = dict[str, Any]  # {"type": "updates" | "custom", "ns": tuple[str, ...], "data": …}
Config = RunnableConfig
Work = Callable[[Graph, Mapping[str, Any], RunContext, int], Awaitable[dict[str, Any]]]
"""The work of a node: agent, thread, context and step limit in, additions to the thread out."""

STREAM_MODES: list[StreamMode] = ["updates", "custom"]
"""Not `messages`: models write their text to `custom` (`models/token_stream.py`)."""


@dataclass(frozen=True, slots=True)
class ThreadSnapshot:
    """A thread at its last checkpoint."""

    messages: list[BaseMessage]
    results: list[ToolMessage]  # of tools that finished before their siblings; not yet messages
    has_finished: bool  # whether tasks finished in a step that others left open
    interrupts: tuple[Interrupt, ...]
    unmerged: list[BaseMessage]  # messages of a team's agent that its thread lacks


def bind(graph: Graph, saver: BaseCheckpointSaver[Any]) -> Graph:
    """The same graph with a saver of its own (a saver locks; sharing one would queue all users)."""
    return graph.copy({"checkpointer": saver})


def saver_of(graph: Graph) -> BaseCheckpointSaver[Any] | None:
    """The saver a graph was compiled with."""
    own: Any = graph.checkpointer  # or a boolean, which a part of another graph has
    return own if isinstance(own, BaseCheckpointSaver) else None


def message_channel(graph: Graph) -> Any:  # LangGraph's channel of the thread's messages
    """The channel of the graph's messages."""
    return graph.channels["messages"]


def thread(session_id: str, recursion_limit: int) -> Config:
    """The configuration of one session's thread."""
    return {"configurable": {"thread_id": session_id}, "recursion_limit": recursion_limit}


async def stream(
    graph: Graph, graph_input: Any, config: Config, context: RunContext
) -> AsyncGenerator[Part]:
    """Run the graph and yield its stream; closing this closes the run."""
    parts: Any = graph.astream(
        graph_input,
        config,
        context=context,
        stream_mode=STREAM_MODES,
        subgraphs=True,
        version="v2",
        durability="exit",
    )
    async with aclosing(parts):
        async for part in parts:
            if part["type"] == "custom" and isinstance(part["data"], _StreamMark):
                part["data"].is_taken.set()
            else:
                yield part


class _StreamMark:
    """A mark in the stream, set once the reader has reached it."""

    __slots__ = ("is_taken",)

    def __init__(self) -> None:
        self.is_taken = asyncio.Event()


async def catch_up() -> None:
    """Wait, inside a node, until the reader of the run's stream has taken what is in it."""
    mark = _StreamMark()
    get_stream_writer()(mark)
    await mark.is_taken.wait()


async def snapshot(graph: Graph, config: Config) -> ThreadSnapshot:
    """The thread's messages, the results of its last step, and its interrupts."""
    state = await graph.aget_state(config, subgraphs=depth(graph) > 0)
    messages = list(state.values.get("messages", ()))
    inner = [task.state for task in state.tasks if isinstance(task.state, StateSnapshot)]
    if inner:
        known = {message.id for message in messages}
        unmerged = [each for at in inner for each in _inner_messages(at) if each.id not in known]
        return ThreadSnapshot(messages, [], False, state.interrupts, unmerged)
    has_finished = any(task.result is not None for task in state.tasks)
    return ThreadSnapshot(messages, _results(state), has_finished, state.interrupts, [])


def _inner_messages(state: StateSnapshot) -> list[BaseMessage]:
    """All messages of an agent's own thread, with the results of tools that had finished."""
    return [*state.values.get("messages", ()), *_results(state)]


def _results(state: StateSnapshot) -> list[ToolMessage]:
    return [found for task in state.tasks for found in _tool_messages(task.result)]


def _tool_messages(result: Any) -> Iterator[ToolMessage]:
    """The tool results in the output of a task, of any shape."""
    if isinstance(result, ToolMessage):
        yield result
    elif isinstance(result, dict):
        yield from _tool_messages(result.get("messages"))
    elif isinstance(result, list | tuple):
        for item in result:
            yield from _tool_messages(item)


async def commit_finished(graph: Graph, config: Config) -> None:
    """Commit the results of tools that finished before their siblings were stopped."""
    await graph.aupdate_state(config, None, as_node=END)


async def add_messages(graph: Graph, config: Config, messages: list[BaseMessage]) -> None:
    """Append messages to the thread as the last step of a turn."""
    await write(graph, config, {"messages": messages})


async def write(graph: Graph, config: Config, values: dict[str, Any]) -> None:
    """Write to the thread as the last step of a turn."""
    await graph.aupdate_state(config, values, as_node=last_node(graph))


async def values(graph: Graph, config: Config) -> Mapping[str, Any]:
    """The values of the thread's last checkpoint."""
    return (await graph.aget_state(config)).values


def last_node(graph: Graph) -> str:
    """The last node of a turn: the last `after_agent` hook, or the model."""
    if depth(graph):
        return SUPERVISOR
    hooks = [name for name in graph.nodes if name.endswith(".after_agent")]
    return hooks[-1] if hooks else "model"


# -- several agents in one graph ------------------------------------------------------------------


def depth(graph: Graph) -> int:
    """How many graphs are around the main agent: one in a team, else none."""
    return int(SUPERVISOR in graph.nodes)


def as_node(graph: Graph) -> Graph:
    """An agent's graph as a node: input and output are all of its state, private parts too."""
    builder = graph.builder
    schemas = builder.input_schema, builder.output_schema
    builder.input_schema = builder.output_schema = builder.state_schema
    try:
        inner = builder.compile(name=graph.name)
    finally:
        builder.input_schema, builder.output_schema = schemas
    return inner.with_config(graph.config)


def team(like: Graph, agents: Mapping[str, tuple[Graph, Work]], *, entry: str) -> Graph:
    """A graph of agents with the state of `like` that begins with the `entry`."""
    builder: Any = StateGraph(like.builder.state_schema, context_schema=RunContext)
    for name, (agent, work) in agents.items():
        builder.add_node(name, _node(agent, work), destinations=tuple(agents))
    builder.add_edge(START, entry)
    return builder.compile()


def _node(agent: Graph, work: Work) -> Any:
    """An agent as a node. It must refer to its agent: so LangGraph finds the thread inside it."""

    async def node(
        state: dict[str, Any], config: RunnableConfig, runtime: Runtime[RunContext]
    ) -> dict[str, Any]:
        return await work(agent, state, runtime.context, config.get("recursion_limit", 25))

    return node


async def invoke(
    graph: Graph, state: Mapping[str, Any], context: RunContext, recursion_limit: int
) -> dict[str, Any]:
    """Run an agent inside a node, on the saver and stream of the graph around it."""
    return await graph.ainvoke(state, {"recursion_limit": recursion_limit}, context=context)
