"""Messages, in every kind of store."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dataagent_core.errors import SessionNotFound
from dataagent_core.runs.types import Batch
from dataagent_core.session.types import Message, now
from dataagent_core.storage.database import storable
from tests.requirements import requirement
from tests.stores import Stores, batch, ending, new_run
from tests.tiers import examples

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"))
EXAMPLES = settings(max_examples=examples(100))


async def _contents(stores: Stores, session_id: str, **page: int) -> list[str]:
    return [m.content for m in await stores.messages.get_messages(session_id, **page)]


@pytest.mark.every_store
@requirement("R25.6", "R26.2")
async def test_saved_message_comes_back_whole(stores: Stores) -> None:
    session = await stores.session()
    before = now()

    message_id = await stores.messages.save_message(
        session.session_id, "assistant", "Half an ans", {"tokens": 3}
    )

    [message] = await stores.messages.get_messages(session.session_id)
    assert before <= message.created_at <= now()
    assert message == Message(
        message_id=message_id,
        session_id=session.session_id,
        role="assistant",
        content="Half an ans",
        created_at=message.created_at,
        metadata={"tokens": 3},
    )


@requirement("R25.6", "P45")
@EXAMPLES
@given(question=TEXT, answer=TEXT)
async def test_any_text_comes_back_the_same(stores: Stores, question: str, answer: str) -> None:
    session = await stores.session()
    await stores.messages.save_message(session.session_id, "user", question)
    await stores.messages.save_message(session.session_id, "assistant", answer)

    assert await _contents(stores, session.session_id) == [question, answer]


@requirement("R26.4", "R26.5", "P46")
@EXAMPLES
@given(
    count=st.integers(0, 7),
    limit=st.integers(0, 9),
    offset=st.integers(0, 9),
)
async def test_page_is_the_slice_of_all_oldest_first(
    stores: Stores, count: int, limit: int, offset: int
) -> None:
    session = await stores.session()
    saved = [
        await stores.messages.save_message(session.session_id, "user", str(i)) for i in range(count)
    ]

    page = await stores.messages.get_messages(session.session_id, limit=limit, offset=offset)

    assert [message.message_id for message in page] == saved[offset : offset + limit]
    assert [m.created_at for m in page] == sorted(m.created_at for m in page)
    assert await stores.messages.count_messages(session.session_id) == count


async def test_page_is_a_hundred_messages_unless_told(stores: Stores) -> None:
    session = await stores.session()
    for i in range(101):
        await stores.messages.save_message(session.session_id, "user", str(i))

    assert await _contents(stores, session.session_id) == [str(i) for i in range(100)]


@pytest.mark.parametrize("text", ["😀 数据 " * 20_000, "x" * 3_000_000], ids=["emoji", "3 MB"])
async def test_long_answer_is_kept_whole(stores: Stores, text: str) -> None:
    run = await stores.running()
    wire = b'{"event_type":"text","data":{"content":"' + text.encode() + b'"}}'
    last = Batch(run.session_id, run.run_id, run.attempt, 1, 1, (wire,))

    assert await stores.runs.close(run, ending(text), last)

    assert (await _contents(stores, run.session_id))[1] == text
    [entry] = await stores.runs.read(run.session_id, after=0)
    assert entry.wire == wire


@pytest.mark.parametrize("bad", ["nul \x00 in it", "half \ud800 a pair"])
async def test_character_no_database_takes_does_not_lose_an_answer(
    stores: Stores, bad: str
) -> None:
    run = (await stores.opened(new_run((await stores.session()).session_id, bad))).run
    await stores.messages.save_message(run.session_id, "system", bad)

    assert await stores.runs.close(run, ending(bad), batch(run, 1, []))

    assert await _contents(stores, run.session_id) == [storable(bad)] * 3
    assert storable(bad) in {"nul \ufffd in it", "half ? a pair"}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("销售额", {"chinese"}),
        ("EUROPE", {"english"}),
        ("100%", {"percent"}),
        ("a_b", {"underscore"}),
        ("%", {"percent"}),
        ("_", {"underscore"}),
        ("\\", {"backslash"}),
        ("/", {"slash"}),
        ("'", {"quote"}),
        ("😀", {"emoji"}),
        ("𠮷", {"rare"}),
        ("nowhere", set[str]()),
        ("half \ud800", set[str]()),
    ],
)
async def test_text_is_found_as_it_is_written(stores: Stores, text: str, found: set[str]) -> None:
    contents = {
        "chinese": "上个月的销售额是多少",
        "english": "Sales in Europe",
        "percent": "up 100% at least",
        "underscore": "column a_b",
        "lookalike": "up 100 at least, column axb",
        "backslash": "C:\\data",
        "slash": "and/or",
        "quote": "it's",
        "emoji": "good 😀",
        "other emoji": "bad 😡",
        "rare": "𠮷野家",
        "other rare": "𠮶",
    }
    names: dict[str, str] = {}
    for name, content in contents.items():
        session = await stores.session()
        names[session.session_id] = name
        await stores.messages.save_message(session.session_id, "user", "something else")
        await stores.messages.save_message(session.session_id, "assistant", content)

    hits = await stores.messages.sessions_containing(text, list(names))

    assert {names[session_id] for session_id in hits} == found
    assert await stores.messages.sessions_containing(text, []) == set()


async def test_only_the_sessions_that_are_named_are_looked_through(stores: Stores) -> None:
    one, other = await stores.session(), await stores.session("bob")
    for session in (one, other):
        await stores.messages.save_message(session.session_id, "user", "secret plan")

    assert await stores.messages.sessions_containing("plan", [one.session_id]) == {one.session_id}


async def test_message_to_a_session_that_is_gone_is_refused(stores: Stores) -> None:
    session = await stores.session()
    await stores.sessions.delete(session.session_id)

    with pytest.raises(SessionNotFound):
        await stores.messages.save_message(session.session_id, "user", "Hello?")

    assert await stores.messages.count_messages(session.session_id) == 0


async def test_deleted_messages_are_counted_and_others_stay(stores: Stores) -> None:
    one, other = await stores.session(), await stores.session()
    for session in (one, one, other):
        await stores.messages.save_message(session.session_id, "user", "x")

    assert await stores.messages.delete_messages(one.session_id) == 2
    assert await stores.messages.delete_messages(one.session_id) == 0

    assert await stores.messages.get_messages(one.session_id) == []
    assert await stores.messages.count_messages(other.session_id) == 1
    assert await stores.sessions.get(one.session_id) == one
