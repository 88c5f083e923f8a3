"""The core as a library's user has it: from the environment alone, nothing wired by hand.

Imports from the core are inside the functions, so that a name that is missing fails the tests that
need it and no other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import Field

WRITE = (
    '!tool write_file {"file_path": "/files/note.txt", "content": "one\\ntwo\\n"}\n!echo Written.'
)
"""A message that makes the scripted model call a tool that asks first."""


class NotingModel(BaseChatModel):
    """Gives one answer after another, the last again and again, and notes what it was given."""

    answers: list[Any] = Field(default_factory=lambda: ["Fine."])
    prompts: list[Any] = Field(default_factory=list)
    tools: list[str] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "noting"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:
        """Note which tools there are."""
        self.tools[:] = [convert_to_openai_tool(tool)["function"]["name"] for tool in tools]
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        self.prompts.append(list(messages))
        answer = self.answers[min(len(self.prompts), len(self.answers)) - 1]
        if isinstance(answer, Exception):
            raise answer
        message = AIMessage(answer) if isinstance(answer, str) else answer
        return ChatResult(generations=[ChatGeneration(message=message)])

    @property
    def told(self) -> str:
        """Everything the model was told, in its last call."""
        return "\n".join(str(message.text) for message in self.prompts[-1])


def set_up(monkeypatch: pytest.MonkeyPatch, folder: Path, **settings: str) -> Path:
    """An environment of a user's own, with the scripted model; the data directory."""
    home = folder / "data"
    usual = {
        "HOME": str(folder),
        "DATAAGENT_HOME": str(home),
        "DATAAGENT_MODEL": "scripted",
        "DATAAGENT_SAMPLE_DATA": "false",
    }
    for name, value in {**usual, **settings}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(folder)
    return home


def agent_of(config: Any = None, **fields: Any) -> Any:
    """An agent as ten lines make it."""
    from dataagent_core.engine import AgentConfig, AgentFactory

    config = config or AgentConfig(assistant_id="helper", **fields)
    agent, _backend = AgentFactory().create_agent(config)
    return agent


async def turn(
    message: str = "!echo Hello.", session_id: str = "s-1", agent: Any = None, **fields: Any
) -> list[Any]:
    """The events of one turn of an agent."""
    from dataagent_core.engine import AgentExecutor

    executor = AgentExecutor(agent or agent_of(**fields))
    return [event async for event in executor.execute(message, session_id)]


class Handler:
    """Answers every request in one way and notes what it was asked."""

    def __init__(self, decide: Callable[[], Any]) -> None:
        self._decide = decide
        self.requests: list[tuple[Any, str]] = []

    async def request_approval(self, action_request: Any, session_id: str) -> Any:
        """As `HITLHandler`."""
        self.requests.append((action_request, session_id))
        return self._decide()


async def turn_with(handler: Any, message: str = WRITE, **fields: Any) -> list[Any]:
    """The events of a turn whose approvals a handler answers."""
    from dataagent_core.engine import AgentConfig
    from dataagent_core.session import MemorySessionStore, SessionManager

    manager = SessionManager(MemorySessionStore())
    session = await manager.get_or_create_session("ana", "helper")
    config = AgentConfig(assistant_id="helper", user_id="ana", **fields)
    executor = await manager.get_executor(session, config, handler)
    return [event async for event in executor.execute(message, session.session_id)]


def kinds(events: list[Any]) -> list[str]:
    """Their `event_type`s."""
    return [event.event_type for event in events]
