"""Sessions, in every kind of store."""

from __future__ import annotations

import asyncio
import re
from dataclasses import fields, replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dataagent_core.errors import BadInput, Conflict, SessionNotFound
from dataagent_core.session import MessageStore, SessionStore
from dataagent_core.session.types import DEFAULT_TITLE, Message, Session, now
from tests.requirements import requirement
from tests.stores import Stores, approval, batch, new_run, open_stores
from tests.tiers import examples

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=40)
IDS = TEXT.filter(lambda text: 0 < len(text.encode()) <= 64)
JSON_VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(TEXT, JSON_VALUES, max_size=4)
EXAMPLES = settings(max_examples=examples(100))


@requirement("R13.1")
def test_session_has_the_fields_of_a_conversation() -> None:
    assert {f.name for f in fields(Session)} >= {
        "session_id",
        "user_id",
        "assistant_id",
        "created_at",
        "last_active",
        "state",
        "metadata",
    }


@requirement("R13.1")
def test_session_and_message_are_made_of_the_fields_of_a_conversation_alone() -> None:
    moment = now()
    session = Session("s1", "alice", "agent", moment, moment, {"step": 1}, {"tag": "a"})
    assert (session.created_at, session.last_active) == (moment, moment)
    assert (session.state, session.metadata) == ({"step": 1}, {"tag": "a"})
    assert re.fullmatch("[0-9a-f]{8}", session.thread_id)
    assert session.thread_id != Session("s1", "alice", "agent").thread_id
    assert (Session("s1", "alice", "agent").state, session.title) == ({}, DEFAULT_TITLE)

    message = Message("m1", "s1", "user", "Hello", moment, {"tokens": 3})
    assert (message.created_at, message.metadata) == (moment, {"tokens": 3})
    assert (message.run_id, message.status) == (None, "complete")


@requirement("R13.2", "R25.4", "R26.1")
def test_abstract_methods_are_those_a_store_of_ones_own_has_to_have() -> None:
    assert MessageStore.__abstractmethods__ == {"save_message", "get_messages", "delete_messages"}
    assert SessionStore.__abstractmethods__ == {
        "create",
        "get",
        "update",
        "delete",
        "list_by_user",
        "list_by_assistant",
        "cleanup_expired",
    }


@requirement("R13.5", "R25.1", "R25.4", "P42")
@EXAMPLES
@given(user_id=IDS, assistant_id=IDS, metadata=OBJECTS)
async def test_created_session_comes_back_the_same(
    stores: Stores, user_id: str, assistant_id: str, metadata: dict[str, Any]
) -> None:
    created = await stores.sessions.create(user_id, assistant_id, metadata=metadata)

    assert (created.user_id, created.assistant_id) == (user_id, assistant_id)
    assert (created.metadata, created.state, created.title) == (metadata, {}, DEFAULT_TITLE)
    assert await stores.sessions.get(created.session_id) == created


@pytest.mark.slow
@requirement("R25.4", "P42")
@EXAMPLES
@given(title=TEXT, state=OBJECTS, metadata=OBJECTS)
async def test_updated_session_comes_back_the_same(
    stores: Stores, title: str, state: dict[str, Any], metadata: dict[str, Any]
) -> None:
    session = await stores.session()
    session.title, session.state, session.metadata = title, state, metadata
    session.last_active += timedelta(milliseconds=1)

    await stores.sessions.update(session)

    assert await stores.sessions.get(session.session_id) == session


@requirement("R13.5", "R25.4")
async def test_session_outlives_a_restart(sql_stores: Stores) -> None:
    assert sql_stores.database is not None
    session = await sql_stores.session()
    await sql_stores.messages.save_message(session.session_id, "user", "Still here?")

    url = sql_stores.database.url.render_as_string(hide_password=False)
    async with open_stores(sql_stores.kind, url) as restarted:
        assert await restarted.sessions.get(session.session_id) == session
        [message] = await restarted.messages.get_messages(session.session_id)
    assert message.content == "Still here?"


