"""A process that runs an agent's bare `astream` in many sessions: `python -m bench.bare NAME`.

No server, no store, no reader but a counter: what the libraries cost by themselves. The agents:

    untuned         `create_deep_agent` as the libraries give it
    tuned           the same with every known switch: LangSmith's hop inline, a fixed `grep`
                    description, uvloop, a frozen collector, a wide executor
    tuned-memory    tuned, with LangGraph's InMemorySaver
    tuned-plain     tuned, without plan, skills and memory
    ours            our own compiled graph, alone
    ours-unmerged   the same with a model whose chunks are not merged

The first four have our model class, prompt, tools and the libraries' own plan, skills and memory
middleware. They have no approvals and no file reports, which ours has: that is in their favour.
Commands: `turns`, `paced`, `threads`.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, aclosing
from pathlib import Path
from time import monotonic
from typing import Any

import uvloop
from deepagents import create_deep_agent
from deepagents.backends import FilesystemBackend
from deepagents.middleware.filesystem import FilesystemMiddleware
from deepagents.middleware.memory import MemoryMiddleware
from deepagents.middleware.skills import SkillsMiddleware
from langchain.agents.middleware import TodoListMiddleware
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from bench.meter import Lateness, Meter, memory_of, percentile, to_json
from bench.processes import Json, answer_lines
from dataagent_core.app.assembly import open_core
from dataagent_core.config import Settings
from dataagent_core.engine import AgentConfig, tune_loop, tune_process
from dataagent_core.engine.factory import SYSTEM_PROMPT
from dataagent_core.identity import RunContext
from dataagent_core.models.scripted import ScriptedChatModel
from dataagent_core.tools import OutboundClient, ToolContext, builtin_tools

Parts = AsyncIterator[dict[str, Any]]
Ask = Callable[[str, str], Parts]
"""A message and a thread's id → the parts LangGraph streams."""


class Bare:
    """One agent and the ways to load it."""

    def __init__(self, name: str, home: Path) -> None:
        self._name = name
        self._home = home
        self.stack = AsyncExitStack()
        self._ask: Ask | None = None

    async def handle(self, command: Json) -> Json:
        """Execute a command."""
        ask = await self._agent()
        match command.pop("do"):
            case "turns":
                return await turns(ask, **command)
            case "paced":
                return await paced(ask, **command)
            case "threads":
                return await threads(ask, **command)
            case unknown:
                raise ValueError(f"There is no command {unknown!r}.")

    async def _agent(self) -> Ask:
        if self._ask is None:
            self._ask = await open_agent(self._name, self._home, self.stack)
            if self._name.startswith("tuned"):  # ours is tuned by `open_core`
                tune_loop(asyncio.get_running_loop())
                tune_process()
        return self._ask


async def turns(ask: Ask, *, message: str, sessions: int, turns: int, warm: int = 1) -> Json:
    """Back-to-back turns in so many sessions; the first ones are not counted."""
    threads = [str(uuid.uuid4()) for _ in range(sessions)]

    async def session(thread_id: str, count: int) -> None:
        for _ in range(count):
            await _turn(ask, message, thread_id)

    await asyncio.gather(*(session(thread_id, warm) for thread_id in threads))
    meter = Meter(os.getpid())
    meter.start()
    await asyncio.gather(*(session(thread_id, turns) for thread_id in threads))
    return to_json(meter.stop(sessions * turns))


async def paced(
    ask: Ask,
    *,
    message: str,
    sessions: int,
    seconds: float,
    settle: float,
    pace: float,
    length: float,
) -> Json:
    """Sessions that stream back to back, started evenly over one turn's length."""
    begin = monotonic() + settle  # uvloop's own clock stands still within one round of its loop
    end = begin + seconds
    late = Lateness(pace, begin, end)
    meter = Meter(os.getpid())

    async def session(number: int) -> None:
        await asyncio.sleep(length * number / sessions)
        while (started := monotonic()) < end:
            async for part in ask(message, str(uuid.uuid4())):
                if part["type"] == "messages":
                    late.received(part["data"][0].text, started, monotonic())

    work = asyncio.gather(*(session(number) for number in range(sessions)))
    await asyncio.sleep(begin - monotonic())
    meter.start()
    await asyncio.sleep(max(0.0, end - monotonic()))
    sample = meter.stop(1)
    await work
    return {**to_json(sample), "p95": percentile(late.values, 0.95), "chunks": len(late.values)}


