"""The stores of one kind, together, and the plain data tests put into them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import uuid4

from dataagent_core.events import TextEvent, event_to_wire
from dataagent_core.hitl import ActionRequest
from dataagent_core.runs.store import RunStore
from dataagent_core.runs.stores.factory import open_run_store
from dataagent_core.runs.types import Approval, Batch, Ending, NewRun, OpenedRun, Run
from dataagent_core.session import ConversationStore, MessageStore
from dataagent_core.session.stores.factory import open_session_store
from dataagent_core.session.stores.memory import MemoryData
from dataagent_core.session.types import Session, now
from dataagent_core.storage import Database, open_database
from dataagent_core.storage.redis import open_redis
from tests.services import redis_url

LEASE = timedelta(seconds=30)


@dataclass(frozen=True, slots=True)
class Stores:
    """The stores of a conversation."""

    kind: str
    sessions: ConversationStore
    messages: MessageStore
    runs: RunStore
    database: Database | None = None

    async def session(self, user_id: str = "alice", assistant_id: str = "agent") -> Session:
        """A new session."""
        return await self.sessions.create(user_id, assistant_id)

    async def running(self, session: Session | None = None) -> Run:
        """A run that a worker `w1` has, in a new session unless one is given."""
        session = session or await self.session()
        return (await self.opened(new_run(session.session_id))).run

    async def opened(self, new: NewRun, worker: str = "w1") -> OpenedRun:
        """The result of `open` for a worker with a lease."""
        return await self.runs.open(new, worker=worker, lease_until=now() + LEASE)

    async def taken_over(self, run: Run, worker: str = "w2") -> Run:
        """The same run, claimed by another worker after the lease has ended."""
        await self.runs.renew(run.lease_owner or "", [run.run_id], now() - LEASE)
        taken = await self.runs.claim(run.run_id, worker=worker, lease_until=now() + LEASE)
        assert taken is not None
        return taken


@asynccontextmanager
async def open_stores(kind: str, place: str, **pool: int) -> AsyncGenerator[Stores]:
    """The stores of a kind; `place` is the database's URL, Redis's prefix, or nothing.

    `pool` are the sizes `open_database` takes.
    """
    data = MemoryData()
    space = open_redis(redis_url(), prefix=place)
    database = None if kind in {"memory", "redis"} else open_database(place, **pool)
    sessions = open_session_store(kind, memory=data, database=database, redis=space)
    runs = open_run_store(kind, memory=data, database=database, redis=space)
    try:
        yield Stores(kind, sessions, sessions.messages, runs, database)
    finally:
        await space.close()
        if database is not None:
            await database.close()


def new_run(session_id: str, content: str = "How many?", **values: Any) -> NewRun:
    """A message to answer, with fresh ids."""
    fresh: dict[str, Any] = {
        "run_id": str(uuid4()),
        "session_id": session_id,
        "user_id": "alice",
        "assistant_id": "agent",
        "message_id": str(uuid4()),
        "answer_id": str(uuid4()),
        "content": content,
        "created_at": now(),
    }
    return NewRun(**{**fresh, **values})


def batch(run: Run, first_seq: int, texts: Sequence[str] = ("a", "b")) -> Batch:
    """A batch of text events of a run."""
    wires = tuple(
        event_to_wire(TextEvent(content=text), seq=first_seq + i, run_id=run.run_id)
        for i, text in enumerate(texts)
    )
    last_seq = first_seq + len(wires) - 1
    return Batch(run.session_id, run.run_id, run.attempt, first_seq, last_seq, wires)


def ending(content: str = "42", **values: Any) -> Ending:
    """A good end."""
    usual: dict[str, Any] = {
        "status": "done",
        "message_status": "complete",
        "content": content,
        "ended_at": now(),
    }
    return Ending(**{**usual, **values})


def approval(run: Run, request_id: str = "call-1") -> Approval:
    """A request that waits for a person."""
    return Approval(
        request_id=request_id,
        run_id=run.run_id,
        session_id=run.session_id,
        action=ActionRequest("write_file", {"path": "a.txt"}, "Write a.txt", request_id),
        allowed=("approve", "reject", "edit"),
        created_at=now(),
        expires_at=now() + timedelta(minutes=5),
    )
