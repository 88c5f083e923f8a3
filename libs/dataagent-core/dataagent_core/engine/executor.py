"""Runs one turn of an agent and yields what happens as events.

The one place that catches everything: whatever goes wrong becomes an `ErrorEvent`, and the stream
ends with exactly one `DoneEvent`. When the task is cancelled the thread is repaired, the end is
yielded and `CancelledError` raised. A `cancellation_token` stops a turn without an exception. A
handler that raises `Suspended` leaves the thread waiting.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import HumanMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.types import Command, Interrupt

from dataagent_core.engine import graph as lg
from dataagent_core.engine import thread
from dataagent_core.engine.agent import Context, defaults_of
from dataagent_core.engine.checkpoints import MemoryCheckpoints
from dataagent_core.engine.graph import Config, Graph, Part
from dataagent_core.engine.thread import repair
from dataagent_core.engine.translate import (
    Translator,
    allowed_decisions,
    error_event,
    request_of,
    resume_value,
)
from dataagent_core.errors import BadInput
from dataagent_core.events import AnyEvent, DoneEvent, HITLRequestEvent
from dataagent_core.hitl import Decision, HITLHandler
from dataagent_core.identity import RunContext
from dataagent_core.middleware.upstream import Summarization
from dataagent_core.models.messages import with_files
from dataagent_core.models.token_stream import stream_answers

logger = logging.getLogger(__name__)
REJECTED = "The user rejected this call; it was not executed."


class Suspended(Exception):
    """Raised by a handler whose process stops: the thread waits on, for `resume`."""


@dataclass(slots=True)
class _Turn:
    """The state of one execution."""

    graph: Graph
    config: Config
    context: RunContext
    question: HumanMessage | None
    deadline: float | None
    translator: Translator = field(init=False)
    is_over: bool = False

    def __post_init__(self) -> None:
        self.translator = Translator(lg.depth(self.graph))

    async def repair(self, note: str | None = None) -> None:
        await repair(
            self.graph,
            self.config,
            asked=self.question,
            partial_text=self.translator.partial_text,
            partial_id=self.translator.partial_id,
            **({"note": note} if note else {}),
        )

    def done(self, **how: Any) -> DoneEvent:
        self.is_over = True
        return DoneEvent(token_usage=self.translator.usage or None, **how)

    def cancelled(self) -> DoneEvent:
        """The end of a cancelled turn."""
        return self.done(cancelled=True, reason="user_cancelled")

    def finished(self) -> DoneEvent:
        """The end of a turn that ran to its end, or whose budget is exhausted."""
        exhausted = self.context.budget.exhausted if self.context.budget else None
        if exhausted is None:
            return self.done()
        return self.done(reason="budget", metadata={"budget": exhausted.to_dict()})


class AgentExecutor:
    """Executes turns of one compiled agent. Conversations are in its saver, not in the executor."""

    def __init__(
        self,
        agent: Graph,
        saver: BaseCheckpointSaver[Any] | None = None,
        *,
        hitl_handler: HITLHandler | None = None,
        recursion_limit: int | None = None,
        timeout_seconds: float | None = None,
        hitl_timeout_seconds: float | None = None,
    ) -> None:
        """Bind the agent to a saver. Without a handler every call is approved.

        Without a saver, conversations are in memory for the lifetime of the executor. Limits that
        are not given are the agent's own.
        """
        self._defaults = defaults_of(agent)
        self._graph = lg.bind(agent, saver or lg.saver_of(agent) or MemoryCheckpoints().saver())
        self._handler = hitl_handler
        self._recursion_limit = recursion_limit or self._defaults.recursion_limit
        self._timeout_seconds = timeout_seconds or self._defaults.timeout_seconds
        self._hitl_timeout_seconds = hitl_timeout_seconds

    async def execute(
        self,
        user_input: str,
        session_id: str,
        context: Context = None,
        *,
        cancellation_token: asyncio.Event | None = None,
        files: Sequence[dict[str, Any]] = (),
    ) -> AsyncGenerator[AnyEvent]:
        """Answer a message with its files; the events end with a `DoneEvent`.

        Args:
            user_input: the user's message.
            session_id: the conversation; the same id continues it.
            context: the user and rules of the run: a `RunContext`, or a dictionary of those of its
                fields that differ from the agent's configuration (`user_id`, `auto_approve`, …).
            cancellation_token: once it is set the run stops, the conversation keeps the partial
                answer, and the last event is `DoneEvent(cancelled=True, reason="user_cancelled")`.
            files: references of files that belong to the message.
        """
        question = with_files(user_input, files, message_id=str(uuid.uuid4()))
        try:
            run_context = self._defaults.context(session_id, context, message=user_input)
        except BadInput as error:
            yield error_event(error)
            yield DoneEvent(reason="failed")
            return
        turn = self._turn(session_id, run_context, question)
        events = self._with_repair(turn, {"messages": [question]})
        if cancellation_token is not None:
            events = _until_cancelled(cancellation_token, turn, events)
        async with aclosing(events):
            async for event in events:
                yield event

    async def resume(self, session_id: str, context: Context = None) -> AsyncGenerator[AnyEvent]:
        """Continue a thread that waits for approvals, after its process was restarted.

        Raises:
            BadInput: the context is not valid.
        """
        turn = self._turn(session_id, self._defaults.context(session_id, context), None)
        async with aclosing(self._with_repair(turn, None)) as events:
            async for event in events:
                yield event

    def compact(
        self, session_id: str, summarization: Summarization, context: RunContext
    ) -> AsyncGenerator[AnyEvent]:
        """Summarise the older part of a thread; the events end with a `DoneEvent`."""
        config = lg.thread(session_id, self._recursion_limit)
        return thread.compact(self._graph, config, summarization, context)

    async def record_interrupted_turn(
        self,
        user_input: str,
        partial_text: str,
        session_id: str,
        *,
        files: Sequence[dict[str, Any]] = (),
    ) -> None:
        """Record a turn that died with its process in the thread, as far as the user saw it."""
        question = with_files(user_input, files, message_id=str(uuid.uuid4()))
        turn = self._turn(session_id, None, question)
        if (await lg.snapshot(turn.graph, turn.config)).interrupts:
            turn.question = None  # it died after an approval: the thread has the question
        if partial_text:
            turn.translator.resume_text(str(uuid.uuid4()), partial_text)
        await turn.repair()

    def _turn(
        self,
        session_id: str,
        context: RunContext | None,
        question: HumanMessage | None,
    ) -> _Turn:
        loop_time = asyncio.get_running_loop().time
        turn = _Turn(
            graph=self._graph,
            config=lg.thread(session_id, self._recursion_limit),
            context=context or self._defaults.context(session_id),
            question=question,
            deadline=loop_time() + self._timeout_seconds if self._timeout_seconds else None,
        )
        if turn.context.budget is not None:  # so that a cancelled turn is counted, too
            turn.context.budget.reported = turn.translator.usage
        return turn

    async def _with_repair(self, turn: _Turn, graph_input: Any) -> AsyncGenerator[AnyEvent]:
        stream_answers(depth=lg.depth(turn.graph))
        try:
            async with aclosing(self._rounds(turn, graph_input)) as events:
                async for event in events:
                    yield event
        except GeneratorExit:
            if not turn.is_over:  # a reader may leave after the end
                await _finish_shielded(turn.repair())
            raise
        except asyncio.CancelledError:
            if not turn.is_over:
                await _finish_shielded(turn.repair())
                yield turn.cancelled()
            raise
        except Suspended:
            raise
        except Exception as error:
            await _finish_shielded(turn.repair())
            yield error_event(error)
            yield turn.done(reason="timeout" if isinstance(error, TimeoutError) else "failed")

    async def _rounds(self, turn: _Turn, graph_input: Any) -> AsyncGenerator[AnyEvent]:
        """Stream, ask for approvals and resume until none is pending.

        Without an input the thread waits for approvals already.
        """
        if graph_input is None:
            state = await lg.snapshot(turn.graph, turn.config)
            turn.translator.interrupts.update({item.id: item for item in state.interrupts})
        while True:
            if graph_input is not None:
                async with aclosing(_parts(turn, graph_input)) as parts:
                    async for part in parts:
                        for event in turn.translator.feed(part):
                            yield event
            interrupts = turn.translator.take_interrupts()
            if not interrupts:
                break
            for interrupt in interrupts:
                yield self._request_event(interrupt)
            decisions = await self._ask(interrupts, turn.context.session_id)
            if decisions is None:
                await turn.repair(REJECTED)
                yield turn.done(cancelled=True, reason="rejected")
                return
            graph_input = Command(
                resume={key: resume_value(made) for key, made in decisions.items()}
            )
        yield turn.finished()

    def _request_event(self, interrupt: Interrupt) -> HITLRequestEvent:
        action = request_of(interrupt)
        event = HITLRequestEvent(
            request_id=interrupt.id, action=action, allowed=allowed_decisions(interrupt)
        )
        if self._hitl_timeout_seconds is None:
            return event
        expires_at = event.timestamp + self._hitl_timeout_seconds
        return HITLRequestEvent(
            request_id=interrupt.id,
            action=action,
            allowed=event.allowed,
            expires_at=expires_at,
            timestamp=event.timestamp,
        )

    async def _ask(
        self, interrupts: Sequence[Interrupt], session_id: str
    ) -> dict[str, Decision] | None:
        """All decisions by request id, or None as soon as one is a rejection."""
        if self._handler is None:
            return {item.id: Decision("approve") for item in interrupts}
        handler = self._handler

        async def one(interrupt: Interrupt) -> tuple[str, Decision]:
            answer = await handler.request_approval(request_of(interrupt), session_id)
            return interrupt.id, Decision.of(answer)

        tasks = [asyncio.create_task(one(item)) for item in interrupts]
        decisions: dict[str, Decision] = {}
        try:
            for finished in asyncio.as_completed(tasks):
                request_id, decision = await finished
                if decision.type == "reject":
                    return None
                decisions[request_id] = decision
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        return decisions


async def _parts(turn: _Turn, graph_input: Any) -> AsyncGenerator[Part]:
    """The parts of the graph's stream.

    Raises:
        TimeoutError: the turn's time is over.
    """
    stream = lg.stream(turn.graph, graph_input, turn.config, turn.context)
    async with aclosing(stream):
        if turn.deadline is None:
            async for part in stream:
                yield part
            return
        while True:
            async with asyncio.timeout_at(turn.deadline):
                part = await anext(stream, None)
            if part is None:
                return
            yield part


async def _finish_shielded(work: Any) -> None:
    """Finish the work even if the task is cancelled again meanwhile."""
    task = asyncio.ensure_future(work)
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            continue


async def _until_cancelled(
    token: asyncio.Event, turn: _Turn, events: AsyncGenerator[AnyEvent]
) -> AsyncGenerator[AnyEvent]:
    """The events until the token is set; then the turn is cancelled, and its end is the last."""
    if token.is_set():
        await turn.repair()
        yield turn.cancelled()
        return
    queue: asyncio.Queue[AnyEvent | None] = asyncio.Queue()

    async def work() -> None:
        try:
            async with aclosing(events):
                async for event in events:
                    queue.put_nowait(event)
        finally:
            queue.put_nowait(None)

    async def stop() -> None:
        await token.wait()
        if not turn.is_over:
            working.cancel()  # the turn's own end comes last

    working, stopping = asyncio.create_task(work()), asyncio.create_task(stop())
    try:
        while (event := await queue.get()) is not None:
            yield event
        await asyncio.wait({working})
        if not working.cancelled():
            working.result()
    finally:
        stopping.cancel()
        working.cancel()
        await _finish_shielded(asyncio.wait({working}))
