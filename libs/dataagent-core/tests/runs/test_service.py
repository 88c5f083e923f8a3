"""Start, read and follow runs, as every transport does."""

from __future__ import annotations

import asyncio
import sqlite3
import uuid
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, closing
from pathlib import Path
from typing import Any, cast
from unittest.mock import ANY

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dataagent_core.app.assembly import Core
from dataagent_core.errors import (
    BadInput,
    FileNotFound,
    NothingToCancel,
    RunNotFound,
    SessionBusy,
    SessionNotFound,
    SkillNotFound,
)
from dataagent_core.events import DoneEvent, TextEvent
from dataagent_core.models.directives import read_turns
from dataagent_core.models.rule_based import Say
from dataagent_core.runs import Entry, StartedRun
from dataagent_core.runs.service import MAX_MESSAGE_CHARACTERS
from dataagent_core.runs.types import RunOptions
from dataagent_core.skills import split_command
from tests.requirements import requirement
from tests.tiers import examples
from tests.waiting import WAIT_SECONDS

ChatIn = Callable[..., Any]  # opens a `Chat` of conftest.py
many = settings(max_examples=examples(100))


def rows(home: Path, statement: str, *values: Any) -> list[Any]:
    """What a second connection reads."""
    with closing(sqlite3.connect(f"file:{home / 'dataagent.db'}?mode=ro", uri=True)) as other:
        return other.execute(statement, values).fetchall()


@requirement("G1")
async def test_start_returns_when_message_and_run_can_be_read_by_others(
    chat: Any, home: Path
) -> None:
    run = await chat.start("!slow 100000 10")
    found = rows(
        home,
        "SELECT role, content, status FROM messages WHERE run_id = ? ORDER BY role",
        run.run_id,
    )
    assert found == [("assistant", "", "running"), ("user", "!slow 100000 10", "complete")]
    assert rows(home, "SELECT status, attempt FROM runs WHERE run_id = ?", run.run_id) == [
        ("running", 1)
    ]
    await chat.core.runs.cancel(run.run_id, owner="anna")


@requirement("R26.1", "P45")
@many
@given(text=st.text(min_size=1, max_size=50).filter(lambda t: "\x00" not in t and t.strip() != ""))
async def test_question_and_answer_of_any_finished_run_are_in_the_history(
    memory_core: Core, chat_in: ChatIn, text: str
) -> None:
    chat = await chat_in(memory_core)
    is_plain = read_turns(text) == [[Say(text)]] and split_command(text) is None
    message = text if is_plain else "plain"
    events = await chat.ask(message)
    assert [(m.role, m.content, m.status) for m in await chat.history()] == [
        ("user", message, "complete"),
        ("assistant", message, "complete"),
    ]
    assert events[-1] == DoneEvent(token_usage=ANY, timestamp=ANY)


@many
@given(name=st.from_regex(r"x[a-z0-9]{0,20}(-[a-z0-9]{1,9})?", fullmatch=True), task=st.text())
async def test_message_that_names_no_skill_there_is_leaves_nothing(
    memory_core: Core, chat_in: ChatIn, name: str, task: str
) -> None:
    chat = await chat_in(memory_core)
    message = f"/{name} {task.replace(chr(0), '')}"
    with pytest.raises(SkillNotFound):
        await chat.start(message)
    assert await chat.history() == []


@requirement("R26.1", "P45")
async def test_answer_is_what_the_main_agent_said_message_by_message(chat: Any) -> None:
    task = '{"description": "!echo hidden", "subagent_type": "general-purpose"}'
    events = await chat.ask(f"!echo First.\n!tool task {task}\n!echo Last.")
    (_, answer) = await chat.history()
    assert answer.content == "First.\n\nLast."
    run = await chat.run(await chat._any_run())
    assert run.token_usage == events[-1].token_usage
    assert set(run.token_usage) == {"input_tokens", "output_tokens", "total_tokens"}
    assert (run.status, run.attempt, run.error) == ("done", 1, None)
    assert run.ended_at is not None


@requirement("G7")
async def test_of_simultaneous_starts_one_runs_and_the_others_are_refused(chat: Any) -> None:
    outcomes: list[Any] = await asyncio.gather(
        *(chat.start(f"!slow 100000 10\n!echo {n}") for n in range(5)), return_exceptions=True
    )
    (run,) = [outcome for outcome in outcomes if not isinstance(outcome, Exception)]
    refused = [outcome for outcome in outcomes if isinstance(outcome, Exception)]
    assert [type(error) for error in refused] == [SessionBusy] * 4
    named = [cast("SessionBusy", error).details or {} for error in refused]
    assert {each["run_id"] for each in named} == {run.run_id}
    assert await chat.core.runs.active_run(chat.session_id) is not None
    await chat.core.runs.cancel(run.run_id, owner="anna")
    assert [m.role for m in await chat.history()] == ["user", "assistant"]
    assert (await chat.ask("!echo free again"))[-1].cancelled is False


