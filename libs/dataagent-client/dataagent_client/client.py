"""`DataAgentClient`: everything a program does with a DataAgent server.

Each method is one request and one parser; `socket_chat.py` and `event_stream.py` read streams that
survive lost connections.
"""

from __future__ import annotations

import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from datetime import date
from functools import partial
from types import TracebackType
from typing import Any, Self

from dataagent_client import models
from dataagent_client.admin import AdminCalls
from dataagent_client.artifacts import ArtifactCalls
from dataagent_client.auth import AuthCalls, KeyCalls
from dataagent_client.conversations import ConversationCalls
from dataagent_client.data import DataCalls
from dataagent_client.errors import ClientError, ConflictError
from dataagent_client.event_stream import EventReader, EventSource, has_ended_by
from dataagent_client.files import FileCalls
from dataagent_client.http import Backoff, Http, child_path
from dataagent_client.mcp import McpCalls
from dataagent_client.memory import MemoryCalls
from dataagent_client.models import (
    AgentChoice,
    AgentInfo,
    ChatResult,
    DayUsage,
    Health,
    MessageInfo,
    Page,
    Readiness,
    RunInfo,
    ServerInfo,
    SessionInfo,
    ToolInfo,
    WorkspaceInfo,
)
from dataagent_client.skills import SkillCalls
from dataagent_client.socket_chat import SocketChat, SocketEndpoint
from dataagent_client.wire import Received
from dataagent_protocol.events import DoneEvent, HITLRequestEvent
from dataagent_protocol.hitl import Decision

OnApproval = Callable[[HITLRequestEvent], Awaitable[Decision | None]]
"""Called for each call that waits for approval; None leaves the decision to someone else."""


