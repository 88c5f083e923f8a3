"""Runs one turn of an agent and says what happens, as events.

The one place that catches everything: whatever goes wrong becomes an `ErrorEvent`, and the stream
ends with exactly one `DoneEvent`. When the task is cancelled the thread is repaired, the end is
yielded and `CancelledError` raised; a caller that takes text by `emit` writes that end itself. A
`cancellation_token` stops a turn without an exception. A handler that raises `Suspended` leaves the
thread as it waits.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import AIMessageChunk, HumanMessage
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
from dataagent_core.models.token_stream import set_token_sink

logger = logging.getLogger(__name__)
Emit = Callable[[AnyEvent | str], None]
"""Takes what is said at once: an event, or running text of the main agent as it is."""
REJECTED = "The user rejected this call; it was not executed."


class Suspended(Exception):
    """Raised by a handler whose process stops: the thread goes on waiting, for `resume`."""


@dataclass(slots=True)
class _Turn:
    """What one execution keeps in mind."""

    graph: Graph
    config: Config
    context: RunContext
    asked: HumanMessage | None
    deadline: float | None
    emit: Emit | None = None
    translator: Translator = field(init=False)
    is_over: bool = False

    def __post_init__(self) -> None:
        self.translator = Translator(lg.depth(self.graph))

    async def repair(self, note: str | None = None) -> None:
        await repair(
            self.graph,
            self.config,
            asked=self.asked,
            partial_text=self.translator.partial_text,
            partial_id=self.translator.partial_id,
            **({"note": note} if note else {}),
        )

    def write_text(self, message_id: str, text: str) -> None:
        """Pass on text of the answer as the model says it."""
        if self.emit is not None and text:
            self.translator.write_text(message_id, text)
            self.emit(text)

    def write_chunk(self, message_id: str, chunk: AIMessageChunk) -> None:
        """Pass on what else the model says."""
        if self.emit is not None:
            for event in self.translator.write_chunk(message_id, chunk):
                self.emit(event)

    def done(self, **how: Any) -> DoneEvent:
        self.is_over = True
        return DoneEvent(token_usage=self.translator.usage or None, **how)

    def cancelled(self) -> DoneEvent:
        """The end of a turn that its user stopped."""
        return self.done(cancelled=True, reason="user_cancelled")

    def finished(self) -> DoneEvent:
        """The end of a turn that nobody stopped: it said all, or its budget is used up."""
        ran_out = self.context.budget.exhausted if self.context.budget else None
        if ran_out is None:
            return self.done()
        return self.done(reason="budget", metadata={"budget": ran_out.to_dict()})


class AgentExecutor:
    """Executes turns of one compiled agent. What was said is in its saver, nothing is held here."""

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

        Without a saver, conversations are kept in memory as long as the executor is. Limits that
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
        emit: Emit | None = None,
        files: Sequence[dict[str, Any]] = (),
    ) -> AsyncGenerator[AnyEvent]:
        """Answer a message with its files; the events end with a `DoneEvent`.

        Args:
            user_input: what the user says.
            session_id: the conversation; the same id goes on with it.
            context: for whom it is: a `RunContext`, or a dictionary of those of its fields that
                differ from what the agent's configuration says (`user_id`, `auto_approve`, …).
            cancellation_token: once it is set the run stops, the conversation is left as far as it
                got, and the last event is `DoneEvent(cancelled=True, reason="user_cancelled")`.
            say: takes running text, which is then not among the events: it is said at once, from
                inside the model's call, always after the events yielded before it. Use a task of
                its own then.
            files: files that belong to the message.
        """
        asked = with_files(user_input, files, message_id=str(uuid.uuid4()))
        try:
            known = self._defaults.context(session_id, context, message=user_input)
        except BadInput as error:
            yield error_event(error)
            yield DoneEvent(reason="failed")
            return
        turn = self._turn(session_id, known, asked, emit)
        events = self._with_repair(turn, {"messages": [asked]})
        if cancellation_token is not None:
            events = _until_cancelled(cancellation_token, turn, events)
        async with aclosing(events):
            async for event in events:
                yield event

    async def resume(
        self, session_id: str, context: Context = None, *, emit: Emit | None = None
    ) -> AsyncGenerator[AnyEvent]:
        """Go on with a thread that waits for approvals, after its process was restarted.

        Raises:
            BadInput: the context is none.
        """
        known = self._defaults.context(session_id, context)
        turn = self._turn(session_id, known, None, emit)
        async with aclosing(self._with_repair(turn, None)) as events:
            async for event in events:
                yield event

    def compact(
        self, session_id: str, summarization: Summarization, context: RunContext
    ) -> AsyncGenerator[AnyEvent]:
        """Put the older part of a thread in short; the events end with a `DoneEvent`."""
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
        """Put a turn that died with its process into the thread, as far as it was seen."""
        asked = with_files(user_input, files, message_id=str(uuid.uuid4()))
        turn = self._turn(session_id, None, asked)
        if (await lg.snapshot(turn.graph, turn.config)).interrupts:
            turn.asked = None  # it died after an approval: the thread has the question
        if partial_text:
            turn.translator.resume_text(str(uuid.uuid4()), partial_text)
        await turn.repair()

    def _turn(
        self,
        session_id: str,
        context: RunContext | None,
        asked: HumanMessage | None,
        emit: Emit | None = None,
    ) -> _Turn:
        loop_time = asyncio.get_running_loop().time
        turn = _Turn(
            graph=self._graph,
            config=lg.thread(session_id, self._recursion_limit),
            context=context or self._defaults.context(session_id),
            asked=asked,
            deadline=loop_time() + self._timeout_seconds if self._timeout_seconds else None,
            emit=emit,
        )
        if turn.context.budget is not None:  # so that a turn that is stopped has its count too
            turn.context.budget.reported = turn.translator.usage
        return turn

    async def _with_repair(self, turn: _Turn, given: Any) -> AsyncGenerator[AnyEvent]:
        depth = lg.depth(turn.graph)
        token_sink = turn if turn.emit is not None else None
        set_token_sink(
            token_sink, lg.emit_chunk, depth=depth, catch_up=lg.catch_up if depth else None
        )
        try:
            async with aclosing(self._rounds(turn, given)) as events:
                async for event in events:
                    yield event
        except GeneratorExit:
            if not turn.is_over:  # a reader that has the end may leave
                await _finish_shielded(turn.repair())
            raise
        except asyncio.CancelledError:
            if not turn.is_over:
                await _finish_shielded(turn.repair())
                if turn.emit is None:  # otherwise the caller writes the end
                    yield turn.cancelled()
            raise
        except Suspended:
            raise
        except Exception as error:
            await _finish_shielded(turn.repair())
            yield error_event(error)
            yield turn.done(reason="timeout" if isinstance(error, TimeoutError) else "failed")

    async def _rounds(self, turn: _Turn, given: Any) -> AsyncGenerator[AnyEvent]:
        """Stream, ask, resume, until nothing waits any more; given nothing, the thread waits."""
        if given is None:
            state = await lg.snapshot(turn.graph, turn.config)
            turn.translator.interrupts.update({item.id: item for item in state.interrupts})
        while True:
            if given is not None:
                async with aclosing(_parts(turn, given)) as parts:
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
            given = Command(resume={key: resume_value(made) for key, made in decisions.items()})
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


async def _parts(turn: _Turn, given: Any) -> AsyncGenerator[Part]:
    """The graph's parts; `TimeoutError` once the turn's time is over."""
    stream = lg.stream(turn.graph, given, turn.config, turn.context)
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
    """The events until the token is set; then the turn is stopped, and its end is the last."""
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