@requirement("G1")
async def test_start_creates_a_session_if_requested(core: Core) -> None:
    fresh = str(uuid.uuid4())
    by_id = await core.runs.start(fresh, "!echo one", owner="anna", creates_session=True)
    without = await core.runs.start(None, "!echo two", owner="anna", creates_session=True)

    assert by_id.run.session_id == fresh
    assert (await core.sessions.get(fresh, owner="anna")).title == "!echo one"
    assert (await core.sessions.list(owner="anna"))[1] == 2
    assert without.run.session_id != fresh
    for started in (by_id, without):
        assert [e.event_type async for e in core.runs.read(started.run.run_id)][-1] == "done"
    again = await core.runs.start(fresh, "!echo three", owner="anna", creates_session=True)
    assert again.run.session_id == fresh


@requirement("G1")
async def test_message_of_a_repeated_start_creates_one_session_and_one_run(core: Core) -> None:
    fresh = str(uuid.uuid4())
    first, second = await asyncio.gather(
        *(
            core.runs.start(
                fresh, "!echo once", owner="anna", client_message_id="m1", creates_session=True
            )
            for _ in range(2)
        )
    )
    assert first.run.run_id == second.run.run_id
    assert sorted((first.is_new, second.is_new)) == [False, True]


@requirement("G1")
async def test_refused_message_creates_no_session(core: Core, chat: Any) -> None:
    fresh = str(uuid.uuid4())
    for message, options in (
        (" ", RunOptions()),
        ("hi", RunOptions(file_ids=("missing",))),
        ("hi", RunOptions(skill="missing")),
    ):
        with pytest.raises((BadInput, FileNotFound, SkillNotFound)):
            await core.runs.start(
                fresh, message, owner="bert", options=options, creates_session=True
            )
    with pytest.raises(SessionNotFound):  # it is another user's
        await core.runs.start(chat.session_id, "hi", owner="bert", creates_session=True)
    with pytest.raises(SessionNotFound):
        await core.runs.start(fresh, "hi", owner="bert")
    assert await core.sessions.list(owner="bert") == ([], 0)


@requirement("G7")
async def test_sessions_run_beside_each_other(core: Core, chat_in: ChatIn) -> None:
    first, second = await chat_in(core), await chat_in(core)
    held = await first.start("!slow 100000 10")
    await first.seen(held, "text")
    assert (await second.ask("!echo hello"))[-1].reason == "completed"
    assert (await first.run(held)).status == "running"
    await core.runs.cancel(held.run_id, owner="anna")


@requirement("G15")
async def test_same_client_message_id_is_one_run_at_once_and_later(chat: Any) -> None:
    runs = chat.core.runs

    async def start() -> StartedRun:
        return await runs.start(
            chat.session_id, "!echo once", owner="anna", client_message_id="m-1"
        )

    first = await asyncio.gather(*(start() for _ in range(4)))
    assert len({started.run.run_id for started in first}) == 1
    assert [started.is_new for started in first].count(True) == 1
    await chat.events(first[0].run)
    again = await start()
    assert (again.run.run_id, again.is_new) == (first[0].run.run_id, False)
    assert [m.role for m in await chat.history()] == ["user", "assistant"]
    assert (await chat.ask("!echo next", client_message_id="m-2"))[-1].reason == "completed"


@pytest.mark.parametrize(
    ("message", "more"),
    [
        ("", {}),
        ("  \n ", {}),
        ("a\x00b", {}),
        ("a\ud800b", {}),
        ("x" * (MAX_MESSAGE_CHARACTERS + 1), {}),
        ("fine", {"client_message_id": ""}),
        ("fine", {"client_message_id": "x" * 129}),
        ("fine", {"client_message_id": "a\x00"}),
        ("fine", {"assistant_id": "../up"}),
        ("fine", {"assistant_id": "x" * 65}),
    ],
)
async def test_message_no_store_could_keep_is_refused_and_nothing_is_kept(
    chat: Any, message: str, more: dict[str, Any]
) -> None:
    with pytest.raises(BadInput):
        await chat.start(message, **more)
    assert await chat.history() == []
    assert await chat.core.runs.active_run(chat.session_id) is None


async def test_run_can_be_given_to_another_assistant(chat: Any) -> None:
    run = await chat.start("!echo hi", assistant_id="sql")
    assert run.assistant_id == "sql"
    await chat.events(run)


# -- whose it is ----------------------------------------------------------------------------------


