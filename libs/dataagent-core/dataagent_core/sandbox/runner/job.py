"""One run of a cell or a command: its end, output, deadline, limits and cancellation.

A `Job` waits on everything at once: the run's output, its end, the supervisor (who may cancel) and
the clock. `CellSource` and `CommandSource` say when the run has ended.
"""

from __future__ import annotations

import os
import select
import time
from dataclasses import dataclass, field
from typing import Any, Protocol

from . import processes, walls
from .frames import items
from .kernel import WORKSPACE
from .kernel_link import KernelLink, KernelLost, Report
from .limits import RunLimits
from .processes import ChildSignal

_CHUNK = 1 << 16
_LAST_READS = 64


@dataclass
class JobOutcome:
    """How a run ended, as far as the session knows by itself."""

    status: str
    exit_code: int | None = None
    names: list[str] = field(default_factory=list[str])
    cpu: float = 0.0
    rss: int = 0


class JobSource(Protocol):
    """A running cell or command, and how to notice its end."""

    def descriptors(self) -> list[int]:
        """Return descriptors that become readable when something happens."""
        ...

    def poll(self) -> JobOutcome | None:
        """Return the outcome, once there is one."""
        ...

    def pid(self) -> int | None:
        """Return the process whose use is measured."""
        ...


class Canceller(Protocol):
    """A client that may cancel a run."""

    def fileno(self) -> int:
        """Return a descriptor that is readable when there may be a cancellation."""
        ...

    def is_cancelled(self) -> bool:
        """Whether the run was cancelled, or its client is gone."""
        ...


class Output:
    """A stream of which the beginning and the end are stored."""

    def __init__(self, number: int, limit: int) -> None:
        self.number = number
        self._head_limit = limit * 3 // 4
        self._tail_limit = limit - self._head_limit
        self._head = bytearray()
        self._tail = bytearray()
        self._total = 0
        self.is_open = True

    def read(self) -> bool:
        """Read what is available; False if there was nothing."""
        try:
            chunk = os.read(self.number, _CHUNK)
        except BlockingIOError:
            return False
        if not chunk:
            self.is_open = False
            return False
        self._total += len(chunk)
        room = max(self._head_limit - len(self._head), 0)
        self._head += chunk[:room]
        self._tail += chunk[room:]
        if len(self._tail) > self._tail_limit * 4:
            del self._tail[: -self._tail_limit]
        return True

    def finish(self) -> tuple[bytes, bool]:
        """Read the rest and close; return what was stored, and whether something is missing."""
        for _ in range(_LAST_READS):
            if not self.read():
                break
        os.close(self.number)
        if self._total <= self._head_limit + self._tail_limit:
            return bytes(self._head + self._tail), False
        kept = len(self._head) + self._tail_limit
        note = f"\n… [{self._total - kept} of {self._total} bytes cut] …\n".encode()
        return bytes(self._head + note + self._tail[-self._tail_limit :]), True


