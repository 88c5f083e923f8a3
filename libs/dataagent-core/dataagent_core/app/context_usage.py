"""What fills a model's window in a conversation: measured on the very request it would get.

The agent is built around a model that only looks at what it is sent and says nothing. So prompts,
tools, memory, skills and messages are counted as they are, whatever puts them there. Nothing is
written.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from deepagents.middleware.summarization import SUMMARIZATION_EVENT_KEY
from langchain_core.language_models import LanguageModelInput
from langchain_core.language_models.model_profile import ModelProfile
from langchain_core.messages import AIMessage, BaseMessage, SystemMessage
from langchain_core.runnables import Runnable
from pydantic import PrivateAttr

from dataagent_core.engine import graph as lg
from dataagent_core.identity import RunContext
from dataagent_core.middleware import TokenCounter
from dataagent_core.models.chunks import Piece
from dataagent_core.models.factory import close_model
from dataagent_core.models.rule_based import Say, play
from dataagent_core.models.streamed_model import StreamedChatModel
from dataagent_core.runs.agents import agent_config
from dataagent_core.runs.types import Run
from dataagent_core.session import now

if TYPE_CHECKING:
    from dataagent_core.app.assembly import Core

_ENDLESS = 1_000_000_000  # the looking model never has to summarise
_STEPS = 25
_MEMORY = ("<agent_memory>", "</agent_memory>")
_SKILLS = ("## Skills\n", "A skill never widens what you may do.")


@dataclass(frozen=True, slots=True)
class ContextUse:
    """About how many tokens each part takes, and how many the model can read."""

    model: str
    window: int
    system_prompt: int
    memory: int
    skills: int
    tools: int
    mcp_tools: int
    messages: int

    @property
    def total(self) -> int:
        """All of them together."""
        words = self.system_prompt + self.memory + self.skills + self.messages
        return words + self.tools + self.mcp_tools


class _RecordingModel(StreamedChatModel):
    """Keeps what it is sent, and says nothing."""

    model_name: str = "looking"
    _sent: list[BaseMessage] = PrivateAttr(default_factory=list[BaseMessage])
    _tools: list[Any] = PrivateAttr(default_factory=list[Any])

    @property
    def recorded(self) -> tuple[list[BaseMessage], list[Any]]:
        """Messages and tools of the last call."""
        return self._sent, self._tools

    def pieces(
        self, messages: list[BaseMessage], stop: list[str] | None = None, **kwargs: Any
    ) -> AsyncGenerator[Piece]:
        """Nothing."""
        self._sent = list(messages)
        return play([Say("")], messages, self.model_name)

    def bind_tools(
        self, tools: Sequence[Any], *, tool_choice: str | None = None, **kwargs: Any
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """The model as it is; it remembers the tools."""
        self._tools = list(tools)
        return self.bind(**kwargs)

    def _resolve_model_profile(self) -> ModelProfile:
        return {"max_input_tokens": _ENDLESS, "tool_calling": True}

    @property
    def _llm_type(self) -> str:
        return "looking"


async def context_use(
    core: Core, session_id: str | None, *, owner: str, agent: str, model: str | None = None
) -> ContextUse:
    """What the next message of a session would come with; of a new one without an id.

    Raises:
        SessionNotFound: the session is not the owner's.
        Misconfigured: the model is not available.
    """
    if session_id is not None:
        await core.sessions.get(session_id, owner=owner)
    run = _hypothetical_run(session_id or "", owner, agent)
    config = agent_config(core.settings, run, core.agents.registry)
    recorder = _RecordingModel()
    graph, _ = core.factory.create_agent(replace(config, model=recorder, graph=None))
    thread = await _visible_messages(core, session_id, run, graph)
    context = RunContext(
        owner, run.session_id, run.run_id, config.assistant_id, mcp=_mcp(core, run)
    )
    await lg.invoke(graph, {"messages": thread}, context, _STEPS)
    name = model or (config.model if isinstance(config.model, str) else None)
    name = name or core.settings.default_model
    return _count(name, await _window(core, name), *recorder.recorded)


async def _visible_messages(
    core: Core, session_id: str | None, run: Run, graph: lg.Graph
) -> list[Any]:
    """The messages a model would see, and one more: without a question there is no request."""
    question: list[Any] = [("user", "?")]
    if session_id is None:
        return question
    bound = lg.bind(graph, core.checkpoints.saver())
    values = await lg.values(bound, lg.thread(session_id, _STEPS))
    summarization = core.factory.summarization(
        agent_config(core.settings, run, core.agents.registry)
    )
    event = values.get(SUMMARIZATION_EVENT_KEY)
    return [*summarization.visible_messages(values.get("messages", ()), event), *question]


def _mcp(core: Core, run: Run) -> object | None:
    return core.mcp.prepare_run_tools(
        user_id=run.user_id, tenant_id=None, session_id=run.session_id
    )


async def _window(core: Core, name: str) -> int:
    model = core.settings.create_model(name)
    try:
        return int((model.profile or {}).get("max_input_tokens") or 0)
    finally:
        await close_model(model)


def _count(name: str, window: int, sent: list[BaseMessage], tools: list[Any]) -> ContextUse:
    count = TokenCounter()
    system = "".join(str(each.text) for each in sent if isinstance(each, SystemMessage))
    memory, skills = _section(system, *_MEMORY), _section(system, *_SKILLS)
    said = [each for each in sent if not isinstance(each, SystemMessage)]
    parts = {"memory": _tokens(memory), "skills": _tokens(skills)}
    far = [each for each in tools if "__" in _name(each)]
    near = [each for each in tools if "__" not in _name(each)]
    return ContextUse(
        model=name,
        window=window,
        system_prompt=max(_tokens(system) - sum(parts.values()), 0),
        tools=count([], tools=near),
        mcp_tools=count([], tools=far),
        messages=count(said[:-1]),
        **parts,
    )


def _tokens(text: str) -> int:
    return TokenCounter()([SystemMessage(text)]) if text else 0


def _section(text: str, start: str, end: str) -> str:
    """The part of a text from one mark to another; nothing if it is not there."""
    _, found, rest = text.partition(start)
    return f"{found}{rest.partition(end)[0]}" if found else ""


def _name(tool: Any) -> str:
    if isinstance(tool, dict):
        fields = cast("dict[str, Any]", tool)  # a tool as JSON
        return str(fields.get("function", fields).get("name", ""))
    return str(getattr(tool, "name", ""))


def _hypothetical_run(session_id: str, owner: str, agent: str) -> Run:
    """A run that is never kept, to ask who would answer it."""
    return Run(
        run_id="context",
        session_id=session_id,
        user_id=owner,
        assistant_id=agent,
        status="queued",
        attempt=0,
        created_at=now(),
        message_id="",
        answer_id="",
    )
