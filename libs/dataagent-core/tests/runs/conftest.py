"""A core over a home directory of its own, and one user's talk with it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from dataagent_core.app.assembly import Core, open_core
from dataagent_core.config import Settings
from dataagent_core.engine import AgentConfig
from dataagent_core.engine import graph as lg
from dataagent_core.events import AnyEvent, HITLRequestEvent
from dataagent_core.hitl import Decision
from dataagent_core.runs import Entry, Run, RunOptions
from dataagent_core.runs.agents import agent_config
from dataagent_core.session import Message
from tests.homes import prepared_home
from tests.waiting import WAIT_SECONDS


@dataclass(slots=True)
class Chat:
    """One user's session in a core. Every wait is bounded."""

    core: Core
    session_id: str
    owner: str = "anna"

    async def start(
        self,
        message: str,
        *,
        auto_approve: bool | None = None,
        options: RunOptions | None = None,
        **more: Any,
    ) -> Run:
        started = await self.core.runs.start(
            self.session_id,
            message,
            owner=self.owner,
            options=options or RunOptions(auto_approve=auto_approve),
            **more,
        )
        return started.run

    async def entries(self, run: Run) -> list[Entry]:
        """All entries of a run, once it has ended."""
        async with asyncio.timeout(WAIT_SECONDS):
            return [entry async for entry in self.core.runs.read(run.run_id)]

    async def events(self, run: Run) -> list[AnyEvent]:
        """All events of a run, once it has ended."""
        return [entry.event for entry in await self.entries(run)]

    async def ask(self, message: str, **options: Any) -> list[AnyEvent]:
        """Start and wait for the end."""
        return await self.events(await self.start(message, **options))

    async def seen(self, run: Run, event_type: str, *, times: int = 1) -> AnyEvent:
        """The event of a type that comes as the given one, as soon as it is there."""
        found: list[AnyEvent] = []
        async with asyncio.timeout(WAIT_SECONDS):
            async for entry in self.core.runs.read(run.run_id):
                if entry.event_type == event_type:
                    found.append(entry.event)
                    if len(found) == times:
                        return entry.event
        raise AssertionError(f"{len(found)} {event_type} events, not {times}")

    async def requests(self, run: Run, *, times: int = 1) -> list[HITLRequestEvent]:
        """The run's first requests, as soon as there are so many."""
        await self.seen(run, "hitl_request", times=times)
        entries = await self.core.runs._store.read_run(run.run_id)
        return [e.event for e in entries if isinstance(e.event, HITLRequestEvent)]

    async def decide(self, run: Run, request_id: str, decision: Decision) -> Any:
        return await self.core.runs.decide(run.run_id, request_id, decision, owner=self.owner)

    async def run(self, run: Run) -> Run:
        """The run as it is kept now."""
        return (await self.core.runs.get(run.run_id, owner=self.owner)).run

    async def history(self) -> list[Message]:
        return (await self.core.sessions.messages(self.session_id, owner=self.owner))[0]

    async def thread(self) -> list[tuple[str, str]]:
        """Type and text of what the agent's thread holds; nothing in it is open."""
        config = agent_config(self.core.settings, await self._any_run())
        graph = lg.bind(self.core.factory.create_agent(config)[0], self.core.checkpoints.saver())
        state = await lg.snapshot(graph, lg.thread(self.session_id, 10))
        assert (state.results, state.interrupts) == ([], ())
        return [(message.type, message.text) for message in state.messages]

    async def _any_run(self) -> Run:
        run_id = next(m.run_id for m in await self.history() if m.run_id)
        return (await self.core.runs.get(run_id, owner=self.owner)).run

    async def files(self) -> dict[str, str]:
        """Name and text of the user's files."""
        folder = (await self.core.workspaces.prepare(self.owner)) / "files"
        return {path.name: path.read_text() for path in sorted(folder.iterdir())}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return prepared_home(tmp_path / "home")


@pytest.fixture
def make_settings(home: Path) -> Callable[..., Settings]:
    """Settings of a core with the scripted model in this test's home directory."""

    def make(**values: Any) -> Settings:
        given: dict[str, Any] = {"home": home, "model": "scripted", "sample_data": False, **values}
        return Settings(**given)

    return make


@pytest.fixture
async def core(make_settings: Callable[..., Settings]) -> AsyncGenerator[Core]:
    async with open_core(
        make_settings(enable_shell=True, max_runs_per_user=0), grace_seconds=2
    ) as opened:
        yield opened


@pytest.fixture
async def memory_core(make_settings: Callable[..., Settings]) -> AsyncGenerator[Core]:
    async with open_core(make_settings(session_store="memory"), grace_seconds=2) as opened:
        yield opened


@pytest.fixture
def chat_in() -> Callable[..., Any]:
    """Opens a chat in a core: a new session, or the one of that id."""

    async def open_chat(core: Core, session_id: str | None = None, owner: str = "anna") -> Chat:
        session = await core.sessions.get_or_create_session(owner, "agent", session_id)
        return Chat(core, session.session_id, owner)

    return open_chat


@pytest.fixture
async def chat(core: Core, chat_in: Callable[..., Any]) -> Chat:
    return await chat_in(core)


@pytest.fixture
def with_agent() -> Callable[..., None]:
    """Gives a core's next runs other fields of their `AgentConfig`."""

    def change(core: Core, **fields: Any) -> None:
        def config_for(run: Run) -> AgentConfig:
            return replace(agent_config(core.settings, run), **fields)

        core.worker._config_for = config_for

    return change
