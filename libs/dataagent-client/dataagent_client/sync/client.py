"""The sync twin of `client.py`. Written by `make sync-client`: change the other."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from datetime import date
from types import TracebackType
from typing import Any, Self

from dataagent_client import models
from dataagent_client.client import DataAgentClient
from dataagent_client.http import Backoff
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
from dataagent_client.sync.admin import SyncAdminCalls
from dataagent_client.sync.artifacts import SyncArtifactCalls
from dataagent_client.sync.auth import SyncAuthCalls, SyncKeyCalls
from dataagent_client.sync.conversations import SyncConversationCalls
from dataagent_client.sync.data import SyncDataCalls
from dataagent_client.sync.files import SyncFileCalls
from dataagent_client.sync.mcp import SyncMcpCalls
from dataagent_client.sync.memory import SyncMemoryCalls
from dataagent_client.sync.portal import Portal, Stream, SyncOnApproval
from dataagent_client.sync.skills import SyncSkillCalls
from dataagent_client.wire import Received
from dataagent_protocol.hitl import Decision


class SyncDataAgentClient:
    """A client of one server, for one key, for code without `await`. Use it in a `with`.

    Several threads may share one; it works inside a running event loop too.
    """

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
        self._calls = DataAgentClient(
            base_url,
            api_key,
            token=token,
            user_id=user_id,
            timeout_seconds=timeout_seconds,
            backoff=backoff,
        )
        self._portal = Portal(self._calls.aclose)
        self.auth = SyncAuthCalls(self._portal, self._calls.auth)
        self.keys = SyncKeyCalls(self._portal, self._calls.keys)
        self.conversations = SyncConversationCalls(self._portal, self._calls.conversations)
        self.files = SyncFileCalls(self._portal, self._calls.files)
        self.artifacts = SyncArtifactCalls(self._portal, self._calls.artifacts)
        self.data = SyncDataCalls(self._portal, self._calls.data)
        self.skills = SyncSkillCalls(self._portal, self._calls.skills)
        self.memory = SyncMemoryCalls(self._portal, self._calls.memory)
        self.mcp = SyncMcpCalls(self._portal, self._calls.mcp)
        self.admin = SyncAdminCalls(self._portal, self._calls.admin)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections, and end what still reads. Runs that were started go on."""
        self._portal.close()

    def chat(
        self,
        message: str,
        session_id: str | None = None,
        *,
        assistant_id: str | None = None,
        file_ids: Sequence[str] | None = None,
        skill: str | None = None,
        client_message_id: str | None = None,
        on_approval: SyncOnApproval | None = None,
    ) -> Generator[Received]:
        """Ask over a WebSocket; the run's events, ending with its `DoneEvent`.

        A lost connection is reopened without losing or doubling an event, and without a
        second run. Leaving the loop early leaves the run going; `cancel_run` stops it. Without a
        `session_id` a new session is opened; its id is in `run(run_id)`.

        Raises:
            ApiError: refused, for example `ConflictError` while another run is active.
            ConnectionFailed: the server cannot be reached any more.
            EventsLost: the connection was away for so long that events are gone.
        """
        stream = Stream[Received](self._portal)
        return stream.read(
            self._calls.chat(
                message,
                session_id,
                assistant_id=assistant_id,
                file_ids=file_ids,
                skill=skill,
                client_message_id=client_message_id,
                on_approval=stream.asks(on_approval),
            )
        )

    def chat_sse(
        self,
        message: str,
        session_id: str | None = None,
        *,
        assistant_id: str | None = None,
        file_ids: Sequence[str] | None = None,
        skill: str | None = None,
        client_message_id: str | None = None,
        on_approval: SyncOnApproval | None = None,
    ) -> Generator[Received]:
        """As `chat`, over REST and SSE, for networks that do not let WebSockets pass."""
        stream = Stream[Received](self._portal)
        return stream.read(
            self._calls.chat_sse(
                message,
                session_id,
                assistant_id=assistant_id,
                file_ids=file_ids,
                skill=skill,
                client_message_id=client_message_id,
                on_approval=stream.asks(on_approval),
            )
        )

    def start(
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
        return self._portal.call(
            self._calls.start(
                message,
                session_id,
                assistant_id=assistant_id,
                mode=mode,
                deny=deny,
                max_tokens=max_tokens,
                client_message_id=client_message_id,
            )
        )

    def chat_sync(
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
        return self._portal.call(
            self._calls.chat_sync(
                message,
                session_id,
                assistant_id=assistant_id,
                file_ids=file_ids,
                skill=skill,
                client_message_id=client_message_id,
            )
        )

    def run_events(self, run_id: str, *, after: int = 0) -> Generator[Received]:
        """One run's events over SSE, from `after` to its `DoneEvent`; resumes by itself."""
        stream = Stream[Received](self._portal)
        return stream.read(self._calls.run_events(run_id, after=after))

    def session_events(self, session_id: str, *, after: int = 0) -> Generator[Received]:
        """A session's events over SSE, from `after` on and without end; resumes by itself."""
        stream = Stream[Received](self._portal)
        return stream.read(self._calls.session_events(session_id, after=after))

    def run(self, run_id: str) -> RunInfo:
        """A run, with the approvals it waits for."""
        return self._portal.call(self._calls.run(run_id))

    def cancel(self, session_id: str) -> models.Cancelled:
        """Stop the session's active run. `NotFoundError` if there is none."""
        return self._portal.call(self._calls.cancel(session_id))

    def cancel_run(self, run_id: str) -> None:
        """Stop a run."""
        return self._portal.call(self._calls.cancel_run(run_id))

    def decide(self, run_id: str, request_id: str, decision: Decision) -> None:
        """Answer an approval request. `ConflictError` if it has another answer already."""
        return self._portal.call(self._calls.decide(run_id, request_id, decision))

    def create_session(
        self, *, assistant_id: str | None = None, metadata: dict[str, Any] | None = None
    ) -> SessionInfo:
        """Open a session."""
        return self._portal.call(
            self._calls.create_session(assistant_id=assistant_id, metadata=metadata)
        )

    def sessions(self, *, limit: int = 50, offset: int = 0) -> Page[SessionInfo]:
        """The caller's sessions, latest first."""
        return self._portal.call(self._calls.sessions(limit=limit, offset=offset))

    def session(self, session_id: str) -> SessionInfo:
        """One of the caller's sessions."""
        return self._portal.call(self._calls.session(session_id))

    def delete_session(self, session_id: str) -> None:
        """Delete a session and everything that was said in it."""
        return self._portal.call(self._calls.delete_session(session_id))

    def messages(self, session_id: str, *, limit: int = 100, offset: int = 0) -> Page[MessageInfo]:
        """A session's messages, oldest first."""
        return self._portal.call(self._calls.messages(session_id, limit=limit, offset=offset))

    def compact(self, session_id: str, *, keep: str | None = None) -> models.Accepted:
        """Put the older part of a conversation in short for the model, as a run of its own."""
        return self._portal.call(self._calls.compact(session_id, keep=keep))

    def agents(self) -> Page[AgentInfo]:
        """Who can answer."""
        return self._portal.call(self._calls.agents())

    def agent(self, agent_id: str) -> AgentInfo:
        """One of them, by id or name."""
        return self._portal.call(self._calls.agent(agent_id))

    def agent_choices(self) -> Page[AgentChoice]:
        """The agents that can be chosen; no credential is needed."""
        return self._portal.call(self._calls.agent_choices())

    def tools(self) -> Page[ToolInfo]:
        """What agents can call, for the caller."""
        return self._portal.call(self._calls.tools())

    def usage(
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
        return self._portal.call(
            self._calls.usage(
                user_id=user_id,
                all_users=all_users,
                since=since,
                until=until,
                limit=limit,
                offset=offset,
            )
        )

    def workspace(self, user_id: str) -> WorkspaceInfo:
        """Where a user's files are, and how full it is. Another's for administrators."""
        return self._portal.call(self._calls.workspace(user_id))

    def info(self) -> ServerInfo:
        """The server's version and model."""
        return self._portal.call(self._calls.info())

    def health(self) -> Health:
        """How the server is."""
        return self._portal.call(self._calls.health())

    def live(self) -> Health:
        """Whether the server's process answers; asks nothing of what is behind it."""
        return self._portal.call(self._calls.live())

    def ready(self) -> Readiness:
        """The server's readiness, retried until it is ready; `UnavailableError` says why not."""
        return self._portal.call(self._calls.ready())
