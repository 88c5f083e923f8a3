"""One authenticated client on one session: its commands, and the events sent to it.

The reader executes commands; the writer follows the session's ledger. Neither owns a run: when the
client leaves, both end and the run goes on.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress
from typing import assert_never

from starlette.websockets import WebSocket

from dataagent_core.errors import (
    BadInput,
    DataAgentError,
    NotAuthenticated,
    NothingToCancel,
    RequestNotFound,
    SessionNotFound,
)
from dataagent_core.identity import Principal
from dataagent_core.processes.concurrency import TokenBucket
from dataagent_core.runs.types import Entry
from dataagent_server.deps.chat import MAX_MESSAGE_BYTES, start_run
from dataagent_server.deps.connections import DeliveryProgress
from dataagent_server.deps.container import Container
from dataagent_server.hitl import decision_of
from dataagent_server.ws import protocol
from dataagent_server.ws.outbox import ClientGone, Outbox
from dataagent_server.ws.protocol import (
    AuthCommand,
    CancelCommand,
    ChatCommand,
    Command,
    DecisionCommand,
    PingCommand,
)

logger = logging.getLogger(__name__)

NOT_AUTHENTICATED = 4401
NO_SUCH_SESSION = 4404
TRY_AGAIN_LATER = 1013
SERVICE_RESTART = 1012
_COMMANDS_PER_SECOND = 100.0
_COMMAND_BURST = 200
_YIELD_EVERY = 20
_FINISH_SECONDS = 2.0
_CLOSE_SECONDS = 1.0
_LONGEST_ESCAPE = 6  # bytes of JSON for one of text: \u0001


class WebSocketChatHandler:
    """An accepted, authenticated socket on a session of its owner's."""

    def __init__(
        self,
        websocket: WebSocket,
        outbox: Outbox,
        container: Container,
        *,
        session_id: str,
        principal: Principal,
    ) -> None:
        self._websocket = websocket
        self._outbox = outbox
        self._container = container
        self._runs = container.core.runs
        self._session_id = session_id
        self._owner = principal.user_id
        self._principal = principal
        self._max_frame = MAX_MESSAGE_BYTES * _LONGEST_ESCAPE
        self._progress = DeliveryProgress(0)
        self._writer: asyncio.Task[None] | None = None
        self._notices: dict[str, bytes] = {}
        self._notifier: asyncio.Task[None] | None = None
        self._is_closed = False
        # held from a message's commit to its acknowledgement, so that no event overtakes `accepted`
        self._turn = asyncio.Lock()

    async def serve(self, after: int | None) -> None:
        """Send `connected`, then read and write until the client leaves."""
        last_seq = await self._runs.last_seq(self._session_id)
        active = await self._runs.active_run(self._session_id)
        await self._outbox.send(
            protocol.connected_frame(self._session_id, last_seq, active.run_id if active else None)
        )
        start = last_seq if after is None else min(after, last_seq)
        self._progress.advance(start)
        writer = self._writer = asyncio.create_task(self._write(start))
        try:
            await self._read()
        finally:
            self._is_closed = True
            ending = {writer} if self._notifier is None else {writer, self._notifier}
            for task in ending:
                task.cancel()
            await asyncio.wait(ending)

    # -- out --------------------------------------------------------------------------------

    async def _write(self, after: int) -> None:
        """Send the session's events from a `seq` on. A failure closes the socket."""
        try:
            async for burst in self._runs.follow(self._session_id, owner=self._owner, after=after):
                await self._send_events(burst)
        except ClientGone:
            return
        except SessionNotFound as error:
            with suppress(ClientGone):
                await self._outbox.send(protocol.error_frame(error))
            await self._outbox.close(NO_SUCH_SESSION, error.code)
        except DataAgentError as error:
            logger.warning("a socket was closed: %s", error.message)
            await self._outbox.close(TRY_AGAIN_LATER, error.code)
        except Exception:
            logger.exception("a socket was closed by an error")
            await self._outbox.close(TRY_AGAIN_LATER, "internal_error")

    async def _send_events(self, burst: Sequence[Entry]) -> None:
        async with self._turn:
            await self._outbox.send_all([entry.wire for entry in burst])
        self._progress.advance(burst[-1].seq)

    def notify(self, about: str, frame: bytes) -> None:
        """Send a notice without waiting; a newer one about the same thing replaces it."""
        if self._is_closed:
            return
        self._notices.pop(about, None)  # the newest goes to the end
        self._notices[about] = frame
        if self._notifier is None or self._notifier.done():
            self._notifier = asyncio.create_task(self._send_notices())

    async def _send_notices(self) -> None:
        with suppress(ClientGone):
            while self._notices and not self._is_closed:
                await self._outbox.send(self._notices.pop(next(iter(self._notices))))

    async def finish(self) -> None:
        """Send what is committed, then close, at shutdown."""
        with suppress(TimeoutError, DataAgentError):
            async with asyncio.timeout(_FINISH_SECONDS):
                await self._progress.reach(await self._runs.last_seq(self._session_id))
        with suppress(TimeoutError):  # a client that does not read is reset later
            async with asyncio.timeout(_CLOSE_SECONDS):
                await self._outbox.close(SERVICE_RESTART, "The server is shutting down.")

    async def close_revoked(self) -> None:
        """Close a socket whose login or key has ended; further commands are ignored.

        Its run goes on, as after any disconnect.
        """
        self._is_closed = True
        if self._writer is not None:
            self._writer.cancel()
        ended = NotAuthenticated("The login or key of this connection has ended.")
        with suppress(ClientGone):
            await self._outbox.send(protocol.error_frame(ended))
        await self._outbox.close(NOT_AUTHENTICATED, ended.code)

    # -- in ---------------------------------------------------------------------------------

    async def _read(self) -> None:
        """Execute commands until the client leaves; bad input is answered with an error."""
        loop = asyncio.get_running_loop()
        bucket = TokenBucket(
            rate_per_second=_COMMANDS_PER_SECOND, burst=_COMMAND_BURST, now=loop.time()
        )
        count = 0
        while (message := await self._websocket.receive())["type"] == "websocket.receive":
            count += 1
            delay = bucket.delay(loop.time())
            if delay or count % _YIELD_EVERY == 0:  # a flood delays its sender alone
                await asyncio.sleep(delay)
            if self._is_closed:
                continue
            try:
                await self._handle(message.get("text") or message.get("bytes"))
            except ClientGone:
                return

    async def _handle(self, frame: str | bytes | None) -> None:
        command: Command | None = None
        try:
            command = protocol.parse(frame, max_bytes=self._max_frame)
            await self._execute(command)
        except ClientGone:
            raise
        except DataAgentError as error:
            await self._refuse(error, command)
        except Exception:
            logger.exception("a command failed")
            await self._refuse(
                _CommandFailed("The command failed. The server's log has the reason."), command
            )

    async def _refuse(self, error: DataAgentError, command: Command | None) -> None:
        reference = command.client_message_id if isinstance(command, ChatCommand) else None
        await self._outbox.send(protocol.error_frame(error, reference))

    async def _execute(self, command: Command) -> None:
        match command:
            case ChatCommand():
                await self._handle_chat(command)
            case DecisionCommand():
                await self._handle_decision(command)
            case CancelCommand():
                await self._handle_cancel(command)
            case PingCommand():
                await self._outbox.send(protocol.pong_frame())
            case AuthCommand():
                raise BadInput("This connection is authenticated already.")
            case _:
                assert_never(command)

    async def _handle_chat(self, command: ChatCommand) -> None:
        async with self._turn:
            started = await start_run(self._container, self._principal, self._session_id, command)
            run = started.run
            await self._outbox.send(
                protocol.accepted_frame(run.run_id, run.message_id, command.client_message_id)
            )

    async def _handle_decision(self, command: DecisionCommand) -> None:
        active = await self._runs.active_run(self._session_id)
        if active is None:
            raise RequestNotFound("No run of this session waits for a decision.")
        request_id = command.request_id or await self._only_request(active.run_id)
        decision = decision_of(command)
        await self._runs.decide(active.run_id, request_id, decision, owner=self._owner)

    async def _only_request(self, run_id: str) -> str:
        """The request of a run that waits for exactly one.

        Raises:
            RequestNotFound: there is none.
            BadInput: there are several.
        """
        pending = (await self._runs.get(run_id, owner=self._owner)).pending
        if not pending:
            raise RequestNotFound("No run of this session waits for a decision.")
        if len(pending) > 1:
            raise BadInput("Several requests wait for a decision. Name one with `request_id`.")
        return pending[0].request_id

    async def _handle_cancel(self, command: CancelCommand) -> None:
        if command.session_id not in (None, self._session_id):
            raise BadInput("A socket cancels runs of its own session.")
        if command.run_id is None:
            await self._runs.cancel_session(self._session_id, owner=self._owner)
        else:
            await self._runs.cancel(command.run_id, owner=self._owner)

    async def cancel_abandoned_run(self) -> None:
        """Stop the session's run, for DATAAGENT_ON_DISCONNECT=cancel."""
        with suppress(NothingToCancel, SessionNotFound):
            await self._runs.cancel_session(self._session_id, owner=self._owner)


class _CommandFailed(DataAgentError):
    """An internal failure, without its details."""

    code = "internal_error"
