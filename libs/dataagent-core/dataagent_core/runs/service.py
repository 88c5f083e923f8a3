"""The public interface to runs: start, cancel, decide, read. Every transport calls these functions.

A message is committed together with its run before `start` returns; from then on the run no longer
depends on the caller. Ownership is checked here for runs, in `session/` for sessions.
"""

from __future__ import annotations

import asyncio
import re
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TypeVar

from dataagent_core.agents import GENERAL_ALIAS, AgentRegistry
from dataagent_core.errors import (
    BadInput,
    DataAgentError,
    NothingToCancel,
    RunNotFound,
    SessionNotFound,
)
from dataagent_core.hitl import Decision
from dataagent_core.runs.admission import Admission
from dataagent_core.runs.agents import SkillService
from dataagent_core.runs.execution import Worker
from dataagent_core.runs.history import History, load_items
from dataagent_core.runs.ledger import Ledger, is_done
from dataagent_core.runs.message_resolver import MessageResolver, ResolvedMessage
from dataagent_core.runs.store import RunStore
from dataagent_core.runs.types import (
    Approval,
    Entry,
    NewRun,
    Run,
    RunInput,
    RunOptions,
    StartedRun,
)
from dataagent_core.session import DEFAULT_TITLE, Session, SessionManager, now, title_of
from dataagent_core.workspace import FileStore

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_ASSISTANT_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
MAX_MESSAGE_CHARACTERS = 1_000_000
_MAX_COUNTED = 1_000
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RunView:
    """A run and its pending approvals."""

    run: Run
    pending: list[Approval]


