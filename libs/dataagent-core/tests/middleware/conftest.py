"""A real agent around our middleware, with a model that plays what it is told."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

import pytest
from deepagents.backends import CompositeBackend

# its saver is open
from langchain.agents import create_agent  # pyright: ignore[reportUnknownVariableType]
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import BaseTool
from langgraph.checkpoint.memory import InMemorySaver

from dataagent_core.identity import RunContext
from dataagent_core.models.rule_based import Call, Say, Turn
from dataagent_core.models.scripted import ScriptedChatModel
from dataagent_core.workspace import MemoriesBackend, UserWorkspaceManager, WorkspaceBackend


class Agent:
    """Drives the graph turn by turn and keeps what it streamed, asked and sent to the model."""

    def __init__(
        self,
        turns: Sequence[str | Call | list[Call]],
        middleware: Sequence[Any],
        tools: Sequence[BaseTool] = (),
    ) -> None:
        self.message = ""
        self.prompts: list[str] = []
        self.asked: list[str] = []
        self.custom: list[Any] = []
        self.interrupts: list[Any] = []
        self._turns = list(turns)
        self.graph: Any = create_agent(
            ScriptedChatModel(self._next_turn),
            tools=list(tools),
            middleware=list(middleware),
            context_schema=RunContext,
            checkpointer=InMemorySaver(),
        )

    def _next_turn(self, messages: Sequence[BaseMessage]) -> Turn:
        self.prompts.append("\n".join(m.text for m in messages if m.type == "system"))
        self.asked.append(str([m.text for m in messages if m.type == "human"][-1]))
        done = sum(isinstance(m, AIMessage) for m in messages)
        turn = self._turns[done] if done < len(self._turns) else "done"
        if isinstance(turn, list):
            return turn
        return [Say(turn) if isinstance(turn, str) else turn]

    async def run(
        self,
        given: Any = "go",
        *,
        user_id: str = "u1",
        thread: str = "t",
        auto_approve: bool = True,
        run_id: str = "r",
        skill: str | None = None,
        **state: Any,
    ) -> list[BaseMessage]:
        """One turn; returns the conversation so far."""
        message = given if isinstance(given, str) else self.message
        self.message = message
        context = RunContext(
            user_id,
            "s",
            run_id,
            "agent",
            auto_approve=auto_approve,
            skill=skill,
            message=message,
        )
        if isinstance(given, str):
            given = {"messages": [HumanMessage(given)], **state}
        config = {"configurable": {"thread_id": thread}}
        self.interrupts = []
        async for part in self.graph.astream(
            given, config, context=context, stream_mode=["custom", "updates"], version="v2"
        ):
            if part["type"] == "custom":
                self.custom.append(part["data"])
            elif "__interrupt__" in part["data"]:
                self.interrupts += part["data"]["__interrupt__"]
        return (await self.graph.aget_state(config)).values["messages"]

    async def results(self, given: Any = "go", **options: Any) -> list[tuple[str, str]]:
        """One turn; returns status and text of the tools' answers so far."""
        messages = await self.run(given, **options)
        return [(m.status, m.text) for m in messages if isinstance(m, ToolMessage)]


@pytest.fixture
def agent_with() -> type[Agent]:
    """Makes an agent from turns, middleware and tools."""
    return Agent


@pytest.fixture
def manager(tmp_path: Path) -> Generator[UserWorkspaceManager]:
    manager = UserWorkspaceManager(tmp_path / "workspaces", 10_000)
    yield manager
    manager.close()


@pytest.fixture
def backend(manager: UserWorkspaceManager) -> CompositeBackend:
    return CompositeBackend(
        default=WorkspaceBackend(manager), routes={"/memories/": MemoriesBackend(manager)}
    )
