"""Deleting a conversation: at once for every reader, undone for some days, then for good."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from dataagent_core.app.assembly import Core
from dataagent_core.data.results import ArtifactDraft
from dataagent_core.errors import (
    ArtifactNotFound,
    RunNotFound,
    SessionDeleted,
    SessionNotFound,
)
from dataagent_core.runs.deletion import purge_periodically
from dataagent_core.runs.types import Run
from dataagent_core.session import DEFAULT_TITLE, SessionManager
from tests.requirements import requirement
from tests.waiting import WAIT_SECONDS


async def ended(core: Core, run: Run) -> None:
    async with asyncio.timeout(WAIT_SECONDS):
        async for _entry in core.runs.read(run.run_id):
            pass


async def asked(core: Core, message: str, session_id: str | None = None) -> Run:
    """A message of anna's that was answered."""
    session = await core.sessions.get_or_create_session("anna", "agent", session_id)
    started = await core.runs.start(session.session_id, message, owner="anna")
    await ended(core, started.run)
    return started.run


async def has_thread(core: Core, session_id: str) -> bool:
    config: Any = {"configurable": {"thread_id": session_id, "checkpoint_ns": ""}}
    return await core.checkpoints.saver().aget_tuple(config) is not None


async def test_first_message_names_the_conversation_until_its_owner_does(core: Core) -> None:
    run = await asked(core, "# Sales by country\nand year")
    session_id = run.session_id
    assert (await core.sessions.get(session_id, owner="anna")).title == "Sales by country"
    await asked(core, "something else", session_id)
    assert (await core.sessions.get(session_id, owner="anna")).title == "Sales by country"
    named = await core.sessions.create("anna", "agent", title="  Mine\n")
    await asked(core, "something else", named.session_id)
    assert (await core.sessions.get(named.session_id, owner="anna")).title == "Mine"
    unnamed = await core.sessions.create("anna", "agent", title=" \n")
    assert unnamed.title == DEFAULT_TITLE


@requirement("R32.1", "R32.3")
async def test_conversations_are_found_by_title_and_by_what_was_said(core: Core) -> None:
    manager = core.sessions
    titled = await manager.create("anna", "agent", title="季度销售额")
    said = await asked(core, "how is 季度销售额 counted? 100% sure")
    await manager.create("anna", "agent", title="100x")
    await core.sessions.create("bert", "agent", title="季度销售额")

    async def found(text: str | None, **page: int) -> tuple[list[str], int]:
        sessions, total = await manager.list(owner="anna", search=text, **page)
        return [each.session_id for each in sessions], total

    both = [said.session_id, titled.session_id]
    assert await found("销售额") == (both, 2)
    assert await found(" 销售额 ", limit=1, offset=1) == (both[1:], 2)
    assert await found("100%") == ([said.session_id], 1)
    assert await found("HOW IS") == ([said.session_id], 1)
    assert await found("nothing like it") == ([], 0)
    for no_search in (None, "", "  "):
        assert (await found(no_search))[1] == 3


@requirement("G6")
async def test_conversation_that_is_put_away_stops_and_is_gone_for_its_owner(core: Core) -> None:
    session = await core.sessions.create("anna", "agent")
    session_id = session.session_id
    run = (await core.runs.start(session_id, "!slow 1000 20", owner="anna")).run

    await core.runs.soft_delete(session_id, owner="anna")

    for attempt in (
        core.sessions.get(session_id, owner="anna"),
        core.sessions.get_by_thread(session.thread_id, owner="anna"),
        core.sessions.get_or_create_session("anna", "agent", session_id),
        core.sessions.messages(session_id, owner="anna"),
        core.sessions.rename(session_id, "x", owner="anna"),
        core.runs.start(session_id, "more", owner="anna"),
        core.runs.history(session_id, owner="anna"),
        core.runs.find_resumable(session_id, owner="anna", after=0),
        core.runs.cancel_session(session_id, owner="anna"),
        core.runs.soft_delete(session_id, owner="anna"),
    ):
        with pytest.raises(SessionNotFound):
            await attempt
    for attempt in (
        core.runs.get(run.run_id, owner="anna"),
        core.runs.cancel(run.run_id, owner="anna"),
    ):
        with pytest.raises(RunNotFound):
            await attempt
    assert await core.sessions.list(owner="anna") == ([], 0)

    assert (await core.sessions.restore(session_id, owner="anna")).session_id == session_id
    assert (await core.runs.get(run.run_id, owner="anna")).run.status == "cancelled"
    assert await core.runs.active_run(session_id) is None
    await asked(core, "and on it goes", session_id)