async def test_given_session_id_is_used_once(stores: Stores) -> None:
    session_id = str(uuid4())
    session = await stores.sessions.create("alice", "agent", session_id=session_id)
    assert session.session_id == session_id

    with pytest.raises(Conflict):
        await stores.sessions.create("bob", "agent", session_id=session_id)
    assert await stores.sessions.get(session_id) == session


async def test_thread_id_is_eight_hex_digits_of_its_own(
    stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The random source is replaced, since a real collision cannot be waited for."""
    numbers = iter(["0badcafe", "0badcafe", "0badcafe", "00c0ffee"])

    def token_hex(_size: int) -> str:
        return next(numbers)

    monkeypatch.setattr("secrets.token_hex", token_hex)

    first, second = await stores.session(), await stores.session()

    assert (first.thread_id, second.thread_id) == ("0badcafe", "00c0ffee")


@pytest.mark.parametrize("bad", ["", "x" * 65, "nul \x00", "half \ud800 a pair"])
async def test_id_that_not_every_store_could_keep_is_refused(stores: Stores, bad: str) -> None:
    for attempt in (
        lambda: stores.sessions.create(bad, "agent"),
        lambda: stores.sessions.create("alice", bad),
        lambda: stores.sessions.create("alice", "agent", session_id=bad),
    ):
        with pytest.raises(BadInput, match="1 to 64 characters"):
            await attempt()


async def test_ids_that_differ_in_case_are_different(stores: Stores) -> None:
    lower = await stores.sessions.create("alice", "agent", session_id="abc-É")
    upper = await stores.sessions.create("ALICE", "Agent", session_id="ABC-é")

    assert await stores.sessions.get("abc-É") == lower
    assert await stores.sessions.get("Abc-É") is None
    assert await stores.sessions.list_by_user("alice") == [lower]
    assert await stores.sessions.list_by_assistant("Agent") == [upper]


@pytest.mark.parametrize("session_id", ["nothing", "", "with\x00nul", "half \ud800 a pair"])
async def test_unknown_session_is_none(stores: Stores, session_id: str) -> None:
    assert await stores.sessions.get(session_id) is None
    assert await stores.sessions.delete(session_id) is False


async def test_update_of_a_deleted_session_does_not_bring_it_back(stores: Stores) -> None:
    session = await stores.session()
    assert await stores.sessions.delete(session.session_id) is True

    with pytest.raises(SessionNotFound):
        await stores.sessions.update(session)
    await stores.sessions.touch(session.session_id)

    assert await stores.sessions.get(session.session_id) is None
    assert await stores.sessions.list_by_user("alice") == []
    assert await stores.sessions.expired(-60) == []


@pytest.mark.every_store
@requirement("R13.2", "R25.4")
async def test_sessions_are_listed_newest_first_by_user_and_by_assistant(stores: Stores) -> None:
    old, new, other = await stores.session(), await stores.session(), await stores.session("bob")
    for minutes, session in enumerate((old, new, other)):
        session.last_active = now() + timedelta(minutes=minutes)
        await stores.sessions.update(session)

    assert await stores.sessions.list_by_user("alice") == [new, old]
    assert await stores.sessions.list_by_user("alice", limit=1) == [new]
    assert await stores.sessions.list_by_user("alice", limit=5, offset=1) == [old]
    assert await stores.sessions.list_by_user("alice", offset=1) == [old]
    assert await stores.sessions.list_by_user("alice", limit=0) == []
    assert await stores.sessions.list_by_assistant("agent") == [other, new, old]
    assert await stores.sessions.count_by_user("alice") == 2
    assert await stores.sessions.count_by_user("nobody") == 0


async def test_touch_makes_a_session_the_newest(stores: Stores) -> None:
    first, second = await stores.session(), await stores.session()
    for session in (first, second):
        await stores.sessions.update(replace(session, last_active=now() - timedelta(hours=1)))

    await stores.sessions.touch(first.session_id)

    listed = await stores.sessions.list_by_user("alice")
    assert [session.session_id for session in listed] == [first.session_id, second.session_id]
    assert listed[0].last_active >= first.created_at


@pytest.mark.every_store
@requirement("R25.4")
async def test_cleanup_deletes_what_was_idle_too_long_and_counts_it(stores: Stores) -> None:
    idle, fresh, busy = await stores.session(), await stores.session(), await stores.session()
    await stores.running(busy)
    for session in (idle, busy):
        await stores.sessions.update(replace(session, last_active=now() - timedelta(hours=2)))

    assert await stores.sessions.expired(3600) == [idle.session_id]
    assert await stores.sessions.cleanup_expired(3600) == 1
    assert await stores.sessions.cleanup_expired(3600) == 0

    assert await stores.sessions.get(idle.session_id) is None
    assert await stores.sessions.get(fresh.session_id) == fresh
    assert await stores.sessions.get(busy.session_id) is not None


@pytest.mark.every_store
async def test_deleted_session_takes_all_that_belongs_to_it(stores: Stores) -> None:
    kept, gone = await stores.running(), await stores.running()
    for run in (kept, gone):
        await stores.runs.append([batch(run, 1)])
        await stores.runs.add_approvals(run, [approval(run)])

    assert await stores.sessions.delete(gone.session_id) is True

    assert await stores.messages.get_messages(gone.session_id) == []
    assert await stores.runs.get(gone.run_id) is None
    assert await stores.runs.active_run(gone.session_id) is None
    assert await stores.runs.read(gone.session_id, after=0) == []
    assert await stores.runs.last_seq(gone.session_id) == 0
    assert await stores.runs.read_run(gone.run_id) == []
    assert await stores.runs.approvals(gone.run_id) == []
    assert await stores.runs.abandoned(now(), not_worker="w2") == [
        await stores.runs.get(kept.run_id)
    ]
    assert await stores.runs.append([batch(gone, 3)]) == {gone.run_id}
    assert await stores.runs.last_seq(kept.session_id) == 2


@pytest.mark.every_store
@requirement("R32.1")
async def test_no_session_gets_the_id_of_a_deleted_one(stores: Stores) -> None:
    deleted, expired = await stores.session(), await stores.session()
    await stores.sessions.delete(deleted.session_id)
    await stores.sessions.update(replace(expired, last_active=now() - timedelta(hours=2)))
    assert await stores.sessions.cleanup_expired(3600) == 1

    for session in (deleted, expired):
        for user_id in ("alice", "bob"):
            with pytest.raises(Conflict):
                await stores.sessions.create(user_id, "agent", session_id=session.session_id)
        assert await stores.sessions.get(session.session_id) is None
        with pytest.raises(SessionNotFound):
            await stores.opened(new_run(session.session_id))


@pytest.mark.every_store
async def test_an_id_that_no_one_has_seen_can_be_freed(stores: Stores) -> None:
    session = await stores.session()
    first = await stores.opened(new_run(session.session_id, client_message_id="m1"))
    await stores.sessions.delete(session.session_id, frees_id=True)

    await stores.sessions.create("alice", "agent", session_id=session.session_id)
    second = await stores.opened(new_run(session.session_id, client_message_id="m1"))

    assert second.is_new
    assert second.run.run_id != first.run.run_id


@pytest.mark.every_store
@requirement("R32.1")
async def test_an_id_is_not_given_again_while_its_session_is_being_deleted(stores: Stores) -> None:
    for _ in range(5):
        session = await stores.session()
        attempts = [
            stores.sessions.create("bob", "agent", session_id=session.session_id) for _ in range(4)
        ]
        deletion, *created = await asyncio.gather(
            stores.sessions.delete(session.session_id), *attempts, return_exceptions=True
        )
        assert deletion is True
        assert all(isinstance(outcome, Conflict) for outcome in created), created


async def test_what_a_caller_changes_later_is_not_kept(stores: Stores) -> None:
    metadata: dict[str, Any] = {"tags": ["a"]}
    created = await stores.sessions.create("alice", "agent", metadata=metadata)
    metadata["tags"].append("b")
    created.state["x"] = 1

    kept = await stores.sessions.get(created.session_id)

    assert kept is not None
    assert (kept.metadata, kept.state) == ({"tags": ["a"]}, {})
