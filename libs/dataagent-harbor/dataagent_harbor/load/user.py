"""One simulated user over WebSocket or REST, and the record of each answer.

A socket stays open while the user thinks and is reopened when lost, from the last event seen; a
message that was not acknowledged is sent again as the same message. Unlike the client's own chat,
doubled and missing events are counted instead of hidden.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from abc import ABC, abstractmethod
from contextlib import suppress
from dataclasses import dataclass, field

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus

from dataagent_client import (
    ApiError,
    Backoff,
    ClientError,
    DataAgentClient,
    DoneEvent,
    ErrorEvent,
    Received,
    TextEvent,
)
from dataagent_client.wire import (
    AcceptedFrame,
    ConnectedFrame,
    ErrorFrame,
    Frame,
    GapFrame,
    UnknownFrame,
    client_frame,
    parse_frame,
    socket_url,
)


@dataclass(slots=True)
class SequenceCheck:
    """Counts what is missing or doubled of the numbers 1, 2, 3 … of a session's events."""

    last: int = 0
    gaps: int = 0  # numbers that were left out
    doubles: int = 0  # numbers that came again

    def take(self, seq: int) -> None:
        """Count the next event's number."""
        if seq <= self.last:
            self.doubles += 1
            return
        self.gaps += seq - self.last - 1
        self.last = seq


_LOST = (ConnectionClosed, InvalidHandshake, OSError, TimeoutError, EOFError)
_STOP_SECONDS = 5.0


@dataclass(slots=True)
class TurnRecord:
    """The record of one answer. `problem` is empty if it ended well."""

    began: float
    first: float | None = None  # when its first text arrived
    ended: float = 0.0
    problem: str = ""
    losses: int = 0  # times the connection was lost
    run_id: str | None = None
    is_over: bool = False
    pending: list[Received] = field(default_factory=list[Received])  # until its run is known

    def accept(self, run_id: str) -> None:
        """Set the run of this turn, as the server names it."""
        self.run_id = run_id
        pending, self.pending = self.pending, []
        for item in pending:
            self.take(item)

    def take(self, item: Received) -> None:
        """Record an event of the session; events of other runs are ignored."""
        if self.run_id is None:
            self.pending.append(item)
            return
        if item.run_id != self.run_id:
            return
        match item.event:
            case TextEvent() if self.first is None:
                self.first = time.monotonic()
            case ErrorEvent(error_code=code):
                self.problem = code
            case DoneEvent(reason=reason):
                self.is_over = True
                if reason != "completed":
                    self.problem = self.problem or str(reason)
            case _:
                pass


class LoadUser(ABC):
    """One user with a conversation of their own."""

    def __init__(self) -> None:
        self.session_id = str(uuid.uuid4())
        self.sequence = SequenceCheck()

    async def enter(self) -> None:
        """Open what stays open between questions; if this fails, the first question does it."""
        return

    async def leave(self) -> None:
        """Close it."""
        return

    async def ask(self, message: str, timeout_seconds: float) -> TurnRecord:
        """Ask and wait for the end; failures of server and network are the record's `problem`.

        A run that exceeds the limit, or that the load does not wait for, is stopped.
        """
        turn = TurnRecord(began=time.monotonic())
        try:
            async with asyncio.timeout(timeout_seconds):
                await self._ask(message, turn)
        except asyncio.CancelledError:  # the load is over
            await self._stop()
            raise
        except TimeoutError:
            turn.problem = "timeout"
        except (ClientError, *_LOST) as error:
            turn.problem = _problem_name(error)
        turn.ended = time.monotonic()
        if turn.problem == "timeout":
            await self._stop()
        return turn

    async def _stop(self) -> None:
        """Cancel the run at the server, if it can be reached soon."""
        with suppress(ClientError, *_LOST):
            async with asyncio.timeout(_STOP_SECONDS):
                await self._cancel()

    @abstractmethod
    async def _ask(self, message: str, turn: TurnRecord) -> None:
        """Ask and fill in the turn."""

    @abstractmethod
    async def _cancel(self) -> None:
        """Cancel the active run."""


