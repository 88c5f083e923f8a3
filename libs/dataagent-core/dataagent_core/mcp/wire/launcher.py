"""Stands between us and a server's process, so that nothing of it outlives us. Runs on its own.

Started as `python -I -S launcher.py PARENT USER DOORS COMMAND ARGUMENT…`, in a session of its own;
`USER` is whom the command becomes, or `-`; `DOORS` are files of control groups it enters before
anything else, with `:` between them, or `-`. It starts the command, adopts whatever that leaves
behind, and takes everything away once the command ends, on SIGTERM, or once its parent
is gone. Imports nothing of ours: it must be small and quick. Linux only.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from collections.abc import Callable

_SET_PDEATHSIG = 1
_SET_CHILD_SUBREAPER = 36
_GRACE_SECONDS = 1.0
_LOOK_SECONDS = 1.0
_STEP_SECONDS = 0.02
_WATCHED = {signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP, signal.SIGINT}


def main() -> int:
    """Run the command to its end, or to ours."""
    parent, user, cgroup_files, command = int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4:]
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    prctl(_SET_CHILD_SUBREAPER, 1)
    prctl(_SET_PDEATHSIG, int(signal.SIGHUP))
    signal.pthread_sigmask(signal.SIG_BLOCK, _WATCHED)
    _join_cgroups(cgroup_files)
    launcher = os.getpid()
    child = os.fork()
    if child == 0:
        _exec_command(command, user, launcher, prctl)
    _close_pipes()
    code = _wait(child, parent)
    if code is None:
        _stop(child)
        code = 128 + signal.SIGTERM
    _kill_descendants()
    return code


def _join_cgroups(cgroup_files: str) -> None:
    """Be in the groups before there is anything to be limited."""
    for door in cgroup_files.split(":") if cgroup_files != "-" else ():
        with open(door, "w") as file:
            file.write("0")


def _exec_command(
    command: list[str], user: str, launcher: int, prctl: Callable[[int, int], int]
) -> None:
    """The command, in a group of its own, dying with the launcher."""
    try:
        os.setpgid(0, 0)
        if user != "-":
            os.setgroups([])
            os.setgid(int(user))
            os.setuid(int(user))
        prctl(_SET_PDEATHSIG, int(signal.SIGKILL))
        if os.getppid() != launcher:
            os._exit(125)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _WATCHED)
        os.execvp(command[0], command)  # noqa: S606 an executable and its arguments, no shell
    except OSError as error:
        os.write(2, f"cannot start {command[0]!r}: {error.strerror}\n".encode())
    os._exit(127)


def _close_pipes() -> None:
    """The pipes are the command's: its end must be theirs."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for pipe in (0, 1, 2):
        os.dup2(nothing, pipe)
    os.close(nothing)


def _wait(child: int, parent: int) -> int | None:
    """The command's exit code, or None if it should be ended."""
    while True:
        told = signal.sigtimedwait(_WATCHED, _LOOK_SECONDS)
        if (told is not None and told.si_signo == signal.SIGTERM) or os.getppid() != parent:
            return None
        code = _reap(child)
        if code is not None:
            return code


def _reap(child: int) -> int | None:
    """Collect what ended; the command's exit code if it is among them."""
    code = None
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return 0 if code is None else code
        if pid == 0:
            return code
        if pid == child:
            code = os.waitstatus_to_exitcode(status)
            code = code if code >= 0 else 128 - code


def _stop(child: int) -> None:
    """Ask the command's group to end, and wait a little for it."""
    _signal_group(child, signal.SIGTERM)
    until = time.monotonic() + _GRACE_SECONDS
    while time.monotonic() < until:
        if _reap(child) is not None:
            return
        time.sleep(_STEP_SECONDS)
    _signal_group(child, signal.SIGKILL)


def _kill_descendants() -> None:
    """Kill all descendants: orphans among them have become our children."""
    until = time.monotonic() + _GRACE_SECONDS
    while time.monotonic() < until:
        found = _descendants()
        if not found:
            return
        for pid in found:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        _reap(0)
        time.sleep(_STEP_SECONDS)


def _descendants() -> list[int]:
    parents: dict[int, int] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as stat:
                    fields = stat.read().rpartition(b")")[2].split()
            except OSError:
                continue
            if fields[0] != b"Z":
                parents[int(name)] = int(fields[1])
    found: list[int] = []
    level = {os.getpid()}
    while level:
        level = {pid for pid, parent in parents.items() if parent in level}
        found += level
    return found


def _signal_group(group: int, number: signal.Signals) -> None:
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return


if __name__ == "__main__":
    sys.exit(main())
