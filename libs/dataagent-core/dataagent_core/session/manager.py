"""A user's sessions: whose they are, what was said in them, what they hold while in use.

Ownership is decided here and nowhere else: what is not yours is not found.
"""

from __future__ import annotations

import builtins
import logging
import re
import time
import uuid
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Literal, Protocol, Self

from dataagent_core.engine import (
    AgentConfig,
    AgentExecutor,
    AgentFactory,
    Checkpoints,
    MemoryCheckpoints,
)
from dataagent_core.errors import (
    Conflict,
    Misconfigured,
    SessionDeleted,
    SessionNotFound,
    TenantLimit,
)
from dataagent_core.hitl import HITLHandler
from dataagent_core.identity.tenants import over_limit
from dataagent_core.middleware.upstream import Summarization
from dataagent_core.session.store import (
    ConversationQuota,
    ConversationStore,
    MessageStore,
    SessionStore,
)
from dataagent_core.session.stores.memory import MemoryMessageStore
from dataagent_core.session.types import DEFAULT_TITLE, Message, Session, clean_title, now

logger = logging.getLogger(__name__)
_SEARCH_BATCH = 50  # sessions a store looks through in one go; others get their turn between
_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


@dataclass(slots=True)
class _LiveExecutor:
    executor: AgentExecutor
    config_key: tuple[Any, ...]
    used_at: float


MaxSessions = Callable[[str], Awaitable[int | None]]
"""How many sessions a user may have; None for any number."""


class SessionResources(Protocol):
    """What users' sessions leave behind elsewhere, say artefacts."""

    async def delete_session(self, session_id: str, *, owner: str) -> int:
        """Delete some of what belongs to the session; how many things, 0 when none are left."""
        ...


