"""Our programs, started quickly: one process loads everything and forks a program for each call.

Tests start programs hundreds of times, and loading takes longer than what most of them then do.
`programs()` is the loading process, one for all processes of a test run. `start` has it start a
program that a test then signals and waits for. `quick` gives the path of a small program, for a
`PATH`, a shell, a pseudo-terminal or a server's settings. It passes on its arguments, environment,
folder, three streams and the signals it gets, ends as the program ends, and kills it if it is
killed. `KILL` sent to it kills the program alone: if the small program were killed
first, a terminal would hang up, and the program could end by itself before it is killed.

The fork runs the program's own `main` with everything imported: a test of how a program starts
(what it imports, closed streams, other encodings, more streams) starts it with Python.
"""

from __future__ import annotations

import atexit
import ctypes
import fcntl
import gc
import importlib
import json
import os
import pkgutil
import re
import runpy
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

from tests.source import ROOT
from tests.times import count_start
from tests.waiting import WAIT_SECONDS

KILL = signal.SIGUSR1
NAMES = ("dataagent", "dataagent-server", "dataagent-harbor", "python")
_LEFT_OUT = re.compile(r"runner|migrations|__main__|redis|postgres|mysql|taskiq|otel")
"""Modules that run elsewhere, or need packages that may not be installed."""
_ALSO_LOADED = (
    *("pandas", "dataagent_client", "mcp.client.streamable_http"),
    *("mcp.server.mcpserver", "mcp.server.stdio", "uvicorn.protocols.http.auto"),
)
_PR_SET_PDEATHSIG = 1
_MOST = 1 << 18
_CALL = """\
#!{python} -IS
import json, os, select, signal, socket, sys
line = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
line.connect({address!r})
order = {{"argv": [{name!r}, *sys.argv[1:]], "cwd": os.getcwd(), "env": dict(os.environ)}}
passed_on = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGWINCH, signal.SIGUSR1]
woken, waking = os.pipe()
os.set_blocking(waking, False)
signal.set_wakeup_fd(waking)
for number in passed_on:
    signal.signal(number, lambda number, frame: None)
socket.send_fds(line, [json.dumps(order).encode()], [0, 1, 2])
pid = int(line.recv(64))
os.closerange(0, 3)
while line not in select.select([line, woken], [], [])[0]:
    for number in os.read(woken, 64):
        os.kill(pid, signal.SIGKILL if number == signal.SIGUSR1 else number)
status = int(line.recv(64) or b"1")
if status < 0:
    if -status in passed_on:
        signal.signal(-status, signal.SIG_DFL)
    os.kill(os.getpid(), -status)
os._exit(status)
"""


class Program:
    """One that was started: its pid, and how it ended."""

    def __init__(self, pid: int, line: socket.socket) -> None:
        self.pid = pid
        self._line = line
        self._status: int | None = None

    @property
    def is_alive(self) -> bool:
        """Whether it has not ended."""
        return self._ended(0.0) is None

    def wait(self, seconds: float = WAIT_SECONDS) -> int:
        """Its exit status, once it has ended; minus the signal that ended it."""
        status = self._ended(seconds)
        assert status is not None, f"Process {self.pid} has not ended in {seconds} s."
        return status

    def send_signal(self, number: int) -> None:
        """Send it a signal, if it has not ended."""
        with suppress(ProcessLookupError):
            if self.is_alive:
                os.kill(self.pid, number)

    def kill(self) -> None:
        """End it at once, and wait for its end."""
        self.send_signal(signal.SIGKILL)
        self.wait()

    def _ended(self, seconds: float) -> int | None:
        if self._status is None:
            self._line.settimeout(seconds)
            with suppress(TimeoutError, BlockingIOError):
                self._status = int(self._line.recv(64))
                self._line.close()
        return self._status


