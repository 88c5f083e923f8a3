"""A user's sessions: whose they are, what was said in them, what they hold while in use.

Ownership is decided here and nowhere else: what is not yours is not found. Above: `runs/` and the
doors. Below: the stores, `engine/` for executors.
"""

from __future__ import annotations

import builtins
import logging
import re
import time
import uuid
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Protocol

from dataagent_core.engine import AgentConfig, AgentExecutor, AgentFactory, Checkpoints
from dataagent_core.errors import Conflict, SessionDeleted, SessionNotFound, TenantLimit
from dataagent_core.hitl import HITLHandler
from dataagent_core.identity.tenants import over_limit
from dataagent_core.middleware.history import Summarization
from dataagent_core.session.quota import ConversationQuota
from dataagent_core.session.store import MessageStore, SessionStore
from dataagent_core.session.titles import cleaned
from dataagent_core.session.types import DEFAULT_TITLE, Message, Session, now

logger = logging.getLogger(__name__)
_LOOKED_THROUGH = 50  # sessions a store looks through in one go; others get their turn between
_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


@dataclass(slots=True)
class _Live:
    executor: AgentExecutor
    config_key: tuple[Any, ...]
    used_at: float


MostSessions = Callable[[str], Awaitable[int | None]]
"""How many sessions a user may have; None for any number."""


class Belongings(Protocol):
    """What users' sessions leave behind elsewhere, say artefacts."""

    async def delete_session(self, session_id: str, *, owner: str) -> int:
        """Delete some of what belongs to the session; how many things, 0 when none are left."""
        ...