class RunService:
    """Starts, stops and reads runs on behalf of users."""

    def __init__(
        self,
        store: RunStore,
        sessions: SessionManager,
        ledger: Ledger,
        worker: Worker,
        admission: Admission | None = None,
        *,
        files: FileStore | None = None,
        skills: SkillService | None = None,
        agents: AgentRegistry | None = None,
        on_soft_delete: Callable[[str], None] | None = None,
    ) -> None:
        """`on_soft_delete` is called with each soft-deleted session once nothing runs in it."""
        self._store = store
        self._sessions = sessions
        self._ledger = ledger
        self._worker = worker
        self._admission = admission or Admission()
        self._on_soft_delete = on_soft_delete
        self._resolver = MessageResolver(self._admission, files=files, skills=skills, agents=agents)

    async def start(
        self,
        session_id: str | None,
        message: str,
        *,
        owner: str,
        client_message_id: str | None = None,
        assistant_id: str | None = None,
        options: RunOptions | None = None,
        creates_session: bool = False,
    ) -> StartedRun:
        """Commit the message with its run, start answering it, and return once it is durable.

        The same `client_message_id` twice is one run, found even if a limit is reached since. With
        `creates_session` an id that is not known, or None, starts a new session; a message that is
        refused creates none.

        Raises:
            SessionNotFound: the session is not the owner's.
            SessionDeleted: a new session was to have the id of a deleted one.
            SessionBusy: a run of it is active.
            BadInput: the message is empty, too long, or has characters that cannot be stored.
            FileNotFound: a file is not the owner's.
            SkillNotFound: the owner has no such skill with this agent.
            AgentNotFound: there is no such agent, or it was deleted.
            AgentDisabled: the owner's tenant has the agent off.
            TooManyRuns, QueueFull, BudgetExhausted, UserLimit: a limit is reached.
        """
        check_message(message, client_message_id, assistant_id)
        options = options or RunOptions()
        session = await self._find_session(session_id, owner, may_be_new=creates_session)
        try:
            resolved = await self._resolver.resolve(
                message,
                assistant_id or (GENERAL_ALIAS if session is None else session.assistant_id),
                owner=owner,
                file_ids=options.file_ids,
                skill=options.skill,
            )
            with self._admission.reserve(owner):
                session = session or await self._sessions.get_or_create_session(
                    owner, assistant_id or GENERAL_ALIAS, session_id
                )
                new = self._new_run(session, message, resolved, options)
                if assistant_id is not None:
                    new.metadata["assistant_id"] = assistant_id
                return await self._open(
                    replace(
                        new,
                        client_message_id=client_message_id,
                        title=title_of(message) if session.title == DEFAULT_TITLE else None,
                    )
                )
        except DataAgentError:
            if session is None or client_message_id is None:
                raise
            earlier = await self._store.find_by_client_id(session.session_id, client_message_id)
            if earlier is None:
                raise
            return StartedRun(earlier, 0, is_new=False)

    async def compact(
        self, session_id: str, *, owner: str, keep: str = "", options: RunOptions | None = None
    ) -> StartedRun:
        """Summarise the older part of a session's thread, as a run of its own.

        The model sees the summary from then on; the user's history stays complete. `keep` names
        what the summary should not leave out.

        Raises:
            SessionNotFound, SessionBusy, AgentNotFound, AgentDisabled: as `start`.
            TooManyRuns, QueueFull, BudgetExhausted: as `start`.
            BadInput: `keep` is too long, or has characters that cannot be stored.
        """
        message = f"/compact {keep}".strip()
        check_message(message)
        session = await self._sessions.get(session_id, owner=owner)
        tenant_id = await self._resolver.admit(owner, session.assistant_id)
        run_input = RunInput(message=message, compact=keep, tenant_id=tenant_id)
        resolved = ResolvedMessage(session.assistant_id, run_input)
        with self._admission.reserve(owner):
            return await self._open(
                self._new_run(session, message, resolved, options or RunOptions())
            )

    async def _find_session(
        self, session_id: str | None, owner: str, *, may_be_new: bool
    ) -> Session | None:
        """The owner's session; None for one that is to be created."""
        if session_id is None and may_be_new:
            return None
        try:
            return await self._sessions.get(session_id or "", owner=owner)
        except SessionNotFound:
            if may_be_new:  # if it is another user's, it cannot be created either
                return None
            raise

    def _new_run(
        self, session: Session, message: str, resolved: ResolvedMessage, options: RunOptions
    ) -> NewRun:
        return NewRun(
            run_id=str(uuid.uuid4()),
            session_id=session.session_id,
            user_id=session.user_id,
            assistant_id=resolved.assistant_id,
            message_id=str(uuid.uuid4()),
            answer_id=str(uuid.uuid4()),
            content=message,
            created_at=now(),
            limits=self._admission.limits,
            input=options.apply_to(resolved.input),
            metadata=resolved.metadata,
        )

    async def _open(self, new: NewRun) -> StartedRun:
        opened = await self._worker.open(new)
        await self._store.settle()
        return StartedRun(opened.run, opened.last_seq if opened.is_new else 0, opened.is_new)

    async def get(self, run_id: str, *, owner: str) -> RunView:
        """The owner's run and its pending approvals.

        Raises:
            RunNotFound: there is none, or it is another user's.
        """
        run = await self._get_owned(run_id, owner)
        pending = await self._store.approvals(run_id, pending_only=True) if run.is_active else []
        return RunView(run, pending)

    async def active_run(self, session_id: str) -> Run | None:
        """The session's active run, if any."""
        return await self._store.active_run(session_id)

    async def last_seq(self, session_id: str) -> int:
        """The session's highest `seq`."""
        return await self._store.last_seq(session_id)

    async def queue_depth(self) -> int:
        """How many runs wait for a worker; a thousand stands for more."""
        return len(await self._store.queued(now(), limit=_MAX_COUNTED))

    async def cancel(self, run_id: str, *, owner: str) -> Run:
        """Stop a run and wait for its end. An ended run stays as it is.

        Raises:
            RunNotFound: as `get`.
        """
        run = self._worker.find_run(owner, run_id=run_id) or await self._get_owned(run_id, owner)
        if run.is_active:
            await self._worker.stop(run)
        return await self._get_owned(run_id, owner)

    async def cancel_session(self, session_id: str, *, owner: str) -> Run:
        """Stop the session's active run.

        Raises:
            SessionNotFound: the session is not the owner's.
            NothingToCancel: it has no active run.
        """
        run = self._worker.find_run(owner, session_id=session_id)
        if run is None:
            await self._sessions.get(session_id, owner=owner)
            run = await self._store.active_run(session_id)
        if run is None:
            raise NothingToCancel("No active chat found for this session")
        await self._worker.stop(run)
        return await self._get_owned(run.run_id, owner)

    async def cancel_all(self, user_id: str) -> None:
        """Stop every run of a user, in whichever process it is, and wait for their ends."""
        active = await self._store.active_of_user(user_id)
        await asyncio.gather(*(self._worker.stop(run) for run in active))

    async def decide(
        self, run_id: str, request_id: str, decision: Decision, *, owner: str
    ) -> Approval:
        """Decide an approval request. The same decision twice is one.

        Raises:
            RunNotFound, RequestNotFound: no such run or request of the owner's.
            AlreadyDecided: it has another decision, or the run has ended.
            BadDecision: the request does not allow this decision.
        """
        run = await self._get_owned(run_id, owner)
        return await self._worker.approvals.decide(run, request_id, decision)

    async def read(self, run_id: str, *, after: int = 0) -> AsyncIterator[Entry]:
        """The run's entries after a `seq`, live, until its end.

        Raises:
            RunNotFound: there is no such run.
            SessionDeleted: its session was deleted before its end.
        """
        run = await self._read_unless_deleted(lambda: self._store.get(run_id))
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
            SessionDeleted: it was deleted meanwhile.
        """
        await self._read_unless_deleted(lambda: self._sessions.get(session_id, owner=owner))
        async for burst in self._ledger.follow(session_id, after=after):
            yield burst

    async def _read_unless_deleted(self, read: Callable[[], Awaitable[T]]) -> T:
        """Read the store, repeating the read if a session was deleted during it.

        Otherwise a reader could begin just after the readers of its session were ended.
        """
        while True:
            generation = self._ledger.generation
            result = await read()
            if generation == self._ledger.generation:
                return result

    async def history(
        self, session_id: str, *, owner: str, limit: int = 1000, offset: int | None = None
    ) -> History:
        """A page of a session's messages with the events of their runs; by default the last page.

        Raises:
            SessionNotFound: the session is not the owner's.
        """
        last_seq = await self._store.last_seq(session_id)
        messages, total = await self._sessions.messages(
            session_id, owner=owner, limit=limit, offset=offset
        )
        items = await load_items(self._store, session_id, messages)
        seen = [each.entries[-1].seq for each in items if each.entries]
        return History(items, total, max(last_seq, *seen, 0))

    async def find_resumable(
        self, session_id: str, *, owner: str, after: int, client_message_id: str | None = None
    ) -> Run | None:
        """The run to continue reading for a client that has seen everything up to a `seq`.

        It is the run of the client's message, or else that of the next entry; None if there is
        neither a later entry nor an active run. Starts nothing.

        Raises:
            SessionNotFound: the session is not the owner's.
            RunNotFound: no such message of the client was accepted.
        """
        await self._sessions.get(session_id, owner=owner)
        if client_message_id is not None:
            run = await self._store.find_by_client_id(session_id, client_message_id)
            if run is None:
                raise RunNotFound(
                    "There is nothing to continue: this message was never accepted. Send it "
                    "without Last-Event-ID."
                )
            return run
        following = await self._store.read(session_id, after=after, limit=1)
        if following:
            return await self._store.get(following[0].run_id)
        return await self._store.active_run(session_id)

    async def soft_delete(self, session_id: str, *, owner: str) -> None:
        """Delete a session so that `SessionManager.restore` can undo it; stop its active run.

        Raises:
            SessionNotFound: the session is not the owner's.
        """
        await self._sessions.soft_delete(session_id, owner=owner)
        run = await self._store.active_run(session_id)  # no new run can be opened now
        if run is not None:
            await self._worker.stop(run)
        if self._on_soft_delete is not None:
            self._on_soft_delete(session_id)

    async def delete_permanently(self, session_id: str, *, owner: str) -> None:
        """Stop the active run of a session and delete it for good, with history and artefacts.

        Raises:
            SessionNotFound: the session is not the owner's.
        """
        await self.soft_delete(session_id, owner=owner)
        await self._sessions.delete(session_id, owner=owner)

    async def _get_owned(self, run_id: str, owner: str) -> Run:
        run = await self._store.find(run_id)
        if run is None or run.user_id != owner:
            raise RunNotFound(f"There is no run {run_id[:80]!r}.")
        return run


def check_message(
    message: str, client_message_id: str | None = None, assistant_id: str | None = None
) -> None:
    """Refuse a message that no store could hold.

    Raises:
        BadInput: as `RunService.start`.
    """
    if not message.strip():
        raise BadInput("The message is empty.")
    if len(message) > MAX_MESSAGE_CHARACTERS:
        raise BadInput(
            f"The message has {len(message)} characters; at most {MAX_MESSAGE_CHARACTERS} are "
            "accepted. Upload long material as a file."
        )
    if _UNSTORABLE.search(message):
        raise BadInput("The message has characters that cannot be stored (NUL or lone surrogates).")
    if client_message_id is not None and (
        not 0 < len(client_message_id) <= 128 or _UNSTORABLE.search(client_message_id)
    ):
        raise BadInput("A client_message_id has 1 to 128 ordinary characters.")
    if assistant_id is not None and not _ASSISTANT_ID.fullmatch(assistant_id):
        raise BadInput("An assistant_id has 1 to 64 letters, digits, '_', '.' or '-'.")
