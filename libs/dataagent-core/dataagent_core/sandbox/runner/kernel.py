"""Runs cells, each in a fork of the last good state. Untrusted from the first cell on.

Before each cell the process forks. The child runs the cell and, if it finishes, is the new state;
the parent waits as the way back. Whatever a cell does to its process (loops, a crash, no memory
left), the parent is as it was before. A report about a cell says only what the cell could have said
itself; deadlines, limits and files are the session's business.
"""

from __future__ import annotations

import array
import ast
import gc
import json
import linecache
import os
import socket
import struct
import sys
import threading
import traceback
import types
from typing import Any, NoReturn

from . import walls

WORKSPACE = "/workspace"
OUTPUT = "output"
OUTPUT_PLACE = "/output"
"""Where code finds it; a link into the workspace, unless that is the user's own folder."""

_LENGTH = struct.Struct(">I")
_NAMES = 100


def serve(channel: socket.socket) -> NoReturn:
    """Run the cells that arrive on the channel, until it is closed."""
    module = types.ModuleType("__main__")
    module.__dict__["__builtins__"] = __builtins__
    sys.modules["__main__"] = module
    sys.argv = [""]
    gc.set_threshold(700, 10, 10)
    _seed()
    walls.set_rank(walls.LATER)
    cell = CellRunner(module.__dict__)
    while True:
        request = _receive(channel)
        if request is None:
            os._exit(0)
        number, code, streams = request
        _reap_children()
        child = os.fork()
        if child:
            for stream in streams:
                os.close(stream)
            _report_exit(channel, number, child)
        else:
            _send(channel, {"cell": number, "event": "started"})
            walls.set_rank(walls.FIRST)
            report = cell.run(number, code, streams)
            walls.set_rank(walls.LATER)
            _send(channel, {"cell": number, "event": "done", **report})


class CellRunner:
    """The state that cells share."""

    def __init__(self, names: dict[str, Any]) -> None:  # Any: they are the user's
        self._names = names
        self._figures = 0

    def run(self, number: int, code: str, streams: list[int]) -> dict[str, Any]:
        """Run a cell with these as its stdout and stderr, and return what to report."""
        for stream, place in zip(streams, (1, 2), strict=True):
            os.dup2(stream, place)
            os.close(stream)
        sys.stdin = open(os.devnull)  # noqa: SIM115 - open as long as the process
        sys.stdout = open(1, "w", buffering=1, errors="replace", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", buffering=1, errors="replace", closefd=False)  # noqa: SIM115
        own = os.getpid()
        try:
            status, exit_code = self._execute(f"<cell {number}>", code)
        finally:
            _close_output()
        if os.getpid() != own:  # a fork of the cell's that ran to the cell's end
            os._exit(exit_code)
        return {"status": status, "exit_code": exit_code, "names": self._live_names()}

    def _execute(self, filename: str, code: str) -> tuple[str, int]:
        lines = code.splitlines(keepends=True)
        linecache.cache[filename] = (len(code), None, lines, filename)
        try:
            self._evaluate(filename, code)
            self._save_figures()
            for thread in threading.enumerate():
                if thread is not threading.current_thread() and not thread.daemon:
                    thread.join()
        except SystemExit as error:
            return _exit_status(error)
        except MemoryError as error:
            _show(error, filename)
            return "memory", 1
        except BaseException as error:
            _show(error, filename)
            return "error", 1
        return "ok", 0

    def _evaluate(self, filename: str, code: str) -> None:
        """Run the code; the value of the last line is printed, as at a prompt."""
        tree = ast.parse(code, filename)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, filename, "exec"), self._names)  # noqa: S102 - the purpose of this place
        if isinstance(last, ast.Expr):
            expression = compile(ast.Expression(last.value), filename, "eval")
            value = eval(expression, self._names)  # noqa: S307 - likewise
            if value is not None:
                self._names["_"] = value
                print(repr(value))  # noqa: T201 - to the user's own stdout

    def _save_figures(self) -> None:
        """Save open figures as pictures, as a notebook would show them."""
        pyplot = sys.modules.get("matplotlib.pyplot")
        if pyplot is None or not pyplot.get_fignums():
            return
        folder = os.path.realpath(OUTPUT_PLACE)
        os.makedirs(folder, exist_ok=True)
        for figure_number in pyplot.get_fignums():
            self._figures += 1
            pyplot.figure(figure_number).savefig(f"{folder}/figure_{self._figures}.png")
        pyplot.close("all")

    def _live_names(self) -> list[str]:
        names = [
            name[:80]
            for name, value in self._names.items()
            if not name.startswith("_") and not isinstance(value, types.ModuleType)
        ]
        return names[-_NAMES:]


def _exit_status(error: SystemExit) -> tuple[str, int]:
    if error.code is None or error.code == 0:
        return "ok", 0
    if isinstance(error.code, int):
        return "error", error.code
    print(error.code, file=sys.stderr)  # noqa: T201 - as Python does
    return "error", 1


def _show(error: BaseException, filename: str) -> None:
    """Print a traceback that begins in the cell."""
    frames = error.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename != filename:
        frames = frames.tb_next
    traceback.print_exception(type(error), error, frames, file=sys.stderr)


def _close_output() -> None:
    """Close the cell's output, so that its end can be seen."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):  # the user closed it, or its reader is gone
            continue
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)
    os.close(nothing)


def _seed() -> None:
    """Seed random numbers: all sessions are forks of one process."""
    for name in ("random", "numpy.random"):
        if name in sys.modules:
            sys.modules[name].seed()


def _reap_children() -> None:
    """Reap killed children of the last cell: zombies count as processes, too."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            continue
    except ChildProcessError:
        return


def _report_exit(channel: socket.socket, number: int, child: int) -> None:
    """Wait for the end of the cell's process and report how it died.

    If the cell comes to a good end this never returns: the session ends us first.
    """
    _, status, usage = os.wait4(child, 0)
    _send(
        channel,
        {
            "cell": number,
            "event": "died",
            "exit_code": os.waitstatus_to_exitcode(status),
            "cpu": usage.ru_utime + usage.ru_stime,
            "rss": usage.ru_maxrss * 1024,
        },
    )


def _send(channel: socket.socket, report: dict[str, Any]) -> None:
    content = json.dumps(report).encode()
    channel.sendall(_LENGTH.pack(len(content)) + content)


def _receive(channel: socket.socket) -> tuple[int, str, list[int]] | None:
    """Receive the next cell: its number, its code and the descriptors of its output."""
    streams = array.array("i")
    prefix, ancillary, _, _ = channel.recvmsg(8, socket.CMSG_SPACE(2 * streams.itemsize))
    for level, kind, content in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            streams.frombytes(content)
    if len(prefix) < 8 or len(streams) != 2:
        return None
    number, size = struct.unpack(">II", prefix)
    code = bytearray()
    while len(code) < size:
        chunk = channel.recv(min(size - len(code), 1 << 20))
        if not chunk:
            return None
        code += chunk
    return number, code.decode(errors="replace"), streams.tolist()
