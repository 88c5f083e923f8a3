"""Whose session it is, what it holds while in use, and what stays when it is idle."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from dataagent_core.app.assembly import Core
from dataagent_core.engine import AgentConfig, AgentExecutor
from dataagent_core.engine import graph as lg
from dataagent_core.errors import SessionNotFound
from dataagent_core.events import DoneEvent, TextEvent
from dataagent_core.hitl import ActionRequest, Decision
from dataagent_core.session import DEFAULT_TITLE, SessionManager, new_session_id
from tests.requirements import requirement
from tests.waiting import WAIT_SECONDS

CONFIG = AgentConfig("agent")


@requirement("R13.3")
async def test_no_id_makes_a_session_and_its_id_finds_it_again(manager: SessionManager) -> None:
    made = await manager.get_or_create_session("anna", "agent")
    assert (made.user_id, made.assistant_id, made.title) == ("anna", "agent", DEFAULT_TITLE)
    found = await manager.get_or_create_session("anna", "other", made.session_id)
    assert found == made


@requirement("R13.3")
async def test_fresh_uuid_is_created_for_the_caller(manager: SessionManager) -> None:
    session_id = new_session_id()
    made = await manager.get_or_create_session("anna", "agent", session_id)
    assert (made.session_id, made.user_id) == (session_id, "anna")
    assert await manager.get(session_id, owner="anna") == made


@requirement("R13.3", "R32.1")
async def test_another_users_session_is_not_found(manager: SessionManager) -> None:
    made = await manager.get_or_create_session("anna", "agent")
    for attempt in (
        manager.get_or_create_session("bert", "agent", made.session_id),
        manager.get(made.session_id, owner="bert"),
        manager.messages(made.session_id, owner="bert"),
        manager.rename(made.session_id, "mine", owner="bert"),
        manager.delete(made.session_id, owner="bert"),
    ):
        with pytest.raises(SessionNotFound):
            await attempt
    assert await manager.get(made.session_id, owner="anna") == made


@pytest.mark.parametrize(
    "session_id", ["", "abc", "../x", "0" * 36, "4c613e82-69e1-4eac-91a2-44e121de4161 "]
)
async def test_id_that_is_neither_known_nor_a_uuid_is_not_found(
    manager: SessionManager, session_id: str
) -> None:
    with pytest.raises(SessionNotFound):
        await manager.get_or_create_session("anna", "agent", session_id)


async def test_same_fresh_id_at_once_is_one_session(manager: SessionManager) -> None:
    session_id = new_session_id()
    made = await asyncio.gather(
        *(manager.get_or_create_session("anna", "agent", session_id) for _ in range(5))
    )
    assert len({session.thread_id for session in made}) == 1


async def test_same_fresh_id_of_two_users_is_the_quicker_ones(manager: SessionManager) -> None:
    session_id = new_session_id()
    outcomes: list[Any] = await asyncio.gather(
        *(manager.get_or_create_session(user, "agent", session_id) for user in ("anna", "bert")),
        return_exceptions=True,
    )
    assert sorted(type(outcome).__name__ for outcome in outcomes) == ["Session", "SessionNotFound"]


@requirement("R32.5", "P51")
async def test_list_has_the_owners_sessions_newest_first_by_pages(manager: SessionManager) -> None:
    for user in ("anna", "bert", "anna", "anna"):
        await manager.get_or_create_session(user, "agent")
    page, total = await manager.list(owner="anna", limit=2)
    rest, _ = await manager.list(owner="anna", limit=2, offset=2)
    assert total == 3
    assert {session.user_id for session in page + rest} == {"anna"}
    assert len({session.session_id for session in page + rest}) == 3
    moments = [session.last_active for session in page + rest]
    assert moments == sorted(moments, reverse=True)


@pytest.mark.parametrize(
    ("title", "kept"), [("  Sales  ", "Sales"), ("x" * 80, "x" * 50), ("   ", DEFAULT_TITLE)]
)
async def test_title_is_trimmed_and_cut(manager: SessionManager, title: str, kept: str) -> None:
    made = await manager.get_or_create_session("anna", "agent")
    await manager.rename(made.session_id, title, owner="anna")
    assert (await manager.get(made.session_id, owner="anna")).title == kept


# -- executors ------------------------------------------------------------------------------------


class Approving:
    """A handler that says yes."""

    async def request_approval(self, action_request: ActionRequest, session_id: str) -> Decision:
        return Decision("approve")


@requirement("R13.3")
async def test_executor_of_a_session_answers_and_is_kept(manager: SessionManager) -> None:
    session = await manager.get_or_create_session("anna", "agent")
    executor = await manager.get_executor(session, CONFIG)
    events = [e async for e in executor.execute("!echo hello", session.session_id)]
    assert "".join(e.content for e in events if isinstance(e, TextEvent)) == "hello"
    assert isinstance(events[-1], DoneEvent)
    assert await manager.get_executor(session, AgentConfig("agent")) is executor
    assert manager.live_sessions == 1


async def test_executor_is_made_anew_for_another_definition_or_handler(
    manager: SessionManager,
) -> None:
    session = await manager.get_or_create_session("anna", "agent")
    first = await manager.get_executor(session, CONFIG)
    handler = Approving()
    made: list[AgentExecutor] = [first]
    for config, hitl_handler in (
        (AgentConfig("agent", system_prompt="Be brief."), None),
        (AgentConfig("agent", recursion_limit=7), None),
        (AgentConfig("agent", timeout=3.0), None),
        (CONFIG, handler),
    ):
        made.append(await manager.get_executor(session, config, hitl_handler))
    assert len({id(executor) for executor in made}) == 5
    assert await manager.get_executor(session, CONFIG, handler) is made[-1]
    assert manager.live_sessions == 1


@requirement("R13.4", "P21")
async def test_idle_session_loses_its_executor_and_keeps_its_history(core: Core) -> None:
    manager = core.sessions
    session = await manager.get_or_create_session("anna", "agent")
    started = await core.runs.start(session.session_id, "remember me", owner="anna")
    async with asyncio.timeout(WAIT_SECONDS):
        async for _entry in core.runs.read(started.run.run_id):
            pass
    assert manager.live_sessions == 1

    assert await manager.release_expired() == 0
    assert await manager.release_expired(timeout_seconds=0) == 1

    assert manager.live_sessions == 0
    messages, total = await manager.messages(session.session_id, owner="anna")
    assert [message.content for message in messages] == ["remember me", "remember me"]
    assert total == 2
    turn = (await manager.get_executor(session, CONFIG))._turn(session.session_id, None, None)
    state = await lg.snapshot(turn.graph, turn.config)
    assert [message.text for message in state.messages] == ["remember me", "remember me"]


async def test_deleted_session_is_gone_with_messages_thread_and_executor(core: Core) -> None:
    manager = core.sessions
    session = await manager.get_or_create_session("anna", "agent")
    started = await core.runs.start(session.session_id, "forget me", owner="anna")
    async with asyncio.timeout(WAIT_SECONDS):
        async for _entry in core.runs.read(started.run.run_id):
            pass
    await manager.delete(session.session_id, owner="anna")
    assert manager.live_sessions == 0
    with pytest.raises(SessionNotFound):
        await manager.messages(session.session_id, owner="anna")
    config: Any = {"configurable": {"thread_id": session.session_id, "checkpoint_ns": ""}}
    assert await core.checkpoints.saver().aget_tuple(config) is None
