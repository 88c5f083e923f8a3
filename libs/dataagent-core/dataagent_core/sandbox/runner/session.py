"""A session: trusted, one request at a time, runs no user code itself.

It runs kernels and commands, which are not trusted, and answers the supervisor's frames. Its report
of a run is what it saw: its own clock, its own count, its own walk over the files.
"""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NoReturn

from . import processes
from .frames import BadFrame, Frame, items, unpack_files
from .home import Home
from .job import CellSource, CommandSource, Job, JobOutcome, Output, WallsBroken
from .kernel_link import KernelLink, KernelLost
from .limits import RunLimits, limits_from
from .link import LinkClosed, SupervisorLink
from .processes import ChildSignal
from .tree import PlainFile, TreeEntry

HomeMaker = Callable[[RunLimits, str | None], Home]


def serve(link: SupervisorLink, make_home: HomeMaker, *, has_own_users: bool) -> NoReturn:
    """Answer frames until the supervisor leaves, then kill everything."""
    session = RunnerSession(link, make_home, has_own_users=has_own_users)
    try:
        link.send(Frame("hello", {"pid": os.getpid()}))
        while True:
            session.reap_until_request()
            answer = session.answer(link.receive())
            link.send(answer.frame, answer.size, answer.body())
    except (LinkClosed, BadFrame):
        processes.end_all()
    finally:
        os._exit(0)


@dataclass(frozen=True)
class Response:
    """A frame whose body is some text and then files, which are read while they are sent."""

    frame: Frame
    text: bytes = b""
    files: list[tuple[str, PlainFile]] = field(default_factory=list[tuple[str, PlainFile]])

    @property
    def size(self) -> int:
        """The size of the body in bytes."""
        return len(self.text) + sum(file.size for _, file in self.files)

    def body(self) -> Iterator[bytes]:
        """Yield the body in parts."""
        yield self.text
        for _, file in self.files:
            yield from file.chunks()


class RunnerSession:
    """A session's limits, files and kernel."""

    def __init__(self, link: SupervisorLink, make_home: HomeMaker, *, has_own_users: bool) -> None:
        self._link = link
        self._make_home = make_home
        self._has_own_users = has_own_users
        self._child_signal = ChildSignal()
        self._bound: tuple[RunLimits, Home] | None = None
        self._kernel: KernelLink | None = None
        self._has_lost_state = False

    def reap_until_request(self) -> None:
        """Wait for the supervisor's next frame, reaping dead children meanwhile."""
        watched = [self._link.fileno(), self._child_signal.fileno()]
        while not self._link.has_waiting:
            readable = select.select(watched, [], [])[0]
            self._child_signal.clear()
            processes.reap()
            if self._link.fileno() in readable:
                return

    def answer(self, frame: Frame) -> Response:
        """Execute a request, and return its one answer."""
        handlers = {
            "bind": self._bind,
            "put": self._put,
            "drop": self._drop,
            "get": self._get,
            "changes": self._changes,
            "python": self._python,
            "shell": self._shell,
        }
        handler = handlers.get(frame.op)
        if handler is None:
            return Response(Frame("failed", {"reason": f"unknown request {frame.op!r}"}))
        try:
            return handler(frame)
        except WallsBroken as error:
            self._drop_kernel()
            return Response(Frame("failed", {"reason": str(error)}))
        except (OSError, ValueError, KernelLost) as error:
            return Response(Frame("failed", {"reason": str(error) or type(error).__name__}))

    def _bind(self, frame: Frame) -> Response:
        if self._bound is not None:
            raise ValueError("The session is bound already.")
        limits = limits_from(frame.fields, has_own_users=self._has_own_users)
        place = frame.fields.get("workspace")
        home = self._make_home(limits, place if isinstance(place, str) else None)
        self._bound = limits, home
        return Response(Frame("done", {"overlay": home.has_overlay}))

    def _place(self) -> tuple[RunLimits, Home]:
        if self._bound is None:
            raise ValueError("The session is not bound yet.")
        return self._bound

    def _put(self, frame: Frame) -> Response:
        _, home = self._place()
        errors: list[list[str]] = []
        for path, content in unpack_files(frame.fields.get("files"), frame.body):
            try:
                home.write(path, content)
            except (OSError, ValueError) as error:
                errors.append([path, _kind_of(error)])
                continue
            if frame.fields.get("known"):
                home.mark_unchanged(path)
        return Response(Frame("done", {"errors": errors}))

    def _drop(self, frame: Frame) -> Response:
        _, home = self._place()
        for path, stamp in items(frame.fields.get("files")):
            with suppress(OSError):  # the code has put something else there
                home.drop(str(path), str(stamp))
        return Response(Frame("done", {}))

    def _get(self, frame: Frame) -> Response:
        limits, home = self._place()
        home.refresh()
        room = limits.harvest_bytes
        files: list[tuple[str, PlainFile]] = []
        errors: list[list[str]] = []
        for path in map(str, items(frame.fields.get("paths"))):
            try:
                file = home.open(path, room)
            except (OSError, ValueError) as error:
                errors.append([path, _kind_of(error)])
                continue
            if file is None:
                errors.append([path, "invalid_path"])
            else:
                files.append((path, file))
                room -= file.size
        return Response(Frame("files", {"files": _listed(files), "errors": errors}), files=files)

    def _changes(self, _frame: Frame) -> Response:
        _, home = self._place()
        found = [[e.path, e.kind, e.size, e.stamp] for e in home.changes()]
        return Response(Frame("done", {"changes": found}))

    def _python(self, frame: Frame) -> Response:
        if frame.fields.get("reset"):
            self._drop_kernel()

        def start(stdout: int, stderr: int) -> CellSource:
            return self._start_cell(frame.body, stdout, stderr)

        return self._run(frame, start)

    def _start_cell(self, code: bytes, stdout: int, stderr: int) -> CellSource:
        """Have the kernel run a cell; start a new kernel if there is none."""
        limits, _ = self._place()
        if self._kernel is not None:
            try:
                started = self._kernel.submit(code, stdout, stderr)
                return CellSource(self._kernel, self._child_signal, started)
            except KernelLost:
                self._drop_kernel()
                self._has_lost_state = True
        self._kernel = KernelLink(limits)
        try:
            started = self._kernel.submit(code, stdout, stderr)
        except KernelLost as error:
            self._drop_kernel()
            raise WallsBroken("The walls around the code could not be built.") from error
        return CellSource(self._kernel, self._child_signal, started)

    def _shell(self, frame: Frame) -> Response:
        limits, _ = self._place()

        def start(stdout: int, stderr: int) -> CommandSource:
            return CommandSource(frame.body, self._child_signal, limits, stdout, stderr)

        return self._run(frame, start)

    def _run(
        self, frame: Frame, start: Callable[[int, int], CellSource | CommandSource]
    ) -> Response:
        limits, home = self._place()
        home.refresh()
        before = {entry.path: entry.stamp for entry in home.list_files()}
        began = time.monotonic()
        self._has_lost_state = False
        outputs, writers = _pipes(limits.output)
        try:
            source = start(*writers)
        except WallsBroken:
            for output in outputs:
                output.finish()
            raise
        finally:
            for writer in writers:
                os.close(writer)
        outcome = Job(source, outputs, self._link, limits).wait(_seconds(frame.fields))
        self._clean_up(source)
        wall = time.monotonic() - began
        after = home.list_files()
        written = [e for e in after if e.kind == "written" and before.get(e.path) != e.stamp]
        files = self._harvest(limits, home, written)
        about = {
            "wall": wall,
            "left_out": len(written) - len(files),
            "has_changed": before != {entry.path: entry.stamp for entry in after},
            "state_lost": self._has_lost_state,
        }
        return _result(outcome, outputs, files, about)

    def _clean_up(self, source: CellSource | CommandSource) -> None:
        """Kill everything but the last good state, which is stopped."""
        kernel = self._kernel
        if kernel is None:
            processes.end_all()
        elif not source.has_lost_kernel and processes.end_all_but(kernel.spared()):
            kernel.pause()
        else:
            self._drop_kernel()
            self._has_lost_state = True

    def _drop_kernel(self) -> None:
        processes.end_all()
        if self._kernel is not None:
            self._kernel.close()
            self._kernel = None

    def _harvest(
        self, limits: RunLimits, home: Home, written: list[TreeEntry]
    ) -> list[tuple[str, PlainFile]]:
        """Return the files the run created or changed, within the limits."""
        room = limits.harvest_bytes
        files: list[tuple[str, PlainFile]] = []
        for entry in written:
            if len(files) == limits.harvest_files:
                break
            file = home.open_changed(entry.path, room)
            if file is not None:
                files.append((entry.path, file))
                room -= file.size
        return files


