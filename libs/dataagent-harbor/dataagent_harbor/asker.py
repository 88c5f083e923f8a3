"""Asks a server one question, over WebSocket or REST, and writes down what came of it.

Never raises for what the server or the network does: that is the transcript's `end`. Calls that
wait for an approval are decided as the set's owner said, by default rejected.

Notices lost connections while a question is asked, though the client takes them up again.

The client waits before each new attempt, and asks its `Backoff` how long. This one also counts, for
the question that is being asked in the same task or one it started.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import AsyncGenerator, Generator
from contextlib import aclosing, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Literal

from dataagent_client import (
    ArtifactEvent,
    Backoff,
    ClientError,
    DataAgentClient,
    Decision,
    DoneEvent,
    ErrorEvent,
    HITLRequestEvent,
    Received,
    TextEvent,
    ToolCallEvent,
    ToolResultEvent,
)
from dataagent_harbor.transcripts import End, Transcript


@dataclass(slots=True)
class Losses:
    """How often the connection was lost."""

    count: int = 0


_CURRENT_LOSSES: ContextVar[Losses | None] = ContextVar("losses", default=None)


_LONG_BACKOFF = Backoff(attempts=12)  # about three quarters of a minute: a server that starts again


class CountingBackoff(Backoff):
    """The client's own pauses; while a question is asked they are counted, and a few more."""

    def pause(self, failures: int, *, retry_after: float | None = None) -> float | None:
        """As `Backoff.pause`."""
        if (losses := _CURRENT_LOSSES.get()) is None:
            return Backoff.pause(self, failures, retry_after=retry_after)
        losses.count += 1
        return _LONG_BACKOFF.pause(failures, retry_after=retry_after)


@contextmanager
def count_losses() -> Generator[Losses]:
    """What is lost while the block lasts; the client must have a `CountingBackoff`."""
    losses = Losses()
    token = _CURRENT_LOSSES.set(losses)
    try:
        yield losses
    finally:
        _CURRENT_LOSSES.reset(token)


Mode = Literal["rest", "ws"]
_ENDS: dict[str, End] = {
    "completed": "answered",
    "user_cancelled": "cancelled",
    "rejected": "cancelled",
    "budget": "cancelled",
    "timeout": "timeout",
}
"""Every other reason is an error."""
_STOP_SECONDS = 5.0
_INTERRUPTED = ("interrupted", "not_taken")  # error codes: no answer, and not the model's fault


@dataclass(slots=True)
class _TranscriptRecorder:
    """What is written down while the answer comes."""

    due: float
    began: float
    asked_at: float = field(default_factory=time.time)
    answer: list[str] = field(default_factory=list[str])
    tools: list[str] = field(default_factory=list[str])
    failed_tools: list[str] = field(default_factory=list[str])
    tables: list[str] = field(default_factory=list[str])
    shown_rows: int = 0
    events: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    run_id: str | None = None
    first: float | None = None
    ended: float | None = None
    tokens: dict[str, int] = field(default_factory=dict[str, int])
    reason: str | None = None
    error: str = ""
    is_interrupted: bool = False
    losses: int = 0

    @property
    def end(self) -> End:
        """What the run's last event says."""
        return "error" if self.is_interrupted else _ENDS.get(self.reason or "", "error")

    def take(self, item: Received) -> None:
        """Write down one event."""
        self.run_id = item.run_id
        self.events.append({**item.event.to_dict(), "seq": item.seq})
        match item.event:
            case TextEvent(content=content, subagent=None):
                self.first = self.first or time.monotonic()
                self.answer.append(content)
            case ToolCallEvent(tool_name=name):
                self.tools.append(name)
            case ToolResultEvent(status="denied" | "error", tool_name=name):
                self.failed_tools.append(name)
            case ArtifactEvent(kind="table", artifact_id=artifact_id, preview=preview):
                self.tables.append(artifact_id)
                self.shown_rows += _row_count(preview)
            case ErrorEvent(error=error, error_code=code):
                self.error, self.is_interrupted = error, code in _INTERRUPTED
            case DoneEvent(reason=reason, token_usage=usage):
                self.reason, self.tokens = reason, dict(usage or {})
                self.ended = time.monotonic()  # closing the connection is not part of it
            case _:
                pass


