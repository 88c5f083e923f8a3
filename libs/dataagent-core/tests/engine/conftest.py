"""Agents over an empty home directory, with a model that plays what it is told."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from pydantic import Field

from dataagent_core.config import Settings
from dataagent_core.engine import AgentConfig, AgentExecutor, AgentFactory, MemoryCheckpoints
from dataagent_core.events import AnyEvent
from dataagent_core.hitl import ActionRequest, Decision
from dataagent_core.identity import RunContext
from dataagent_core.models import factory as models
from dataagent_core.models.rule_based import Turn
from dataagent_core.models.scripted import ScriptedChatModel
from dataagent_core.tools.think import ThinkTool
from dataagent_core.workspace import UserWorkspaceManager


class ListeningModel(ScriptedChatModel):
    """The scripted model; notes which tools it was bound to and what it was sent."""

    bound: list[set[str]] = Field(default_factory=list[set[str]])
    heard: list[list[BaseMessage]] = Field(default_factory=list[list[BaseMessage]])

    def bind_tools(
        self, tools: Sequence[Any], **kwargs: Any
    ) -> Runnable[LanguageModelInput, AIMessage]:
        self.bound.append({tool.name for tool in tools if isinstance(tool, BaseTool)})
        return super().bind_tools(tools, **kwargs)

    def turn_for(self, messages: Sequence[BaseMessage]) -> Turn:
        self.heard.append(list(messages))
        return super().turn_for(messages)

    @property
    def prompt(self) -> str:
        """The system prompt of the last call."""
        return "\n".join(m.text for m in self.heard[-1] if m.type == "system")


class Answers:
    """A handler that answers by tool name, and notes what it was asked."""

    def __init__(self, answers: dict[str, Decision] | Decision) -> None:
        self.asked: list[ActionRequest] = []
        self.sessions: list[str] = []
        self._answers = answers

    async def request_approval(self, action_request: ActionRequest, session_id: str) -> Decision:
        self.asked.append(action_request)
        self.sessions.append(session_id)
        if isinstance(self._answers, Decision):
            return self._answers
        return self._answers[action_request.name]


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setattr(models, "TEXT_WINDOW_SECONDS", 0)
    return Settings(home=tmp_path / "home", model="scripted")


@pytest.fixture
def workspaces(settings: Settings) -> Generator[UserWorkspaceManager]:
    manager = UserWorkspaceManager(
        settings.workspaces_dir,
        settings.workspace_quota,
        memories_root=settings.home_dir / "memories",
    )
    yield manager
    manager.close()


@pytest.fixture
def factory(settings: Settings, workspaces: UserWorkspaceManager) -> AgentFactory:
    return AgentFactory(settings, workspaces, tools=[ThinkTool()])


@pytest.fixture
def checkpoints() -> MemoryCheckpoints:
    return MemoryCheckpoints()


@pytest.fixture
def listening() -> type[ListeningModel]:
    """Makes a model that notes what it gets."""
    return ListeningModel


@pytest.fixture
def answers() -> type[Answers]:
    """Makes a handler from decisions."""
    return Answers


@pytest.fixture
def executor_of(
    factory: AgentFactory, checkpoints: MemoryCheckpoints
) -> Callable[..., AgentExecutor]:
    """Makes an executor from a handler and the fields of an `AgentConfig`."""

    def make(
        *, hitl_handler: Any = None, hitl_timeout_seconds: float | None = None, **config: Any
    ) -> AgentExecutor:
        made = AgentConfig("agent", **config)
        graph, _backend = factory.create_agent(made)
        return AgentExecutor(
            graph,
            checkpoints.saver(),
            hitl_handler=hitl_handler,
            recursion_limit=made.recursion_limit,
            timeout_seconds=made.timeout,
            hitl_timeout_seconds=hitl_timeout_seconds,
        )

    return make


@pytest.fixture
def ask(
    executor_of: Callable[..., AgentExecutor],
) -> Callable[..., Awaitable[list[AnyEvent]]]:
    """All events of one turn; options are those of `executor_of`, and whose turn it is."""

    async def ask(
        message: str, *, session_id: str = "s", user_id: str = "u", **options: Any
    ) -> list[AnyEvent]:
        context = RunContext(user_id, session_id, "r", "agent")
        events = executor_of(**options).execute(message, session_id, context)
        return [event async for event in events]

    return ask
