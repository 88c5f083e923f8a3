"""A DataAgent server as a `Host`: each call is a request, and client errors become core's.

A run's stream is resumed by its `seq` when the connection is lost.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine, Generator
from contextlib import aclosing, asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar
from uuid import uuid4

from dataagent_cli.hosts.types import (
    AgentSummary,
    AvailableSkills,
    SkillSummary,
    TokenCost,
    ToolSummary,
    UnsupportedOnServer,
)
from dataagent_client import ApiError, Backoff, ClientError, DataAgentClient
from dataagent_client import SessionInfo as SentSession
from dataagent_core import errors
from dataagent_core.config.settings import Prices, environment
from dataagent_core.errors import (
    DataAgentError,
    NotAuthenticated,
    NotFound,
    SessionNotFound,
    Unavailable,
)
from dataagent_core.events import event_to_wire
from dataagent_core.identity.usage import today
from dataagent_core.runs.history import History, HistoryItem
from dataagent_core.runs.types import Entry, Run, StartedRun
from dataagent_core.session.types import DEFAULT_TITLE, Message, Session, now

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dataagent_client import Accepted, HistoryMessage, RunInfo
    from dataagent_core.app.context_usage import ContextUse
    from dataagent_core.hitl import Decision
    from dataagent_core.runs.types import RunOptions
    from dataagent_core.workspace.undo import Change

T = TypeVar("T")
_KEY = "DATAAGENT_API_KEY"
_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_UNNAMED = "the server's model"


@asynccontextmanager
async def open_server(url: str, *, key_from: str | None = None) -> AsyncGenerator[ServerHost]:
    """A host at an address, with the key from a variable of the environment.

    Raises:
        BadInput: the named variable is not set, or the address is invalid.
        NotAuthenticated, Unavailable: the server rejects the key, or does not answer.
    """
    key = environment().get(key_from or _KEY)
    if key_from is not None and not key:
        raise errors.BadInput(
            f"The variable {key_from} is not set; the server's key is read there."
        )
    with translate_client_errors(url):
        probe = DataAgentClient(url, key, backoff=Backoff(attempts=1))
        client = DataAgentClient(url, key)
    async with probe:
        await ServerHost(probe, url).recent(limit=1)
    async with client:
        yield ServerHost(client, url)


class ServerHost:
    """The user's conversations on a server."""

    def __init__(self, client: DataAgentClient, url: str) -> None:
        self._client = client
        self._url = url
        self._threads: dict[str, str] = {}
        self._model: str | None = None

    @property
    def address(self) -> str | None:
        """The server's address."""
        return self._url

    async def open(self, agent: str, session_id: str | None = None) -> Session:
        """As `Host.open`; the server stores a new session with its first message."""
        if session_id is not None:
            try:
                return self._session(await self._request(self._client.session(session_id)))
            except NotFound as error:
                if not _UUID.fullmatch(session_id):
                    raise SessionNotFound(f"There is no session {session_id[:80]!r}.") from error
        return Session(session_id or str(uuid4()), "", agent, thread_id="")

    async def recent(self, *, limit: int) -> list[Session]:
        """As `Host.recent`."""
        page = await self._request(self._client.sessions(limit=limit))
        return [self._session(each) for each in page.items]

    async def history(self, session_id: str, *, limit: int) -> History:
        """As `Host.history`."""
        if session_id not in self._threads:
            self._session(await self._request(self._client.session(session_id)))
        page = await self._request(
            self._client.conversations.history(self._threads[session_id], limit=limit)
        )
        return History(
            [_message_with_events(each) for each in page.messages], page.total, page.last_seq
        )

    async def check(self, message: str, *, agent: str) -> None:
        """Nothing: the server rejects a message before it opens a session."""

    async def start(
        self, session_id: str, message: str, *, agent: str, options: RunOptions
    ) -> StartedRun:
        """As `Host.start`; approvals without asking are decided by this terminal's handler."""
        accepted = await self._request(
            self._client.start(
                message,
                session_id,
                assistant_id=agent,
                mode="plan" if options.is_plan else None,
                deny=options.deny,
                max_tokens=options.max_tokens,
            )
        )
        return _started_run(accepted, agent)

    async def read(self, run_id: str, *, after: int) -> AsyncIterator[Entry]:
        """As `Host.read`."""
        with translate_client_errors(self._url):
            async with aclosing(self._client.run_events(run_id, after=after)) as items:
                async for item in items:
                    wire = event_to_wire(item.event, seq=item.seq, run_id=item.run_id)
                    yield Entry(item.seq, item.run_id, wire)

    async def cancel(self, run_id: str) -> None:
        """As `Host.cancel`."""
        await self._request(self._client.cancel_run(run_id))

    async def decide(self, run_id: str, request_id: str, decision: Decision) -> None:
        """As `Host.decide`."""
        await self._request(self._client.decide(run_id, request_id, decision))

    async def active(self, session_id: str) -> Run | None:
        """As `Host.active`."""
        items = (await self.history(session_id, limit=1)).items
        last = items[-1].message if items else None
        if last is None or last.status != "running" or last.run_id is None:
            return None
        return _run(await self._request(self._client.run(last.run_id)))

    async def rename(self, session_id: str, title: str) -> Session:
        """As `Host.rename`."""
        await self._request(self._client.conversations.rename(session_id, title))
        return self._session(await self._request(self._client.session(session_id)))

    async def compact(self, session_id: str, keep: str, *, options: RunOptions) -> StartedRun:
        """As `Host.compact`."""
        del options
        accepted = await self._request(self._client.compact(session_id, keep=keep or None))
        return _started_run(accepted, "")

    # -- lists ----------------------------------------------------------------------------------

    async def skills(self, agent: str) -> AvailableSkills:
        """As `Host.skills`."""
        page = await self._request(self._client.skills.list(agent))
        return AvailableSkills(
            tuple(SkillSummary(s.name, s.description, s.source) for s in page.items)
        )

    async def agents(self) -> list[AgentSummary]:
        """As `Host.agents`."""
        page = await self._request(self._client.agents())
        return [AgentSummary(each.name, each.description, each.model) for each in page.items]

    async def tools(self, agent: str) -> list[ToolSummary]:
        """As `Host.tools`; which tools ask is known only to the server."""
        tools = (await self._request(self._client.tools())).items
        agents = (await self._request(self._client.agents())).items
        names = {agent, "general"} if agent == "agent" else {agent}
        bound = {n for each in agents if each.name in names for n in each.tool_ids}
        return [
            ToolSummary(each.name, each.description, server=each.server_id)
            for each in tools
            if not bound or each.tool_id in bound or each.server_id is not None
        ]

    async def model(self) -> str:
        """As `Host.model`."""
        if self._model is None:
            self._model = (await self._request(self._client.info())).model or _UNNAMED
        return self._model

    async def token_cost(self, usage: dict[str, int]) -> TokenCost:
        """As `Host.token_cost`; the server's prices are not known here."""
        return TokenCost(usage.get("input_tokens", 0), usage.get("output_tokens", 0))

    async def token_cost_today(self) -> TokenCost:
        """As `Host.token_cost_today`."""
        page = await self._request(self._client.usage())
        day = next((each for each in page.items if each.day == today()), None)
        if day is None:
            return TokenCost(0, 0)
        cost = None
        if day.cost is not None:
            cost = Prices(0, 0, day.currency or "USD").shown(day.cost)
        return TokenCost(day.input_tokens, day.output_tokens, cost)

    # -- in this process only -------------------------------------------------------------------

    async def check_model(self, name: str) -> NoReturn:
        """As `Host.check_model`."""
        raise UnsupportedOnServer(f"Choosing the model {name!r}")

    async def context_use(
        self, session_id: str | None, *, agent: str, model: str | None
    ) -> ContextUse:
        """As `Host.context_use`."""
        raise UnsupportedOnServer("Measuring the context")

    async def last_changes(self, session_id: str) -> list[Change]:
        """As `Host.last_changes`."""
        raise UnsupportedOnServer("Undoing file changes")

    async def take_back(self, session_id: str) -> list[Change]:
        """As `Host.take_back`."""
        raise UnsupportedOnServer("Undoing file changes")

    async def _request(self, request: Coroutine[Any, Any, T]) -> T:
        with translate_client_errors(self._url):
            return await request

    def _session(self, sent: SentSession) -> Session:
        self._threads[sent.session_id] = sent.thread_id
        return Session(
            session_id=sent.session_id,
            user_id=sent.user_id,
            assistant_id=sent.assistant_id,
            thread_id=sent.thread_id,
            created_at=sent.created_at,
            last_active=sent.last_active,
            title=sent.title or DEFAULT_TITLE,
            metadata=sent.metadata,
        )


