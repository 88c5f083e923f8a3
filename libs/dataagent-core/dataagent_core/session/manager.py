"""A user's sessions: their owners, their messages and their executors.

Ownership of sessions is decided here alone: another user's session is reported as not found.
"""

from __future__ import annotations

import builtins
import logging
import re
import uuid
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self

from dataagent_core.errors import (
    Conflict,
    Misconfigured,
    SessionDeleted,
    SessionNotFound,
    TenantLimit,
)
from dataagent_core.hitl import HITLHandler
from dataagent_core.identity.tenants import over_limit
from dataagent_core.session.store import (
    ConversationQuota,
    ConversationStore,
    MessageStore,
    SessionStore,
)
from dataagent_core.session.stores.memory import MemoryMessageStore
from dataagent_core.session.types import DEFAULT_TITLE, Message, Session, clean_title, now

if TYPE_CHECKING:
    from dataagent_core.engine import AgentConfig, AgentExecutor, AgentFactory, Checkpoints
    from dataagent_core.engine.executors import SessionExecutors

logger = logging.getLogger(__name__)
_SEARCH_BATCH = 50  # sessions that a store searches at a time; other work runs in between
_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")

MaxSessions = Callable[[str], Awaitable[int | None]]
"""How many sessions a user may have; None for any number."""


