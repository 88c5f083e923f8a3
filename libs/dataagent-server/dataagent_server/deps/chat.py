"""Handles a chat request of any transport: starts its run, and reads the answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from typing import cast

from dataagent_core.errors import BadInput, Unavailable
from dataagent_core.events import HITLRequestEvent
from dataagent_core.identity import Principal
from dataagent_core.runs.service import RunService
from dataagent_core.runs.types import Entry, RunOptions, RunStatus, StartedRun
from dataagent_server.deps.container import Container
from dataagent_server.models.chat import ChatInput

DEFAULT_ASSISTANT = "agent"
MAX_MESSAGE_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class RunAnswer:
    """A run's events until it ended or began to wait for an approval."""

    status: RunStatus
    entries: list[Entry]


async def start_run(
    container: Container,
    caller: Principal,
    session_id: str | None,
    chat: ChatInput,
    *,
    creates_session: bool = False,
) -> StartedRun:
    """Commit the message and start its run, in a new session if need be and `creates_session`.

    Raises:
        BadInput: the message is too long, or names something unknown.
        FileNotFound: a file is not the caller's.
        SkillNotFound: the caller has no such skill with this agent.
        SessionNotFound: the session is not the caller's, or gone.
        SessionBusy: a run of the session is active.
        LimitReached: the caller sends too fast, or has too many runs.
        AgentNotFound: there is no such agent.
        AgentDisabled: the agent is switched off for the caller's tenant.
        Unavailable: the server is shutting down.
    """
    _check_accepted(container, chat)
    await container.rate.take(caller.user_id)
    return await container.core.runs.start(
        session_id,
        chat.message,
        owner=caller.user_id,
        client_message_id=chat.client_message_id,
        assistant_id=chat.assistant_id,
        options=RunOptions(
            file_ids=tuple(chat.file_ids or ()),
            skill=chat.skill,
            api_key_id=None if caller.credential_ref is None else caller.credential_ref.key_id,
            is_plan=chat.mode == "plan",
            deny=tuple(chat.deny or ()),
            max_tokens=chat.max_tokens,
            has_account=caller.credential_ref is not None,
            role=caller.role,
        ),
        creates_session=creates_session,
    )


def _check_accepted(container: Container, chat: ChatInput) -> None:
    """Refuse a message this server cannot accept.

    Raises:
        BadInput: the message is too long.
        Unavailable: the server is shutting down.
    """
    if container.is_draining:
        raise Unavailable("The server is shutting down. Try again in a moment.")
    if len(chat.message.encode()) > MAX_MESSAGE_BYTES:
        raise BadInput(
            f"A message has at most {MAX_MESSAGE_BYTES} bytes. Send less, or upload a file."
        )


async def read_answer_until_closing(container: Container, started: StartedRun) -> RunAnswer:
    """As `read_answer`, until this process shuts down while another executes the run.

    Raises:
        Unavailable: the server is shutting down; the run goes on.
    """
    reading = read_answer(container.core.runs, started)
    if container.core.peers.queue is None:  # this process waits for its own runs
        return await reading
    answer = asyncio.create_task(reading)
    closing = asyncio.create_task(container.closing.wait())
    try:
        await asyncio.wait({answer, closing}, return_when=asyncio.FIRST_COMPLETED)
        if answer.done():
            return answer.result()
    finally:
        for task in (answer, closing):
            task.cancel()
        await asyncio.wait({answer, closing})
    raise Unavailable(
        "This server process is shutting down. The run goes on; read it under /api/v1/runs.",
        details={"run_id": started.run.run_id, "session_id": started.run.session_id},
    )


async def read_answer(runs: RunService, started: StartedRun) -> RunAnswer:
    """Read a run from its beginning to its end, or to the point where a person must decide."""
    run = started.run
    entries: list[Entry] = []
    requested: set[str] = set()
    stream = runs.read(run.run_id, after=started.after)
    async with aclosing(
        cast("AsyncGenerator[Entry]", stream)
    ):  # an `async def` with `yield` is one
        async for entry in stream:
            entries.append(entry)
            if entry.event_type == "hitl_request" and isinstance(entry.event, HITLRequestEvent):
                requested.add(entry.event.request_id)
                view = await runs.get(run.run_id, owner=run.user_id)
                open_requests = {approval.request_id for approval in view.pending}
                if view.run.status == "waiting" and open_requests <= requested:
                    return RunAnswer("waiting", entries)
    view = await runs.get(run.run_id, owner=run.user_id)
    return RunAnswer(view.run.status, entries)
