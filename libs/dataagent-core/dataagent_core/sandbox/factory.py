"""Creates the sandboxes that the settings ask for, or says why there are none.

By default the first wall this machine seems to have is used, and with none there are no sandboxes
and no tools for code. A wall that is set by name must be possible, or the process does not start.
Code never runs without a wall.
"""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Callable, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Final

from dataagent_core.config import Settings
from dataagent_core.config.settings import environment
from dataagent_core.errors import Misconfigured, SandboxUnavailable
from dataagent_core.sandbox.bwrap import BwrapWall
from dataagent_core.sandbox.docker import DockerWall
from dataagent_core.sandbox.pool import PoolSettings, Sandboxes
from dataagent_core.sandbox.types import SandboxHome, SandboxLimits, Wall, WallProcess
from dataagent_core.telemetry import Metrics

logger = logging.getLogger(__name__)
_SELF_TEST = ("--unshare-all", "--ro-bind", "/", "/", "true")
_SELF_TEST_SECONDS = 10.0
INSTALL_BWRAP = "Install it: apt-get install bubblewrap (as root)."
ALLOW_NAMESPACES = (
    "Allow unprivileged user namespaces: sysctl kernel.apparmor_restrict_unprivileged_userns=0, or "
    "give bubblewrap an AppArmor profile; in a container, a seccomp profile that lets it."
)


class FirstWall:
    """The first of several walls that can be built, chosen at its first use."""

    def __init__(self, walls: Sequence[Wall], *, hint: str) -> None:
        """`hint` ends the message that says that none can be built."""
        self._walls = list(walls)
        self._hint = hint
        self._chosen: Wall | None = None
        self._choosing = asyncio.Lock()

    @property
    def name(self) -> str:
        """The chosen wall's name; `auto` before one is chosen."""
        return "auto" if self._chosen is None else self._chosen.name

    async def start(self, home: SandboxHome, limits: SandboxLimits) -> WallProcess:
        """See `Wall.start`; a refusal has the reason of each wall."""
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
        """See `Wall.place_of`."""
        return None if self._chosen is None else self._chosen.place_of(workspace)

    async def aclose(self) -> None:
        """See `Wall.aclose`."""
        for wall in self._walls:
            await wall.aclose()


def may_have_bwrap() -> bool:
    """Whether bubblewrap is installed, without testing it."""
    return shutil.which("bwrap") is not None


def may_have_docker(url: str | None, environment_url: str | None) -> bool:
    """Whether there may be an engine: one is set, or this machine's socket exists."""
    return bool(url or environment_url) or os.path.exists("/var/run/docker.sock")


async def bwrap_problem() -> str | None:
    """Return what prevents a bubblewrap wall here, with the remedy; None if nothing does."""
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


ENTRY_POINTS: Final = "dataagent.sandboxes"
_SINGLE_TENANT: Final = frozenset({"landlock", "subprocess"})
_IN_PLACE: Final = (None, "auto", "bwrap", "off")
_PROJECT_FILE: Final = 4 * 1024**3
"""How large a file code may write in a project, which has no quota."""

_NONE: Final = "Set DATAAGENT_SANDBOX=off to do without."
WorkspaceOf = Callable[[str], Path | None]


def create_sandboxes(
    settings: Settings, workspace_of: WorkspaceOf | None = None, metrics: Metrics | None = None
) -> Sandboxes | None:
    """Create the sandboxes, of which none runs before the first use; None if there are to be none.

    Raises:
        Misconfigured: what is asked for by name does not exist or is not allowed here.
    """
    wall = create_wall(settings)
    if wall is None:
        return None
    return Sandboxes(
        wall,
        limits=limits_of(settings),
        settings=PoolSettings(
            ready=settings.sandbox_pool_size,
            max_uses=settings.sandbox_max_uses,
            max_sessions=settings.sandbox_max_sessions,
            max_per_user=settings.sandbox_max_per_user,
            idle_seconds=settings.sandbox_idle_seconds,
        ),
        workspace_of=workspace_of,
        metrics=metrics,
    )


