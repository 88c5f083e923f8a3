"""Two processes over one store: leases, taking over, and what each may still write."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pytest
from langchain_core.messages import BaseMessage

from dataagent_core.config import Settings
from dataagent_core.engine import AgentFactory
from dataagent_core.events import DoneEvent, ErrorEvent, HITLRequestEvent, TextEvent
from dataagent_core.hitl import Decision
from dataagent_core.models.rule_based import Say, Turn
from dataagent_core.models.scripted import ScriptedChatModel
from dataagent_core.runs import Run
from dataagent_core.workspace import UserWorkspaceManager
from tests.requirements import requirement
from tests.waiting import WAIT_SECONDS

from .processes import Cluster, Held, collect_events, seen, started, thread_of

LOST = [
    ErrorEvent(error=ANY, error_code="interrupted", recoverable=True, timestamp=ANY),
    DoneEvent(reason="failed", timestamp=ANY),
]
WRITE = '!echo First.\n!tool write_file {"file_path": "/files/a.txt", "content": "x"}\n!echo Last.'


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncGenerator[Cluster]:
    settings = Settings(home=tmp_path, model="scripted", sample_data=False)
    workspaces = UserWorkspaceManager(tmp_path / "workspaces", 10_000)
    yield Cluster(AgentFactory(settings, workspaces))
    workspaces.close()


@requirement("G3", "G2")
async def test_run_whose_lease_ran_out_is_ended_by_another_and_its_writer_refused(
    cluster: Cluster,
) -> None:
    cluster.model = model = Held(turns=[[Say(["One "]), Say(["two."])]])
    async with cluster.process("w1") as first, cluster.process("w2") as second:
        run = await started(first, "count")
        await seen(first, run, "text")
        await cluster.expire(run)

        assert await second.worker.recovery.recover() == 1
        events = await collect_events(second, run)
        assert events == [TextEvent(content="One ", timestamp=ANY), *LOST]

        model.go_on.set()
        owner = first.worker._active_runs[run.run_id].owner
        assert owner is not None
        async with asyncio.timeout(WAIT_SECONDS):
            await owner
        assert await collect_events(second, run) == events
        kept = await cluster.store.get(run.run_id)
        assert kept is not None
        assert (kept.status, kept.attempt, model.calls) == ("failed", 2, 1)
        messages, _ = await first.sessions.messages(run.session_id, owner="anna")
        assert [(m.content, m.status) for m in messages] == [
            ("count", "complete"),
            ("One ", "failed"),
        ]


@requirement("G3")
async def test_process_that_wakes_after_its_run_was_taken_over_leaves_the_thread_alone(
    cluster: Cluster,
) -> None:
    cluster.model = model = Held(turns=[[Say(["One "]), Say(["two."])]])
    async with cluster.process("w1", lease_seconds=0.0) as frozen, cluster.process("w2") as second:
        lost = await started(frozen, "count")
        await seen(frozen, lost, "text")
        assert await second.worker.recovery.recover() == 1
        await collect_events(second, lost)
        cluster.model = None
        run = (await second.runs.start(lost.session_id, "!echo hello", owner="anna")).run
        await collect_events(second, run)

        model.go_on.set()
        owner = frozen.worker._active_runs[lost.run_id].owner
        assert owner is not None
        async with asyncio.timeout(WAIT_SECONDS):
            await owner
        thread = await thread_of(cluster, lost.session_id)
        assert thread == ["count", "One ", "!echo hello", "hello"]


@requirement("G3")
async def test_process_that_learns_that_a_run_is_anothers_stops_working_on_it(
    cluster: Cluster,
) -> None:
    cluster.model = Held(turns=[[Say(["One "]), Say(["two."])]])
    async with cluster.process("w1", lease_seconds=0.2) as first, cluster.process("w2") as second:
        await first.worker.start(is_alone=False)
        lost = await started(first, "count")
        await seen(first, lost, "text")
        owner = first.worker._active_runs[lost.run_id].owner
        assert owner is not None
        async with asyncio.timeout(WAIT_SECONDS):
            await cluster.expire(lost)
            while not await second.worker.recovery.recover():
                await cluster.expire(lost)
            await owner
        assert (await collect_events(second, lost))[-2:] == LOST
        assert await thread_of(cluster, lost.session_id) == ["count", "One "]


@requirement("G3")
async def test_run_with_a_living_lease_is_not_taken(cluster: Cluster) -> None:
    async with cluster.process("w1") as first, cluster.process("w2") as second:
        run = await started(first, "!slow 100000 10")
        assert await second.worker.recovery.recover() == 0
        assert await first.worker.recovery.recover(not_worker="w1") == 0
        await first.runs.cancel(run.run_id, owner="anna")


@requirement("G3")
async def test_process_that_is_alone_takes_over_without_waiting_for_leases(
    cluster: Cluster,
) -> None:
    async with cluster.process("w1") as first, cluster.process("w2") as second:
        run = await started(first, "!slow 100000 10")
        await second.worker.start(is_alone=True)
        assert (await collect_events(second, run))[-2:] == LOST


@requirement("G3")
async def test_own_run_whose_lease_ran_out_is_kept(cluster: Cluster) -> None:
    async with cluster.process("w1") as first:
        run = await started(first, "!slow 100000 10")
        await cluster.expire(run)
        assert await first.worker.recovery.recover() == 0
        assert (await first.runs.cancel(run.run_id, owner="anna")).status == "cancelled"


@requirement("G8", "G2")
async def test_lost_run_is_noticed_by_a_process_that_lives_on(cluster: Cluster) -> None:
    async with cluster.process("w1") as first, cluster.process("w2", lease_seconds=0.1) as second:
        run = await started(first, "!slow 100000 10")
        await second.worker.start(is_alone=False)
        await cluster.expire(run)
        assert (await collect_events(second, run))[-2:] == LOST


@requirement("G11")
async def test_waiting_run_of_a_frozen_process_is_answered_in_another(cluster: Cluster) -> None:
    async with cluster.process("w1") as first, cluster.process("w2") as second:
        run = await started(first, WRITE)
        request = await seen(first, run, "hitl_request")
        assert isinstance(request, HITLRequestEvent)
        await cluster.expire(run)
        assert await second.worker.recovery.recover() == 1
        await second.runs.decide(
            run.run_id, request.request_id, Decision("respond", "no"), owner="anna"
        )
        events = await collect_events(second, run)
        assert [e.event_type for e in events].count("hitl_request") == 1
        assert events[-1] == DoneEvent(token_usage=ANY, timestamp=ANY)


@requirement("G11")
async def test_request_kept_but_never_shown_is_shown_by_the_next_process(cluster: Cluster) -> None:
    async with cluster.process("w1") as first, cluster.process("w2") as second:
        kept = asyncio.Event()
        add = first.worker.approvals.add

        async def add_and_freeze(run: Run, event: HITLRequestEvent) -> bool:
            await add(run, event)
            kept.set()
            await asyncio.Event().wait()
            return True

        first.worker.approvals.add = add_and_freeze
        run = await started(first, WRITE)
        async with asyncio.timeout(WAIT_SECONDS):
            await kept.wait()
        await cluster.expire(run)
        assert await second.worker.recovery.recover() == 1
        request = await seen(second, run, "hitl_request")
        assert isinstance(request, HITLRequestEvent)
        await second.runs.decide(run.run_id, request.request_id, Decision("reject"), owner="anna")
        assert (await collect_events(second, run))[-1] == DoneEvent(
            cancelled=True, reason="rejected", timestamp=ANY
        )


@requirement("G11")
async def test_decision_kept_while_nobody_ran_is_used_by_the_next_process(cluster: Cluster) -> None:
    async with cluster.process("w1") as first:
        run = await started(first, WRITE)
        request = await seen(first, run, "hitl_request")
        assert isinstance(request, HITLRequestEvent)
    await cluster.store.decide(run.run_id, request.request_id, Decision("respond", "no"))
    async with cluster.process("w2") as second:
        await second.worker.start(is_alone=True)
        assert (await collect_events(second, run))[-1] == DoneEvent(token_usage=ANY, timestamp=ANY)


@requirement("G3", "G11")
async def test_run_that_was_taken_over_leaves_the_next_run_of_its_session_its_approvals(
    cluster: Cluster,
) -> None:
    cluster.model = old = Held(turns=[[Say(["One "]), Say(["two."])]])
    async with cluster.process("w1") as first, cluster.process("w2") as second:
        lost = await started(first, "count")
        await seen(first, lost, "text")
        await cluster.expire(lost)
        assert await second.worker.recovery.recover() == 1
        await collect_events(second, lost)

        cluster.model = new = Held()
        run = (await first.runs.start(lost.session_id, WRITE, owner="anna")).run
        await seen(first, run, "text")
        owner = first.worker._active_runs[lost.run_id].owner
        assert owner is not None
        old.go_on.set()
        async with asyncio.timeout(WAIT_SECONDS):
            await owner
        new.go_on.set()
        request = await seen(first, run, "hitl_request")
        assert isinstance(request, HITLRequestEvent)
        await first.runs.decide(
            run.run_id, request.request_id, Decision("respond", "no"), owner="anna"
        )
        assert (await collect_events(first, run))[-1] == DoneEvent(token_usage=ANY, timestamp=ANY)


@requirement("R13.4", "P21")
async def test_idle_sessions_are_released_by_the_process_itself(cluster: Cluster) -> None:
    async with cluster.process("w1", lease_seconds=0.1, timeout_seconds=0.01) as process:
        run = await started(process, "!echo hello")
        await collect_events(process, run)
        await process.worker.start(is_alone=True)
        async with asyncio.timeout(WAIT_SECONDS):
            await process.executors.released.wait()
        assert process.sessions.live_sessions == 0


@requirement("R13.4", "P21")
async def test_session_with_a_run_under_way_is_not_idle_however_long_it_lasts(
    cluster: Cluster,
) -> None:
    cluster.model = model = Held(turns=[[Say(["One "]), Say(["two."])]])
    async with cluster.process("w1", lease_seconds=0.1, timeout_seconds=0.01) as process:
        held = await started(process, "count")
        await seen(process, held, "text")
        cluster.model = None
        ended = await started(process, "!echo hello")
        await collect_events(process, ended)
        await process.worker.start(is_alone=True)
        async with asyncio.timeout(WAIT_SECONDS):
            await process.executors.released.wait()
        assert process.executors.idle == [ended.session_id]
        assert process.sessions.live_sessions == 1
        model.go_on.set()
        assert (await collect_events(process, held))[-1].event_type == "done"


@requirement("G3")
async def test_lease_is_renewed_while_a_run_lasts(cluster: Cluster) -> None:
    async with cluster.process("w1", lease_seconds=0.2) as process:
        await process.worker.start(is_alone=True)
        run = await started(process, "!slow 100000 10")
        await seen(process, run, "text")
        renewed = asyncio.Event()
        renew = cluster.store.renew

        async def noted(*arguments: Any) -> dict[str, bool]:
            asked = await renew(*arguments)
            renewed.set()
            return asked

        cluster.store.renew = noted  # pyright: ignore[reportAttributeAccessIssue] noted
        async with asyncio.timeout(WAIT_SECONDS):
            await renewed.wait()
        kept = await cluster.store.get(run.run_id)
        assert kept is not None
        assert kept.lease_until is not None
        assert run.lease_until is not None
        assert kept.lease_until > run.lease_until
        assert kept.lease_owner == "w1"
        await process.runs.cancel(run.run_id, owner="anna")


async def test_lease_round_that_fails_is_tried_again(
    cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    async with cluster.process("w1", lease_seconds=0.05) as process:
        outcomes: list[Exception | None] = [ValueError("a bug"), None]
        finished = asyncio.Event()
        abandoned = cluster.store.abandoned

        async def failing(at: Any, **options: Any) -> Sequence[Run]:
            if outcomes and (error := outcomes.pop(0)) is not None:
                raise error
            finished.set()
            return await abandoned(at, **options)

        await process.worker.start(is_alone=False)
        # a bug for one round
        cluster.store.abandoned = failing  # pyright: ignore[reportAttributeAccessIssue]
        async with asyncio.timeout(WAIT_SECONDS):
            await finished.wait()
        assert "lease round failed" in caplog.text
        cluster.store.abandoned = abandoned


@requirement("G2")
async def test_model_is_asked_once_for_a_run(cluster: Cluster) -> None:
    calls = 0

    def turns(messages: Sequence[BaseMessage]) -> Turn:
        nonlocal calls
        calls += 1
        return [Say("Once.")]

    cluster.model = ScriptedChatModel(turns)
    async with cluster.process("w1") as process:
        run = await started(process, "hello")
        assert (await collect_events(process, run))[-1] == DoneEvent(token_usage=ANY, timestamp=ANY)
        assert calls == 1
        assert await process.worker.recovery.recover(not_worker="w2") == 0
