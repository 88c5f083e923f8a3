"""The processes of a session: listing, measuring, ending and reaping them.

The session's process is PID 1 of its own process namespace (or of its container), so whatever user
code starts is in its `/proc` and, once orphaned, its child.
"""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass

from . import system

_TICKS = os.sysconf("SC_CLK_TCK")
_PATIENCE_SECONDS = 2.0
"""How long killed processes may take to go; much memory takes its time."""
_DEAD = frozenset("ZXx")
_WATCH_SECONDS = 0.05


@dataclass(frozen=True)
class Usage:
    """What a process has used so far."""

    cpu_seconds: float
    peak_bytes: int


def list_others() -> list[int]:
    """Return every living process but this one."""
    own = os.getpid()
    return [pid for name in os.listdir("/proc") if name.isdigit() and (pid := int(name)) != own]


def end_all_but(spared: frozenset[int]) -> bool:
    """Kill every process but `spared` and ourselves; False if some could not be killed.

    They are stopped before they are killed: what forks without end cannot once it stands still.
    """
    patience = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < patience:
        reap()
        found = [pid for pid in list_others() if pid not in spared and _is_alive(pid)]
        if not found:
            return True
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in found:
                _signal(pid, number)
        time.sleep(0.0005)
    return False


def end_all() -> None:
    """Kill every process but ourselves."""
    while True:
        try:
            os.kill(-1, signal.SIGKILL)
        except ProcessLookupError:
            return
        reap()
        if not any(_is_alive(pid) for pid in list_others()):
            return
        time.sleep(0.001)


def end(pid: int) -> None:
    """Kill one process; it may take a moment to be gone."""
    _signal(pid, signal.SIGKILL)


def pause(pid: int) -> None:
    """Stop a process."""
    _signal(pid, signal.SIGSTOP)


def resume(pid: int) -> None:
    """Continue a stopped process."""
    _signal(pid, signal.SIGCONT)


def reap() -> dict[int, int]:
    """Reap dead children, and return their wait statuses by pid."""
    buried: dict[int, int] = {}
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return buried
        if pid == 0:
            return buried
        buried[pid] = status


def usage_of(pid: int) -> Usage | None:
    """Return what a process and its dead children have used; None if it is gone."""
    try:
        fields = _read(pid, "stat").rpartition(")")[2].split()
        status = _read(pid, "status")
    except OSError:
        return None
    cpu = sum(int(ticks) for ticks in fields[11:15]) / _TICKS
    return Usage(cpu, _kilobytes(status, "VmHWM:"))


class MemoryWatch:
    """Checks whether a session's processes together exceed their memory limit.

    Pages shared with the forked parent are divided among those who share them; the exact count is
    taken only when a cheap upper bound is over the limit.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.seconds = _WATCH_SECONDS
        """How soon to look again: sooner when little is left."""

    def is_over(self) -> bool:
        """Whether the limit is exceeded now."""
        pids = list_others()
        self.seconds = _WATCH_SECONDS
        if sum(_most(pid) for pid in pids) <= self._limit:
            return False
        shared = _shared_with_all()
        held = sum(max(_exact(pid) - shared, 0) for pid in pids)
        if held > self._limit // 2:
            self.seconds = _WATCH_SECONDS / 5
        return held > self._limit


def _shared_with_all() -> int:
    """Return a process's share of the memory common to all sessions, which does not count."""
    rollup = _read(os.getpid(), "smaps_rollup")
    return max(_kilobytes(rollup, "Pss_Anon:") - _kilobytes(rollup, "Private_Dirty:"), 0)


def _most(pid: int) -> int:
    try:
        status = _read(pid, "status")
    except OSError:
        return 0
    return _kilobytes(status, "RssAnon:") + _kilobytes(status, "RssShmem:")


def _exact(pid: int) -> int:
    try:
        rollup = _read(pid, "smaps_rollup")
    except OSError:  # it has ended
        return 0
    return _kilobytes(rollup, "Pss_Anon:") + _kilobytes(rollup, "Pss_Shmem:")


def _kilobytes(text: str, label: str) -> int:
    """Return the value of a line like `label 12 kB`, in bytes; 0 without such a line."""
    start = text.find(label)
    if start < 0:
        return 0
    return int(text[start + len(label) :].split(None, 1)[0]) * 1024


def _read(pid: int, name: str) -> str:
    return system.read(f"/proc/{pid}/{name}")


def _is_alive(pid: int) -> bool:
    """Whether a process is running, or is dead and ours to reap."""
    try:
        state, parent = _read(pid, "stat").rpartition(")")[2].split()[:2]
    except (OSError, ValueError):
        return False
    return state not in _DEAD or int(parent) == os.getpid()


def _signal(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:  # it has ended by itself
        return


class ChildSignal:
    """A descriptor that becomes readable when a child has ended. One per process."""

    def __init__(self) -> None:
        self._readable, writable = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        signal.set_wakeup_fd(writable, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)

    def fileno(self) -> int:
        """Return the descriptor to poll."""
        return self._readable

    def clear(self) -> None:
        """Make it unreadable until the next child ends."""
        try:
            while os.read(self._readable, 4096):
                continue
        except BlockingIOError:
            return


def restore_signals() -> None:
    """Handle signals as in a fresh process; for a forked child."""
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGCHLD, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.default_int_handler)
