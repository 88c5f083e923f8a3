"""The runs of a process: start, cancel, decide, read. Every door calls these and nothing else.

A message is committed together with its run before `start` returns; from then on the run belongs to
`worker.py`, not to whoever asked. Ownership is checked here for runs, in `session/` for sessions.
"""

from __future__ import annotations

import asyncio
import re
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass

from dataagent_core.errors import BadInput, NothingToCancel, RunNotFound
from dataagent_core.hitl import Decision
from dataagent_core.runs.ledger import Ledger, is_done
from dataagent_core.runs.store import RunStore
from dataagent_core.runs.types import Approval, Entry, NewRun, Run
from dataagent_core.runs.worker import Worker
from dataagent_core.session import SessionManager, now

_CANCEL_WAIT_SECONDS = 5.0
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_ASSISTANT_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
MAX_MESSAGE_CHARACTERS = 1_000_000


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What a caller may choose for one run."""

    auto_approve: bool | None = None


@dataclass(frozen=True, slots=True)
class Started:
    """The outcome of `start`. Events of the run have a `seq` above `after`."""

    run: Run
    after: int
    is_new: bool


@dataclass(frozen=True, slots=True)
class RunView:
    """A run and what it waits for."""

    run: Run
    pending: list[Approval]


class RunService:
    """One message, one run."""

    def __init__(
        self, store: RunStore, sessions: SessionManager, ledger: Ledger, worker: Worker
    ) -> None:
        self._store = store
        self._sessions = sessions
        self._ledger = ledger
        self._worker = worker

    async def start(
        self,
        session_id: str,
        message: str,
        *,
        owner: str,
        client_message_id: str | None = None,
        assistant_id: str | None = None,
        options: RunOptions | None = None,
    ) -> Started:
        """Commit the message with its run, begin to answer it, and return once it is on the disk.

        The same `client_message_id` twice is one run.

        Raises:
            SessionNotFound: the session is not the owner's.
            SessionBusy: a run of it is active.
            BadInput: the message is empty, too long, or has characters that cannot be kept.
        """
        check_message(message, client_message_id, assistant_id)
        session = await self._sessions.get(session_id, owner=owner)
        new = NewRun(
            run_id=str(uuid.uuid4()),
            session_id=session_id,
            user_id=owner,
            assistant_id=assistant_id or session.assistant_id,
            message_id=str(uuid.uuid4()),
            answer_id=str(uuid.uuid4()),
            content=message,
            created_at=now(),
            client_message_id=client_message_id,
            input={"message": message, **_chosen(options)},
        )
        opened = await self._store.open(
            new, worker=self._worker.name, lease_until=self._worker.lease_until()
        )
        if opened.is_new:
            self._worker.begin(opened.run, opened.last_seq)
        await self._store.settle()
        return Started(opened.run, opened.last_seq if opened.is_new else 0, opened.is_new)

    async def get(self, run_id: str, *, owner: str) -> RunView:
        """The owner's run and its pending approvals.

        Raises:
            RunNotFound: there is none, or it is another user's.
        """
        run = await self._owned(run_id, owner)
        pending = await self._store.approvals(run_id, pending_only=True) if run.is_active else []
        return RunView(run, pending)

    async def active_run(self, session_id: str) -> Run | None:
        """The session's active run, if any."""
        return await self._store.active_run(session_id)

    async def last_seq(self, session_id: str) -> int:
        """The session's highest `seq`."""
        return await self._store.last_seq(session_id)

    async def cancel(self, run_id: str, *, owner: str) -> Run:
        """Stop a run and wait for its end. An ended run stays as it is.

        Raises:
            RunNotFound: as `get`.
        """
        run = await self._owned(run_id, owner)
        if run.is_active:
            await self._stop(run)
        return await self._owned(run_id, owner)

    async def cancel_session(self, session_id: str, *, owner: str) -> Run:
        """Stop the session's active run.

        Raises:
            SessionNotFound: the session is not the owner's.
            NothingToCancel: it has no active run.
        """
        await self._sessions.get(session_id, owner=owner)
        run = await self._store.active_run(session_id)
        if run is None:
            raise NothingToCancel(f"Session {session_id} has no active run.")
        await self._stop(run)
        return await self._owned(run.run_id, owner)

    async def decide(
        self, run_id: str, request_id: str, decision: Decision, *, owner: str
    ) -> Approval:
        """Answer an approval request. The same answer twice is one.

        Raises:
            RunNotFound, RequestNotFound: no such run or request of the owner's.
            AlreadyDecided: it has another answer, or the run has ended.
            BadDecision: the request does not allow this answer.
        """
        run = await self._owned(run_id, owner)
        return await self._worker.approvals.decide(run, request_id, decision)

    async def read(self, run_id: str, *, after: int = 0) -> AsyncIterator[Entry]:
        """The run's entries after a `seq`, live, until its end.

        Raises:
            RunNotFound: there is no such run.
        """
        run = await self._store.get(run_id)
        if run is None:
            raise RunNotFound(f"There is no run {run_id[:80]!r}.")
        if not run.is_active:
            for entry in await self._store.read_run(run_id):
                if entry.seq > after:
                    yield entry
            return
        async for burst in self._ledger.follow(run.session_id, after=after):
            for entry in burst:
                if entry.run_id != run_id:
                    continue
                yield entry
                if is_done(entry):
                    return

    async def follow(
        self, session_id: str, *, owner: str, after: int = 0
    ) -> AsyncIterator[list[Entry]]:
        """The session's entries after a `seq`, in bursts, for as long as the reader stays.

        Raises:
            SessionNotFound: the session is not the owner's.
        """
        await self._sessions.get(session_id, owner=owner)
        async for burst in self._ledger.follow(session_id, after=after):
            yield burst

    async def forget(self, session_id: str, *, owner: str) -> None:
        """Stop what runs in a session and delete it with its history.

        Raises:
            SessionNotFound: the session is not the owner's.
        """
        await self._sessions.get(session_id, owner=owner)
        run = await self._store.active_run(session_id)
        if run is not None:
            await self._stop(run)
        await self._sessions.delete(session_id, owner=owner)

    async def _stop(self, run: Run) -> None:
        ended = self._worker.cancel(run.run_id)
        if ended is None:
            await self._store.request_cancel(run.run_id)
            return
        async with asyncio.timeout(_CANCEL_WAIT_SECONDS):
            await ended

    async def _owned(self, run_id: str, owner: str) -> Run:
        run = await self._store.get(run_id)
        if run is None or run.user_id != owner:
            raise RunNotFound(f"There is no run {run_id[:80]!r}.")
        return run


def _chosen(options: RunOptions | None) -> dict[str, bool]:
    if options is None or options.auto_approve is None:
        return {}
    return {"auto_approve": options.auto_approve}


def check_message(
    message: str, client_message_id: str | None = None, assistant_id: str | None = None
) -> None:
    """Refuse what no store could keep.

    Raises:
        BadInput: as `RunService.start`.
    """
    if not message.strip():
        raise BadInput("The message is empty.")
    if len(message) > MAX_MESSAGE_CHARACTERS:
        raise BadInput(
            f"The message has {len(message)} characters; at most {MAX_MESSAGE_CHARACTERS} are "
            "taken. Upload long material as a file."
        )
    if _UNSTORABLE.search(message):
        raise BadInput("The message has characters that cannot be kept (NUL or lone surrogates).")
    if client_message_id is not None and (
        not 0 < len(client_message_id) <= 128 or _UNSTORABLE.search(client_message_id)
    ):
        raise BadInput("A client_message_id has 1 to 128 ordinary characters.")
    if assistant_id is not None and not _ASSISTANT_ID.fullmatch(assistant_id):
        raise BadInput("An assistant_id has 1 to 64 letters, digits, '_', '.' or '-'.")
