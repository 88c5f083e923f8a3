"""The pool of sandboxes: owners, warm spares and expiry.

A sandbox is created without an owner, waits warm, and is bound to the first (user, thread) that
needs one; it never gets another owner. It ends when it was idle for a while, when it was used often
enough, when its session ends, when the limits need its place, or when something in it had to be
killed from outside.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal
from uuid import uuid4
from weakref import WeakValueDictionary

from dataagent_core.errors import (
    DataAgentError,
    NotFound,
    SandboxUnavailable,
    TooManySandboxes,
    UserLimit,
)
from dataagent_core.sandbox.session import SandboxSession
from dataagent_core.sandbox.types import SandboxLimits, Wall
from dataagent_core.telemetry import Metrics

logger = logging.getLogger(__name__)

Owner = tuple[str, str]
Cause = Literal["idle", "used_up", "displaced", "released", "lost", "closing"]
"""Why a sandbox ended. `lost`: it died, or did not answer; `displaced`: another needed its room."""

_MOST_REMEMBERED: Final = 10_000
WorkspaceOf = Callable[[str], Path | None]


@dataclass(frozen=True, slots=True)
class PoolSettings:
    """How many sandboxes there are, and how long one lives."""

    ready: int = 5
    max_sessions: int = 50
    max_per_user: int = 0  # 0: any number
    max_uses: int = 100
    idle_seconds: float = 1200.0
    wait_seconds: float = 30.0


class Sandboxes:
    """The pool: one sandbox per (user, thread), never shared between users."""

    def __init__(
        self,
        wall: Wall,
        *,
        limits: SandboxLimits | None = None,
        settings: PoolSettings | None = None,
        workspace_of: WorkspaceOf | None = None,
        metrics: Metrics | None = None,
    ) -> None:
        """`workspace_of` returns the directory of a user's files, if sandboxes see one."""
        self._wall = wall
        self._limits = limits or SandboxLimits()
        self._settings = settings or PoolSettings()
        self._workspace_of = workspace_of or _no_workspace
        self._metrics = metrics
        self._bound: OrderedDict[Owner, SandboxSession] = OrderedDict()
        self._gone: OrderedDict[Owner, None] = OrderedDict()  # who had one, and lost it
        self._ready: list[SandboxSession] = []
        self._binding: WeakValueDictionary[Owner, asyncio.Lock] = WeakValueDictionary()
        self._idle: dict[Owner, asyncio.TimerHandle] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._freed = asyncio.Event()
        self._opening: Counter[str] = Counter()  # by user
        self._waiting = 0
        self._refilling: asyncio.Task[None] | None = None
        self._is_closed = False

    @property
    def wall(self) -> Wall:
        """The wall around the code."""
        return self._wall

    @property
    def limits(self) -> SandboxLimits:
        """The limits of each sandbox."""
        return self._limits

    @property
    def bound(self) -> int:
        """How many have an owner."""
        return len(self._bound)

    @property
    def ready(self) -> int:
        """How many wait for an owner."""
        return len(self._ready)

    async def warm(self) -> None:
        """Fill the pool, and wait until it is full.

        Raises:
            SandboxUnavailable: the wall cannot be built here; says why.
        """
        while len(self._ready) < self._settings.ready and not self._is_closed:
            began = time.perf_counter()
            self._ready.append(await self._new())
            if self._metrics is not None:
                self._metrics.sandbox_made(time.perf_counter() - began)

    async def session(
        self, user_id: str, thread_id: str, *, sandbox_id: str | None = None
    ) -> SandboxSession:
        """Return the sandbox of a user's thread; a new one if it has none or it has ended.

        With `sandbox_id` the user gets back a living one of theirs.

        Raises:
            NotFound: no sandbox of the user has that id.
            TooManySandboxes: all are in use, and none came free in time.
            UserLimit: all the user may have are in use, and none came free in time.
            SandboxUnavailable: the wall cannot be built; no code runs.
        """
        if self._is_closed:
            raise SandboxUnavailable("The server is shutting down.")
        owner = (user_id, thread_id)
        if sandbox_id is not None:
            owner = self._owner_of(user_id, sandbox_id)
        async with self._binding.setdefault(owner, asyncio.Lock()):
            session = self._bound.get(owner)
            if session is None or not self._is_usable(session):
                await self._drop(owner, "lost" if session and not session.is_alive else "used_up")
                session = await self._bind(owner)
            self._touch(owner)
            return session

    def find_session(self, user_id: str, thread_id: str) -> SandboxSession | None:
        """Return the current sandbox of a user's thread; none is created."""
        session = self._bound.get((user_id, thread_id))
        return session if session is not None and session.is_alive else None

    async def release(self, user_id: str, thread_id: str) -> None:
        """End a thread's sandbox, if it has one."""
        await self._drop((user_id, thread_id), "released")

    def release_soon(self, thread_id: str) -> None:
        """End a thread's sandboxes of any user in the background."""
        for owner in [each for each in self._bound if each[1] == thread_id]:
            self._soon(owner, "released")

    async def aclose(self) -> None:
        """End all sandboxes and the wall."""
        self._is_closed = True
        for task in [*self._tasks, self._refilling]:
            if task is not None:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
        for owner in list(self._bound):
            await self._drop(owner, "closing")
        while self._ready:
            await self._ready.pop().close()
        await self._wall.aclose()

    def _owner_of(self, user_id: str, sandbox_id: str) -> Owner:
        for owner, session in self._bound.items():
            if owner[0] == user_id and session.id == sandbox_id and session.is_alive:
                return owner
        raise NotFound(f"There is no sandbox {sandbox_id!r}. Leave the id out to get a new one.")

    def _is_usable(self, session: SandboxSession) -> bool:
        return session.is_alive and (session.is_busy or session.uses < self._settings.max_uses)

    async def _bind(self, owner: Owner) -> SandboxSession:
        user_id = owner[0]
        await self._wait_for_room(user_id)
        try:
            await self._make_room(user_id)
            session = await self._take()
            try:
                await session.bind(self._wall, self._workspace_of(user_id))
            except BaseException:
                await session.close()
                raise
            session.notify(
                lambda: self._touch(owner), on_kill=self._killed, has_forgotten=owner in self._gone
            )
            self._gone.pop(owner, None)
            self._bound[owner] = session
            return session
        finally:
            self._opening[user_id] -= 1
            if not self._opening[user_id]:
                del self._opening[user_id]
            self._refill()

    async def _take(self) -> SandboxSession:
        while self._ready:
            session = self._ready.pop(0)
            if session.is_alive:
                return session
            await session.close()
        return await self._new()

    async def _new(self) -> SandboxSession:
        return await SandboxSession.start(self._wall, uuid4().hex, self._limits)

    async def _wait_for_room(self, user_id: str) -> None:
        """Reserve a place as soon as one is free or an idle sandbox can be ended."""
        self._waiting += 1
        try:
            async with asyncio.timeout(self._settings.wait_seconds):
                while not self._has_room(user_id):
                    self._freed.clear()
                    await self._freed.wait()
        except TimeoutError as error:
            raise self._too_many(user_id) from error
        finally:
            self._waiting -= 1
        self._opening[user_id] += 1

    def _has_room(self, user_id: str) -> bool:
        """Whether the user can have one more, if necessary in place of an idle one."""
        if self._is_share_full(self._used_by(user_id) + 1):
            return self._longest_idle(user_id) is not None
        return self._used < self._settings.max_sessions or self._longest_idle() is not None

    async def _make_room(self, user_id: str) -> None:
        """End the sandbox that was idle longest, if there is one too many.

        A user who has too many gives up one of their own.
        """
        idle: Owner | None = None
        if self._is_share_full(self._used_by(user_id)):
            idle = self._longest_idle(user_id)
        elif self._used > self._settings.max_sessions:
            idle = self._longest_idle()
        if idle is not None:
            await self._drop(idle, "displaced")

    @property
    def _used(self) -> int:
        return len(self._bound) + self._opening.total()

    def _used_by(self, user_id: str) -> int:
        bound = sum(1 for owner in self._bound if owner[0] == user_id)
        return bound + self._opening[user_id]

    def _is_share_full(self, used: int) -> bool:
        return 0 < self._settings.max_per_user < used

    def _too_many(self, user_id: str) -> TooManySandboxes | UserLimit:
        wait = max(int(self._settings.wait_seconds), 1)
        used = self._used_by(user_id)
        if self._is_share_full(used + 1):
            return UserLimit(
                f"You run code in {used} sandboxes, as many as one user may. Wait until one of "
                "your other conversations has finished, or cancel it.",
                details={
                    "what": "sandboxes",
                    "limit": self._settings.max_per_user,
                    "used": used,
                },
                retry_after_seconds=wait,
            )
        limit, waiting = self._settings.max_sessions, self._waiting - 1
        return TooManySandboxes(
            f"All {limit} sandboxes are in use and {waiting} others wait. Try again in a moment.",
            details={"limit": limit, "waiting": waiting},
            retry_after_seconds=wait,
        )

    def _longest_idle(self, user_id: str | None = None) -> Owner | None:
        """Return the idle sandbox that was used least recently.

        With `user_id`, of the user's.
        """
        for owner, session in self._bound.items():
            if not session.is_busy and user_id in (None, owner[0]):
                return owner
        return None

    def _touch(self, owner: Owner) -> None:
        """Mark a sandbox as just used, and restart its expiry."""
        if owner not in self._bound:
            return
        self._bound.move_to_end(owner)
        self._freed.set()
        self._forget_timer(owner)
        loop = asyncio.get_running_loop()
        self._idle[owner] = loop.call_later(self._settings.idle_seconds, self._expire, owner)

    def _forget_timer(self, owner: Owner) -> None:
        timer = self._idle.pop(owner, None)
        if timer is not None:
            timer.cancel()

    def _expire(self, owner: Owner) -> None:
        session = self._bound.get(owner)
        if session is None or session.is_busy:  # it is touched again when it becomes idle
            return
        self._soon(owner, "idle")

    def _soon(self, owner: Owner, cause: Cause) -> None:
        task = asyncio.create_task(self._drop(owner, cause), name="sandbox-end")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _drop(self, owner: Owner, cause: Cause) -> None:
        """End a sandbox; it is unavailable from the first moment on."""
        session = self._bound.pop(owner, None)
        self._forget_timer(owner)
        if session is not None:
            self._remember(owner)
            self._killed(cause)
            await session.close()
            self._freed.set()

    def _remember(self, owner: Owner) -> None:
        """Note that the next sandbox must say that the previous state is lost."""
        self._gone[owner] = None
        while len(self._gone) > _MOST_REMEMBERED:
            self._gone.popitem(last=False)

    def _killed(self, cause: str) -> None:
        if self._metrics is not None:
            self._metrics.sandbox_killed(cause)

    def _refill(self) -> None:
        """Create spare sandboxes in the background."""
        if self._is_closed or (self._refilling is not None and not self._refilling.done()):
            return
        self._refilling = asyncio.create_task(self._refill_quietly(), name="sandbox-refill")

    async def _refill_quietly(self) -> None:
        try:
            await self.warm()
        except DataAgentError:
            logger.exception("No sandbox could be made in advance")


def _no_workspace(_user_id: str) -> Path | None:
    return None