class SessionManager:
    """Sessions with their owners' rights and their live executors."""

    def __init__(
        self,
        sessions: SessionStore,
        messages: MessageStore,
        *,
        factory: AgentFactory,
        checkpoints: Checkpoints,
        belongings: Sequence[Belongings] = (),
        most_sessions: MostSessions | None = None,
        quota: ConversationQuota | None = None,
        assistant_id_of: Callable[[str], str] | None = None,
        on_rest: Callable[[str], None] | None = None,
        timeout_seconds: float = 3600.0,
        hitl_timeout_seconds: float = 300.0,
    ) -> None:
        """Idle sessions lose their live resources after `timeout_seconds`, never their history.

        `belongings` go with a session that is deleted for good. `most_sessions` says how many a
        user may have, `quota` how much they may hold. `assistant_id_of` says what is kept of the
        choice of an agent. `on_rest` is told of each session that holds nothing live any more.
        """
        self._sessions = sessions
        self._messages = messages
        self._factory = factory
        self._checkpoints = checkpoints
        self._belongings = belongings
        self._most_sessions = most_sessions
        self._quota = quota
        self._assistant_id_of = assistant_id_of
        self._on_rest = on_rest
        self._timeout_seconds = timeout_seconds
        self._hitl_timeout_seconds = hitl_timeout_seconds
        self._live: dict[str, _Live] = {}

    # -- sessions -------------------------------------------------------------------------------

    async def create(
        self,
        owner: str,
        assistant_id: str,
        *,
        session_id: str | None = None,
        title: str | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> Session:
        """Create a session of the owner's.

        Raises:
            Conflict: a session of that id exists, or one was deleted.
            TenantLimit: the owner has as many sessions as their tenant lets them.
            UserLimit: the owner's conversations hold as much as they may.
            AgentNotFound: the assistant is an agent that was deleted.
        """
        if self._assistant_id_of is not None:
            assistant_id = self._assistant_id_of(assistant_id)
        title = cleaned(title or "") or DEFAULT_TITLE
        if self._quota is not None:
            await self._quota.check(owner)
        most = None if self._most_sessions is None else await self._most_sessions(owner)
        if most is not None:
            await self._check_room(owner, most, more=1)
        session = await self._sessions.create(
            owner, assistant_id, session_id=session_id, title=title, metadata=metadata
        )
        if most is not None:
            await self._keep_if_room(session, most)
        return session

    async def _keep_if_room(self, session: Session, most: int) -> None:
        """Take a new session back if others that were made at the same moment fill the room."""
        try:
            await self._check_room(session.user_id, most)
        except TenantLimit:
            await self._sessions.delete(session.session_id, frees_id=True)
            raise

    async def _check_room(self, owner: str, most: int, *, more: int = 0) -> None:
        used = await self._sessions.count_by_user(owner)
        if used + more > most:
            raise over_limit("max_sessions_per_user", most, used, "Delete a session first.")

    async def get_or_create_session(
        self, user_id: str, assistant_id: str, session_id: str | None = None
    ) -> Session:
        """The user's session of that id; a new one for no id or for a fresh UUID.

        Raises:
            SessionDeleted: a session of that id was deleted, by whomever.
            SessionNotFound: the id is another user's, or neither known nor a UUID.
        """
        if session_id is None:
            return await self.create(user_id, assistant_id)
        session = await self._sessions.get(session_id)
        if session is None and _UUID.fullmatch(session_id):
            session = await self._create(user_id, assistant_id, session_id)
        return _owned(session, session_id, user_id)

    async def _create(self, user_id: str, assistant_id: str, session_id: str) -> Session:
        try:
            return await self.create(user_id, assistant_id, session_id=session_id)
        except Conflict:  # another request was quicker, or it was deleted
            session = await self._sessions.get(session_id)
        if session is None:
            raise SessionDeleted(f"Session {session_id!r} was deleted. Use a new id.")
        return session

    async def get(self, session_id: str, *, owner: str) -> Session:
        """The owner's session.

        Raises:
            SessionNotFound: there is none, or it is another user's.
        """
        return _owned(await self._sessions.get(session_id), session_id, owner)

    async def get_by_thread(self, thread_id: str, *, owner: str) -> Session:
        """The owner's session with that `thread_id`.

        Raises:
            SessionNotFound: there is none, or it is another user's.
        """
        session = await self._sessions.get_by_thread(thread_id)
        if session is None or session.user_id != owner:
            raise SessionNotFound(f"There is no conversation with thread_id {thread_id[:80]!r}.")
        return session

    async def list(
        self, *, owner: str, limit: int = 100, offset: int = 0, search: str | None = None
    ) -> tuple[list[Session], int]:
        """A page of the owner's sessions, newest first, and how many there are.

        With `search`, of those that have this text in their title or in a message.
        """
        text = (search or "").strip()
        if text:
            found = await self._search(text, owner)
            return found[offset : offset + limit], len(found)
        page = await self._sessions.list_by_user(owner, limit=limit, offset=offset)
        return page, await self._sessions.count_by_user(owner)

    async def _search(self, text: str, owner: str) -> builtins.list[Session]:
        own = await self._sessions.list_by_user(owner)
        found: list[Session] = []
        for first in range(0, len(own), _LOOKED_THROUGH):
            found += await self._having(text, own[first : first + _LOOKED_THROUGH])
        return found

    async def _having(self, text: str, some: Sequence[Session]) -> builtins.list[Session]:
        wanted = text.casefold()
        titled = {each.session_id for each in some if wanted in each.title.casefold()}
        others = [each.session_id for each in some if each.session_id not in titled]
        hits = titled | await self._messages.sessions_saying(text, others)
        return [each for each in some if each.session_id in hits]

    async def messages(
        self, session_id: str, *, owner: str, limit: int = 100, offset: int | None = 0
    ) -> tuple[builtins.list[Message], int]:
        """A page of the session's messages, oldest first, and how many there are.

        Without an `offset` it is the last page.

        Raises:
            SessionNotFound: as `get`.
        """
        await self.get(session_id, owner=owner)
        total = await self._messages.count_messages(session_id)
        first = max(0, total - limit) if offset is None else offset
        return await self._messages.get_messages(session_id, limit, first), total

    async def rename(self, session_id: str, title: str, *, owner: str) -> Session:
        """Give the session a title, on one line and cut to 50 characters.

        Raises:
            SessionNotFound: as `get`.
        """
        session = await self.get(session_id, owner=owner)
        session.title = cleaned(title) or DEFAULT_TITLE
        await self._sessions.update(session)
        return session

    # -- ends -----------------------------------------------------------------------------------

    async def put_away(self, session_id: str, *, owner: str) -> None:
        """Delete the session for every reader, in a way `bring_back` can undo for some days.

        `RunService.put_away` also stops what runs in it.

        Raises:
            SessionNotFound: as `get`.
        """
        await self.get(session_id, owner=owner)
        self.release(session_id)
        await self._sessions.put_away(session_id)

    async def bring_back(self, session_id: str, *, owner: str) -> Session:
        """Undo `put_away`. A session that was not put away stays as it is.

        Raises:
            SessionNotFound: there is none of the owner's, or its days are over.
        """
        away = await self._sessions.get_put_away(session_id)
        if away is not None and away.user_id == owner:
            await self._sessions.bring_back(session_id)
        return await self.get(session_id, owner=owner)

    async def delete(self, session_id: str, *, owner: str) -> None:
        """Delete the session for good, put away or not, with its history, thread and belongings.

        `RunService.forget` stops it first.

        Raises:
            SessionNotFound: there is none, or it is another user's.
        """
        session = await self._sessions.get(session_id)
        session = session or await self._sessions.get_put_away(session_id)
        await self._erase(_owned(session, session_id, owner))

    async def erase_put_away(self, *, longer_than: timedelta) -> int:
        """Delete for good what was put away longer ago than that; how many sessions."""
        erased = 0
        for session in await self._sessions.put_away_before(now() - longer_than):
            try:
                if await self._sessions.get_put_away(session.session_id) is not None:
                    await self._erase(session)
                    erased += 1
            except Exception:
                logger.exception("session %s could not be deleted", session.session_id)
        return erased

    async def _erase(self, session: Session) -> None:
        """The session goes last: what fails before is found again as long as it is there."""
        self.release(session.session_id)
        for each in self._belongings:
            while await each.delete_session(session.session_id, owner=session.user_id):
                continue
        await self._checkpoints.delete(session.session_id)
        await self._sessions.delete(session.session_id)

    # -- executors ------------------------------------------------------------------------------

    async def get_executor(
        self,
        session: Session,
        config: AgentConfig,
        hitl_handler: HITLHandler | None = None,
    ) -> AgentExecutor:
        """The session's executor, kept while the session is in use.

        Raises:
            Misconfigured: the agent's model or sandbox is not available.
        """
        return self.executor(session.session_id, config, hitl_handler)

    def executor(
        self, session_id: str, config: AgentConfig, hitl_handler: HITLHandler | None = None
    ) -> AgentExecutor:
        """As `get_executor`, for callers that have only the id."""
        key = (config.cache_key(), config.recursion_limit, config.timeout, id(hitl_handler))
        live = self._live.get(session_id)
        if live is None or live.config_key != key:
            agent, _backend = self._factory.create_agent(config)
            executor = AgentExecutor(
                agent,
                self._checkpoints.saver(),
                hitl_handler=hitl_handler,
                recursion_limit=config.recursion_limit,
                timeout_seconds=config.timeout,
                hitl_timeout_seconds=self._hitl_timeout_seconds,
            )
            live = self._live[session_id] = _Live(executor, key, 0.0)
        live.used_at = time.monotonic()
        return live.executor

    def summarization(self, config: AgentConfig, *, keep: str) -> Summarization:
        """What puts a thread of an agent in short.

        Raises:
            Misconfigured: the agent's model is not available.
        """
        return self._factory.summarization(config, keep=keep)

    @property
    def live_sessions(self) -> int:
        """How many sessions hold live resources."""
        return len(self._live)

    def use(self, session_ids: Iterable[str]) -> None:
        """Something runs in these sessions, however long ago it began: they are not idle."""
        for session_id in session_ids:
            if session_id in self._live:
                self._live[session_id].used_at = time.monotonic()

    async def release_expired(self, *, timeout_seconds: float | None = None) -> int:
        """Free the live resources of sessions that were idle too long; how many."""
        limit = self._timeout_seconds if timeout_seconds is None else timeout_seconds
        oldest = time.monotonic() - limit
        expired = [sid for sid, live in self._live.items() if live.used_at <= oldest]
        for session_id in expired:
            self.release(session_id)
        return len(expired)

    def release(self, session_id: str) -> None:
        """Free what a session holds in this process while it is in use."""
        self._live.pop(session_id, None)
        if self._on_rest is not None:
            self._on_rest(session_id)


def new_session_id() -> str:
    """A fresh session id."""
    return str(uuid.uuid4())


def _owned(session: Session | None, session_id: str, owner: str) -> Session:
    if session is None or session.user_id != owner:
        raise SessionNotFound(f"There is no session {session_id[:80]!r}.")
    return session
