"""Executors of sessions: kept while a session is in use, released when it is idle."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dataagent_core.config import Settings
from dataagent_core.engine import AgentConfig, AgentFactory, MemoryCheckpoints
from dataagent_core.engine import executors as executors_module
from dataagent_core.engine.executors import SessionExecutors
from dataagent_core.errors import Misconfigured
from dataagent_core.workspace import UserWorkspaceManager
from tests.requirements import requirement
from tests.tiers import examples

CONFIG = AgentConfig("agent")


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture(scope="module")
def factory(tmp_path_factory: pytest.TempPathFactory) -> Generator[AgentFactory]:
    home: Path = tmp_path_factory.mktemp("executors")
    found = Settings(home=home, model="scripted")
    workspaces = UserWorkspaceManager(found.workspaces_dir, found.workspace_quota)
    yield AgentFactory(found, workspaces)
    workspaces.close()


@requirement("R13.4", "P21")
@settings(max_examples=examples(100), deadline=None)
@given(idle=st.lists(st.integers(0, 200), max_size=8))
def test_exactly_the_sessions_idle_too_long_are_released(
    factory: AgentFactory, idle: list[int]
) -> None:
    released: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(executors_module, "time", clock := Clock())
        executors = SessionExecutors(factory, MemoryCheckpoints(), on_idle=released.append)
        for number, seconds in sorted(enumerate(idle), key=lambda each: -each[1]):
            clock.now = 200.0 - seconds
            executors.get(f"s{number}", CONFIG)
        clock.now = 200.0
        count = asyncio.run(executors.release_expired(timeout_seconds=100.5))
    expected = {f"s{number}" for number, seconds in enumerate(idle) if seconds > 100}
    assert set(released) == expected
    assert count == len(expected)
    assert executors.live_sessions == len(idle) - len(expected)


async def test_session_in_use_again_is_not_idle(
    factory: AgentFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executors_module, "time", clock := Clock())
    executors = SessionExecutors(factory, MemoryCheckpoints())
    executors.get("s", CONFIG)
    clock.now = 10_000.0
    executors.get("s", CONFIG)
    assert await executors.release_expired() == 0


async def test_executor_needs_open_checkpoints(factory: AgentFactory) -> None:
    executors = SessionExecutors(factory)
    with pytest.raises(Misconfigured):
        executors.get("s", CONFIG)
    await executors.open_checkpoints()
    assert executors.get("s", CONFIG) is executors.get("s", CONFIG)
