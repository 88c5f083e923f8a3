"""Confines a server's process with bubblewrap, on a machine that serves others.

Inside, the file system is read-only, our own data and what others left in `/tmp` and `/run` are
hidden, no other process is visible, and there are no privileges to gain. The server's own folder is
its home and can be written. The network is open: most servers exist to reach something. If we are
root the process runs as a user who owns nothing, whose home is empty at each start; only a program
in a place that none but root can enter runs as root, without capabilities and with the system's
secrets hidden.

Memory, processes and processor time are limited by a control group; where we may not create one,
each process has limits of its own.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from dataagent_core.mcp.types import ConnectionKey, ServerSpec
from dataagent_core.mcp.wire.interface import OpenFailed
from dataagent_core.sandbox import SandboxLimits
from dataagent_core.sandbox.cgroups import Cgroup, Cgroups

_MIB = 1024 * 1024
DEFAULT_LIMITS = SandboxLimits(memory_bytes=1024 * _MIB, cpus=1.0, processes=256)


class ProcessLimits:
    """The limits of one program."""

    def __init__(self, limits: SandboxLimits, group: Cgroup | None) -> None:
        self._limits = limits
        self._group = group

    @property
    def cgroup_files(self) -> list[str]:
        """Return the files into which the program's first process writes its number."""
        return [] if self._group is None else [str(path) for path in self._group.cgroup_files]

    def with_limits(self, command: list[str]) -> list[str]:
        """Return the command, with per-process limits if there is no control group."""
        if self._group is not None or shutil.which("prlimit") is None:
            return command
        limits = [f"--data={self._limits.memory_bytes}", f"--nproc={self._limits.processes}"]
        return ["nice", "-n", "10", "prlimit", *limits, "--core=0", "--", *command]

    @property
    def hit_process_limit(self) -> bool:
        """Whether it tried to start more processes than allowed."""
        return self._group is not None and self._group.fork_refusals() > 0

    def exceeded_limit(self) -> str | None:
        """Return which limit was exceeded, in a sentence; None if none is known."""
        if self.hit_process_limit:
            return f"The program started more than {self._limits.processes} processes."
        if self._group is not None and self._group.memory_kills():
            return f"The program used more than {self._limits.memory_bytes // _MIB} MiB of memory."
        return None

    def release(self) -> None:
        """Remove the group once the program has ended, waiting for its last process."""
        if self._group is not None:
            self._group.remove()


class ProcessLimiter:
    """Creates the limits of programs."""

    def __init__(self, limits: SandboxLimits = DEFAULT_LIMITS) -> None:
        self._limits = limits
        self._groups = Cgroups(kind="mcp")

    def new(self) -> ProcessLimits:
        """Return the limits for a new program."""
        return ProcessLimits(self._limits, self._groups.make(uuid4().hex, None, self._limits))

    def close(self) -> None:
        """Remove all groups, once the programs have ended."""
        self._groups.close()


USER = 65533
"""Whom a process of a root server becomes; owns nothing."""
_INSIDE_USER = "1000"

_EMPTY = ("/tmp", "/var/tmp", "/run", "/dev/shm")  # noqa: S108 they are hidden, not used
_PERSONAL = (".ssh", ".aws", ".azure", ".config", ".docker", ".gnupg", ".kube", ".deepagents")
"""Below our user's home: where people and programs store credentials."""
_NAMES = ("/etc/resolv.conf", "/etc/hosts")
_SECRETS = ("/etc/shadow", "/etc/gshadow", "/etc/shadow-", "/etc/gshadow-", "/etc/sudoers")
_SECRET_FOLDERS = ("/etc/ssl/private", "/etc/ssh", "/etc/sudoers.d")
_TEMPORARY_HOME = "/tmp/home"  # noqa: S108 in the wall's own /tmp
_PRIVATE = 0o700
_MOST_FIRST_LINE = 512


@dataclass(frozen=True, slots=True)
class ConfinedCommand:
    """How a confined command is started."""

    command: list[str]
    home: str
    user: int | None
    limits: ProcessLimits


