"""A process that is Harbor, or a bare asyncio client: `python -m bench.n_harbor_side`.

`run` and `load` are Harbor's: they send questions in so many conversations, each every `cycle`
seconds, evenly spaced. `watch` only listens to some of them. All report when they had the first
text and the end of each answer, by the machine's one clock.
"""

from __future__ import annotations

import asyncio
import os
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from time import monotonic
from typing import Any

import orjson
from aiohttp import ClientSession, WSMsgType

from bench.clients import HEADERS, client_options
from bench.meter import Meter
from bench.processes import KEY, Json, answer_lines
from dataagent_client import Backoff, DataAgentClient
from dataagent_harbor.asker import Asker
from dataagent_harbor.load.user import SocketUser

Times = tuple[str, float, float]  # a run, when its first text came, when it was over
Ask = Callable[[], Awaitable[Times]]
_TICK_SECONDS = 0.02
_WATCH_SECONDS = 300.0
_TEXT, _DONE = '{"event_type":"text"', '{"event_type":"done"'


async def handle(command: Json) -> Json:
    """Execute a command: `run`, `load` or `watch`."""
    match command.pop("do"):
        case "run":
            return await stream_answers(_run, **command)
        case "load":
            return await stream_answers(_load, **command)
        case "watch":
            return await watch(**command)
        case unknown:
            raise ValueError(f"There is no command {unknown!r}.")


async def stream_answers(
    side: Callable[[str, str, list[str]], Any],  # an async context manager of `Ask`s
    *,
    url: str,
    message: str,
    sessions: list[str],
    cycle: float,
    turns: int,
) -> Json:
    """So many answers in each conversation, of which the first is not counted."""
    answers: dict[str, list[float]] = {}
    lags: list[float] = []
    async with side(url, message, sessions) as asks:
        start = monotonic()
        begin, end = start + cycle, start + cycle * turns

        async def stream(number: int, ask: Ask) -> None:
            due = start + cycle * number / len(sessions)
            for turn in range(turns):
                await asyncio.sleep(max(0.0, due + cycle * turn - monotonic()))
                run_id, first, over = await ask()
                if turn > 0:
                    answers[run_id] = [first, over]

        work = asyncio.gather(*(stream(number, each) for number, each in enumerate(asks)))
        await asyncio.sleep(begin - monotonic())
        own = Meter(os.getpid())
        own.start()
        while monotonic() < end:
            due = monotonic() + _TICK_SECONDS
            await asyncio.sleep(_TICK_SECONDS)
            lags.append(monotonic() - due)
        sample = own.stop(1)
        await work
    cpu, beside = sample.cpu / sample.wall, sample.foreign
    return {"answers": answers, "lags": lags, "cpu": cpu, "beside": beside}


@asynccontextmanager
async def _run(url: str, message: str, sessions: list[str]) -> AsyncGenerator[list[Ask]]:
    """Harbor's `run`: a connection for each question."""
    async with DataAgentClient(url, KEY) as client:
        asker = Asker(client)

        def asking(session_id: str) -> Ask:
            async def ask() -> Times:
                due = monotonic()
                result = await asker.ask(message, session_id, message_id=str(uuid.uuid4()), due=due)
                if result.end != "answered" or result.run_id is None:
                    raise RuntimeError(f"a question ended as {result.end}: {result.detail}")
                return (
                    result.run_id,
                    due + (result.first_token_seconds or 0.0),
                    due + result.seconds,
                )

            return ask

        yield [asking(session_id) for session_id in sessions]


@asynccontextmanager
async def _load(url: str, message: str, sessions: list[str]) -> AsyncGenerator[list[Ask]]:
    """Harbor's `load`: users whose sockets stay open."""
    users = [SocketUser(url, KEY, Backoff()) for _ in sessions]

    def asking(user: SocketUser) -> Ask:
        async def ask() -> Times:
            turn = await user.ask(message, 60.0)
            if turn.problem or turn.run_id is None or user.sequence.gaps or user.sequence.doubles:
                raise RuntimeError(f"a turn ended as {turn.problem!r}, {user.sequence}")
            return turn.run_id, turn.first or turn.ended, turn.ended

        return ask

    try:
        for user, session_id in zip(users, sessions, strict=True):
            user.session_id = session_id
            await user.enter()
        yield [asking(user) for user in users]
    finally:
        await asyncio.gather(*(user.leave() for user in users))


async def watch(*, url: str, sessions: list[str], turns: int) -> Json:
    """Listen to so many answers in each conversation."""
    answers: dict[str, list[float]] = {}
    async with ClientSession(**client_options()) as http:

        async def listen(session_id: str) -> None:
            address = f"{url}/ws/chat/{session_id}"
            first: float | None = None
            finished = 0
            async with http.ws_connect(address, headers=HEADERS, max_msg_size=0) as socket:
                async for event in socket:
                    now = monotonic()
                    if event.type is not WSMsgType.TEXT:
                        raise RuntimeError(f"The socket closed: {event}")
                    if first is None and event.data.startswith(_TEXT):
                        first = now
                    elif event.data.startswith(_DONE):
                        answers[orjson.loads(event.data)["run_id"]] = [first or now, now]
                        first, finished = None, finished + 1
                        if finished == turns:
                            return

        async with asyncio.timeout(_WATCH_SECONDS):
            await asyncio.gather(*(listen(session_id) for session_id in sessions))
    return {"answers": answers}


def main() -> None:
    """Answer commands until stdin ends, on asyncio's own loop as the program does."""
    answer_lines(handle, asyncio.new_event_loop, AsyncExitStack())


if __name__ == "__main__":
    main()
