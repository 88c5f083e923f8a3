"""The sandboxes that the settings ask for, or the reason why there are none.

Unset takes the first wall this machine seems to have and, with none, no sandbox at all: the tools
are then not there. Whatever is asked for by name must be possible, or the process does not start.
There is no way from here to code without a wall that nobody asked for. Above: `app/sandbox.py`,
`dataagent-server doctor`. Below: the walls, `wall_selection.py`, `pool.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Final

from dataagent_core.config import Settings
from dataagent_core.config.settings import environment
from dataagent_core.errors import Misconfigured, SandboxUnavailable
from dataagent_core.sandbox.bwrap import BwrapWall
from dataagent_core.sandbox.docker import DockerWall
from dataagent_core.sandbox.pool import PoolSettings, Sandboxes
from dataagent_core.sandbox.types import SandboxLimits, Wall
from dataagent_core.sandbox.wall_selection import (
    FirstWall,
    bwrap_problem,
    may_have_bwrap,
    may_have_docker,
)
from dataagent_core.telemetry import Metrics

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
    """The sandboxes, of which nothing runs before the first use; None where there are to be none.

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
            max_sessions=settings.sandbox_max_sessions,
            max_per_user=settings.sandbox_max_per_user,
            max_uses=settings.sandbox_max_uses,
            idle_seconds=settings.sandbox_idle_seconds,
        ),
        workspace_of=workspace_of,
        metrics=metrics,
    )


def create_wall(settings: Settings) -> Wall | None:
    """The wall, without building it; as `create_sandboxes`."""
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
    """Why no sandbox can be had as the settings say, with the remedy; None if one can.

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
    """The name of the wall that will be used; ask `wall_problem` first."""
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
    """What the settings let a sandbox use."""
    file_bytes = min(SandboxLimits().file_bytes, settings.sandbox_disk)
    return SandboxLimits(
        memory_bytes=settings.sandbox_memory,
        cpus=settings.sandbox_cpus,
        processes=settings.sandbox_processes,
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
    """A wall of somebody else's package.

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