@requirement("R32.1", "R32.3")
async def test_another_user_finds_nothing(chat: Any) -> None:
    runs = chat.core.runs
    run = await chat.start("!slow 100000 10")
    for attempt, error in (
        (runs.start(chat.session_id, "hi", owner="bert"), SessionNotFound),
        (runs.get(run.run_id, owner="bert"), RunNotFound),
        (runs.cancel(run.run_id, owner="bert"), RunNotFound),
        (runs.cancel_session(chat.session_id, owner="bert"), SessionNotFound),
        (runs.delete_permanently(chat.session_id, owner="bert"), SessionNotFound),
        (anext(runs.follow(chat.session_id, owner="bert")), SessionNotFound),
        (anext(runs.read("no such run")), RunNotFound),
        (runs.get("no such run", owner="anna"), RunNotFound),
    ):
        with pytest.raises(error):
            await attempt
    assert (await chat.run(run)).status == "running"
    await runs.cancel(run.run_id, owner="anna")


# -- reading --------------------------------------------------------------------------------------


@requirement("G4")
async def test_numbers_go_on_from_run_to_run_and_every_cursor_gives_the_rest(chat: Any) -> None:
    runs = chat.core.runs
    first = await chat.start('!echo a\n!tool ls {"path": "/"}\n!echo b')
    told = await chat.entries(first)
    second = await chat.start("!echo c")
    told += await chat.entries(second)
    assert [entry.seq for entry in told] == list(range(1, len(told) + 1))
    assert await runs.last_seq(chat.session_id) == len(told)
    for after in range(len(told) + 1):
        assert await followed(chat, after, len(told)) == told[after:]
        rest = [entry async for entry in runs.read(second.run_id, after=after)]
        assert rest == [e for e in told if e.seq > after and e.run_id == second.run_id]


async def followed(chat: Any, after: int, last_seq: int) -> list[Entry]:
    """What a reader of the session gets from its cursor up to a number."""
    found: list[Entry] = []
    if after == last_seq:
        return found
    bursts: AsyncGenerator[list[Entry]] = chat.core.runs.follow(
        chat.session_id, owner=chat.owner, after=after
    )
    async with asyncio.timeout(WAIT_SECONDS), aclosing(bursts):
        async for burst in bursts:
            found += burst
            if found[-1].seq >= last_seq:
                break
    return found


@requirement("G4")
async def test_readers_that_join_at_any_moment_see_the_same(chat: Any) -> None:
    run = await chat.start("!slow 40 2")
    readers = [asyncio.create_task(chat.entries(run))]
    await chat.seen(run, "text")
    readers.append(asyncio.create_task(chat.entries(run)))
    await chat.seen(run, "text", times=2)
    readers.append(asyncio.create_task(chat.entries(run)))
    seen = await asyncio.gather(*readers)
    assert seen[0] == seen[1] == seen[2] == await chat.entries(run)
    text = "".join(e.event.content for e in seen[0] if isinstance(e.event, TextEvent))
    assert text == "".join(f"chunk{n} " for n in range(40))


@requirement("G5", "R17.6")
async def test_reader_that_leaves_does_not_stop_the_run(chat: Any) -> None:
    run = await chat.start("!slow 10 5\n!echo end")
    reader = chat.core.runs.read(run.run_id)
    async with asyncio.timeout(WAIT_SECONDS):
        await anext(reader)
    await reader.aclose()
    waiting = asyncio.create_task(chat.events(run))
    other = asyncio.create_task(chat.events(run))
    await chat.seen(run, "text")
    other.cancel()
    assert (await waiting)[-1] == DoneEvent(token_usage=ANY, timestamp=ANY)
    assert (await chat.history())[1].content.endswith("end")


async def test_run_that_has_ended_is_read_from_the_store_in_the_end_too(
    chat: Any, core: Core
) -> None:
    run = await chat.start("!echo hello")
    live = await chat.entries(run)
    assert await chat.entries(run) == live
    assert [entry.event_type for entry in live][-1] == "done"


# -- ends of sessions -----------------------------------------------------------------------------


async def test_session_without_a_run_has_nothing_to_cancel(chat: Any) -> None:
    with pytest.raises(NothingToCancel):
        await chat.core.runs.cancel_session(chat.session_id, owner="anna")


async def test_forgotten_session_is_stopped_and_gone(chat: Any) -> None:
    runs = chat.core.runs
    run = await chat.start("!slow 100000 10")
    await chat.seen(run, "text")
    await runs.delete_permanently(chat.session_id, owner="anna")
    assert chat.core.worker._active_runs == {}
    with pytest.raises(RunNotFound):
        await runs.get(run.run_id, owner="anna")
    with pytest.raises(SessionNotFound):
        await chat.history()
    assert await runs.last_seq(chat.session_id) == 0