# -- conversion -------------------------------------------------------------------------------


@contextmanager
def translate_client_errors(url: str) -> Generator[None]:
    """Translate the client's errors to core's, by their codes."""
    try:
        yield
    except ApiError as error:
        raise _core_error(error) from error
    except ClientError as error:
        hint: dict[str, object] = {"hint": f"is a DataAgent server at {url}?"}
        raise Unavailable(error.message, details=hint) from error


def _core_error(error: ApiError) -> DataAgentError:
    if error.status == 401:
        hint: dict[str, object] = {"hint": f"set {_KEY}, or name a variable with --api-key-from."}
        return NotAuthenticated("The server does not know this key.", details=hint)
    kind = _BY_CODE.get(error.error_code) or _FAMILIES.get(error.status, DataAgentError)
    return kind(error.message, details=error.details)


def _codes_of(kind: type[DataAgentError]) -> Iterator[type[DataAgentError]]:
    yield kind
    for below in kind.__subclasses__():
        yield from _codes_of(below)


_BY_CODE = {
    each.code: each
    for each in _codes_of(DataAgentError)
    if each.__module__.startswith("dataagent_protocol.")
}
_FAMILIES: dict[int, type[DataAgentError]] = {
    403: errors.Denied,
    404: errors.NotFound,
    409: errors.Conflict,
    422: errors.Invalid,
    429: errors.LimitReached,
    503: errors.Unavailable,
}