class DataAgentClient:
    """An async client of one server, for one key. Use it as an async context manager."""

    def __init__(
        self,
        base_url: str,
        api_key: str | None = None,
        *,
        token: str | None = None,
        user_id: str | None = None,
        timeout_seconds: float = 30.0,
        backoff: Backoff | None = None,
    ) -> None:
        """Prepare a client; nothing is sent yet.

        With an API key, with the `token` of a login, or with neither, to `auth.log_in`. `user_id`
        names the user a service key acts for. `timeout_seconds` bounds each request and
        each attempt to connect, not the length of an answer.

        Raises:
            ClientError: `base_url` is no http(s) address, or the key cannot be one.
        """
        bearer = None if token is None else f"Bearer {token}"
        headers = _headers({"X-API-Key": api_key, "Authorization": bearer, "X-User-Id": user_id})
        self._backoff = backoff or Backoff()
        self._http = Http(
            base_url, headers=headers, timeout_seconds=timeout_seconds, backoff=self._backoff
        )
        self._endpoint = SocketEndpoint(
            base_url, self._http.credentials, timeout_seconds, self._backoff
        )
        self.auth = AuthCalls(self._http)
        self.keys = KeyCalls(self._http)
        self.conversations = ConversationCalls(self._http, self._backoff)
        self.files = FileCalls(self._http)
        self.artifacts = ArtifactCalls(self._http)
        self.data = DataCalls(self._http)
        self.skills = SkillCalls(self._http)
        self.memory = MemoryCalls(self._http)
        self.mcp = McpCalls(self._http)
        self.admin = AdminCalls(self._http)

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

        A lost connection is reopened without losing or doubling an event, and without a
        second run. Leaving the loop early leaves the run going; `cancel_run` stops it. Without a
        `session_id` a new session is opened; its id is in `run(run_id)`.

        Raises:
            ApiError: refused, for example `ConflictError` while another run is active.
            ConnectionFailed: the server cannot be reached any more.
            EventsLost: the connection was away for so long that events are gone.
        """
        payload = _chat_payload(message, assistant_id, file_ids, skill, client_message_id)
        sent_before = None if client_message_id is None else self
        chat = SocketChat(
            self._endpoint, session_id or str(uuid.uuid4()), payload, sent_before=sent_before
        )
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
        payload = _chat_payload(message, assistant_id, file_ids, skill, client_message_id)
        accepted = await self._begin(payload, session_id or str(uuid.uuid4()))
        events = self.run_events(accepted.run_id)
        async with aclosing(self._approving(events, on_approval)) as items:
            async for item in items:
                yield item

    async def start(
        self,
        message: str,
        session_id: str,
        *,
        assistant_id: str | None = None,
        mode: str | None = None,
        deny: Sequence[str] | None = None,
        max_tokens: int | None = None,
        client_message_id: str | None = None,
    ) -> models.Accepted:
        """Send a message and return once it is stored; `run_events` has the answer.

        A fresh UUID begins a session of that id. With the mode `plan` nothing is changed; `deny`
        names tools by patterns. Sent again, as the same message, if the connection fails.
        """
        payload = {
            **_chat_payload(message, assistant_id, None, None, client_message_id),
            "mode": mode,
            "deny": list(deny) if deny else None,
            "max_tokens": max_tokens,
        }
        return await self._begin(payload, session_id)

    async def _begin(self, payload: dict[str, Any], session_id: str) -> models.Accepted:
        body = {**payload, "session_id": session_id}
        return models.parse_accepted(
            await self._http.request(
                "POST", "chat", body=body, params={"wait": "false"}, is_repeatable=True
            )
        )

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
            return  # decided elsewhere, or expired: the events say which

    # -- watching ---------------------------------------------------------------------------

    async def run_events(self, run_id: str, *, after: int = 0) -> AsyncGenerator[Received]:
        """One run's events over SSE, from `after` to its `DoneEvent`; resumes by itself."""
        is_over = partial(has_ended_by, self, run_id, after) if after else None
        source = EventSource(f"{child_path('runs', run_id)}/events", is_over=is_over)
        events = self._stream(source, after)
        async with aclosing(self._approving(events, None)) as items:
            async for item in items:
                yield item

    def session_events(self, session_id: str, *, after: int = 0) -> AsyncGenerator[Received]:
        """A session's events over SSE, from `after` on and without end; resumes by itself."""
        return self._stream(EventSource(f"{child_path('sessions', session_id)}/events"), after)

    def _stream(self, source: EventSource, after: int) -> AsyncGenerator[Received]:
        return EventReader(self._http, source, after=after, backoff=self._backoff).events()

    # -- runs -------------------------------------------------------------------------------

    async def run(self, run_id: str) -> RunInfo:
        """A run, with the approvals it waits for."""
        return models.parse_run(await self._http.request("GET", child_path("runs", run_id)))

    async def cancel(self, session_id: str) -> models.Cancelled:
        """Stop the session's active run. `NotFoundError` if there is none."""
        path = f"{child_path('chat', session_id)}/cancel"
        return models.parse_cancelled(await self._http.request("POST", path, is_repeatable=True))

    async def cancel_run(self, run_id: str) -> None:
        """Stop a run."""
        path = f"{child_path('runs', run_id)}/cancel"
        await self._http.request("POST", path, is_repeatable=True)

    async def decide(self, run_id: str, request_id: str, decision: Decision) -> None:
        """Answer an approval request. `ConflictError` if it has another answer already."""
        path = child_path(f"{child_path('runs', run_id)}/decisions", request_id)
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
            await self._http.request("GET", child_path("sessions", session_id))
        )

    async def delete_session(self, session_id: str) -> None:
        """Delete a session and everything that was said in it."""
        await self._http.request("DELETE", child_path("sessions", session_id))

    async def messages(
        self, session_id: str, *, limit: int = 100, offset: int = 0
    ) -> Page[MessageInfo]:
        """A session's messages, oldest first."""
        path = f"{child_path('sessions', session_id)}/messages"
        found = await self._http.request("GET", path, params={"limit": limit, "offset": offset})
        return models.parse_page(found, models.parse_message)

    async def compact(self, session_id: str, *, keep: str | None = None) -> models.Accepted:
        """Put the older part of a conversation in short for the model, as a run of its own."""
        path = f"{child_path('sessions', session_id)}/compact"
        return models.parse_accepted(await self._http.request("POST", path, body={"keep": keep}))

    # -- the server -------------------------------------------------------------------------

    async def agents(self) -> Page[AgentInfo]:
        """Who can answer."""
        return models.parse_page(await self._http.request("GET", "agents"), models.parse_agent)

    async def agent(self, agent_id: str) -> AgentInfo:
        """One of them, by id or name."""
        return models.parse_agent(await self._http.request("GET", child_path("agents", agent_id)))

    async def agent_choices(self) -> Page[AgentChoice]:
        """The agents that can be chosen; no credential is needed."""
        found = await self._http.request("GET", "agents", is_web=True)
        return models.parse_page(found, models.parse_choice)

    async def tools(self) -> Page[ToolInfo]:
        """What agents can call, for the caller."""
        return models.parse_page(await self._http.request("GET", "tools"), models.parse_tool)

    async def usage(
        self,
        *,
        user_id: str | None = None,
        all_users: bool = False,
        since: date | None = None,
        until: date | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> Page[DayUsage]:
        """What the caller used, the newest day first; for administrators another's, or all's."""
        params = {
            "user_id": user_id,
            "all_users": "true" if all_users else None,
            "from": None if since is None else since.isoformat(),
            "to": None if until is None else until.isoformat(),
            "limit": limit,
            "offset": offset,
        }
        found = await self._http.request("GET", "usage", params=params)
        return models.parse_page(found, models.parse_usage)

    async def workspace(self, user_id: str) -> WorkspaceInfo:
        """Where a user's files are, and how full it is. Another's for administrators."""
        path = f"{child_path('users', user_id)}/workspace"
        return models.parse_workspace(await self._http.request("GET", path))

    async def info(self) -> ServerInfo:
        """The server's version and model."""
        return models.parse_info(await self._http.request("GET", "info", is_web=True))

    async def health(self) -> Health:
        """How the server is."""
        return models.parse_health(await self._http.request("GET", "health"))

    async def live(self) -> Health:
        """Whether the server's process answers; asks nothing of what is behind it."""
        return models.parse_health(await self._http.request("GET", "health/live"))

    async def ready(self) -> Readiness:
        """The server's readiness, retried until it is ready; `UnavailableError` says why not."""
        return models.parse_readiness(await self._http.request("GET", "health/ready"))


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