def _pipes(limit: int) -> tuple[list[Output], list[int]]:
    """Create two pipes: the ends we read, and the ends the run writes."""
    outputs: list[Output] = []
    writers: list[int] = []
    for _ in range(2):
        readable, writable = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(readable, False)
        outputs.append(Output(readable, limit))
        writers.append(writable)
    return outputs, writers


def _result(
    outcome: JobOutcome,
    outputs: list[Output],
    files: list[tuple[str, PlainFile]],
    about: dict[str, Any],
) -> Response:
    (stdout, is_cut), (stderr, is_error_cut) = (output.finish() for output in outputs)
    fields: dict[str, Any] = {
        "status": outcome.status,
        "exit_code": outcome.exit_code,
        "stdout": len(stdout),
        "stderr": len(stderr),
        "is_cut": is_cut or is_error_cut,
        "files": _listed(files),
        "cpu": outcome.cpu,
        "rss": outcome.rss,
        "names": outcome.names,
        **about,
    }
    return Response(Frame("result", fields), stdout + stderr, files)


def _listed(files: list[tuple[str, PlainFile]]) -> list[list[Any]]:
    return [[path, file.size] for path, file in files]


def _seconds(header: dict[str, Any]) -> float:
    seconds = header.get("seconds")
    return float(seconds) if isinstance(seconds, (int, float)) and seconds > 0 else 30.0


def _kind_of(error: OSError | ValueError) -> str:
    """Return deepagents' error code for a file that could not be read."""
    if isinstance(error, FileNotFoundError):
        return "file_not_found"
    if isinstance(error, IsADirectoryError):
        return "is_directory"
    if isinstance(error, PermissionError):
        return "permission_denied"
    number = error.errno if isinstance(error, OSError) else None
    return f"no_space: {os.strerror(number)}" if number == 28 else "invalid_path"


def ignore_terminal_signals() -> None:
    """Ignore signals of the terminal: the supervisor ends us."""
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