def _started_run(accepted: Accepted, agent: str) -> StartedRun:
    run = Run(
        run_id=accepted.run_id,
        session_id=accepted.session_id,
        user_id="",
        assistant_id=agent,
        status="running",
        attempt=1,
        created_at=now(),
        message_id="",
        answer_id="",
    )
    return StartedRun(run, 0, is_new=True)


def _run(sent: RunInfo) -> Run:
    return Run(
        run_id=sent.run_id,
        session_id=sent.session_id,
        user_id="",
        assistant_id=sent.assistant_id,
        status=sent.status,  # pyright: ignore[reportArgumentType] the server's statuses are core's
        attempt=sent.attempt,
        created_at=sent.created_at,
        message_id="",
        answer_id="",
    )


def _message_with_events(sent: HistoryMessage) -> HistoryItem:
    entries = [
        Entry(each.seq, each.run_id, event_to_wire(each.event, seq=each.seq, run_id=each.run_id))
        for each in sent.events
    ]
    message = sent.message
    made = Message(
        message_id=message.message_id,
        session_id=message.session_id,
        role=message.role,  # pyright: ignore[reportArgumentType] the server's roles are core's
        content=message.content,
        created_at=message.created_at,
        run_id=message.run_id,
        # the server's statuses are core's
        status=message.status,  # pyright: ignore[reportArgumentType]
    )
    return HistoryItem(made, entries, [])
