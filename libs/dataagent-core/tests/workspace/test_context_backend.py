"""The one backend of all users opens each user's files, and says at times that they are used."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Coroutine
from typing import Any, TypedDict, TypeVar

import pytest
from deepagents.backends.protocol import ReadResult
from langgraph.graph import StateGraph  # pyright: ignore[reportMissingTypeStubs] it has none

from dataagent_core.identity import RunContext
from dataagent_core.workspace import MemoriesBackend, UserWorkspaceManager, WorkspaceBackend
from dataagent_core.workspace import graph_backends as module
from dataagent_core.workspace.backend import FolderBackend
from tests.requirements import requirement
from tests.waiting import WAIT_SECONDS

T = TypeVar("T")
LONG_AGO = time.time() - 400 * 86_400


class State(TypedDict):
    """Nothing."""


async def in_a_run(work: Coroutine[Any, Any, T]) -> T:
    """Do it as a graph does that runs for the user u1."""
    done: list[T] = []

    async def node(_state: State) -> State:
        done.append(await work)
        return {}

    graph: Any = StateGraph(State, context_schema=RunContext)  # generic over any state
    graph.add_node("only", node)
    graph.set_entry_point("only")
    await graph.compile().ainvoke({}, context=RunContext("u1", "s", "r", "agent"))
    return done[0]


@requirement("R33.7")
async def test_a_workspace_that_was_archived_comes_back_for_an_agent_that_had_it_open(
    manager: UserWorkspaceManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = WorkspaceBackend(manager)
    await in_a_run(backend.awrite("/files/a.txt", "kept"))
    workspace = manager.get_user_workspace("u1")
    for path in [*workspace.rglob("*"), workspace]:
        os.utime(path, (LONG_AGO, LONG_AGO))
    assert await manager.archive_unused(time.time() - 86_400) == 1
    monkeypatch.setattr(module, "monotonic", lambda: time.monotonic() + 7200)
    found = await in_a_run(backend.aread("/files/a.txt"))
    assert found.error is None
    assert (await in_a_run(backend.awrite("/files/b.txt", "new"))).error is None
    assert await manager.archive_unused(time.time() - 86_400) == 0


@requirement("R34.5")
async def test_reading_a_memory_is_a_use_of_it(
    manager: UserWorkspaceManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = MemoriesBackend(manager)
    await in_a_run(backend.awrite("/AGENTS.md", "tea"))
    folder = manager.memories_dir("u1", "agent")
    os.utime(folder, (LONG_AGO, LONG_AGO))
    await in_a_run(backend.adownload_files(["/AGENTS.md"]))
    assert folder.stat().st_mtime < time.time() - 86_400  # said not long ago, as far as it knows
    monkeypatch.setattr(module, "monotonic", lambda: time.monotonic() + 7200)
    await in_a_run(backend.adownload_files(["/AGENTS.md"]))
    assert folder.stat().st_mtime > time.time() - 86_400


async def test_calls_that_open_at_the_same_moment_have_one_backend(
    manager: UserWorkspaceManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[FolderBackend] = []
    both, open_workspace = asyncio.Barrier(2), manager.open_workspace
    read = FolderBackend.aread

    async def opening(user_id: str) -> FolderBackend:
        await both.wait()
        return await open_workspace(user_id)

    async def noted(self: FolderBackend, path: str, *window: int) -> ReadResult:
        opened.append(self)
        return await read(self, path, *window)

    monkeypatch.setattr(manager, "open_workspace", opening)
    monkeypatch.setattr(FolderBackend, "aread", noted)
    backend = WorkspaceBackend(manager)
    async with asyncio.timeout(WAIT_SECONDS):
        await asyncio.gather(*(in_a_run(backend.aread(path)) for path in ("/a", "/b")))

    assert len(opened) == 2
    assert opened[0] is opened[1]  # one lock for what both write