class Job:
    """Watches one run."""

    def __init__(
        self, source: JobSource, outputs: list[Output], canceller: Canceller, limits: RunLimits
    ) -> None:
        self._source = source
        self._outputs = outputs
        self._canceller = canceller
        self._memory = processes.MemoryWatch(limits.memory)
        self._used: processes.Usage | None = None

    def wait(self, seconds: float) -> JobOutcome:
        """Wait for the end, at most so long; a run that has not ended still runs."""
        poller = select.poll()
        for number in [*self._source.descriptors(), self._canceller.fileno()]:
            poller.register(number, select.POLLIN)
        for output in self._outputs:
            poller.register(output.number, select.POLLIN)
        now = time.monotonic()
        deadline, next_watch = now + seconds, now + self._memory.seconds
        while True:
            timeout = max(min(deadline, next_watch) - time.monotonic(), 0)
            poller.poll(timeout * 1000 + 0.5)
            outcome = self._look(poller) or self._limit(deadline)
            if outcome is None and time.monotonic() >= next_watch:
                outcome = self._watch()
                next_watch = time.monotonic() + self._memory.seconds
            if outcome is not None:
                return self._with_usage(outcome)

    def _look(self, poller: select.poll) -> JobOutcome | None:
        for output in self._outputs:
            if output.is_open:
                output.read()
                if not output.is_open:
                    poller.unregister(output.number)
        return self._source.poll()

    def _limit(self, deadline: float) -> JobOutcome | None:
        if self._canceller.is_cancelled():
            return JobOutcome("killed")
        return JobOutcome("timeout") if time.monotonic() >= deadline else None

    def _watch(self) -> JobOutcome | None:
        self._sample()
        return JobOutcome("memory") if self._memory.is_over() else None

    def _sample(self) -> None:
        pid = self._source.pid()
        used = processes.usage_of(pid) if pid else None
        if used is not None:
            self._used = used

    def _with_usage(self, outcome: JobOutcome) -> JobOutcome:
        self._sample()
        if self._used is not None:
            outcome.cpu = max(outcome.cpu, self._used.cpu_seconds)
            outcome.rss = max(outcome.rss, self._used.peak_bytes)
        return outcome


def number(value: Any) -> float:  # Any: an untrusted report's
    """Return a number of a report, or 0."""
    return float(value) if isinstance(value, (int, float)) and 0 <= value < 1e15 else 0.0


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

    def __init__(self, kernel: KernelLink, child_signal: ChildSignal, started: Report) -> None:
        self._kernel = kernel
        self._child_signal = child_signal
        self._cell = started.cell
        self._pid = started.pid
        self.has_lost_kernel = False

    def descriptors(self) -> list[int]:
        """See `JobSource.descriptors`."""
        return [self._kernel.channel.fileno(), self._child_signal.fileno()]

    def pid(self) -> int | None:
        """See `JobSource.pid`."""
        return self._pid

    def poll(self) -> JobOutcome | None:
        """See `JobSource.poll`."""
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
        """Reap children: a cell becomes ours if its kernel has died before it."""
        self._child_signal.clear()
        return self._lost() if self._pid in processes.reap() else None

    def _lost(self) -> JobOutcome:
        self.has_lost_kernel = True
        return JobOutcome("killed")


class CommandSource:
    """A shell command."""

    has_lost_kernel = False

    def __init__(
        self, command: bytes, child_signal: ChildSignal, limits: RunLimits, stdout: int, stderr: int
    ) -> None:
        """Start it.

        Raises:
            WallsBroken: it was not started.
        """
        self._child_signal = child_signal
        ready, tell = os.pipe2(os.O_CLOEXEC)
        self._pid = os.fork()
        if self._pid == 0:
            _become_command(command, limits, (stdout, stderr), tell)
        os.close(tell)
        with os.fdopen(ready, "rb") as file:
            if file.read() != _READY:
                raise WallsBroken("The walls around the command could not be built.")

    def descriptors(self) -> list[int]:
        """See `JobSource.descriptors`."""
        return [self._child_signal.fileno()]

    def pid(self) -> int | None:
        """See `JobSource.pid`."""
        return self._pid

    def poll(self) -> JobOutcome | None:
        """See `JobSource.poll`."""
        self._child_signal.clear()
        status = processes.reap().get(self._pid)
        if status is None:
            return None
        return _outcome_of_exit(os.waitstatus_to_exitcode(status), 0.0, 0)


def _outcome_of_exit(exit_code: object, cpu: float, rss: object) -> JobOutcome:
    """Return the outcome of a process that exited by itself."""
    code = exit_code if isinstance(exit_code, int) else 1
    status = "ok" if code == 0 else "error" if code > 0 else "killed"
    return JobOutcome(status, code, cpu=cpu, rss=int(number(rss)))


def _become_command(command: bytes, limits: RunLimits, streams: tuple[int, int], tell: int) -> None:
    """Report that the walls are built and become the command. Never returns."""
    try:
        os.setsid()
        processes.restore_signals()
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
