"""A run's life from its opening to its end, in every kind of store."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from sqlalchemy.exc import IntegrityError

from dataagent_core.errors import SessionBusy, SessionNotFound
from dataagent_core.runs.types import NewRun, Run, RunInput
from dataagent_core.session.types import Message, now
from tests.requirements import requirement
from tests.stores import LEASE, Stores, batch, ending, new_run


def first_run(new: NewRun, until: datetime) -> Run:
    return Run(
        run_id=new.run_id,
        session_id=new.session_id,
        user_id="alice",
        assistant_id="agent",
        status="running",
        attempt=1,
        created_at=new.created_at,
        message_id=new.message_id,
        answer_id=new.answer_id,
        started_at=new.created_at,
        lease_owner="w1",
        lease_until=until,
        input=RunInput(skill="chart"),
    )


def first_messages(new: NewRun) -> list[Message]:
    return [
        Message(
            message_id=new.message_id,
            session_id=new.session_id,
            role="user",
            content="How many?",
            created_at=new.created_at,
            run_id=new.run_id,
            status="complete",
            metadata={"file_ids": ["f1"]},
        ),
        Message(
            message_id=new.answer_id,
            session_id=new.session_id,
            role="assistant",
            content="",
            created_at=new.created_at,
            run_id=new.run_id,
            status="running",
        ),
    ]


@requirement("G1", "P45")
async def test_opened_run_and_both_messages_are_kept_together(stores: Stores) -> None:
    session = await stores.session()
    new = new_run(session.session_id, metadata={"file_ids": ["f1"]}, input=RunInput(skill="chart"))
    until = now() + LEASE

    opened = await stores.runs.open(new, worker="w1", lease_until=until)

    assert (opened.is_new, opened.last_seq) == (True, 0)
    assert opened.run == first_run(new, until)
    assert await stores.runs.get(new.run_id) == opened.run
    assert await stores.runs.active_run(session.session_id) == opened.run
    assert await stores.messages.get_messages(session.session_id) == first_messages(new)


async def test_run_without_a_worker_is_queued(stores: Stores) -> None:
    session = await stores.session()

    opened = await stores.runs.open(new_run(session.session_id), worker=None, lease_until=None)

    assert (opened.run.status, opened.run.attempt) == ("queued", 0)
    assert (opened.run.lease_owner, opened.run.started_at) == (None, None)
    assert await stores.runs.get(opened.run.run_id) == opened.run
    assert await stores.runs.abandoned(now() + LEASE, not_worker="w1") == []
    assert await stores.runs.set_status(opened.run, "waiting") is False


@requirement("G1")
async def test_message_that_cannot_be_kept_leaves_no_run_behind(sql_stores: Stores) -> None:
    session = await sql_stores.session()
    taken = await sql_stores.messages.save_message(session.session_id, "user", "first")
    new = new_run(session.session_id, answer_id=taken)

    with pytest.raises(IntegrityError):
        await sql_stores.opened(new)

    assert await sql_stores.runs.get(new.run_id) is None
    assert await sql_stores.runs.active_run(session.session_id) is None
    assert await sql_stores.messages.count_messages(session.session_id) == 1


@requirement("G1")
async def test_run_in_a_session_that_is_gone_is_refused_and_leaves_nothing(stores: Stores) -> None:
    session = await stores.session()
    await stores.sessions.delete(session.session_id)
    new = new_run(session.session_id, client_message_id="m1")

    with pytest.raises(SessionNotFound):
        await stores.opened(new)

    assert await stores.runs.get(new.run_id) is None
    assert await stores.messages.count_messages(session.session_id) == 0


@requirement("G7")
async def test_second_run_is_refused_until_the_first_has_ended(stores: Stores) -> None:
    first = await stores.running()
    second = new_run(first.session_id)

    with pytest.raises(SessionBusy) as refusal:
        await stores.opened(second)

    assert refusal.value.details == {"run_id": first.run_id}
    assert await stores.runs.get(second.run_id) is None
    assert await stores.messages.count_messages(first.session_id) == 2
    assert await stores.runs.close(first, ending(), batch(first, 1))
    assert (await stores.opened(second)).last_seq == 2


@requirement("G15")
@pytest.mark.parametrize("client_message_id", ["m1", "", "数据"])
async def test_same_client_message_is_the_same_run(stores: Stores, client_message_id: str) -> None:
    session = await stores.session()
    first = await stores.opened(new_run(session.session_id, client_message_id=client_message_id))

    again = await stores.opened(new_run(session.session_id, client_message_id=client_message_id))
    await stores.runs.close(first.run, ending(), batch(first.run, 1))
    later = await stores.opened(new_run(session.session_id, client_message_id=client_message_id))

    assert (again.run, again.is_new, again.last_seq) == (first.run, False, 0)
    assert (later.run, later.is_new) == (await stores.runs.get(first.run.run_id), False)
    assert later.last_seq == 2
    assert await stores.messages.count_messages(session.session_id) == 2


@requirement("G15")
async def test_client_message_ids_of_two_sessions_do_not_meet(stores: Stores) -> None:
    one, two = await stores.session(), await stores.session()

    first = await stores.opened(new_run(one.session_id, client_message_id="m1"))
    second = await stores.opened(new_run(two.session_id, client_message_id="m1"))

    assert first.is_new
    assert second.is_new


@pytest.mark.every_store
@requirement("P45", "G2")
async def test_closed_run_has_its_end_its_answer_and_its_last_events(stores: Stores) -> None:
    run = await stores.running()
    end = ending("42 rows", token_usage={"input_tokens": 7, "output_tokens": 2})
    end = replace(end, ended_at=now() + timedelta(minutes=1))

    assert await stores.runs.close(run, end, batch(run, 1, ["42 rows"])) is True

    assert await stores.runs.get(run.run_id) == replace(
        run,
        status="done",
        ended_at=end.ended_at,
        lease_owner=None,
        lease_until=None,
        token_usage={"input_tokens": 7, "output_tokens": 2},
    )
    _, answer = await stores.messages.get_messages(run.session_id)
    assert (answer.content, answer.status) == ("42 rows", "complete")
    assert [e.seq for e in await stores.runs.read(run.session_id, after=0)] == [1]
    session = await stores.sessions.get(run.session_id)
    assert session is not None
    assert session.last_active == end.ended_at
    assert await stores.sessions.list_by_user("alice") == [session]
    assert await stores.runs.active_run(run.session_id) is None
    assert await stores.runs.abandoned(now() + LEASE * 2) == []


@requirement("G2")
async def test_failed_run_says_why_and_keeps_what_was_written(stores: Stores) -> None:
    run = await stores.running()
    error = {"error_code": "model_unavailable", "message": "Überlastet"}
    end = ending("So f", status="failed", message_status="failed", error=error)

    assert await stores.runs.close(run, end, batch(run, 1, []))

    kept = await stores.runs.get(run.run_id)
    assert kept is not None
    assert (kept.status, kept.error, kept.token_usage) == ("failed", error, None)
    _, answer = await stores.messages.get_messages(run.session_id)
    assert (answer.content, answer.status) == ("So f", "failed")
    assert await stores.runs.last_seq(run.session_id) == 0


@requirement("G2")
async def test_end_is_written_once(stores: Stores) -> None:
    run = await stores.running()
    end = ending("first")
    assert await stores.runs.close(run, end, batch(run, 1))

    other = ending("second", status="cancelled", ended_at=end.ended_at + timedelta(seconds=1))
    assert await stores.runs.close(run, other, batch(run, 3)) is False

    _, answer = await stores.messages.get_messages(run.session_id)
    assert answer.content == "first"
    assert await stores.runs.last_seq(run.session_id) == 2


async def test_writer_that_repeats_its_own_end_is_told_yes(stores: Stores) -> None:
    run, end = await stores.running(), ending()
    last = batch(run, 1)
    assert await stores.runs.close(run, end, last)

    assert await stores.runs.close(run, end, last) is True
    assert await stores.runs.last_seq(run.session_id) == 2


async def test_answer_deleted_meanwhile_does_not_come_back(stores: Stores) -> None:
    run = await stores.running()
    await stores.messages.delete_messages(run.session_id)

    assert await stores.runs.close(run, ending(), batch(run, 1))

    assert await stores.messages.get_messages(run.session_id) == []


@pytest.mark.every_store
@requirement("G3")
async def test_older_attempt_can_write_nothing(stores: Stores) -> None:
    old = await stores.running()
    assert await stores.runs.append([batch(old, 1)]) == set()
    new = await stores.taken_over(old)

    assert await stores.runs.append([batch(old, 3)]) == {old.run_id}
    assert await stores.runs.set_status(old, "waiting") is False
    assert await stores.runs.close(old, ending("from the old one"), batch(old, 3)) is False

    assert await stores.runs.get(old.run_id) == new
    assert await stores.runs.last_seq(old.session_id) == 2
    assert await stores.runs.append([batch(new, 3)]) == set()
    assert await stores.runs.close(new, ending("from the new one"), batch(new, 5))
    _, answer = await stores.messages.get_messages(old.session_id)
    assert answer.content == "from the new one"


async def test_queued_run_is_claimed_once(stores: Stores) -> None:
    session = await stores.session()
    new = new_run(session.session_id)
    queued = (await stores.runs.open(new, worker=None, lease_until=None)).run
    until = now() + LEASE

    claimed = await stores.runs.claim(queued.run_id, worker="w1", lease_until=until)

    assert claimed is not None
    assert claimed.started_at is not None
    assert claimed == replace(
        queued,
        status="running",
        attempt=1,
        started_at=claimed.started_at,
        lease_owner="w1",
        lease_until=until,
    )
    assert await stores.runs.get(queued.run_id) == claimed
    for worker in ("w1", "w2"):
        assert await stores.runs.claim(queued.run_id, worker=worker, lease_until=until) is None


async def test_lease_is_judged_by_the_time_that_is_given(stores: Stores) -> None:
    session = await stores.session()
    new = new_run(session.session_id)
    queued = (await stores.runs.open(new, worker=None, lease_until=None)).run
    until, later = now() + LEASE, now() + LEASE * 2

    claimed = await stores.runs.claim(queued.run_id, worker="w1", lease_until=until, at=later)
    taken = await stores.runs.claim(queued.run_id, worker="w2", lease_until=until, at=later)

    assert claimed is not None
    assert claimed.started_at is not None
    assert claimed.started_at <= now()
    assert taken == replace(claimed, attempt=2, lease_owner="w2")
    assert await stores.runs.claim(queued.run_id, worker="w3", lease_until=until) is None


async def test_waiting_run_keeps_its_status_when_claimed(stores: Stores) -> None:
    run = await stores.running()
    assert await stores.runs.set_status(run, "waiting")

    taken = await stores.taken_over(run)

    assert (taken.status, taken.attempt, taken.lease_owner) == ("waiting", 2, "w2")
    assert taken.started_at == run.started_at
    assert await stores.runs.set_status(taken, "running")


async def test_ended_or_unknown_run_cannot_be_claimed(stores: Stores) -> None:
    run = await stores.running()
    await stores.runs.close(run, ending(), batch(run, 1))

    for run_id in (run.run_id, "nothing"):
        assert await stores.runs.claim(run_id, worker="w2", lease_until=now()) is None
    assert await stores.runs.set_status(run, "waiting") is False
    assert await stores.runs.get("nothing") is None
    assert await stores.runs.get("nul\x00") is None


@pytest.mark.every_store
async def test_renewed_lease_tells_what_is_held_and_of_a_cancel_request(
    stores: Stores,
) -> None:
    cancelled, quiet, foreign = [await stores.running() for _ in range(3)]
    foreign = await stores.taken_over(foreign)
    for run in (cancelled, foreign):
        await stores.runs.request_cancel(run.run_id)
    until = now() + LEASE * 3

    ids = [cancelled.run_id, quiet.run_id, foreign.run_id, "nothing"]
    held = {cancelled.run_id: True, quiet.run_id: False}
    assert await stores.runs.renew("w1", ids, until) == held
    assert await stores.runs.renew("w1", [], until) == {}

    assert await stores.runs.get(cancelled.run_id) == replace(
        cancelled, lease_until=until, cancel_requested=True
    )
    assert await stores.runs.get(quiet.run_id) == replace(quiet, lease_until=until)
    assert await stores.runs.get(foreign.run_id) == replace(foreign, cancel_requested=True)


async def test_cancel_request_for_an_ended_run_changes_nothing(stores: Stores) -> None:
    run = await stores.running()
    await stores.runs.close(run, ending(), batch(run, 1))

    await stores.runs.request_cancel(run.run_id)
    await stores.runs.request_cancel("nothing")

    kept = await stores.runs.get(run.run_id)
    assert kept is not None
    assert kept.cancel_requested is False


@requirement("G2")
async def test_abandoned_runs_are_those_whose_lease_ended(stores: Stores) -> None:
    lost, alive, ended = [await stores.running() for _ in range(3)]
    await stores.runs.close(ended, ending(), batch(ended, 1))
    past = now() - LEASE
    await stores.runs.renew("w1", [lost.run_id, ended.run_id], past)

    assert await stores.runs.abandoned(now()) == [replace(lost, lease_until=past)]
    assert await stores.runs.abandoned(past) == []

    taken = await stores.taken_over(lost)
    assert await stores.runs.abandoned(now()) == []
    assert await stores.runs.abandoned(now(), not_worker="w1") == [taken]
    assert await stores.runs.abandoned(now(), not_worker="w2") == [alive]


async def test_run_whose_worker_has_no_lease_can_be_recovered(stores: Stores) -> None:
    session = await stores.session()
    new = new_run(session.session_id)
    run = (await stores.runs.open(new, worker="w1", lease_until=None)).run

    assert await stores.runs.abandoned(now() + LEASE) == []
    assert await stores.runs.abandoned(now(), not_worker="w2") == [run]
    assert await stores.runs.claim(run.run_id, worker="w2", lease_until=now() + LEASE)


@pytest.mark.every_store
async def test_what_a_users_sessions_hold_is_counted_until_they_are_deleted(
    stores: Stores,
) -> None:
    async def used(user_id: str = "alice") -> int:
        return await stores.sessions.bytes_of_user(user_id)

    assert await used() == 0
    noted = await stores.sessions.create("alice", "agent", metadata={"ticket": "A-17"})
    at_first = await used()
    assert at_first == len('{"ticket":"A-17"}')
    for number, more in enumerate((1000, 500)):
        run = await stores.running(noted)
        end = replace(ending(), bytes_used=more)
        for _ in range(2):  # an end that is written again counts once
            assert await stores.runs.close(run, end, batch(run, 1 + 2 * number))
    other = await stores.running(await stores.session())
    await stores.runs.close(other, replace(ending(), bytes_used=70), batch(other, 1))
    assert await used() == at_first + 1570
    assert await used("bob") == 0

    await stores.sessions.soft_delete(noted.session_id)
    assert await used() == at_first + 1570
    await stores.sessions.delete(noted.session_id)
    assert await used() == 70


@pytest.mark.every_store
async def test_a_users_active_runs_are_found_in_all_sessions(stores: Stores) -> None:
    sessions = [await stores.session() for _ in range(5)]
    running, waiting, ended, other = [
        (await stores.opened(new_run(each.session_id, user_id=user))).run
        for each, user in zip(sessions[:4], ("alice", "alice", "alice", "bob"), strict=True)
    ]
    await stores.runs.set_status(waiting, "waiting")
    await stores.runs.close(ended, ending(), batch(ended, 1, "end"))
    queued = new_run(sessions[4].session_id, user_id="alice")
    await stores.runs.open(queued, worker=None, lease_until=None)

    found = {run.run_id for run in await stores.runs.active_of_user("alice")}

    assert found == {running.run_id, waiting.run_id, queued.run_id}
    assert [run.run_id for run in await stores.runs.active_of_user("bob")] == [other.run_id]
    assert await stores.runs.active_of_user("nobody") == []


@requirement("B8")
async def test_active_runs_are_known_by_the_agents_they_name(stores: Stores) -> None:
    assert await stores.runs.active_agents() == {}
    one, two = await stores.session(), await stores.session()
    three, four = await stores.session(), await stores.session()
    first = (await stores.opened(new_run(one.session_id, assistant_id="sql"))).run
    waiting = (await stores.opened(new_run(two.session_id, assistant_id="sql"))).run
    await stores.runs.set_status(waiting, "waiting")
    await stores.opened(new_run(three.session_id))
    queued = new_run(four.session_id, assistant_id="writer")
    await stores.runs.open(queued, worker=None, lease_until=None)
    assert await stores.runs.active_agents() == {
        "sql": {"running", "waiting"},
        "agent": {"running"},
        "writer": {"queued"},
    }
    await stores.runs.close(first, ending(), batch(first, 1, "end"))
    assert (await stores.runs.active_agents())["sql"] == {"waiting"}
    assert await stores.runs.hand_over(waiting, "writer")
    assert await stores.runs.active_agents() == {
        "agent": {"running"},
        "writer": {"queued", "waiting"},
    }
    kept = await stores.runs.get(waiting.run_id)
    assert kept is not None
    assert (kept.assistant_id, kept.input.answered_by) == ("sql", "writer")
    assert not await stores.runs.hand_over(first, "writer")  # it has ended