def create_wall(settings: Settings) -> Wall | None:
    """Create the wall without building it. Raises as `create_sandboxes`."""
    wanted = settings.sandbox
    if wanted in _SINGLE_TENANT and settings.multi_tenant:
        raise Misconfigured(
            f"DATAAGENT_SANDBOX={wanted} keeps tenants apart too little. Use bwrap or docker."
        )
    if settings.project is not None and wanted not in _IN_PLACE:
        raise Misconfigured(
            f"DATAAGENT_SANDBOX={wanted} cannot work in a project's own folder, bubblewrap can. "
            "Set DATAAGENT_SANDBOX=bwrap, or do without a project (dataagent --no-project)."
        )
    match wanted:
        case "off":
            return None
        case None:
            return _first(settings) if _seems_possible(settings) else None
        case "auto":
            return _first(settings)
        case "bwrap":
            return _bwrap(settings)
        case "docker":
            return _docker(settings)
        case _:
            return _named(wanted, settings)


async def wall_problem(settings: Settings) -> str | None:
    """Return why the set sandbox is impossible, with the remedy; None if it is possible.

    Raises:
        Misconfigured: as `create_sandboxes`.
    """
    wall = create_wall(settings)
    match settings.sandbox:
        case "bwrap":
            return await bwrap_problem()
        case "docker":
            return await _docker_problem(settings)
        case None | "auto":
            first = await bwrap_problem()
            if first is None or settings.project is not None:
                return first
            second = await _docker_problem(settings)
            return None if second is None else f"{first} {second}"
        case _:
            return None if wall is not None else "It is switched off."


async def first_wall(settings: Settings) -> str:
    """Return the name of the wall that will be used; check `wall_problem` first."""
    if settings.sandbox in (None, "auto"):
        return "bwrap" if await bwrap_problem() is None else "docker"
    return settings.sandbox


async def require_wall(settings: Settings) -> None:
    """Refuse a setting that names a wall which cannot be built here.

    Raises:
        Misconfigured: it cannot; the message says why and what to do.
    """
    if settings.sandbox in (None, "off"):
        return
    problem = await wall_problem(settings)
    if problem is not None:
        raise Misconfigured(f"DATAAGENT_SANDBOX={settings.sandbox}: {problem} {_NONE}")


def limits_of(settings: Settings) -> SandboxLimits:
    """Return a sandbox's limits from the settings."""
    file_bytes = min(SandboxLimits().file_bytes, settings.sandbox_disk)
    return SandboxLimits(
        memory_bytes=settings.sandbox_memory,
        cpus=settings.sandbox_cpus,
        wall_seconds=min(settings.sandbox_timeout, settings.sandbox_max_timeout),
        max_wall_seconds=settings.sandbox_max_timeout,
        disk_bytes=settings.sandbox_disk,
        file_bytes=file_bytes if settings.project is None else _PROJECT_FILE,
        inodes=settings.sandbox_files,
    )


def _bwrap(settings: Settings) -> Wall:
    project = settings.project_dir
    if project is not None:
        return BwrapWall(project=project)
    return BwrapWall(workspaces=settings.workspaces_dir)


def _docker(settings: Settings) -> Wall:
    return DockerWall(
        settings.sandbox_image,
        url=settings.sandbox_docker_url,
        runtime=settings.sandbox_docker_runtime,
    )


def _first(settings: Settings) -> Wall:
    if settings.project is not None:
        return FirstWall([_bwrap(settings)], hint=_NONE)
    return FirstWall([_bwrap(settings), _docker(settings)], hint=_NONE)


def _seems_possible(settings: Settings) -> bool:
    if settings.project is not None:
        return may_have_bwrap()
    named = environment().get("DOCKER_HOST")
    return may_have_bwrap() or may_have_docker(settings.sandbox_docker_url, named)


async def _docker_problem(settings: Settings) -> str | None:
    wall = DockerWall(
        settings.sandbox_image,
        url=settings.sandbox_docker_url,
        runtime=settings.sandbox_docker_runtime,
    )
    try:
        await wall.check()
    except SandboxUnavailable as error:
        return error.message
    finally:
        await wall.aclose()
    return None


def _named(name: str, settings: Settings) -> Wall:
    """Create a wall of another package.

    Raises:
        Misconfigured: none has that name, or it cannot be made.
    """
    found = {each.name: each for each in entry_points(group=ENTRY_POINTS)}
    if name not in found:
        known = ", ".join(["auto", "bwrap", "docker", "off", *sorted(found)])
        raise Misconfigured(f"There is no sandbox of type {name!r}. Use one of: {known}.")
    try:
        create: Any = found[name].load()  # Any: another package's
        wall: Wall = create(settings, limits_of(settings))
    except Exception as error:
        raise Misconfigured(f"The sandbox {name!r} cannot be made: {error}") from error
    return wall
