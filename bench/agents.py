"""The agents a door is compared with, each as a function of a message to its streamed parts.

    untuned         `create_deep_agent` as the libraries give it
    tuned           the same with every known switch: LangSmith's hop inline, a fixed `grep`
                    description, uvloop, a frozen collector, a wide executor
    tuned-memory    tuned, with LangGraph's InMemorySaver
    tuned-plain     tuned, without plan, skills and memory
    ours            our own compiled graph, alone
    ours-unmerged   the same with a model whose chunks are not merged

The first four have our model class, prompt, tools and the libraries' own plan, skills and memory
middleware. They have no approvals and no file reports, which ours has: that is in their favour.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, aclosing
from pathlib import Path
from typing import Any

from deepagents import create_deep_agent
from deepagents.backends import FilesystemBackend
from deepagents.middleware.filesystem import FilesystemMiddleware
from deepagents.middleware.memory import MemoryMiddleware
from deepagents.middleware.skills import SkillsMiddleware
from langchain.agents.middleware import TodoListMiddleware
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from dataagent_core.app.assembly import open_core
from dataagent_core.config import Settings
from dataagent_core.engine import AgentConfig
from dataagent_core.engine.factory import SYSTEM_PROMPT
from dataagent_core.identity import RunContext
from dataagent_core.models.scripted import ScriptedChatModel
from dataagent_core.tools import OutboundClient, ToolContext, builtin_tools

Parts = AsyncIterator[dict[str, Any]]
Ask = Callable[[str, str], Parts]
"""A message and a thread's id → the parts LangGraph streams."""


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
    """Our graph as the server builds it, without the server, the ledger and the checkpoints."""
    core = await stack.enter_async_context(open_core(settings))
    await core.workspaces.prepare("bench")
    model = None if is_merged else ScriptedChatModel()
    graph, _ = core.factory.create_agent(AgentConfig("agent", model=model, enable_shell=False))

    def ask(message: str, thread_id: str) -> Parts:
        context = RunContext("bench", thread_id, thread_id, "agent")
        return _stream(graph, message, thread_id, context=context)

    return ask


async def _stream(graph: Any, message: str, thread_id: str, **options: Any) -> Parts:
    asked = HumanMessage(message, id=str(uuid.uuid4()))
    parts = graph.astream(
        {"messages": [asked]},
        {"configurable": {"thread_id": thread_id}},
        stream_mode=["messages", "updates", "custom"],
        subgraphs=True,
        version="v2",
        **options,
    )
    async with aclosing(parts):
        async for part in parts:
            yield part