class Confinement:
    """Confines servers' commands."""

    def __init__(
        self, homes: Path, *, hidden: Sequence[Path], limiter: ProcessLimiter | None = None
    ) -> None:
        """Servers' homes are created below `homes`; what is below `hidden` is not visible."""
        self._homes = homes
        self._limiter = limiter or ProcessLimiter()
        personal = [Path.home() / name for name in _PERSONAL]
        self._hidden = [str(path.resolve()) for path in (*personal, *hidden)]

    def confine(self, spec: ServerSpec, key: ConnectionKey) -> ConfinedCommand:
        """Return the server's confined command for one principal, and create their home.

        Raises:
            OpenFailed: there is no bubblewrap.
        """
        program = shutil.which("bwrap")
        if program is None:
            raise OpenFailed(
                "Programs are run behind bubblewrap only, which is not installed. "
                "Install it: apt-get install bubblewrap."
            )
        is_dropped = os.geteuid() == 0 and _is_world_executable(spec.command or "")
        is_kept = not is_dropped and not key.principal.startswith("session:")
        home = self._home(key) if is_kept else Path(_TEMPORARY_HOME)
        if is_kept:
            home.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
        view = self._view(_places_of(spec.command or ""), is_dropped=is_dropped)
        view += ["--bind", str(home), str(home)] if is_kept else ["--tmpfs", str(home)]
        view += ["--bind", spec.cwd, spec.cwd] if spec.cwd else []
        view += ["--chdir", spec.cwd or str(home)]
        limits = self._limiter.new()
        inner = limits.with_limits([spec.command or "", *spec.args])
        command = [program, *_WALL, *view, "--", *inner]
        return ConfinedCommand(command, str(home), USER if is_dropped else None, limits)

    def close(self) -> None:
        """Remove the limits, once no program is running."""
        self._limiter.close()

    def _home(self, key: ConnectionKey) -> Path:
        whose = f"{key.server_id}\0{key.principal}".encode()
        return self._homes.resolve() / hashlib.sha256(whose).hexdigest()[:32]

    def _view(self, places: Sequence[str], *, is_dropped: bool) -> list[str]:
        """Return the mounts, from the whole to the parts. Unreachable paths need not be hidden.

        The program's own `places` are seen, too, unless they are ours to hide.
        """
        view = ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
        view += _emptied(_EMPTY, is_dropped=is_dropped)
        for place in places:
            view += ["--ro-bind", place, place]
        view += _emptied((*_SECRET_FOLDERS, *self._hidden), is_dropped=is_dropped)
        for path in _SECRETS:
            if os.path.exists(path):
                view += ["--ro-bind", os.devnull, path]
        for path in _NAMES:
            if os.path.islink(path):  # often into /run, which is empty now
                view += ["--ro-bind-try", os.path.realpath(path), os.path.realpath(path)]
        return view


_WALL = (
    "--unshare-user",
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-uts",
    "--unshare-cgroup-try",
    "--die-with-parent",
    "--new-session",
    "--uid",
    _INSIDE_USER,
    "--gid",
    _INSIDE_USER,
    "--cap-drop",
    "ALL",
)


def _emptied(paths: Iterable[str], *, is_dropped: bool) -> list[str]:
    view: list[str] = []
    for path in paths:
        if os.path.isdir(path) and (not is_dropped or _is_accessible(Path(path).parents)):
            view += ["--tmpfs", path]
    return view


def _places_of(command: str) -> list[str]:
    """Return the folders below hidden ones that contain a program or its interpreter."""
    found = shutil.which(command)
    if found is None:
        return []
    path = Path(os.path.abspath(found))
    places = [
        os.path.join(folder, path.relative_to(folder).parts[0])
        for folder in _EMPTY
        if path.is_relative_to(folder) and path.parent != Path(folder)
    ]
    by = _interpreter(path)
    return places + (_places_of(by) if by is not None else [])


def _is_world_executable(command: str) -> bool:
    """Whether any user may run the program and its interpreter."""
    found = shutil.which(command)
    if found is None:
        return True  # no one can
    path = Path(os.path.realpath(found))
    is_open = _is_accessible([path, *path.parents, *Path(os.path.abspath(found)).parents])
    by = _interpreter(path) if is_open else None
    return is_open and (by is None or _is_world_executable(by))


def _interpreter(script: Path) -> str | None:
    """Return the program that a script's first line names."""
    try:
        with script.open("rb") as file:
            line = file.readline(_MOST_FIRST_LINE)
    except OSError:
        return None
    words = os.fsdecode(line[2:]).split() if line.startswith(b"#!") else []
    if len(words) > 1 and Path(words[0]).name == "env":
        words = [word for word in words[1:] if not word.startswith("-")]
    return words[0] if words else None


def _is_accessible(places: Iterable[Path]) -> bool:
    return all(place.stat().st_mode & stat.S_IXOTH for place in places)