class Asker:
    """Asks questions of one server."""

    def __init__(
        self,
        client: DataAgentClient,
        *,
        mode: Mode = "ws",
        timeout_seconds: float = 120.0,
        assistant_id: str | None = None,
        is_approving: bool = False,
    ) -> None:
        self._client = client
        self._mode: Mode = mode
        self._timeout_seconds = timeout_seconds
        self._assistant_id = assistant_id
        self._decision = Decision("approve" if is_approving else "reject")

    async def ask(
        self,
        message: str,
        session_id: str | None = None,
        *,
        message_id: str,
        due: float | None = None,
    ) -> Transcript:
        """Ask, and wait for the end or the time-out; a run that is given up on is stopped.

        Without a `session_id` it is asked in a new conversation, which the transcript names.
        `due` is when it should have been asked (`time.monotonic`): a wait before that counts.
        The same `message_id` asked twice is one run.
        """
        session_id = session_id or str(uuid.uuid4())  # the first message opens the conversation
        began = time.monotonic()
        notes = _TranscriptRecorder(due=began if due is None else due, began=began)
        end: End = "error"
        with count_losses() as losses:
            try:
                async with asyncio.timeout(self._timeout_seconds):
                    await self._read(notes, message, session_id, message_id)
                end = notes.end
            except asyncio.CancelledError:  # Ctrl-C: nobody will read it, so it need not go on
                await self._give_up(session_id)
                raise
            except TimeoutError:
                end, notes.error = "timeout", f"no answer in {self._timeout_seconds:g} s"
            except ClientError as error:
                notes.error = str(error)
        notes.losses = losses.count
        told = _transcript(notes, end, session_id)
        if end == "timeout" and notes.reason is None:
            await self._give_up(session_id)
        return told

    async def _read(
        self, notes: _TranscriptRecorder, message: str, session_id: str, message_id: str
    ) -> None:
        async with aclosing(self._events(message, session_id, message_id)) as events:
            async for item in events:
                notes.take(item)

    def _events(self, message: str, session_id: str, message_id: str) -> AsyncGenerator[Received]:
        chat = self._client.chat if self._mode == "ws" else self._client.chat_sse
        return chat(
            message,
            session_id,
            assistant_id=self._assistant_id,
            client_message_id=message_id,
            on_approval=self._decide,
        )

    async def _decide(self, request: HITLRequestEvent) -> Decision:
        del request  # every call alike
        return self._decision

    async def _give_up(self, session_id: str) -> None:
        """Stop what runs in the conversation; it is ours alone."""
        with suppress(ClientError, TimeoutError):  # it has ended, or the server is gone
            async with asyncio.timeout(_STOP_SECONDS):
                await self._client.cancel(session_id)


def _transcript(notes: _TranscriptRecorder, end: End, session_id: str) -> Transcript:
    return Transcript(
        end=end,
        answer="".join(notes.answer),
        session_id=session_id,
        run_id=notes.run_id,
        tools=tuple(notes.tools),
        failed_tools=tuple(notes.failed_tools),
        table_ids=tuple(notes.tables),
        shown_rows=notes.shown_rows,
        first_token_seconds=None if notes.first is None else notes.first - notes.due,
        seconds=(notes.ended or time.monotonic()) - notes.due,
        waited_seconds=max(notes.began - notes.due, 0.0),
        asked_at=notes.asked_at,
        losses=notes.losses,
        is_interrupted=notes.is_interrupted,
        tokens=notes.tokens,
        detail=notes.error or ("" if end == "answered" else (notes.reason or "")),
        events=tuple(notes.events),
    )


def _row_count(preview: object) -> int:
    """The rows of a table; one, if it does not say: then something may be shown."""
    match preview:
        case {"row_count": int(count)}:
            return count
        case _:
            return 1
