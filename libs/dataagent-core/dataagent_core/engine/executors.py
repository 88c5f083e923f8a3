"""The executors of sessions: opened when a session is used, released when it is idle too long."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from dataagent_core.engine.checkpoints import Checkpoints, MemoryCheckpoints, open_checkpoints
from dataagent_core.engine.config import AgentConfig
from dataagent_core.engine.executor import AgentExecutor
from dataagent_core.engine.factory import AgentFactory
from dataagent_core.errors import Misconfigured
from dataagent_core.hitl import HITLHandler
from dataagent_core.middleware.upstream import Summarization
from dataagent_core.session import ConversationStore, SessionStore


@dataclass(slots=True)
class _LiveExecutor:
    executor: AgentExecutor
    config_key: tuple[Any, ...]
    used_at: float


class SessionExecutors:
    """One executor for each session in use, on the session's thread."""

    def __init__(
        self,
        factory: AgentFactory | None = None,
        checkpoints: Checkpoints | None = None,
        *,
        store: SessionStore | None = None,
        on_idle: Callable[[str], None] | None = None,
        timeout_seconds: float = 3600.0,
        hitl_timeout_seconds: float = 300.0,
    ) -> None:
        """Executors of sessions that are idle for `timeout_seconds` are released.

        Args:
            factory: Builds the agents; an `AgentFactory()` of its own unless given.
            checkpoints: Where the agents' threads are stored; if not given, `open_checkpoints`
                opens those of the `store`.
            on_idle: Called with each session that is released.
        """
        self._checkpoints = checkpoints
        self._store = store
        self._factory = factory
        self._is_own_factory = factory is None
        self._on_idle = on_idle
        self._timeout_seconds = timeout_seconds
        self._hitl_timeout_seconds = hitl_timeout_seconds
        self._live: dict[str, _LiveExecutor] = {}

    async def open_checkpoints(self) -> Checkpoints:
        """The threads of the sessions: in the store's database, if it has one, else in memory."""
        if self._checkpoints is None and isinstance(self._store, ConversationStore):
            self._checkpoints = await self._store.open_with_database(open_checkpoints)
        if self._checkpoints is None:
            self._checkpoints = MemoryCheckpoints()
        return self._checkpoints

    def get(
        self, session_id: str, config: AgentConfig, hitl_handler: HITLHandler | None = None
    ) -> AgentExecutor:
        """The session's executor; a new one if the configuration or the handler is another.

        Raises:
            Misconfigured: the agent's model or sandbox is not available, or there are no
                checkpoints: call `open_checkpoints` first.
        """
        if self._checkpoints is None:
            raise Misconfigured("Checkpoints are not open: call open_checkpoints, or get_executor.")
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
        """The summarization of an agent's threads; `keep` is what a summary must not leave out.

        Raises:
            Misconfigured: the agent's model is not available.
        """
        return self._get_factory().summarization(config, keep=keep)

    def _get_factory(self) -> AgentFactory:
        if self._factory is None:
            self._factory = AgentFactory()
        return self._factory

    @property
    def live_sessions(self) -> int:
        """How many sessions have an executor."""
        return len(self._live)

    def mark_in_use(self, session_ids: Iterable[str]) -> None:
        """Note that something runs in these sessions: they are not idle."""
        for session_id in session_ids:
            if session_id in self._live:
                self._live[session_id].used_at = time.monotonic()

    async def release_expired(self, *, timeout_seconds: float | None = None) -> int:
        """Release the sessions that were idle too long; return how many."""
        limit = self._timeout_seconds if timeout_seconds is None else timeout_seconds
        oldest = time.monotonic() - limit
        expired = [sid for sid, live in self._live.items() if live.used_at <= oldest]
        for session_id in expired:
            self.release(session_id)
        return len(expired)

    def release(self, session_id: str) -> None:
        """Release what a session holds in this process."""
        self._live.pop(session_id, None)
        if self._on_idle is not None:
            self._on_idle(session_id)

    async def close(self) -> None:
        """Release what all sessions hold in this process, and the factory if it is its own."""
        for session_id in list(self._live):
            self.release(session_id)
        if self._is_own_factory and self._factory is not None:
            await self._factory.aclose()