class SessionManager:
    """Sessions with their owners' rights and their live executors."""

    def __init__(
        self,
        store: SessionStore,
        messages: MessageStore | None = None,
        *,
        factory: AgentFactory | None = None,
        checkpoints: Checkpoints | None = None,
        new_ids: Literal["any", "uuid"] = "any",
        resources: Sequence[SessionResources] = (),
        most_sessions: MaxSessions | None = None,
        quota: ConversationQuota | None = None,
        assistant_id_of: Callable[[str], str] | None = None,
        on_idle: Callable[[str], None] | None = None,
        timeout_seconds: float = 3600.0,
        hitl_timeout_seconds: float = 300.0,
    ) -> None:
        """Idle sessions lose their live resources after `timeout_seconds`, never their history.

        Args:
            store: Where sessions are. One that is no `ConversationStore` gives ids of its own, and
                has no `thread_id` to look for, no deletion that can be undone and no limits.
            messages: Where messages are; those of the store unless given.
            factory: Makes the agents; an `AgentFactory()` unless given.
            checkpoints: Where the agents' threads are; those of the store unless given.
            new_ids: Which ids `get_or_create_session` makes a session of: any, or UUIDs alone, for
                ids that strangers send.
            belongings: What goes with a session that is deleted for good.
            most_sessions: How many a user may have.
            quota: How much a user may hold.
            assistant_id_of: What is kept of the choice of an agent.
            on_rest: Is told of each session that holds nothing live any more.
        """
        self._store = store
        self._messages = _messages_of(store) if messages is None else messages
        self._has_messages_apart = messages is not None or not isinstance(store, ConversationStore)
        self._factory = factory
        self._is_own_factory = factory is None
        self._checkpoints = checkpoints
        self._new_ids = new_ids
        self._resources = resources
        self._most_sessions = most_sessions
        self._quota = quota
        self._assistant_id_of = assistant_id_of
        self._on_idle = on_idle
        self._timeout_seconds = timeout_seconds
        self._hitl_timeout_seconds = hitl_timeout_seconds
        self._live: dict[str, _LiveExecutor] = {}

    @property
    def _conversations(self) -> ConversationStore:
        if isinstance(self._store, ConversationStore):
            return self._store
        raise Misconfigured(
            f"{type(self._store).__name__} keeps sessions, but cannot do this. It would have to be "
            "a dataagent_core.session.ConversationStore."
        )

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
            AgentNotFound: the assistant is an agent that is not there, or was deleted.
        """
        if self._assistant_id_of is not None:
            assistant_id = self._assistant_id_of(assistant_id)
        title = clean_title(title or "") or DEFAULT_TITLE
        if self._quota is not None:
            await self._quota.check(owner)
        most = None if self._most_sessions is None else await self._most_sessions(owner)
        if most is not None:
            await self._check_session_limit(owner, most, more=1)
        session = await self._add(owner, assistant_id, session_id, title, metadata)
        if most is not None:
            await self._delete_if_over_limit(session, most)
        return session

    async def _add(
        self,
        owner: str,
        assistant_id: str,
        session_id: str | None,
        title: str,
        metadata: dict[str, Any] | None,
    ) -> Session:
        if isinstance(self._store, ConversationStore):
            return await self._store.create(
                owner, assistant_id, session_id=session_id, title=title, metadata=metadata
            )
        session = await self._store.create(owner, assistant_id)
        if title != DEFAULT_TITLE or metadata:
            session.title, session.metadata = title, metadata or {}
            await self._store.update(session)
        return session

    async def _delete_if_over_limit(self, session: Session, most: int) -> None:
        """Take a new session back if others that were made at the same moment fill the room."""
        try:
            await self._check_session_limit(session.user_id, most)
        except TenantLimit:
            await self._conversations.delete(session.session_id, frees_id=True)
            raise

    async def _check_session_limit(self, owner: str, most: int, *, more: int = 0) -> None:
        used = await self._conversations.count_by_user(owner)
        if used + more > most:
            raise over_limit("max_sessions_per_user", most, used, "Delete a session first.")

    async def get_or_create_session(
        self, user_id: str, assistant_id: str, session_id: str | None = None
    ) -> Session:
        """The user's session of that id; a new one for no id or for one that is not known.

        A store that gives ids of its own gives the new session another id than the one asked for.

        Raises:
            SessionDeleted: a session of that id was deleted, by whomever.
            SessionNotFound: the id is another user's, or with `new_ids="uuid"` neither known nor a
                UUID.
            BadInput: no session can have that id, user or assistant.
        """
        if session_id is None:
            return await self.create(user_id, assistant_id)
        session = await self._store.get(session_id)
        if session is None and (self._new_ids == "any" or _UUID.fullmatch(session_id)):
            session = await self._create(user_id, assistant_id, session_id)
        return _require_owned(session, session_id, user_id)

    async def _create(self, user_id: str, assistant_id: str, session_id: str) -> Session:
        try:
            return await self.create(user_id, assistant_id, session_id=session_id)
        except Conflict:  # another request was quicker, or it was deleted
            session = await self._store.get(session_id)
        if session is None:
            raise SessionDeleted(f"Session {session_id!r} was deleted. Use a new id.")
        return session

    async def get(self, session_id: str, *, owner: str) -> Session:
        """The owner's session.

        Raises:
            SessionNotFound: there is none, or it is another user's.
        """
        return _require_owned(await self._store.get(session_id), session_id, owner)

    async def get_by_thread(self, thread_id: str, *, owner: str) -> Session:
        """The owner's session with that `thread_id`.

        Raises:
            SessionNotFound: there is none, or it is another user's.
        """
        session = await self._conversations.get_by_thread(thread_id)
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
        if isinstance(self._store, ConversationStore):
            page = await self._store.list_by_user(owner, limit=limit, offset=offset)
            return page, await self._store.count_by_user(owner)
        own = await self._store.list_by_user(owner)
        return own[offset : offset + limit], len(own)

    async def _search(self, text: str, owner: str) -> builtins.list[Session]:
        own = await self._store.list_by_user(owner)
        found: list[Session] = []
        for first in range(0, len(own), _SEARCH_BATCH):
            found += await self._matching(text, own[first : first + _SEARCH_BATCH])
        return found

    async def _matching(self, text: str, some: Sequence[Session]) -> builtins.list[Session]:
        wanted = text.casefold()
        titled = {each.session_id for each in some if wanted in each.title.casefold()}
        others = [each.session_id for each in some if each.session_id not in titled]
        hits = titled | await self._messages.sessions_containing(text, others)
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
        """Give the session a title, on one line and cut to 50 characters; it is the newest then.

        Raises:
            SessionNotFound: as `get`.
        """
        session = await self.get(session_id, owner=owner)
        session.title = clean_title(title) or DEFAULT_TITLE
        session.last_active = now()
        await self._store.update(session)
        return session

    # -- ends -----------------------------------------------------------------------------------

    async def soft_delete(self, session_id: str, *, owner: str) -> None:
        """Delete the session for every reader, in a way `restore` can undo for some days.

        `RunService.soft_delete` also stops what runs in it.

        Raises:
            SessionNotFound: as `get`.
        """
        await self.get(session_id, owner=owner)
        self.release(session_id)
        await self._conversations.soft_delete(session_id)

    async def restore(self, session_id: str, *, owner: str) -> Session:
        """Undo `soft_delete`. A session that was not put away stays as it is.

        Raises:
            SessionNotFound: there is none of the owner's, or its days are over.
        """
        away = await self._conversations.get_soft_deleted(session_id)
        if away is not None and away.user_id == owner:
            await self._conversations.restore(session_id)
        return await self.get(session_id, owner=owner)

    async def delete(self, session_id: str, *, owner: str) -> None:
        """Delete the session for good, put away or not, with its history, thread and belongings.

        `RunService.forget` stops it first.

        Raises:
            SessionNotFound: there is none, or it is another user's.
        """
        session = await self._store.get(session_id)
        if session is None and isinstance(self._store, ConversationStore):
            session = await self._store.get_soft_deleted(session_id)
        await self._erase(_require_owned(session, session_id, owner))

    async def purge_soft_deleted(self, *, longer_than: timedelta) -> int:
        """Delete for good what was put away longer ago than that; how many sessions."""
        erased = 0
        for session in await self._conversations.soft_deleted_before(now() - longer_than):
            try:
                if await self._conversations.get_soft_deleted(session.session_id) is not None:
                    await self._erase(session)
                    erased += 1
            except Exception:
                logger.exception("session %s could not be deleted", session.session_id)
        return erased

    async def _erase(self, session: Session) -> None:
        """The session goes last: what fails before is found again as long as it is there."""
        self.release(session.session_id)
        for each in self._resources:
            while await each.delete_session(session.session_id, owner=session.user_id):
                continue
        checkpoints = await self._get_checkpoints()
        await checkpoints.delete(session.session_id)
        if self._has_messages_apart:
            await self._messages.delete_messages(session.session_id)
        await self._store.delete(session.session_id)

    # -- executors ------------------------------------------------------------------------------

    async def get_executor(
        self,
        session: Session,
        config: AgentConfig,
        hitl_handler: HITLHandler | None = None,
    ) -> AgentExecutor:
        """The session's executor, kept while the session is in use; the session is active now.

        It works for the session's user unless the config names one. What sessions hold that were
        idle too long is freed.

        Raises:
            Misconfigured: the agent's model or sandbox is not available.
        """
        await self.release_expired()
        await self._touch(session.session_id)
        await self._get_checkpoints()
        config = replace(config, user_id=config.user_id or session.user_id)
        return self.executor(session.session_id, config, hitl_handler)

    async def _touch(self, session_id: str) -> None:
        if isinstance(self._store, ConversationStore):
            await self._store.touch(session_id)
            return
        session = await self._store.get(session_id)
        if session is not None:
            session.last_active = now()
            await self._store.update(session)

    def executor(
        self, session_id: str, config: AgentConfig, hitl_handler: HITLHandler | None = None
    ) -> AgentExecutor:
        """As `get_executor`, for callers that have only the id and gave `checkpoints`."""
        if self._checkpoints is None:
            raise Misconfigured(
                "A SessionManager without checkpoints has to open them first: use get_executor."
            )
        runs_as = (config.assistant_id, config.user_id, config.tenant_id, config.auto_approve)
        limits = (config.recursion_limit, config.timeout)
        key = (config.cache_key(), *runs_as, *limits, id(hitl_handler))
        live = self._live.get(session_id)
        if live is None or live.config_key != key:
            agent, _backend = self._get_factory().create_agent(config)
            executor = AgentExecutor(
                agent,
                self._checkpoints.saver(),
                hitl_handler=hitl_handler,
                recursion_limit=config.recursion_limit,
                timeout_seconds=config.timeout,
                hitl_timeout_seconds=self._hitl_timeout_seconds,
            )
            live = self._live[session_id] = _LiveExecutor(executor, key, 0.0)
        live.used_at = time.monotonic()
        return live.executor

    def summarization(self, config: AgentConfig, *, keep: str) -> Summarization:
        """What puts a thread of an agent in short.

        Raises:
            Misconfigured: the agent's model is not available.
        """
        return self._get_factory().summarization(config, keep=keep)

    def _get_factory(self) -> AgentFactory:
        if self._factory is None:
            self._factory = AgentFactory()
        return self._factory

    async def _get_checkpoints(self) -> Checkpoints:
        if self._checkpoints is None:
            self._checkpoints = await _checkpoints_of(self._store)
        return self._checkpoints

    @property
    def live_sessions(self) -> int:
        """How many sessions hold live resources."""
        return len(self._live)

    def mark_in_use(self, session_ids: Iterable[str]) -> None:
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
        if self._on_idle is not None:
            self._on_idle(session_id)

    async def close(self) -> None:
        """Free what all sessions hold in this process, and the agents, if they are its own.

        The store stays open: whoever opened it closes it.
        """
        for session_id in list(self._live):
            self.release(session_id)
        if self._is_own_factory and self._factory is not None:
            await self._factory.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


def _messages_of(store: SessionStore) -> MessageStore:
    return store.messages if isinstance(store, ConversationStore) else MemoryMessageStore()


async def _checkpoints_of(store: SessionStore) -> Checkpoints:
    if isinstance(store, ConversationStore):
        return await store.checkpoints()
    return MemoryCheckpoints()


def new_session_id() -> str:
    """A fresh session id."""
    return str(uuid.uuid4())


def _require_owned(session: Session | None, session_id: str, owner: str) -> Session:
    if session is None or session.user_id != owner:
        raise SessionNotFound(f"There is no session {session_id[:80]!r}.")
    return session
