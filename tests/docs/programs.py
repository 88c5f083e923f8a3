"""Our programs, started quickly: one process loads everything and forks a program for each call.

A page calls `dataagent` twenty times, and loading it takes longer than what it then does.
`Programs` starts the loading process and puts small programs of the usual names into a folder, for
`PATH`; each hands its arguments, environment, folder and streams over and leaves with the same exit
status. What runs in the fork is the program's own `main`.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import importlib
import json
import os
import pkgutil
import re
import runpy
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

from scripts.tree import ROOT

NAMES = ("dataagent", "dataagent-server", "dataagent-harbor", "python")
_LEFT_OUT = re.compile(r"runner|migrations|__main__|redis|postgres|mysql|taskiq|otel")
"""What runs elsewhere, or needs what may not be installed."""
_USED_BY_PAGES = ("pandas", "dataagent_client", "mcp.client.streamable_http")
_PR_SET_PDEATHSIG = 1
_MOST = 1 << 18
_CALL = """\
#!{python} -IS
import json, os, socket, sys
line = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
line.connect({address!r})
order = {{"argv": [{name!r}, *sys.argv[1:]], "cwd": os.getcwd(), "env": dict(os.environ)}}
socket.send_fds(line, [json.dumps(order).encode()], [0, 1, 2])
line.recv(64)
sys.exit(int(line.recv(64) or b"1"))
"""


class Programs:
    """The loading process and the folder of programs that call it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "bin"
        self.folder.mkdir()
        self._address = str(folder / "programs")
        for name in NAMES:
            path = self.folder / name
            text = _CALL.format(python=sys.executable, address=self._address, name=name)
            path.write_text(text, encoding="utf-8")
            path.chmod(0o755)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.docs.programs", self._address],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            cwd=ROOT,
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == b"ready\n"

    def start(self, argv: list[str], env: Mapping[str, str], log: Path) -> int:
        """Start a program that goes on by itself, its output in a file; its pid."""
        order = {"argv": argv, "cwd": str(log.parent), "env": dict(env)}
        with (
            socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as line,
            log.open("wb") as output,
            Path(os.devnull).open("rb") as nothing,
        ):
            line.connect(self._address)
            streams = [nothing.fileno(), output.fileno(), output.fileno()]
            socket.send_fds(line, [json.dumps(order).encode()], streams)
            return int(line.recv(64))

    def close(self) -> None:
        """End the loading process."""
        self._process.terminate()
        self._process.wait(10)
        assert self._process.stdout is not None
        self._process.stdout.close()


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
    for name in _USED_BY_PAGES:
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
        os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
    if sys.argv[1] == "-m":
        runpy.run_module(sys.argv[2], run_name="__main__", alter_sys=True)
        return
    del sys.argv[0]
    runpy.run_path(sys.argv[0], run_name="__main__")


def _serve(address: str) -> None:
    _end_with_parent()
    mains = _mains()
    gc.collect()
    gc.freeze()  # else each fork looks at all of it, and so copies it
    atexit.register(gc.unfreeze)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps them
    signal.signal(signal.SIGTERM, _leave)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(address)
        listener.listen(16)
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        while True:
            line, _ = listener.accept()
            if os.fork() == 0:
                _end_with_parent()
                listener.close()
                _answer(line, mains)
            line.close()


def _end_with_parent() -> None:
    """Have this process ended when the one that started it ends, however that ends."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def _leave(number: int, frame: FrameType | None) -> None:
    del number, frame
    os._exit(0)


def _answer(line: socket.socket, mains: Mapping[str, Callable[[], Any]]) -> None:
    """Start what was ordered, say its pid, and its exit status when it has ended."""
    message, streams, _, _ = socket.recv_fds(line, _MOST, 3)
    for number in (signal.SIGCHLD, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    pid = os.fork()
    if pid == 0:
        line.close()
        _become(json.loads(message), streams, mains)
    for stream in streams:
        os.close(stream)
    line.send(b"%d" % pid)
    _, status = os.waitpid(pid, 0)
    with suppress(OSError):  # whoever started it may not wait
        line.send(b"%d" % max(os.waitstatus_to_exitcode(status), 0))
    os._exit(0)


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
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(status)


if __name__ == "__main__":
    _serve(sys.argv[1])
