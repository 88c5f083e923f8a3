"""The program as a process, with an environment of the test's own."""

from __future__ import annotations

import asyncio
import os
import subprocess
from dataclasses import dataclass

from tests.programs import quick
from tests.waiting import WAIT_SECONDS


@dataclass(frozen=True)
class Ended:
    """How it ended, and what it said."""

    code: int
    out: str
    err: str


def environment(**settings: str | None) -> dict[str, str]:
    """The process's own, with settings on top; None takes one out."""
    merged = {**os.environ, **settings}
    return {name: value for name, value in merged.items() if value is not None}


async def dataagent(*argv: str, piped: bytes = b"", **settings: str | None) -> Ended:
    """Run it to its end, while this process goes on being a server for it."""
    process = await asyncio.create_subprocess_exec(
        quick("dataagent"),
        *argv,
        env=environment(**settings),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    async with asyncio.timeout(WAIT_SECONDS):
        out, err = await process.communicate(piped)
    return Ended(process.returncode or 0, out.decode(), err.decode())
