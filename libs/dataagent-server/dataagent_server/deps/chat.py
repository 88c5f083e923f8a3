"""A chat request, from any door: its session, the run it starts, the answer it gets."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from typing import cast

from dataagent_core.errors import BadInput, Unavailable
from dataagent_core.events import HITLRequestEvent
from dataagent_core.identity import Principal
from dataagent_core.runs.service import RunService, Started
from dataagent_core.runs.types import Entry, RunStatus
from dataagent_core.session import Session
from dataagent_server.deps.container import Container
from dataagent_server.models.chat import ChatInput, ChatRequest

DEFAULT_ASSISTANT = "agent"


@dataclass(frozen=True, slots=True)
class Answer:
    """What a run said until it ended or began to wait for an approval."""

    status: RunStatus
    entries: list[Entry]


async def session_for(container: Container, caller: Principal, request: ChatRequest) -> Session:
    """The session a request names, a new one under a fresh UUID, or a new one.

    Raises:
        SessionNotFound: the session is not the caller's.
    """
    return await container.core.sessions.get_or_create_session(
        caller.user_id, request.assistant_id or DEFAULT_ASSISTANT, request.session_id
    )


async def start_run(
    container: Container, caller: Principal, session_id: str, chat: ChatInput
) -> Started:
    """Commit the message and start its run.

    Raises:
        BadInput: the message is too long, or names what is not there.
        SessionNotFound: the session is not the caller's, or gone.
        SessionBusy: a run of the session is active.
        Unavailable: the server is shutting down.
    """
    if container.is_draining:
        raise Unavailable("The server is shutting down. Try again in a moment.")
    limit = container.settings.max_message_bytes
    if len(chat.message.encode()) > limit:
        raise BadInput(f"A message has at most {limit} bytes. Send less, or upload a file.")
    if chat.file_ids:
        raise BadInput(f"file_ids: there is no file {chat.file_ids[0]!r}.")
    if chat.skill is not None:
        raise BadInput(f"skill: there is no skill {chat.skill!r}.")
    return await container.core.runs.start(
        session_id,
        chat.message,
        owner=caller.user_id,
        client_message_id=chat.client_message_id,
        assistant_id=chat.assistant_id,
    )


async def answer_of(runs: RunService, started: Started) -> Answer:
    """Read a run from its beginning to its end, or to the point where a person must decide."""
    run = started.run
    entries: list[Entry] = []
    asked: set[str] = set()
    stream = runs.read(run.run_id, after=started.after)
    async with aclosing(
        cast("AsyncGenerator[Entry]", stream)
    ):  # an `async def` with `yield` is one
        async for entry in stream:
            entries.append(entry)
            if entry.event_type == "hitl_request" and isinstance(entry.event, HITLRequestEvent):
                asked.add(entry.event.request_id)
                view = await runs.get(run.run_id, owner=run.user_id)
                open_requests = {approval.request_id for approval in view.pending}
                if view.run.status == "waiting" and open_requests <= asked:
                    return Answer("waiting", entries)
    view = await runs.get(run.run_id, owner=run.user_id)
    return Answer(view.run.status, entries)
