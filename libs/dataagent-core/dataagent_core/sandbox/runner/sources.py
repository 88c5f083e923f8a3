"""The two things a session runs: a cell in its kernel, and a command; and how each ends."""

from __future__ import annotations

import os

from . import processes, wake, walls
from .frames import items
from .job import JobOutcome, number
from .kernel import WORKSPACE
from .kernel_link import KernelLink, KernelLost, Report
from .limits import RunLimits
from .wake import Wake

_READY = b"+"
_ENVIRONMENT = {
    "PATH": "/opt/bin:/usr/local/bin:/usr/bin:/bin",
    "HOME": "/tmp",  # noqa: S108 - the session's own
    "LANG": "C.UTF-8",
    "MPLBACKEND": "Agg",
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONPATH": "/opt/site",
}


class WallsBroken(Exception):
    """A process could not build its walls, and has run nothing."""


class CellSource:
    """A cell that the kernel runs."""

    def __init__(self, kernel: KernelLink, wake: Wake, started: Report) -> None:
        self._kernel = kernel
        self._wake = wake
        self._cell = started.cell
        self._pid = started.pid
        self.has_lost_kernel = False

    def descriptors(self) -> list[int]:
        """As `JobSource.descriptors`."""
        return [self._kernel.channel.fileno(), self._wake.fileno()]

    def pid(self) -> int | None:
        """As `JobSource.pid`."""
        return self._pid

    def poll(self) -> JobOutcome | None:
        """As `JobSource.poll`."""
        try:
            for report in self._kernel.reports():
                outcome = self._judge(report) if report.cell == self._cell else None
                if outcome is not None:
                    return outcome
        except KernelLost:
            self._reap()
            return self._lost()
        return self._reap()

    def _judge(self, report: Report) -> JobOutcome | None:
        fields = report.fields
        if report.event == "done" and report.pid == self._pid:
            if fields.get("status") == "memory":  # what it holds must go: back to before
                return JobOutcome("memory", 1)
            self._kernel.follow(report.pid)
            live = [str(name)[:80] for name in items(fields.get("names"))[:100]]
            exit_code = int(number(fields.get("exit_code")))
            return JobOutcome("ok" if fields.get("status") == "ok" else "error", exit_code, live)
        if report.event == "died":
            return _outcome_of_exit(
                fields.get("exit_code"), number(fields.get("cpu")), fields.get("rss")
            )
        return None

    def _reap(self) -> JobOutcome | None:
        """See who has died: a cell is ours to bury if its kernel has died before it."""
        self._wake.clear()
        return self._lost() if self._pid in processes.reap() else None

    def _lost(self) -> JobOutcome:
        self.has_lost_kernel = True
        return JobOutcome("killed")


class CommandSource:
    """A shell command."""

    has_lost_kernel = False

    def __init__(
        self, command: bytes, wake: Wake, limits: RunLimits, stdout: int, stderr: int
    ) -> None:
        """Start it.

        Raises:
            WallsBroken: it was not started.
        """
        self._wake = wake
        ready, tell = os.pipe2(os.O_CLOEXEC)
        self._pid = os.fork()
        if self._pid == 0:
            _become_command(command, limits, (stdout, stderr), tell)
        os.close(tell)
        with os.fdopen(ready, "rb") as file:
            if file.read() != _READY:
                raise WallsBroken("The walls around the command could not be built.")

    def descriptors(self) -> list[int]:
        """As `JobSource.descriptors`."""
        return [self._wake.fileno()]

    def pid(self) -> int | None:
        """As `JobSource.pid`."""
        return self._pid

    def poll(self) -> JobOutcome | None:
        """As `JobSource.poll`."""
        self._wake.clear()
        status = processes.reap().get(self._pid)
        if status is None:
            return None
        return _outcome_of_exit(os.waitstatus_to_exitcode(status), 0.0, 0)


def _outcome_of_exit(exit_code: object, cpu: float, rss: object) -> JobOutcome:
    """How a process that has ended by itself is judged."""
    code = exit_code if isinstance(exit_code, int) else 1
    status = "ok" if code == 0 else "error" if code > 0 else "killed"
    return JobOutcome(status, code, cpu=cpu, rss=int(number(rss)))


def _become_command(command: bytes, limits: RunLimits, streams: tuple[int, int], tell: int) -> None:
    """Say that the walls stand and become the command. Never returns."""
    try:
        os.setsid()
        wake.forget()
        nothing = os.open(os.devnull, os.O_RDWR)
        for place, source in enumerate((nothing, *streams)):
            os.dup2(source, place)
        os.chdir(WORKSPACE)
        walls.build_or_exit(limits, {tell})
        os.write(tell, _READY)
        shell = ["sh", "-c", command.decode(errors="replace")]
        os.execve("/bin/sh", shell, _ENVIRONMENT)  # noqa: S606 - it is the shell
    finally:
        os._exit(walls.BROKEN)
