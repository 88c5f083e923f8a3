"""Asks a server one question over WebSocket or REST, and records the answer.

Failures of the server or the network raise nothing: they are the transcript's `end`.
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
    """How often a connection was lost."""

    count: int = 0


_CURRENT_LOSSES: ContextVar[Losses | None] = ContextVar("losses", default=None)
_LONG_BACKOFF = Backoff(attempts=12)  # about 45 seconds: a server may restart meanwhile


class CountingBackoff(Backoff):
    """Counts lost connections while a question is asked, and allows more attempts then.

    The client asks its `Backoff` before each new attempt, in the task that asks the question.
    """

    def pause(self, failures: int, *, retry_after: float | None = None) -> float | None:
        """As `Backoff.pause`."""
        if (losses := _CURRENT_LOSSES.get()) is None:
            return Backoff.pause(self, failures, retry_after=retry_after)
        losses.count += 1
        return _LONG_BACKOFF.pause(failures, retry_after=retry_after)


@contextmanager
def count_losses() -> Generator[Losses]:
    """Count the losses during the block; the client must have a `CountingBackoff`."""
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
_INTERRUPTED = ("interrupted", "not_taken")  # error codes of a server that stopped


@dataclass(slots=True)
class _TranscriptRecorder:
    """Collects a transcript from the events of a run."""

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
        """How the run ended, by its last event."""
        return "error" if self.is_interrupted else _ENDS.get(self.reason or "", "error")

    def take(self, item: Received) -> None:
        """Record one event."""
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
                self.ended = time.monotonic()  # without closing the connection
            case _:
                pass

    def transcript(self, end: End, session_id: str) -> Transcript:
        """What was recorded until now."""
        return Transcript(
            end=end,
            answer="".join(self.answer),
            session_id=session_id,
            run_id=self.run_id,
            tools=tuple(self.tools),
            failed_tools=tuple(self.failed_tools),
            table_ids=tuple(self.tables),
            shown_rows=self.shown_rows,
            first_token_seconds=None if self.first is None else self.first - self.due,
            seconds=(self.ended or time.monotonic()) - self.due,
            waited_seconds=max(self.began - self.due, 0.0),
            asked_at=self.asked_at,
            losses=self.losses,
            is_interrupted=self.is_interrupted,
            tokens=self.tokens,
            detail=self.error or ("" if end == "answered" else (self.reason or "")),
            events=tuple(self.events),
        )


class Asker:
    """Asks questions of one server. Calls that need approval are rejected unless `is_approving`."""

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
        """Ask, and wait for the end or the time-out; after a time-out the run is cancelled.

        Without a `session_id` the question opens a conversation, which the transcript names.
        `due` is when it should have been asked (`time.monotonic`): latency counts from there.
        The same `message_id` sent twice is one run.
        """
        session_id = session_id or str(uuid.uuid4())  # the first message opens the conversation
        began = time.monotonic()
        recorder = _TranscriptRecorder(due=began if due is None else due, began=began)
        end: End = "error"
        with count_losses() as losses:
            try:
                async with asyncio.timeout(self._timeout_seconds):
                    async with aclosing(self._events(message, session_id, message_id)) as events:
                        async for item in events:
                            recorder.take(item)
                end = recorder.end
            except asyncio.CancelledError:  # Ctrl-C
                await self._cancel(session_id)
                raise
            except TimeoutError:
                end, recorder.error = "timeout", f"no answer in {self._timeout_seconds:g} s"
            except ClientError as error:
                recorder.error = str(error)
        recorder.losses = losses.count
        transcript = recorder.transcript(end, session_id)
        if end == "timeout" and recorder.reason is None:
            await self._cancel(session_id)
        return transcript

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
        del request  # the same decision for every call
        return self._decision

    async def _cancel(self, session_id: str) -> None:
        """Cancel the run of the conversation, which is ours alone."""
        with suppress(ClientError, TimeoutError):  # it has ended, or the server is gone
            async with asyncio.timeout(_STOP_SECONDS):
                await self._client.cancel(session_id)


def _row_count(preview: object) -> int:
    """The rows of a table; one if the preview has no count, since it may show something."""
    match preview:
        case {"row_count": int(count)}:
            return count
        case _:
            return 1