class SessionResources(Protocol):
    """Something that belongs to sessions and is stored elsewhere, such as artefacts."""

    async def delete_session(self, session_id: str, *, owner: str) -> int:
        """Delete some of the session's resources; return how many, 0 when none are left."""
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
        executors: SessionExecutors | None = None,
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
            store: Stores sessions. One that is no `ConversationStore` gives ids of its own, and has
                no `thread_id`, no deletion that can be undone and no limits.
            messages: Stores messages; by default the store's own.
            factory: Builds the agents; an `AgentFactory()` unless given.
            checkpoints: Where the agents' threads are stored; with the store unless given.
            executors: Opens the agents, in place of the two above, `on_idle` and the timeouts.
            new_ids: The ids for which `get_or_create_session` creates a session: any, or UUIDs
                alone, where clients choose them.
            resources: Are deleted with a session that is deleted for good.
            most_sessions: How many sessions a user may have.
            quota: How many bytes a user's conversations may have.
            assistant_id_of: Resolves the name of an agent to the id that is stored.
            on_idle: Called with each session whose live resources are released.
        """
        self._store = store
        self._messages = _messages_of(store) if messages is None else messages
        self._has_messages_apart = messages is not None or not isinstance(store, ConversationStore)
        self._factory = factory
        self._checkpoints = checkpoints
        self._opened_executors = executors
        self._new_ids = new_ids
        self._resources = resources
        self._most_sessions = most_sessions
        self._quota = quota
        self._assistant_id_of = assistant_id_of
        self._on_idle = on_idle
        self._timeout_seconds = timeout_seconds
        self._hitl_timeout_seconds = hitl_timeout_seconds

    @property
    def _conversations(self) -> ConversationStore:
        if isinstance(self._store, ConversationStore):
            return self._store
        raise Misconfigured(
            f"{type(self._store).__name__} stores sessions, but cannot do this. It would have to "
            "be a dataagent_core.session.ConversationStore."
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
        """Create a session for the owner.

        Raises:
            Conflict: a session of that id exists, or was deleted.
            TenantLimit: the owner has as many sessions as their tenant allows.
            UserLimit: the owner's conversations are at their quota.
            AgentNotFound: there is no such agent, or it was deleted.
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
        """Delete a new session if others that were created at the same moment exceed the limit."""
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

        A store that gives ids of its own gives the new session another id than the requested one.

        Raises:
            SessionDeleted: a session of that id was deleted, by any user.
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
        except Conflict:  # another request created it first, or it was deleted
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

        With `search`, of the sessions with this text in their title or in a message.
        """
        text = (search or "").strip()
        if text:
            hits = await self._search(text, owner)
            return hits[offset : offset + limit], len(hits)
        if isinstance(self._store, ConversationStore):
            page = await self._store.list_by_user(owner, limit=limit, offset=offset)
            return page, await self._store.count_by_user(owner)
        own = await self._store.list_by_user(owner)
        return own[offset : offset + limit], len(own)

    async def _search(self, text: str, owner: str) -> builtins.list[Session]:
        own = await self._store.list_by_user(owner)
        hits: list[Session] = []
        for first in range(0, len(own), _SEARCH_BATCH):
            hits += await self._matching(text, own[first : first + _SEARCH_BATCH])
        return hits

    async def _matching(self, text: str, batch: Sequence[Session]) -> builtins.list[Session]:
        folded = text.casefold()
        by_title = {each.session_id for each in batch if folded in each.title.casefold()}
        others = [each.session_id for each in batch if each.session_id not in by_title]
        matching = by_title | await self._messages.sessions_containing(text, others)
        return [each for each in batch if each.session_id in matching]

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
        """Give the session a title, on one line and cut to 50 characters; it becomes the newest.

        Raises:
            SessionNotFound: as `get`.
        """
        session = await self.get(session_id, owner=owner)
        session.title = clean_title(title) or DEFAULT_TITLE
        session.last_active = now()
        await self._store.update(session)
        return session

    # -- deletion -------------------------------------------------------------------------------

    async def soft_delete(self, session_id: str, *, owner: str) -> None:
        """Delete the session for every reader, so that `restore` can undo it for some days.

        `RunService.soft_delete` also stops its active run.

        Raises:
            SessionNotFound: as `get`.
        """
        await self.get(session_id, owner=owner)
        self.release(session_id)
        await self._conversations.soft_delete(session_id)

    async def restore(self, session_id: str, *, owner: str) -> Session:
        """Undo `soft_delete`. A session that was not deleted stays as it is.

        Raises:
            SessionNotFound: the owner has none of that id, or it was deleted for good.
        """
        deleted = await self._conversations.get_soft_deleted(session_id)
        if deleted is not None and deleted.user_id == owner:
            await self._conversations.restore(session_id)
        return await self.get(session_id, owner=owner)

    async def delete(self, session_id: str, *, owner: str) -> None:
        """Delete the session for good, with its history, thread and resources.

        `RunService.delete_permanently` stops its active run first.

        Raises:
            SessionNotFound: there is none, or it is another user's.
        """
        session = await self._store.get(session_id)
        if session is None and isinstance(self._store, ConversationStore):
            session = await self._store.get_soft_deleted(session_id)
        await self._erase(_require_owned(session, session_id, owner))

    async def purge_soft_deleted(self, *, longer_than: timedelta) -> int:
        """Delete for good the sessions that were soft-deleted longer ago; return how many."""
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
        """Delete resources first, the session last, so that a failure can be repeated."""
        self.release(session.session_id)
        for each in self._resources:
            while await each.delete_session(session.session_id, owner=session.user_id):
                continue
        checkpoints = await self._executors.open_checkpoints()
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
        """The session's executor, the same while the session is in use; sets `last_active`.

        It works for the session's user unless the config names one. Sessions that were idle too
        long are released.

        Raises:
            Misconfigured: the agent's model or sandbox is not available.
        """
        await self.release_expired()
        await self._touch(session.session_id)
        await self._executors.open_checkpoints()
        config = replace(config, user_id=config.user_id or session.user_id)
        return self._executors.get(session.session_id, config, hitl_handler)

    @property
    def _executors(self) -> SessionExecutors:
        """The executors. The engine is above this package, so it is imported on first use."""
        if self._opened_executors is None:
            from dataagent_core.engine.executors import SessionExecutors

            self._opened_executors = SessionExecutors(
                self._factory,
                self._checkpoints,
                store=self._store,
                on_idle=self._on_idle,
                timeout_seconds=self._timeout_seconds,
                hitl_timeout_seconds=self._hitl_timeout_seconds,
            )
        return self._opened_executors

    async def _touch(self, session_id: str) -> None:
        if isinstance(self._store, ConversationStore):
            await self._store.touch(session_id)
            return
        session = await self._store.get(session_id)
        if session is not None:
            session.last_active = now()
            await self._store.update(session)

    @property
    def live_sessions(self) -> int:
        """How many sessions hold live resources."""
        return self._executors.live_sessions

    async def release_expired(self, *, timeout_seconds: float | None = None) -> int:
        """Release the live resources of sessions that were idle too long; return how many."""
        return await self._executors.release_expired(timeout_seconds=timeout_seconds)

    def release(self, session_id: str) -> None:
        """Release what a session holds in this process."""
        self._executors.release(session_id)

    async def close(self) -> None:
        """Release what all sessions hold in this process, and a factory of its own.

        The store stays open: the caller who opened it closes it.
        """
        await self._executors.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


def _messages_of(store: SessionStore) -> MessageStore:
    return store.messages if isinstance(store, ConversationStore) else MemoryMessageStore()


def new_session_id() -> str:
    """A fresh session id."""
    return str(uuid.uuid4())


def _require_owned(session: Session | None, session_id: str, owner: str) -> Session:
    if session is None or session.user_id != owner:
        raise SessionNotFound(f"There is no session {session_id[:80]!r}.")
    return session
