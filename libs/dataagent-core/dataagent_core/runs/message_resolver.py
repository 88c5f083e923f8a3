"""Resolves a message before anything is stored: its agent, files and skill, and its user's rights.

The result becomes the run's input.

Routes a message to the supervisor by rule, before the run is stored.

The decision is stored in the run's input, so it survives a restart. A run that a rule gave to an
agent is that agent's run, as if the user had chosen it; its readers also see a note.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from dataagent_core.agents import SUPERVISOR, AgentRegistry
from dataagent_core.agents.routing import choose
from dataagent_core.agents.types import GENERAL_ALIAS
from dataagent_core.engine import AgentExecutor
from dataagent_core.engine.translate import error_event
from dataagent_core.errors import FileNotFound, SkillNotFound
from dataagent_core.events import AnyEvent, DoneEvent, TextEvent, ThinkingEvent
from dataagent_core.runs.admission import Admission
from dataagent_core.runs.agents import SkillChoice, SkillService, feature_names
from dataagent_core.runs.types import SPEAKER, Run
from dataagent_core.skills import split_command
from dataagent_core.workspace import FileStore

_ROUTE = "route"


def decide_route(
    assistant_id: str,
    message: str,
    *,
    file_ids: Sequence[str],
    skill: str | None,
    agents: AgentRegistry | None,
) -> tuple[str, dict[str, Any]]:
    """The assistant that answers a run, and the decision as input of the run."""
    if assistant_id != SUPERVISOR or agents is None:
        return assistant_id, {}
    if skill is None and message.startswith("/") and (typed := split_command(message)):
        skill = typed[0]
    route = choose(message, file_ids=file_ids, skill=skill, agents=agents.known())
    if route is None:
        return assistant_id, {}
    kept = {_ROUTE: {"rule": route.rule, "note": route.note, "is_known": route.agent is not None}}
    return route.agent or assistant_id, kept


def with_route_note(
    run: Run,
    executor: AgentExecutor,
    events: AsyncGenerator[AnyEvent],
    *,
    on_agent_start: Callable[[], None],
) -> AsyncGenerator[AnyEvent]:
    """The run's events, preceded by a note of the rule's decision.

    `on_agent_start` is called right before the agent's own first event.
    """
    route: dict[str, Any] | None = run.input.get(_ROUTE)
    if route is None:
        on_agent_start()
        return events
    if not route["is_known"]:
        return _reply_with_note(run, executor, route["note"])
    return _prepend_note(route["note"], events, on_agent_start)


async def failure_events(error: Exception) -> AsyncGenerator[AnyEvent]:
    """The events of a run whose agent could not be built."""
    yield error_event(error)
    yield DoneEvent(reason="failed")


async def _prepend_note(
    note: str, events: AsyncGenerator[AnyEvent], on_agent_start: Callable[[], None]
) -> AsyncGenerator[AnyEvent]:
    yield ThinkingEvent(content=note)
    on_agent_start()
    async with aclosing(events) as following:
        async for event in following:
            yield event


async def _reply_with_note(
    run: Run, executor: AgentExecutor, answer: str
) -> AsyncGenerator[AnyEvent]:
    """Answer with the note alone, and record question and answer in the thread."""
    yield TextEvent(content=answer, is_final=True)
    files = run.input.get("files", ())
    await executor.record_interrupted_turn(
        run.input["message"], answer, run.session_id, files=files
    )
    yield DoneEvent()


@dataclass(frozen=True, slots=True)
class ResolvedMessage:
    """An admitted message: its agent, the run's input, and the metadata of the user's message."""

    assistant_id: str
    input: dict[str, Any]
    metadata: dict[str, Any]


class MessageResolver:
    """Resolves and admits messages."""

    def __init__(
        self,
        admission: Admission,
        *,
        files: FileStore | None = None,
        skills: SkillService | None = None,
        agents: AgentRegistry | None = None,
    ) -> None:
        self._admission = admission
        self._files = files
        self._skills = skills
        self._agents = agents

    async def resolve(
        self,
        message: str,
        assistant_id: str,
        *,
        owner: str,
        file_ids: Sequence[str] = (),
        skill: str | None = None,
    ) -> ResolvedMessage:
        """Resolve the agent, files and skill of a message.

        Raises:
            AgentNotFound: there is no such agent, or it was deleted.
            AgentDisabled: the owner's tenant has the agent off.
            BudgetExhausted: the owner's daily budget is used up.
            FileNotFound: a file is not the owner's.
            SkillNotFound: the owner has no such skill with this agent.
        """
        named = self._agents.assistant_id_of(assistant_id) if self._agents else assistant_id
        agent, route = decide_route(
            named, message, file_ids=file_ids, skill=skill, agents=self._agents
        )
        tenant_id = await self.admit(owner, agent)
        attached = await self._file_references(file_ids, owner)
        chosen = await self._choose_skill(message, skill, owner, agent)
        if chosen.skill is not None:
            attached["skill"] = chosen.skill
        tenant = {} if tenant_id is None else {"tenant_id": tenant_id}
        speaker = self._speaker(agent)
        found = {"message": chosen.task, **tenant, **attached, **route, **speaker}
        return ResolvedMessage(agent, found, attached)

    def _speaker(self, agent: str) -> dict[str, str]:
        """The name of a chosen agent, as input of the run; the default assistant has none."""
        if self._agents is None or agent == GENERAL_ALIAS:
            return {}
        spec = self._agents.find(agent)
        return {} if spec is None else {SPEAKER: spec.name}

    async def admit(self, owner: str, agent: str) -> str | None:
        """The id of the owner's tenant, if they may start a run of the agent.

        Raises:
            AgentNotFound, AgentDisabled, BudgetExhausted: as `resolve`.
        """
        return await self._admission.check(owner, *feature_names(self._agents, agent))

    async def _file_references(self, file_ids: Sequence[str], owner: str) -> dict[str, Any]:
        """The references of a message's files, as input of the run."""
        if not file_ids:
            return {}
        if self._files is None:
            raise FileNotFound(f"There is no file {file_ids[0][:64]!r}.")
        found = await self._files.get_all(file_ids, owner=owner)
        return {"files": [file.reference() for file in found]}

    async def _choose_skill(
        self, message: str, named: str | None, owner: str, agent: str
    ) -> SkillChoice:
        """The skill the user asks for, and the message without its name."""
        if self._skills is None:
            if named is not None:
                raise SkillNotFound("There are no skills here.")
            return SkillChoice(None, message)
        return await self._skills.choose(message, named, owner=owner, agent=agent)