class SocketUser(LoadUser):
    """A user with a WebSocket."""

    def __init__(
        self, url: str, api_key: str | None, backoff: Backoff, assistant_id: str | None = None
    ) -> None:
        super().__init__()
        self._url = url
        self._headers = {} if api_key is None else {"X-API-Key": api_key}
        self._backoff = backoff
        self._assistant_id = assistant_id
        self._socket: ClientConnection | None = None

    async def _open_socket(self) -> ClientConnection:
        """The open socket; opening it is tried as often as `backoff` allows."""
        failures = 0
        while self._socket is None:
            try:
                self._socket = await self._connect()
            except _LOST as error:
                failures += 1
                if (pause := self._backoff.pause(failures)) is None or _is_final(error):
                    raise
                await asyncio.sleep(pause)
        return self._socket

    async def enter(self) -> None:
        """Connect."""
        with suppress(*_LOST):
            await self._open_socket()

    async def leave(self) -> None:
        """Disconnect."""
        socket, self._socket = self._socket, None
        if socket is not None:
            with suppress(*_LOST):
                await socket.close()

    async def _connect(self) -> ClientConnection:
        """A socket after the server's handshake."""
        socket = await connect(
            socket_url(self._url, self.session_id, after=self.sequence.last),
            additional_headers=self._headers,
            compression=None,
            max_size=None,
            close_timeout=1,
        )
        try:
            while not isinstance(parse_frame(await socket.recv()), ConnectedFrame):
                pass
        except BaseException:
            await socket.close()
            raise
        return socket

    async def _ask(self, message: str, turn: TurnRecord) -> None:
        frame = client_frame(
            "chat",
            {
                "message": message,
                "assistant_id": self._assistant_id,
                "client_message_id": str(uuid.uuid4()),
            },
        )
        while not turn.is_over:
            socket = await self._open_socket()
            try:
                if turn.run_id is None:
                    await socket.send(frame)
                await self._read(socket, turn)
            except _LOST:
                turn.losses += 1
                await self.leave()

    async def _read(self, socket: ClientConnection, turn: TurnRecord) -> None:
        while not turn.is_over:
            item = parse_frame(await socket.recv())
            self._count(item)
            match item:
                case AcceptedFrame(run_id=run_id):
                    turn.accept(run_id)
                case Received():
                    turn.take(item)
                case ErrorFrame(error_code=code) if turn.run_id is None:
                    turn.problem, turn.is_over = code, True
                case _:
                    pass

    async def _cancel(self) -> None:
        socket = await self._open_socket()
        await socket.send(client_frame("cancel", {}))

    def _count(self, item: Frame) -> None:
        """Count an event's number; events that the server no longer has are gaps."""
        match item:
            case Received(seq=seq) | UnknownFrame(seq=int(seq)):
                self.sequence.take(seq)
            case GapFrame(first_seq=first, last_seq=last):
                self.sequence.gaps += last - first + 1
                self.sequence.last = max(self.sequence.last, last)
            case _:
                pass


class RestUser(LoadUser):
    """A user who posts a message and receives the whole answer at once."""

    def __init__(self, client: DataAgentClient, assistant_id: str | None = None) -> None:
        super().__init__()
        self._client = client
        self._assistant_id = assistant_id

    async def _ask(self, message: str, turn: TurnRecord) -> None:
        answer = await self._client.chat_sync(
            message, self.session_id, assistant_id=self._assistant_id
        )
        turn.accept(answer.run_id)
        for item in answer.events:
            self.sequence.take(item.seq)
            turn.take(item)
        turn.first = None  # it arrived with the rest

    async def _cancel(self) -> None:
        await self._client.cancel(self.session_id)


def _problem_name(error: BaseException) -> str:
    """A short name to count the failure by."""
    match error:
        case InvalidStatus():
            return f"HTTP {error.response.status_code}"
        case ApiError():
            return error.error_code
        case _:
            return "connection lost"


def _is_final(error: BaseException) -> bool:
    """Whether trying again would not help: the server refused."""
    return isinstance(error, InvalidStatus) and error.response.status_code < 500
