"""Where attacks are made: a wall with sandboxes behind it, and what the host can see of them.

An attack is a piece of Python that tries something and prints one line of JSON about how far it
came; the test says what must not be in it, and looks from outside where inside cannot be trusted.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from dataagent_core.sandbox.pool import Sandboxes
from dataagent_core.sandbox.session import SandboxSession
from dataagent_core.sandbox.types import CodeResult
from tests.waiting import WAIT_SECONDS

_PROC = Path("/proc")
_DEAD = frozenset("ZX")


@dataclass(frozen=True)
class Bait:
    """What must not get into a sandbox: a word, where it lies, and sockets that would hear."""

    word: str
    path: Path
    variable: str
    port: int
    abstract: str
    socket: Path
    heard: list[str]


@dataclass(frozen=True)
class Ground:
    """A wall that is attacked."""

    sandboxes: Sandboxes
    bait: Bait

    @property
    def wall(self) -> str:
        return self.sandboxes.wall.name

    async def session(self, user: str = "mallory") -> SandboxSession:
        """The attacker's session, or that of another; whoever lost theirs gets a new one."""
        return await self.sandboxes.session(user, "t")


def armed(code: str, **facts: Any) -> str:
    """An attack that knows `FACTS`, and can say what it saw with `tell`."""
    return (
        "import json, os, sys\n"
        f"FACTS = json.loads({json.dumps(json.dumps(facts))})\n"
        "def tell(**seen): print(json.dumps(seen), flush=True)\n"
        f"{code}"
    )


def told(result: CodeResult) -> dict[str, Any]:
    """What the attack said last."""
    lines = [line for line in result.stdout.splitlines() if line.startswith("{")]
    assert lines, f"the attack said nothing: {result}"
    return json.loads(lines[-1])


async def attack(session: SandboxSession, code: str, **facts: Any) -> dict[str, Any]:
    """Run an attack to its end and return what it said."""
    result = await session.run_python(armed(code, **facts), timeout_seconds=20)
    assert result.status == "ok", result
    return told(result)


async def still_works(session: SandboxSession) -> None:
    """The session answers as if nothing had been tried."""
    result = await session.run_python("print(6 * 7)")
    assert (result.status, result.stdout.strip()) == ("ok", "42"), result


def mark() -> str:
    """A name for an attack's processes that the host can look for."""
    return f"atk-{uuid4().hex[:8]}"


MARKED = """
import ctypes
def marked():
    ctypes.CDLL(None).prctl(15, FACTS["mark"].encode(), 0, 0, 0)
"""
"""`marked()` gives the process, and all it forks, the name `FACTS["mark"]`.

A run that comes to a good end lives on as the state of the next one: only its children are marked.
"""


def marked(name: str) -> list[Path]:
    """The living processes of this machine with that name."""
    return [folder for folder in _processes() if _is_alive(folder, name)]


def memory_of(name: str) -> int:
    """Bytes that the processes of that name have for themselves alone."""
    return sum(_share(folder) for folder in marked(name))


async def until_marked(name: str, count: int = 1) -> None:
    """Wait until so many processes of that name live."""
    async with asyncio.timeout(WAIT_SECONDS):
        while len(marked(name)) < count:
            await asyncio.sleep(0.01)


async def until_none(name: str) -> None:
    """Wait until no process of that name lives."""
    async with asyncio.timeout(WAIT_SECONDS):
        while marked(name):
            await asyncio.sleep(0.01)


def command_lines() -> str:
    """All that this machine's process list shows."""
    shown: list[bytes] = []
    for folder in _processes():
        with suppress(OSError):
            shown.append((folder / "cmdline").read_bytes())
    return b"\n".join(shown).decode(errors="replace")


def _processes() -> Iterator[Path]:
    return (folder for folder in _PROC.iterdir() if folder.name.isdigit())


def _is_alive(folder: Path, name: str) -> bool:
    try:
        text = (folder / "stat").read_text()
    except OSError:
        return False
    return f"({name})" in text and text.rpartition(")")[2].split()[0] not in _DEAD


def _share(folder: Path) -> int:
    with suppress(OSError):
        for line in (folder / "smaps_rollup").read_text().splitlines():
            if line.startswith("Private_Dirty:"):
                return int(line.split()[1]) * 1024
    return 0
