"""Which wall this machine can build: asked in order, and with the reasons if it is none.

Fails closed: where no wall stands, code is not run, and whoever asked is told what each one lacked
and how to mend it. Nothing here falls back to a process without a wall. Above: `factory.py`. Below:
the walls.
"""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Sequence
from pathlib import Path

from dataagent_core.errors import SandboxUnavailable
from dataagent_core.sandbox.types import SandboxHome, SandboxLimits, Wall, WallProcess

logger = logging.getLogger(__name__)
_SELF_TEST = ("--unshare-all", "--ro-bind", "/", "/", "true")
_SELF_TEST_SECONDS = 10.0
INSTALL_BWRAP = "Install it: apt-get install bubblewrap (as root)."
ALLOW_NAMESPACES = (
    "Allow unprivileged user namespaces: sysctl kernel.apparmor_restrict_unprivileged_userns=0, or "
    "give bubblewrap an AppArmor profile; in a container, a seccomp profile that lets it."
)


class FirstWall:
    """The first of several walls that can be built; which one is found out at its first use."""

    def __init__(self, walls: Sequence[Wall], *, hint: str) -> None:
        """`hint` ends the sentence that says that none can."""
        self._walls = list(walls)
        self._hint = hint
        self._chosen: Wall | None = None
        self._choosing = asyncio.Lock()

    @property
    def name(self) -> str:
        """The chosen wall's; `auto` before one was chosen."""
        return "auto" if self._chosen is None else self._chosen.name

    async def start(self, home: SandboxHome, limits: SandboxLimits) -> WallProcess:
        """As `Wall.start`; the message of a refusal has the reason of each wall."""
        async with self._choosing:
            chosen = self._chosen
            if chosen is None:
                return await self._choose(home, limits)
        return await chosen.start(home, limits)

    async def _choose(self, home: SandboxHome, limits: SandboxLimits) -> WallProcess:
        reasons: list[str] = []
        for wall in self._walls:
            try:
                process = await wall.start(home, limits)
            except SandboxUnavailable as error:
                reasons.append(f"{wall.name}: {error.message}")
                continue
            self._chosen = wall
            logger.info("code of agents runs behind %s", wall.name)
            return process
        raise SandboxUnavailable(" ".join(["No sandbox can be built.", *reasons, self._hint]))

    def place_of(self, workspace: Path) -> str | None:
        """As `Wall.place_of`."""
        return None if self._chosen is None else self._chosen.place_of(workspace)

    async def aclose(self) -> None:
        """As `Wall.aclose`."""
        for wall in self._walls:
            await wall.aclose()


def may_have_bwrap() -> bool:
    """Whether bubblewrap is installed: a glance, no test."""
    return shutil.which("bwrap") is not None


def may_have_docker(url: str | None, environment_url: str | None) -> bool:
    """Whether an engine may be there: one is named, or this machine's socket exists."""
    return bool(url or environment_url) or os.path.exists("/var/run/docker.sock")


async def bwrap_problem() -> str | None:
    """What keeps bubblewrap from building a wall here, with the remedy; None if nothing does."""
    program = shutil.which("bwrap")
    if program is None:
        return f"bubblewrap is not installed. {INSTALL_BWRAP}"
    tried = await asyncio.create_subprocess_exec(
        program, *_SELF_TEST, stdin=DEVNULL, stdout=DEVNULL, stderr=PIPE, env={}
    )
    try:
        async with asyncio.timeout(_SELF_TEST_SECONDS):
            _, said = await tried.communicate()
    except TimeoutError:
        tried.kill()
        await tried.wait()
        return "bubblewrap did not answer."
    if tried.returncode == 0:
        return None
    reason = said.decode(errors="replace").strip().splitlines()[-1:] or ["no reason given"]
    return f"bubblewrap cannot build its wall ({reason[0][:200]}). {ALLOW_NAMESPACES}"
