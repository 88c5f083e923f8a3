"""History from the ledger: loaded again, a conversation is what it was live."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dataagent_core.app.assembly import Core
from dataagent_core.errors import RunNotFound, SessionNotFound
from dataagent_core.events import HITLRequestEvent
from dataagent_core.hitl import Decision
from dataagent_core.runs import Entry
from dataagent_core.runs.history import History
from tests.requirements import requirement
from tests.waiting import WAIT_SECONDS


def _write(name: str) -> str:
    args = json.dumps({"file_path": f"/{name}.txt", "content": "line\n"})
    return f"!tool write_file {args}"


TODOS = json.dumps({"todos": [{"content": "look", "status": "pending"}]})
LINES = st.sampled_from(
    [
        "!echo some words",
        "!echo 数据 😀",
        "!think hm",
        "!slow 3 1",
        '!tool ls {"path": "/"}',
        f"!tool write_todos {TODOS}",
        '!tool nothing_like_it {"x": 1}',
        '!tools [{"name": "ls", "args": {}}, {"name": "glob", "args": {"pattern": "*"}}]',
        _write("a"),
        _write("b"),
    ]
)
TURNS = st.tuples(
    st.lists(LINES, min_size=1, max_size=4),
    st.sampled_from(["", "", "!fail", "!fail recoverable"]),
    st.sampled_from([None, None, 1, 3]),  # cancelled after so many events
    st.sampled_from(["approve", "approve", "reject", "respond"]),
)
EXAMPLES = settings()


def _decision(kind: Any) -> Decision:
    return Decision(kind, "Never mind." if kind == "respond" else None)


async def live(chat: Any, turn: tuple[list[str], str, int | None, str]) -> list[Entry]:
    """A turn as a reader sees it who decides, and stops it after some events."""
    lines, last, cancel_after, kind = turn
    run = await chat.start("\n".join([*lines, last]).strip())
    seen: list[Entry] = []
    async with asyncio.timeout(WAIT_SECONDS):
        async for entry in chat.core.runs.read(run.run_id):
            seen.append(entry)
            if len(seen) == cancel_after:
                await chat.core.runs.cancel(run.run_id, owner=chat.owner)
            elif isinstance(entry.event, HITLRequestEvent) and cancel_after is None:
                await chat.decide(run, entry.event.request_id, _decision(kind))
            elif isinstance(entry.event, HITLRequestEvent):
                await chat.core.runs.cancel(run.run_id, owner=chat.owner)
    return seen


async def history(chat: Any, **page: Any) -> History:
    return await chat.core.runs.history(chat.session_id, owner=chat.owner, **page)


def check_decisions(page: History, kinds: list[str]) -> None:
    """Every request of a turn that ended has its decision."""
    for each, kind in zip(page.items[1::2], kinds, strict=True):
        asked = {e.event.request_id for e in each.entries if isinstance(e.event, HITLRequestEvent)}
        assert {approval.request_id for approval in each.approvals} == asked
        for approval in each.approvals:
            assert approval.decision is not None
            assert approval.decision.type in {kind, "reject"}  # an end closes what is open


@requirement("G2", "G4")
@EXAMPLES
@given(turns=st.lists(TURNS, min_size=1, max_size=3))
async def test_events_in_the_history_are_the_events_that_were_seen_live(
    memory_core: Core, chat_in: Callable[..., Any], turns: list[Any]
) -> None:
    chat = await chat_in(memory_core)
    seen = [await live(chat, turn) for turn in turns]

    page = await history(chat)

    assert [each.entries for each in page.items[1::2]] == seen
    assert [each.entries for each in page.items[::2]] == [[] for _ in turns]
    assert page.total == len(turns) * 2
    assert page.last_seq == seen[-1][-1].seq
    check_decisions(page, [turn[3] for turn in turns])
    roles = [each.message.role for each in page.items]
    assert roles == ["user", "assistant"] * len(turns)


@pytest.mark.parametrize(
    "turn",
    [
        (["!think hm", "!echo hi", f"!tool write_todos {TODOS}", _write("a")], "", None, "approve"),
        ([_write("a"), "!echo after"], "", None, "reject"),
        (["!echo partly"], "!fail", None, "approve"),
        (["!slow 1000 10"], "", 2, "approve"),
    ],
    ids=["tools", "rejected", "failed", "cancelled"],
)
@requirement("G2", "G4")
async def test_history_is_what_was_seen_on_disk_too(core: Core, chat: Any, turn: Any) -> None:
    seen = await live(chat, turn)
    page = await history(chat)
    assert page.items[1].entries == seen
    check_decisions(page, [turn[3]])
    if turn[3] == "approve" and not turn[1] and turn[2] is None:
        kinds = [entry.event_type for entry in seen]
        assert {"thinking", "tool_call", "tool_result", "hitl_request", "file_operation"} <= {
            *kinds
        }
        assert "todo_update" in kinds


async def test_history_of_a_running_turn_goes_on_where_it_stops(chat: Any) -> None:
    run = await chat.start("!slow 30 10")
    await chat.seen(run, "text")

    page = await history(chat)

    assert page.items[1].message.status == "running"
    first = page.items[1].entries
    assert [entry.seq for entry in first] == list(range(1, page.last_seq + 1))
    async with asyncio.timeout(WAIT_SECONDS):
        rest = [e async for e in chat.core.runs.read(run.run_id, after=page.last_seq)]
    assert [*first, *rest] == await chat.entries(run)


async def test_history_is_the_last_page_unless_told(chat: Any) -> None:
    for number in range(4):
        await chat.ask(f"!echo {number}")

    last = await history(chat, limit=3)
    first = await history(chat, limit=3, offset=0)

    assert [each.message.content for each in last.items] == ["2", "!echo 3", "3"]
    assert [each.message.content for each in first.items] == ["!echo 0", "0", "!echo 1"]
    assert last.total == first.total == 8
    assert last.last_seq == first.last_seq == await chat.core.runs.last_seq(chat.session_id)


@requirement("R32.3")
async def test_history_of_another_user_is_not_found(chat: Any) -> None:
    await chat.ask("!echo mine")
    with pytest.raises(SessionNotFound):
        await chat.core.runs.history(chat.session_id, owner="bert")
    with pytest.raises(SessionNotFound):
        await chat.core.runs.find_resumable(chat.session_id, owner="bert", after=0)


@requirement("G4", "G15")
async def test_reader_that_comes_back_finds_its_run(chat: Any) -> None:
    async def resumed(after: int, client_id: str | None = None) -> str | None:
        run = await chat.core.runs.find_resumable(
            chat.session_id, owner=chat.owner, after=after, client_message_id=client_id
        )
        return run and run.run_id

    assert await resumed(0) is None
    first = await chat.start("!echo one", client_message_id="m1")
    last_seq = (await chat.entries(first))[-1].seq
    second = await chat.start("!slow 1000 10", client_message_id="m2")
    await chat.seen(second, "text")

    assert await resumed(0) == first.run_id
    assert await resumed(last_seq) == second.run_id
    assert await resumed(10_000) == second.run_id  # the one that is active
    assert await resumed(1, "m1") == first.run_id
    assert await resumed(0, "m2") == second.run_id
    with pytest.raises(RunNotFound):
        await resumed(1, "m3")
    await chat.core.runs.cancel(second.run_id, owner=chat.owner)
    assert await resumed(10_000) is None
