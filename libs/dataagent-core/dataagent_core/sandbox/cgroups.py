"""Control groups: the limits of a whole session on memory, processes and processor time.

Where we may not create groups (an ordinary user without delegation) there are none, and the session
watches its use itself. Both generations are supported; the machine's is detected once.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from dataagent_core.sandbox.types import SandboxLimits

logger = logging.getLogger(__name__)

_ROOT = Path("/sys/fs/cgroup")
_PERIOD = 100_000
OWN_BYTES = 24 * 1024 * 1024
"""What the session's own process may hold; it is in the group too."""

_TRIES, _TRY_SECONDS = 1000, 0.005  # on a busy machine the dead are buried late


class Cgroup:
    """The groups of one session, one directory per controller."""

    def __init__(self, folders: Mapping[str, Path]) -> None:
        self._folders = folders

    def memory_kills(self) -> int:
        """Return how many processes were killed because the memory was used up."""
        for name in ("memory.oom_control", "memory.events"):
            with suppress(OSError, KeyError):
                for line in (self._folders["memory"] / name).read_text().splitlines():
                    if line.startswith("oom_kill "):
                        return int(line.split()[1])
        return 0

    def fork_refusals(self) -> int:
        """Return how often a process could not start because there were too many."""
        with suppress(OSError, KeyError):
            for line in (self._folders["pids"] / "pids.events").read_text().splitlines():
                if line.startswith("max "):
                    return int(line.split()[1])
        return 0

    @property
    def cgroup_files(self) -> list[Path]:
        """Return the files into which a process writes its number to join the groups."""
        return [folder / "cgroup.procs" for folder in dict.fromkeys(self._folders.values())]

    def remove(self) -> None:
        """Remove the groups, once their processes have ended."""
        for folder in set(self._folders.values()):
            _remove(folder)


class Cgroups:
    """Creates groups below one of our own."""

    def __init__(self, root: Path = _ROOT, *, kind: str = "") -> None:
        """`kind` separates groups for other purposes from those of sandboxes."""
        self._root = root
        self._own = f"dataagent-{os.getpid()}{kind and f'-{kind}'}"
        self._parents: dict[str, Path] | None = None
        self._made: set[Path] = set()

    def make(self, name: str, pid: int | None, limits: SandboxLimits) -> Cgroup | None:
        """Put a process into groups with these limits; None where that is impossible.

        Without a process the groups are empty; the first goes in by itself (`Cgroup.cgroup_files`).
        """
        if self._parents is None:
            self._parents = self._find_parents()
            for parent in set(self._parents.values()):
                _sweep(parent.parent)
        folders: dict[str, Path] = {}
        for controller, parent in self._parents.items():
            folder = parent / name
            try:
                folder.mkdir(exist_ok=True)
                self._made.add(folder)
                _set(folder, controller, limits)
                if pid is not None:
                    (folder / "cgroup.procs").write_text(str(pid))
            except OSError:
                logger.info("No cgroup %s here; the sandbox's own watch stands in", controller)
                _remove(folder)
                continue
            folders[controller] = folder
        return Cgroup(folders) if folders else None

    def close(self) -> None:
        """Remove our own groups, except those still in use."""
        for folder in [made for made in self._made if made.exists()]:
            _remove(folder)
        for parent in set((self._parents or {}).values()):
            if not any(path.is_dir() for path in parent.glob("*")):
                _remove(parent)
        self._parents = None
        self._made.clear()

    def _find_parents(self) -> dict[str, Path]:
        if (self._root / "cgroup.controllers").exists():
            return self._second_generation()
        found: dict[str, Path] = {}
        for controller in ("memory", "pids", "cpu"):
            own = _own_group(controller)
            parent = self._root / controller / own.lstrip("/") / self._own
            with suppress(OSError):
                parent.mkdir(exist_ok=True)
                found[controller] = parent
        return found

    def _second_generation(self) -> dict[str, Path]:
        """Return our group in the unified tree, with controllers enabled, which needs root."""
        parent = self._root / self._own
        try:
            (self._root / "cgroup.subtree_control").write_text("+memory +pids +cpu")
            parent.mkdir(exist_ok=True)
            (parent / "cgroup.subtree_control").write_text("+memory +pids +cpu")
        except OSError:
            _remove(parent)
            return {}
        return {"memory": parent, "pids": parent, "cpu": parent}


def _sweep(folder: Path) -> None:
    """Remove the groups of ended servers."""
    for group in folder.glob("dataagent-*"):
        pid = group.name.removeprefix("dataagent-").partition("-")[0]
        if not pid.isdigit() or Path("/proc", pid).exists():
            continue
        for inner in [path for path in group.iterdir() if path.is_dir()]:
            with suppress(OSError):
                inner.rmdir()
        with suppress(OSError):
            group.rmdir()


def _own_group(controller: str) -> str:
    """Return our own group of the first generation."""
    with suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            _, names, group = line.split(":", 2)
            if controller in names.split(","):
                return group
    return "/"


def _set(folder: Path, controller: str, limits: SandboxLimits) -> None:
    for name, value in _values(folder, controller, limits).items():
        (folder / name).write_text(value)
    if controller == "memory":  # swap would be memory on top; not every kernel counts it
        for name in ("memory.memsw.limit_in_bytes", "memory.swap.max"):
            with suppress(OSError):
                if (folder / name).exists():
                    is_swap = name == "memory.swap.max"
                    most = limits.memory_bytes + OWN_BYTES
                    (folder / name).write_text("0" if is_swap else str(most))


def _values(folder: Path, controller: str, limits: SandboxLimits) -> dict[str, str]:
    is_second = (folder / "cgroup.controllers").exists()
    quota = str(int(limits.cpus * _PERIOD))
    if controller == "memory":
        name = "memory.max" if is_second else "memory.limit_in_bytes"
        return {name: str(limits.memory_bytes + OWN_BYTES)}
    if controller == "pids":
        return {"pids.max": str(limits.processes + 2)}  # the session's own, and the kernel
    if is_second:
        return {"cpu.max": f"{quota} {_PERIOD}"}
    return {"cpu.cfs_period_us": str(_PERIOD), "cpu.cfs_quota_us": quota}


def _remove(folder: Path) -> None:
    """Remove a group; its last processes may take a moment to end."""
    for _ in range(_TRIES):
        try:
            folder.rmdir()
        except FileNotFoundError:
            return
        except OSError:
            time.sleep(_TRY_SECONDS)
        else:
            return
    logger.warning("The cgroup %s could not be removed", folder)