class Programs:
    """The loading process, and a folder of programs that call it. It ends when `owner` ends."""

    def __init__(self, folder: Path, owner: int) -> None:
        self.folder = folder / "bin"
        self._address = str(folder / "programs")
        folder.mkdir(mode=0o700, exist_ok=True)
        with (folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not self._answers():
                self._write_calls()
                self._load(owner)

    def _answers(self) -> bool:
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as line:
            return line.connect_ex(self._address) == 0

    def _write_calls(self) -> None:
        self.folder.mkdir(exist_ok=True)
        for name in NAMES:
            path = self.folder / name
            text = _CALL.format(python=sys.executable, address=self._address, name=name)
            path.write_text(text, encoding="utf-8")
            path.chmod(0o755)

    def _load(self, owner: int) -> None:
        """It runs as an orphan, as some tests check the children of their process."""
        command = [sys.executable, "-m", "tests.programs", self._address, str(owner)]
        subprocess.run(command, stdin=subprocess.DEVNULL, cwd=ROOT, check=True)

    def start(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        log: Path,
        cwd: Path = ROOT,
    ) -> Program:
        """Start a program that reads nothing and writes to the end of a log."""
        count_start("program")
        order = {"argv": list(argv), "cwd": str(cwd), "env": dict(env)}
        line = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        line.connect(self._address)
        with Path(os.devnull).open("rb") as nothing, log.open("ab") as output:
            streams = [nothing.fileno(), output.fileno(), output.fileno()]
            socket.send_fds(line, [json.dumps(order).encode()], streams)
        return Program(int(line.recv(64)), line)


@cache
def programs() -> Programs:
    """The programs of this run, loaded by the first call. They end with it."""
    is_part = "PYTEST_XDIST_WORKER" in os.environ
    owner = os.getppid() if is_part else os.getpid()
    return Programs(Path(tempfile.gettempdir(), f"dataagent-programs-{owner}"), owner)


def quick(name: str) -> str:
    """The path of a program that has the loading process run `name`, one of `NAMES`."""
    return str(programs().folder / name)


# -- the loading process --


def _mains() -> dict[str, Callable[[], Any]]:
    """The programs by name; importing them is what takes long. Any: what they return, or do not."""
    import dataagent_cli.main
    import dataagent_core
    import dataagent_harbor.cli
    import dataagent_server.cli
    import dataagent_server.main

    for package in (dataagent_cli, dataagent_core):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not _LEFT_OUT.search(module.name):
                importlib.import_module(module.name)
    for name in _ALSO_LOADED:
        importlib.import_module(name)
    dataagent_server.main.built_routes()
    return {
        "dataagent": dataagent_cli.main.main,
        "dataagent-server": dataagent_server.cli.main,
        "dataagent-harbor": dataagent_harbor.cli.main,
        "python": _run_python,
    }


def _run_python() -> None:
    """Run what the arguments name as Python does."""
    if sys.argv[1] == "-c":
        code = sys.argv[2]
        sys.argv[:3] = ["-c"]
        exec(code, {"__name__": "__main__"})
        return
    if sys.argv[1] == "-m":
        del sys.argv[:2]
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
        return
    del sys.argv[0]
    sys.path.insert(0, str(Path(sys.argv[0]).resolve().parent))
    runpy.run_path(sys.argv[0], run_name="__main__")


def _go_on(number: int, frame: FrameType | None) -> None:
    """Do nothing: the signal only wakes the selector."""
    del number, frame


class _Loaded:
    """Forks a program for each connection, and reports its exit status there."""

    def __init__(self, address: str, owner: int) -> None:
        self._owner = os.pidfd_open(owner)
        self._mains = _mains()
        self._lines: dict[int, socket.socket] = {}
        self._selector = selectors.DefaultSelector()
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        Path(address).unlink(missing_ok=True)  # left by one that was killed
        self._listener.bind(address)
        self._listener.listen(64)
        self._woken, self._waking = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def serve(self) -> None:
        """Until the owner has ended."""
        signal.signal(signal.SIGCHLD, _go_on)
        signal.set_wakeup_fd(self._waking)
        self._selector.register(self._owner, selectors.EVENT_READ)
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._selector.register(self._woken, selectors.EVENT_READ)
        while True:
            for key, _ in self._selector.select():
                if key.fileobj == self._owner:
                    return
                if key.fileobj is self._listener:
                    self._take(self._listener.accept()[0])
                elif key.fileobj == self._woken:
                    self._reap()
                else:  # its caller has ended
                    self._kill(key.data)

    def _take(self, line: socket.socket) -> None:
        message, streams, _, _ = socket.recv_fds(line, _MOST, 3)
        if not message:  # a check whether this process runs
            line.close()
            return
        pid = os.fork()
        if pid == 0:
            self._leave(line)
            _become(json.loads(message), streams, self._mains)
        for stream in streams:
            os.close(stream)
        self._lines[pid] = line
        self._selector.register(line, selectors.EVENT_READ, pid)
        with suppress(OSError):
            line.send(b"%d" % pid)

    def _leave(self, line: socket.socket) -> None:
        """In the fork: close what belongs to the loading process."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self._selector.close()
        for own in (self._listener, line, *self._lines.values()):
            own.close()
        for number in (self._woken, self._waking, self._owner):
            os.close(number)

    def _reap(self) -> None:
        os.read(self._woken, _MOST)
        with suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG)) != (0, 0):
                pid, status = ended
                with self._lines.pop(pid) as line, suppress(KeyError, OSError):
                    self._selector.unregister(line)
                    line.send(b"%d" % os.waitstatus_to_exitcode(status))

    def _kill(self, pid: int) -> None:
        if pid in self._lines:  # else it has ended meanwhile
            self._selector.unregister(self._lines[pid])
            os.kill(pid, signal.SIGKILL)


def _end_with_parent() -> None:
    """Have this process ended when the one that started it ends, however that ends."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _become(
    order: dict[str, Any], streams: list[int], mains: Mapping[str, Callable[[], Any]]
) -> None:
    os.setsid()
    _end_with_parent()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin, sys.stdout, sys.stderr = (
        open(number, mode, encoding="utf-8", closefd=False)  # noqa: SIM115 the program's own
        for number, mode in enumerate("rww")
    )
    os.chdir(order["cwd"])
    os.environ.clear()
    os.environ.update(order["env"])
    time.tzset()
    sys.argv = order["argv"]
    status = 1
    try:
        status = mains[sys.argv[0]]() or 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
        if isinstance(end.code, str):
            sys.stderr.write(f"{end.code}\n")
    except BaseException:
        sys.excepthook(*sys.exc_info())  # pyright: ignore[reportArgumentType] an exception is there
    finally:
        _finish()
        os._exit(status)


def _finish() -> None:
    """What Python does at the end of a program, as for processes of `multiprocessing`."""
    with suppress(BaseException):
        for module, name in ((threading, "_shutdown"), (atexit, "_run_exitfuncs")):
            getattr(module, name)()  # nothing public does it without leaving
    if (coverage := sys.modules.get("coverage")) and (measured := coverage.Coverage.current()):
        measured.stop()
        measured.save()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()


def _serve(address: str, owner: int) -> None:
    """Load everything, and go on as an orphaned process."""
    loaded = _Loaded(address, owner)
    # In the background of a shell SIGINT is ignored; the programs are none of its jobs.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    gc.collect()
    gc.freeze()  # else each fork looks at all of it, and so copies it
    atexit.register(gc.unfreeze)  # else native libraries report what is frozen as leaked
    if os.fork():
        os._exit(0)
    loaded.serve()
    shutil.rmtree(Path(address).parent, ignore_errors=True)
    os._exit(0)


if __name__ == "__main__":
    _serve(sys.argv[1], int(sys.argv[2]))
