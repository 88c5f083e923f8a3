"""`DataAgentClient`: everything a program does with a DataAgent server.

Thin: each method is one request and one parser. What is difficult stands elsewhere: a stream that
survives lost connections in `socket_chat.py` and `event_stream.py`, requests in `http.py`, shapes
in `wire.py` and `models.py`.
"""

from __future__ import annotations

import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote, urlsplit

from dataagent_client import models
from dataagent_client.backoff import Backoff
from dataagent_client.errors import ClientError, ConflictError
from dataagent_client.event_stream import EventStream
from dataagent_client.http import Http
from dataagent_client.models import ChatResult, Health, MessageInfo, Page, RunInfo, SessionInfo
from dataagent_client.rest_chat import RestChat
from dataagent_client.socket_chat import Door, SocketChat
from dataagent_client.wire import Received
from dataagent_core.events import DoneEvent, HITLRequestEvent
from dataagent_core.hitl import Decision

OnApproval = Callable[[HITLRequestEvent], Awaitable[Decision | None]]
"""Asked for each call that waits; None leaves the decision to someone else."""


class DataAgentClient:
    """An async client of one server, for one key. Use it as an async context manager."""

    def __init__(
        self,
        base_url: str,
        api_key: str | None = None,
        *,
        user_id: str | None = None,
        timeout_seconds: float = 30.0,
        backoff: Backoff | None = None,
    ) -> None:
        """Prepare a client; nothing is sent yet.

        `user_id` names the user a service key acts for. `timeout_seconds` bounds each request and
        each attempt to connect, not the length of an answer.

        Raises:
            ClientError: `base_url` is no http(s) address, or the key cannot be one.
        """
        if urlsplit(base_url).scheme not in ("http", "https"):
            raise ClientError(f"{base_url!r} is no server address. Use http:// or https://.")
        headers = _headers({"X-API-Key": api_key, "X-User-Id": user_id})
        self._backoff = backoff or Backoff()
        self._door = Door(base_url, headers, timeout_seconds, self._backoff)
        self._http = Http(
            base_url, headers=headers, timeout_seconds=timeout_seconds, backoff=self._backoff
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections. Runs that were started go on."""
        await self._http.aclose()

    # -- asking -----------------------------------------------------------------------------

    async def chat(
        self,
        message: str,
        session_id: str | None = None,
        *,
        assistant_id: str | None = None,
        file_ids: Sequence[str] | None = None,
        skill: str | None = None,
        client_message_id: str | None = None,
        on_approval: OnApproval | None = None,
    ) -> AsyncGenerator[Received]:
        """Ask over a WebSocket; the run's events, ending with its `DoneEvent`.

        A lost connection is taken up again without losing or doubling an event, and without a
        second run. Leaving the loop early leaves the run going; `cancel_run` stops it. Without a
        `session_id` a new session is opened; its id is in `run(run_id)`.

        Raises:
            ApiError: refused, for example `ConflictError` while another run is active.
            ConnectionFailed: the server cannot be reached any more.
            EventsLost: the connection was away for so long that events are gone.
        """
        payload = _chat_payload(message, assistant_id, file_ids, skill, client_message_id)
        chat = SocketChat(self._door, session_id or str(uuid.uuid4()), payload)
        async with aclosing(self._approving(chat.events(), on_approval)) as items:
            async for item in items:
                yield item

    async def chat_sse(
        self,
        message: str,
        session_id: str | None = None,
        *,
        assistant_id: str | None = None,
        file_ids: Sequence[str] | None = None,
        skill: str | None = None,
        client_message_id: str | None = None,
        on_approval: OnApproval | None = None,
    ) -> AsyncGenerator[Received]:
        """As `chat`, over REST and SSE, for networks that do not let WebSockets pass."""
        options = _chat_payload(message, assistant_id, file_ids, skill, client_message_id)
        del options["message"]
        is_new = session_id is None
        if session_id is None:
            session_id = (await self.create_session(assistant_id=assistant_id)).session_id
        chat = RestChat(self, session_id, message, options)
        async with aclosing(self._approving(chat.events(is_new=is_new), on_approval)) as items:
            async for item in items:
                yield item

    async def chat_sync(
        self,
        message: str,
        session_id: str | None = None,
        *,
        assistant_id: str | None = None,
        file_ids: Sequence[str] | None = None,
        skill: str | None = None,
        client_message_id: str | None = None,
    ) -> ChatResult:
        """Ask over REST and wait for the whole answer, or until it waits for an approval.

        Sent again, as the same message, if the connection fails before the answer is there.
        """
        body = _chat_payload(message, assistant_id, file_ids, skill, client_message_id)
        body["session_id"] = session_id or str(uuid.uuid4())
        return models.parse_chat(
            await self._http.request("POST", "chat", body=body, is_repeatable=True, has_time=True)
        )

    async def _approving(
        self, events: AsyncGenerator[Received], on_approval: OnApproval | None
    ) -> AsyncGenerator[Received]:
        """Pass events on until the end, asking for a decision where one is needed."""
        async with aclosing(events):
            async for item in events:
                yield item
                if isinstance(item.event, DoneEvent):
                    return
                if isinstance(item.event, HITLRequestEvent) and on_approval is not None:
                    await self._approve(item.run_id, item.event, on_approval)

    async def _approve(
        self, run_id: str, request: HITLRequestEvent, on_approval: OnApproval
    ) -> None:
        decision = await on_approval(request)
        if decision is None:
            return
        try:
            await self.decide(run_id, request.request_id, decision)
        except ConflictError:
            return  # someone else was quicker, or the request has expired: the events say which

    # -- watching ---------------------------------------------------------------------------

    async def run_events(self, run_id: str, *, after: int = 0) -> AsyncGenerator[Received]:
        """One run's events over SSE, from `after` to its `DoneEvent`; resumes by itself."""
        events = self._stream(f"runs/{_part(run_id)}/events", after)
        async with aclosing(self._approving(events, None)) as items:
            async for item in items:
                yield item

    def session_events(self, session_id: str, *, after: int = 0) -> AsyncGenerator[Received]:
        """A session's events over SSE, from `after` on and without end; resumes by itself."""
        return self._stream(f"sessions/{_part(session_id)}/events", after)

    def _stream(self, path: str, after: int) -> AsyncGenerator[Received]:
        return EventStream(self._http, path, after=after, backoff=self._backoff).events()

    # -- runs -------------------------------------------------------------------------------

    async def run(self, run_id: str) -> RunInfo:
        """A run, with the approvals it waits for."""
        return models.parse_run(await self._http.request("GET", f"runs/{_part(run_id)}"))

    async def cancel(self, session_id: str) -> models.Cancelled:
        """Stop the session's active run. `ConflictError` if there is none."""
        path = f"chat/{_part(session_id)}/cancel"
        return models.parse_cancelled(await self._http.request("POST", path, is_repeatable=True))

    async def cancel_run(self, run_id: str) -> None:
        """Stop a run."""
        path = f"runs/{_part(run_id)}/cancel"
        await self._http.request("POST", path, is_repeatable=True)

    async def decide(self, run_id: str, request_id: str, decision: Decision) -> None:
        """Answer an approval request. `ConflictError` if it has another answer already."""
        path = f"runs/{_part(run_id)}/decisions/{_part(request_id)}"
        await self._http.request("POST", path, body=decision.to_dict(), is_repeatable=True)

    # -- sessions ---------------------------------------------------------------------------

    async def create_session(
        self, *, assistant_id: str | None = None, metadata: dict[str, Any] | None = None
    ) -> SessionInfo:
        """Open a session."""
        body = {"assistant_id": assistant_id, "metadata": metadata}
        return models.parse_session(await self._http.request("POST", "sessions", body=body))

    async def sessions(self, *, limit: int = 50, offset: int = 0) -> Page[SessionInfo]:
        """The caller's sessions, latest first."""
        params = {"limit": limit, "offset": offset}
        found = await self._http.request("GET", "sessions", params=params)
        return models.parse_page(found, models.parse_session)

    async def session(self, session_id: str) -> SessionInfo:
        """One of the caller's sessions."""
        return models.parse_session(
            await self._http.request("GET", f"sessions/{_part(session_id)}")
        )

    async def delete_session(self, session_id: str) -> None:
        """Delete a session and everything that was said in it."""
        await self._http.request("DELETE", f"sessions/{_part(session_id)}")

    async def messages(
        self, session_id: str, *, limit: int = 100, offset: int = 0
    ) -> Page[MessageInfo]:
        """A session's messages, oldest first."""
        path = f"sessions/{_part(session_id)}/messages"
        found = await self._http.request("GET", path, params={"limit": limit, "offset": offset})
        return models.parse_page(found, models.parse_message)

    # -- the server -------------------------------------------------------------------------

    async def health(self) -> Health:
        """How the server is."""
        return models.parse_health(await self._http.request("GET", "health"))


def _headers(given: dict[str, str | None]) -> dict[str, str]:
    """What is given, checked. The value is not repeated in an error: it may be a secret."""
    headers = {name: value for name, value in given.items() if value is not None}
    for name, value in headers.items():
        if value != value.strip() or not (value.isascii() and value.isprintable()):
            raise ClientError(
                f"The value for {name} cannot be sent: it has white space around it, a newline, or "
                "characters beyond ASCII."
            )
    return headers


def _part(value: str) -> str:
    """An id as one part of a path, whatever is in it."""
    return quote(value, safe="")


def _chat_payload(
    message: str,
    assistant_id: str | None,
    file_ids: Sequence[str] | None,
    skill: str | None,
    client_message_id: str | None,
) -> dict[str, Any]:
    return {
        "message": message,
        "assistant_id": assistant_id,
        "file_ids": None if file_ids is None else list(file_ids),
        "skill": skill,
        "client_message_id": client_message_id or str(uuid.uuid4()),
    }