@requirement("R32.1")
async def test_nobody_else_puts_away_or_brings_back(manager: SessionManager, core: Core) -> None:
    session = await manager.create("anna", "agent")
    with pytest.raises(SessionNotFound):
        await core.runs.soft_delete(session.session_id, owner="bert")
    assert await manager.get(session.session_id, owner="anna") == session
    assert await manager.restore(session.session_id, owner="anna") == session
    await core.runs.soft_delete(session.session_id, owner="anna")
    for attempt in (
        manager.restore(session.session_id, owner="bert"),
        manager.delete(session.session_id, owner="bert"),
        manager.restore("nothing", owner="anna"),
        manager.restore("nul\x00", owner="anna"),
    ):
        with pytest.raises(SessionNotFound):
            await attempt
    assert await manager.restore(session.session_id, owner="anna") == session


async def kept_file(core: Core, session_id: str) -> str:
    draft = ArtifactDraft("anna", "a file", session_id=session_id)
    return (await core.data.service.artifacts.create_file(draft, b"content")).artifact_id


async def test_what_is_deleted_for_good_takes_artefacts_and_thread_along(core: Core) -> None:
    run = await asked(core, "hello")
    other = await asked(core, "hello again")
    gone = [await kept_file(core, run.session_id) for _ in range(3)]
    stays = await kept_file(core, other.session_id)
    artifacts = core.data.service.artifacts

    await core.runs.delete_permanently(run.session_id, owner="anna")

    for artifact_id in gone:
        with pytest.raises(ArtifactNotFound):
            await artifacts.get(artifact_id, owner="anna")
    assert await artifacts.usage("anna") == len(b"content")
    assert await artifacts.get(stays, owner="anna")
    assert not await has_thread(core, run.session_id)
    assert await has_thread(core, other.session_id)
    with pytest.raises(SessionNotFound):
        await core.sessions.restore(run.session_id, owner="anna")
    assert core.sessions.live_sessions == 1


@requirement("R32.1")
async def test_deleted_session_is_never_anyones_again(core: Core) -> None:
    run = await asked(core, "hello")
    await core.runs.delete_permanently(run.session_id, owner="anna")
    for user_id in ("anna", "bert"):
        with pytest.raises(SessionDeleted):
            await core.sessions.get_or_create_session(user_id, "agent", run.session_id)


async def test_only_what_was_put_away_long_enough_is_erased(core: Core) -> None:
    runs = [await asked(core, f"hello {number}") for number in range(3)]
    files = [await kept_file(core, run.session_id) for run in runs]
    for run in runs[:2]:
        await core.runs.soft_delete(run.session_id, owner="anna")
    await core.sessions.restore(runs[1].session_id, owner="anna")

    assert await core.sessions.purge_soft_deleted(longer_than=timedelta(days=1)) == 0
    assert await core.sessions.purge_soft_deleted(longer_than=timedelta(days=-1)) == 1
    assert await core.sessions.purge_soft_deleted(longer_than=timedelta(days=-1)) == 0

    with pytest.raises(SessionNotFound):
        await core.sessions.restore(runs[0].session_id, owner="anna")
    with pytest.raises(ArtifactNotFound):
        await core.data.service.artifacts.get(files[0], owner="anna")
    assert not await has_thread(core, runs[0].session_id)
    for run, artifact_id in zip(runs[1:], files[1:], strict=True):
        assert await core.data.service.artifacts.get(artifact_id, owner="anna")
        assert await has_thread(core, run.session_id)
        await core.sessions.get(run.session_id, owner="anna")


async def test_erasing_goes_on_after_a_failure(core: Core) -> None:
    """A belonging that fails once stands for a disk or a database that does."""
    run = await asked(core, "hello")
    await core.runs.soft_delete(run.session_id, owner="anna")
    failures = [OSError("the disk is away")]

    class Failing:
        async def delete_session(self, session_id: str, *, owner: str) -> int:
            if failures:
                raise failures.pop()
            return 0

    core.sessions._resources = [Failing()]
    erasing = asyncio.create_task(
        purge_periodically(core.sessions, longer_than=timedelta(days=-1), interval_seconds=0.01)
    )
    try:
        async with asyncio.timeout(WAIT_SECONDS):
            while await core.sessions._conversations.get_soft_deleted(run.session_id) is not None:
                await asyncio.sleep(0.01)
    finally:
        erasing.cancel()
    assert failures == []
    assert not await has_thread(core, run.session_id)
