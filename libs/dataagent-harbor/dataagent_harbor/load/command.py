"""`dataagent-harbor load`: users in steps or for a long time, and the report of it."""

from __future__ import annotations

import json
import re
import resource
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from itertools import cycle
from pathlib import Path
from typing import Any

import httpx

from dataagent_client import Backoff, DataAgentClient
from dataagent_harbor.arguments import HarborOptions
from dataagent_harbor.load.report import LoadReport, as_html, as_markdown, report_of
from dataagent_harbor.load.user import LoadUser, RestUser, SocketUser
from dataagent_harbor.load.virtual_users import Load, LoadPhase, VirtualUsers
from dataagent_harbor.questions import named_questions
from dataagent_harbor.run_command import say, write_forms

_RESIDENT = re.compile(r"^process_resident_memory_bytes ([0-9.e+]+)$", re.MULTILINE)


class ServerMemory:
    """The server's memory as its `/metrics` reports it. Use it as an async context manager."""

    def __init__(self, url: str, api_key: str | None) -> None:
        headers = {} if api_key is None else {"X-API-Key": api_key}
        self._http = httpx.AsyncClient(base_url=url, headers=headers, timeout=5)

    async def __aenter__(self) -> ServerMemory:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()

    async def read(self) -> int | None:
        """Resident bytes of the process that answers; None where `/metrics` is not open to us."""
        try:
            response = await self._http.get("/metrics")
        except httpx.HTTPError:
            return None
        match = _RESIDENT.search(response.text) if response.is_success else None
        return None if match is None else int(float(match[1]))


GOOD, NOT_GOOD = 0, 1
_USERS_A_CLIENT = 80  # httpx opens at most 100 connections at once
_PARTS = 60  # of a soak


async def load(options: HarborOptions) -> int:
    """Run the load, write its report, and return whether all was well as the exit status.

    Raises:
        BadQuestionSet: the set cannot be used.
        ClientError: the server cannot be reached, or the key is not valid.
    """
    load_options = Load(
        [each.question for each in named_questions(options.questions)],
        options.think,
        options.ramp,
        options.timeout,
    )
    allow_sockets(max(options.steps or [options.users]))
    async with AsyncExitStack() as stack:
        version = await _version(options)
        memory = await stack.enter_async_context(ServerMemory(options.url, options.api_key))
        make_user = await stack.enter_async_context(_users(options))
        virtual_users = await stack.enter_async_context(
            VirtualUsers(load_options, make_user, memory.read)
        )
        rest = await virtual_users.at_rest()
        phases = [each async for each in _phases(options, virtual_users)]
        users = virtual_users.users
    figures = [each.figures(think_seconds=options.think, rest_seconds=rest) for each in phases]
    report = report_of(
        figures,
        about=_about(options, version, rest),
        sequences=[each.sequence for each in users],
        is_soak=options.soak is not None,
    )
    write_forms(_forms(options, report))
    say(as_markdown(report))
    return GOOD if report["summary"]["is_good"] else NOT_GOOD


async def _version(options: HarborOptions) -> str:
    """The server's version; the request for sessions checks the key."""
    async with DataAgentClient(options.url, options.api_key) as client:
        await client.sessions(limit=1)
        return (await client.health()).version


async def _phases(options: HarborOptions, virtual_users: VirtualUsers) -> AsyncIterator[LoadPhase]:
    """Each step, or each part of a soak."""
    if options.soak is not None:
        await virtual_users.grow(options.users)
        for number in range(_PARTS):
            yield await virtual_users.watch(options.soak / _PARTS)
            say(f"soak: {number + 1} of {_PARTS}")
        return
    for users in options.steps or [options.users]:
        say(f"connecting {users} users")
        await virtual_users.grow(users)
        say(f"{users} users for {options.duration:g} s")
        yield await virtual_users.watch(options.duration)


@asynccontextmanager
async def _users(options: HarborOptions) -> AsyncGenerator[Callable[[], LoadUser]]:
    """A function that makes a user; REST users share clients, whose connections are bounded."""
    if options.mode == "ws":
        backoff = Backoff()
        yield lambda: SocketUser(options.url, options.api_key, backoff, options.assistant_id)
        return
    most = max(options.steps or [options.users])
    async with AsyncExitStack() as stack:
        clients = [
            await stack.enter_async_context(
                DataAgentClient(options.url, options.api_key, timeout_seconds=options.timeout)
            )
            for _ in range(most // _USERS_A_CLIENT + 1)
        ]
        turns = cycle(clients)
        yield lambda: RestUser(next(turns), options.assistant_id)


def allow_sockets(users: int) -> None:
    """Raise this process's limit of open files so that all users have a socket."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = users + 256
    if soft < wanted and soft != resource.RLIM_INFINITY:
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def _about(options: HarborOptions, version: str, rest_seconds: float) -> dict[str, Any]:
    return {
        "set": Path(options.questions).name,
        "server": options.url,
        "version": version,
        "mode": options.mode,
        "users": ", ".join(str(each) for each in options.steps or [options.users]),
        "think": f"{options.think:g} s",
        "answer_at_rest": f"{rest_seconds:.3f} s",
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _forms(
    options: HarborOptions, report: LoadReport
) -> tuple[tuple[Path | None, Callable[[], str]], ...]:
    return (
        (options.output, lambda: json.dumps(report, ensure_ascii=False, indent=1) + "\n"),
        (options.html, lambda: as_html(report)),
        (options.markdown, lambda: as_markdown(report)),
    )
