"""The calls into LangGraph whose types are unknown, in one place.

Everything the engine asks of a compiled graph goes through these few functions, so that the rest of
the package can be checked strictly. What comes out is a `Part` (one piece of the stream) or a
`Snapshot` of the thread.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingTypeStubs=false

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import BaseMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.constants import END
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Interrupt, StreamMode

from dataagent_core.identity import RunContext

Graph = CompiledStateGraph[Any, Any, Any, Any]
Part = dict[
    str, Any
]  # {"type": "messages" | "updates" | "custom", "ns": tuple[str, ...], "data": …}
Config = RunnableConfig
STREAM_MODES: list[StreamMode] = ["messages", "updates", "custom"]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A thread as its last checkpoint has it."""

    messages: list[BaseMessage]
    results: list[ToolMessage]  # of tools that finished before their siblings; not yet messages
    has_finished: bool  # tasks of a step that others left open
    interrupts: tuple[Interrupt, ...]


def bind(graph: Graph, saver: BaseCheckpointSaver[Any]) -> Graph:
    """The same graph with a saver of its own (a saver locks; sharing one would queue all users)."""
    return graph.copy({"checkpointer": saver})


def message_channel(graph: Graph) -> Any:  # LangGraph's channel of the thread's messages
    """Where the graph keeps its thread's messages."""
    return graph.channels["messages"]


def thread(session_id: str, recursion_limit: int) -> Config:
    """The configuration of one session's thread."""
    return {"configurable": {"thread_id": session_id}, "recursion_limit": recursion_limit}


async def stream(
    graph: Graph, given: Any, config: Config, context: RunContext
) -> AsyncGenerator[Part]:
    """Run the graph and pass on what it streams; closing this closes the run."""
    parts: Any = graph.astream(
        given,
        config,
        context=context,
        stream_mode=STREAM_MODES,
        subgraphs=True,
        version="v2",
        durability="exit",
    )
    async with aclosing(parts):
        async for part in parts:
            yield part


async def snapshot(graph: Graph, config: Config) -> Snapshot:
    """The thread's messages, what its last step had reached, and what it waits for."""
    state = await graph.aget_state(config)
    results = [found for task in state.tasks for found in _tool_messages(task.result)]
    messages = list(state.values.get("messages", ()))
    has_finished = any(task.result is not None for task in state.tasks)
    return Snapshot(messages, results, has_finished, state.interrupts)


def _tool_messages(result: Any) -> Iterator[ToolMessage]:
    """The tool results in what a task wrote, whatever its shape."""
    if isinstance(result, ToolMessage):
        yield result
    elif isinstance(result, dict):
        yield from _tool_messages(result.get("messages"))
    elif isinstance(result, list | tuple):
        for item in result:
            yield from _tool_messages(item)


async def commit_finished(graph: Graph, config: Config) -> None:
    """Keep the results of tools that finished before their siblings were stopped."""
    await graph.aupdate_state(config, None, as_node=END)


async def add_messages(graph: Graph, config: Config, messages: list[BaseMessage]) -> None:
    """Append messages to the thread as if its turn had just ended with them."""
    await graph.aupdate_state(config, {"messages": messages}, as_node=last_node(graph))


def last_node(graph: Graph) -> str:
    """The node after which a turn is over: the last `after_agent` hook, or the model."""
    hooks = [name for name in graph.nodes if name.endswith(".after_agent")]
    return hooks[-1] if hooks else "model"