async def threads(ask: Ask, *, message: str, count: int, at_once: int) -> Json:
    """One turn in each of so many threads; the memory that each still takes afterwards."""
    gate = asyncio.Semaphore(at_once)

    async def one_turn() -> None:
        async with gate:
            await _turn(ask, message, str(uuid.uuid4()))

    await asyncio.gather(*(one_turn() for _ in range(at_once * 4)))
    before = memory_of(os.getpid())
    for _ in range(count // at_once):
        await asyncio.gather(*(one_turn() for _ in range(at_once)))
    return {"bytes": (memory_of(os.getpid()) - before) / count}


async def _turn(ask: Ask, message: str, thread_id: str) -> None:
    async for _ in ask(message, thread_id):
        pass


# -- the agents --


async def open_agent(name: str, home: Path, stack: AsyncExitStack) -> Ask:
    """Build the agent of this name; what it needs is closed with the stack."""
    settings = Settings(
        _env_file=None,  # pyright: ignore[reportCallIssue] pydantic-settings takes it
        home=home,
        agents_home=home / "agents",
        model="scripted",
    )
    if name.startswith("ours"):
        return await _ours(settings, stack, is_merged=name == "ours")
    client = OutboundClient()
    stack.push_async_callback(client.aclose)
    return _library(settings, client, name)


def _library(settings: Settings, client: OutboundClient, name: str) -> Ask:
    """An agent made with `create_deep_agent` and nothing of ours but the tools and the model."""
    root = settings.home_dir / "workspace"
    for folder in ("files", "memories"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    backend = FilesystemBackend(root_dir=root, virtual_mode=True)
    middleware: list[Any] = []
    if name.startswith("tuned"):
        described = {"grep": "Search files for a literal string."}
        middleware.append(FilesystemMiddleware(backend=backend, custom_tool_descriptions=described))
    if name != "tuned-plain":
        middleware += [
            TodoListMiddleware(),
            SkillsMiddleware(backend=backend, sources=[]),
            MemoryMiddleware(backend=backend, sources=["/memories/AGENTS.md"]),
        ]
    graph: Any = create_deep_agent(
        ScriptedChatModel(),
        builtin_tools(ToolContext(settings=settings, client=client)),
        system_prompt=SYSTEM_PROMPT,
        middleware=middleware,
        backend=backend,
        checkpointer=InMemorySaver() if name == "tuned-memory" else None,
    )
    return lambda message, thread_id: _stream(graph, message, thread_id)


async def _ours(settings: Settings, stack: AsyncExitStack, *, is_merged: bool) -> Ask:
    """Our graph as the server builds it, without server, ledger and checkpoints."""
    core = await stack.enter_async_context(open_core(settings))
    await core.workspaces.prepare("bench")
    model = None if is_merged else ScriptedChatModel()
    graph, _ = core.factory.create_agent(AgentConfig("agent", model=model, enable_shell=False))

    def ask(message: str, thread_id: str) -> Parts:
        context = RunContext("bench", thread_id, thread_id, "agent")
        return _stream(graph, message, thread_id, context=context)

    return ask


async def _stream(graph: Any, message: str, thread_id: str, **options: Any) -> Parts:
    question = HumanMessage(message, id=str(uuid.uuid4()))
    parts = graph.astream(
        {"messages": [question]},
        {"configurable": {"thread_id": thread_id}},
        stream_mode=["messages", "updates", "custom"],
        subgraphs=True,
        version="v2",
        **options,
    )
    async with aclosing(parts):
        async for part in parts:
            yield part


def main() -> None:
    """Answer commands until stdin ends."""
    name = sys.argv[1]
    factory: Any = asyncio.new_event_loop if name == "untuned" else uvloop.new_event_loop
    with tempfile.TemporaryDirectory(prefix="dataagent-bench-") as home:
        bare = Bare(name, Path(home))
        answer_lines(bare.handle, factory, bare.stack)


if __name__ == "__main__":
    main()
