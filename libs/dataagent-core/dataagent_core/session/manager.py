"""A user's sessions: whose they are, what was said in them, what they hold while in use.

Ownership is decided here and nowhere else: what is not yours is not found. Above: `runs/` and the
doors. Below: the stores, `engine/` for executors.
"""

from __future__ import annotations

import re
import time
import uuid
from dataclasses import dataclass
from typing import Any

from dataagent_core.engine import AgentConfig, AgentExecutor, AgentFactory, Checkpoints
from dataagent_core.errors import Conflict, SessionNotFound
from dataagent_core.hitl import HITLHandler
from dataagent_core.session.store import MessageStore, SessionStore
from dataagent_core.session.types import DEFAULT_TITLE, Message, Session

TITLE_LENGTH = 50
_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


@dataclass(slots=True)
class _Live:
    executor: AgentExecutor
    config_key: tuple[Any, ...]
    used_at: float


class SessionManager:
    """Sessions with their owners' rights and their live executors."""

    def __init__(
        self,
        sessions: SessionStore,
        messages: MessageStore,
        *,
        factory: AgentFactory,
        checkpoints: Checkpoints,
        timeout_seconds: float = 3600.0,
        hitl_timeout_seconds: float = 300.0,
    ) -> None:
        """Idle sessions lose their live resources after `timeout_seconds`, never their history."""
        self._sessions = sessions
        self._messages = messages
        self._factory = factory
        self._checkpoints = checkpoints
        self._timeout_seconds = timeout_seconds
        self._hitl_timeout_seconds = hitl_timeout_seconds
        self._live: dict[str, _Live] = {}

    async def get_or_create_session(
        self, user_id: str, assistant_id: str, session_id: str | None = None
    ) -> Session:
        """The user's session of that id; a new one for no id or for a fresh UUID.

        Raises:
            SessionNotFound: the id is another user's, or neither known nor a UUID.
        """
        if session_id is None:
            return await self._sessions.create(user_id, assistant_id)
        session = await self._sessions.get(session_id)
        if session is None and _UUID.fullmatch(session_id):
            session = await self._create(user_id, assistant_id, session_id)
        return _owned(session, session_id, user_id)

    async def _create(self, user_id: str, assistant_id: str, session_id: str) -> Session | None:
        try:
            return await self._sessions.create(user_id, assistant_id, session_id=session_id)
        except Conflict:  # another request was quicker
            return await self._sessions.get(session_id)

    async def get(self, session_id: str, *, owner: str) -> Session:
        """The owner's session.

        Raises:
            SessionNotFound: there is none, or it is another user's.
        """
        return _owned(await self._sessions.get(session_id), session_id, owner)

    async def list(
        self, *, owner: str, limit: int = 100, offset: int = 0
    ) -> tuple[list[Session], int]:
        """A page of the owner's sessions, newest first, and how many there are."""
        page = await self._sessions.list_by_user(owner, limit=limit, offset=offset)
        return page, await self._sessions.count_by_user(owner)

    async def messages(
        self, session_id: str, *, owner: str, limit: int = 100, offset: int = 0
    ) -> tuple[list[Message], int]:
        """A page of the session's messages, oldest first, and how many there are.

        Raises:
            SessionNotFound: as `get`.
        """
        await self.get(session_id, owner=owner)
        page = await self._messages.get_messages(session_id, limit, offset)
        return page, await self._messages.count_messages(session_id)

    async def rename(self, session_id: str, title: str, *, owner: str) -> Session:
        """Give the session a title, cut to 50 characters.

        Raises:
            SessionNotFound: as `get`.
        """
        session = await self.get(session_id, owner=owner)
        session.title = title.strip()[:TITLE_LENGTH] or DEFAULT_TITLE
        await self._sessions.update(session)
        return session

    async def delete(self, session_id: str, *, owner: str) -> None:
        """Delete the session with its history and its thread. `RunService.forget` stops it first.

        Raises:
            SessionNotFound: as `get`.
        """
        await self.get(session_id, owner=owner)
        self._live.pop(session_id, None)
        await self._sessions.delete(session_id)
        await self._checkpoints.delete(session_id)

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

    @property
    def live_sessions(self) -> int:
        """How many sessions hold live resources."""
        return len(self._live)

    async def release_expired(self, *, timeout_seconds: float | None = None) -> int:
        """Free the live resources of sessions that were idle too long; how many."""
        limit = self._timeout_seconds if timeout_seconds is None else timeout_seconds
        oldest = time.monotonic() - limit
        expired = [sid for sid, live in self._live.items() if live.used_at <= oldest]
        for session_id in expired:
            del self._live[session_id]
        return len(expired)


def new_session_id() -> str:
    """A fresh session id."""
    return str(uuid.uuid4())


def _owned(session: Session | None, session_id: str, owner: str) -> Session:
    if session is None or session.user_id != owner:
        raise SessionNotFound(f"There is no session {session_id[:80]!r}.")
    return session
