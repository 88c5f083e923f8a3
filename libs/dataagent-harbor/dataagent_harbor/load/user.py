"""One user who asks, over WebSocket or REST, and what was seen of each answer.

The socket stays open while the user thinks, and is opened again where it was lost, from the last
event seen; a message that was not acknowledged is sent again as the same message. Unlike the
client's own chat, doubled and missing events are not hidden but counted. Above: `virtual_users.py`.

Whether a session's events come with every number once. Pure.
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
class Sequence:
    """What a reader saw of the numbers 1, 2, 3 … of a session's events."""

    last: int = 0
    gaps: int = 0  # numbers that did not come
    doubles: int = 0  # that came again

    def take(self, seq: int) -> None:
        """The next event's number."""
        if seq <= self.last:
            self.doubles += 1
            return
        self.gaps += seq - self.last - 1
        self.last = seq


_LOST = (ConnectionClosed, InvalidHandshake, OSError, TimeoutError, EOFError)
_STOP_SECONDS = 5.0


@dataclass(slots=True)
class TurnRecord:
    """What was seen of one answer. `problem` is empty if it ended well."""

    began: float
    first: float | None = None  # when its first text came
    ended: float = 0.0
    problem: str = ""
    losses: int = 0  # how often the connection was lost meanwhile
    run_id: str | None = None
    is_over: bool = False
    held: list[Received] = field(default_factory=list[Received])  # until its run is known

    def accept(self, run_id: str) -> None:
        """The server says which run is ours."""
        self.run_id = run_id
        held, self.held = self.held, []
        for item in held:
            self.take(item)

    def take(self, item: Received) -> None:
        """An event of the session, which may be of another run."""
        if self.run_id is None:
            self.held.append(item)
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
        self.sequence = Sequence()

    async def enter(self) -> None:
        """Open what stays open between questions; the first question does if this cannot."""
        return

    async def leave(self) -> None:
        """Close it."""
        return

    async def ask(self, message: str, timeout_seconds: float) -> TurnRecord:
        """Ask and wait for the end; never raises for what server and network do.

        A run that nobody waits for any more is stopped.
        """
        turn = TurnRecord(began=time.monotonic())
        try:
            async with asyncio.timeout(timeout_seconds):
                await self._ask(message, turn)
        except asyncio.CancelledError:  # the load is over: nobody will read the answer
            await self._stop()
            raise
        except TimeoutError:
            turn.problem = "timeout"
        except (ClientError, *_LOST) as error:
            turn.problem = _refusal(error)
        turn.ended = time.monotonic()
        if turn.problem == "timeout":
            await self._stop()
        return turn

    async def _stop(self) -> None:
        """Stop the run at the server, if that can be reached soon."""
        with suppress(ClientError, *_LOST):
            async with asyncio.timeout(_STOP_SECONDS):
                await self._give_up()

    @abstractmethod
    async def _ask(self, message: str, turn: TurnRecord) -> None:
        """Ask and fill in the turn."""

    @abstractmethod
    async def _give_up(self) -> None:
        """Stop the run that is under way."""


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

    async def _entered(self) -> ClientConnection:
        """The open socket; tries to open it as long as `backoff` says."""
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
            await self._entered()

    async def leave(self) -> None:
        """Disconnect."""
        socket, self._socket = self._socket, None
        if socket is not None:
            with suppress(*_LOST):
                await socket.close()

    async def _connect(self) -> ClientConnection:
        """A socket that has greeted us."""
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
            socket = await self._entered()
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
            self._number(item)
            match item:
                case AcceptedFrame(run_id=run_id):
                    turn.accept(run_id)
                case Received():
                    turn.take(item)
                case ErrorFrame(error_code=code) if turn.run_id is None:
                    turn.problem, turn.is_over = code, True
                case _:
                    pass

    async def _give_up(self) -> None:
        socket = await self._entered()
        await socket.send(client_frame("cancel", {}))

    def _number(self, item: Frame) -> None:
        """Count what has a number; what the server says it no longer has is missing."""
        match item:
            case Received(seq=seq) | UnknownFrame(seq=int(seq)):
                self.sequence.take(seq)
            case GapFrame(first_seq=first, last_seq=last):
                self.sequence.gaps += last - first + 1
                self.sequence.last = max(self.sequence.last, last)
            case _:
                pass


class RestUser(LoadUser):
    """A user who posts a message and gets the whole answer at once."""

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
        turn.first = None  # it came with the rest

    async def _give_up(self) -> None:
        await self._client.cancel(self.session_id)


def _refusal(error: BaseException) -> str:
    """What went wrong, in a word to count by."""
    match error:
        case InvalidStatus():
            return f"HTTP {error.response.status_code}"
        case ApiError():
            return error.error_code
        case _:
            return "connection lost"


def _is_final(error: BaseException) -> bool:
    """Whether trying again would not help: the server says no."""
    return isinstance(error, InvalidStatus) and error.response.status_code < 500
