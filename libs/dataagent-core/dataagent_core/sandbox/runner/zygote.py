"""The process all sessions are forked from: imports once what code usually needs.

It runs no user code, holds no secret, has no environment and exactly one thread. Each request on
its control socket carries the socket of a new session, which a fork of this process then serves. A
fork shares every page with its parent until one of them writes to it, and Python writes often: to
reference counts, and to the first hole a new object fits into. `_prepare_for_fork` reduces that
once, before the first fork.
"""

from __future__ import annotations

import array
import ctypes
import gc
import importlib
import io
import json
import logging
import os
import select
import signal
import socket
import sys
import warnings
from collections.abc import Iterator
from typing import Any, NoReturn

from . import home, processes, session, system, walls
from .frames import Frame
from .link import LinkClosed, SupervisorLink

_MODULES = (
    "numpy",
    "pandas",
    "matplotlib.pyplot",
    "duckdb",
    "openpyxl",
    "docx",
    "pptx",
    "PIL.Image",
    "pypdf",
    "json",
    "csv",
    "datetime",
    "re",
    "statistics",
    "collections",
    "ast",
    "traceback",
)
_ENVIRONMENT = {
    "PATH": "/opt/bin:/usr/local/bin:/usr/bin:/bin",
    "HOME": "/tmp",  # noqa: S108 - the session's own
    "LANG": "C.UTF-8",
    "MPLBACKEND": "Agg",
    "MPLCONFIGDIR": "/tmp",  # noqa: S108
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
    "PYTHONDONTWRITEBYTECODE": "1",
}
_FONTS = ("WenQuanYi Zen Hei", "WenQuanYi Micro Hei", "Noto Sans CJK SC", "Noto Sans CJK JP")
_POOL = 16384
"""Python takes memory from pools of this size, each for objects of one size: 16, 32, ... 512."""

_LARGEST_HOLE, _SMALLEST_HOLE = 1 << 16, 1 << 9
_DONTNEED = 4

_fillers: list[list[object]] = []


def prepare(modules: tuple[str, ...] = _MODULES) -> list[str]:
    """Import everything and prepare to be forked; return the names of missing modules.

    Raises:
        RuntimeError: something started a thread, which no fork would have.
    """
    os.environ.clear()
    os.environ.update(_ENVIRONMENT)
    missing = [name for name in modules if not _imported(name)]
    if "matplotlib.pyplot" in sys.modules:
        _warm_matplotlib()
    if "pandas" in sys.modules:
        _warm_pandas()
    warnings.filterwarnings("ignore", category=DeprecationWarning, message=".*fork.*")
    walls.prepare()
    threads = len(os.listdir("/proc/self/task"))
    if threads != 1:
        raise RuntimeError(f"The runner has {threads} threads; it must have one to be forked.")
    _prepare_for_fork()
    return missing


def _imported(name: str) -> bool:
    try:
        importlib.import_module(name)
    except ImportError:
        return False
    return True


def _warm_matplotlib() -> None:
    """Choose fonts with Chinese characters and draw once, so that no session waits for it."""
    matplotlib: Any = sys.modules["matplotlib"]  # Any: not known to be installed
    fonts: Any = importlib.import_module("matplotlib.font_manager")
    known = {font.name for font in fonts.fontManager.ttflist}
    families = ["DejaVu Sans", *(name for name in _FONTS if name in known)]
    logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)
    matplotlib.rcParams["font.family"] = families
    matplotlib.rcParams["font.sans-serif"] = families
    matplotlib.rcParams["axes.unicode_minus"] = False
    pyplot: Any = sys.modules["matplotlib.pyplot"]
    figure, axes = pyplot.subplots()
    axes.plot([1, 2, 3], label="a")
    axes.bar([1, 2], [3, 4])
    axes.set_title("Title 中文")
    axes.legend()
    figure.savefig(io.BytesIO(), format="png")
    pyplot.close("all")
    opened = getattr(fonts, "_get_font", None)
    if opened is not None:  # each fork lets go of opened fonts, and would write a megabyte for it
        opened.cache_clear()


def _warm_pandas() -> None:
    pandas: Any = sys.modules["pandas"]  # Any: not known to be installed
    table = pandas.DataFrame({"a": [1, 2], "b": ["x", "y"]})
    table.groupby("b")["a"].sum().to_string()
    table.to_csv(io.StringIO())
    table.describe()


def _prepare_for_fork() -> None:
    """Collect garbage, fill the holes of the heap, and release pages that forks do not need."""
    gc.collect()
    # each entry that a fork replaced would write to the name it was for
    sys._clear_type_cache()  # pyright: ignore[reportPrivateUsage] documented for our use
    library = ctypes.CDLL(None)
    library.malloc_trim(0)
    _fill_pools()
    _fill_heap(library)
    gc.freeze()
    gc.set_threshold(100_000, 50, 50)
    _forget_files(library)


def _fill_pools() -> None:
    """Make the next objects share pools of their own instead of filling holes everywhere."""
    for size in range(16, 513, 16):
        batch = _objects(size)
        while len({id(found) // _POOL for found in batch}) > 3:
            _fillers.append(batch)
            batch = _objects(size)


def _objects(size: int) -> list[object]:
    """Return as many objects of a size as a pool holds."""
    numbers = range(_POOL // size)
    if size == 16:
        return [object() for _ in numbers]
    if size == 32:
        return [float(number) for number in numbers]
    return [bytes(size - 33) for _ in numbers]


def _fill_heap(library: ctypes.CDLL) -> None:
    """Fill the holes of the C heap, from the largest to the smallest."""
    allocate: Any = library.malloc  # Any: a foreign function, likewise below
    allocate.argtypes, allocate.restype = [ctypes.c_size_t], ctypes.c_void_p
    free: Any = library.free
    free.argtypes, free.restype = [ctypes.c_void_p], None
    end: Any = library.sbrk
    end.argtypes, end.restype = [ctypes.c_ssize_t], ctypes.c_void_p
    limit, size = end(0), _LARGEST_HOLE
    while size >= _SMALLEST_HOLE:
        place = allocate(size)
        if place is None or place + size > limit:  # no hole: beyond what was the heap
            free(place)
            size = size * 7 // 8


def _forget_files(library: ctypes.CDLL) -> None:
    """Release the pages of files that only imports needed; they are read again on demand."""
    advise: Any = library.madvise
    advise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    for start, end in _unchanged_files():
        advise(start, end - start, _DONTNEED)


def _unchanged_files() -> Iterator[tuple[int, int]]:
    """Yield the ranges of mapped files that nothing was written to."""
    start = end = 0
    with open("/proc/self/smaps") as file:
        for words in map(str.split, file):
            if "-" in words[0] and not words[0].endswith(":"):
                first, _, last = words[0].partition("-")
                is_file = len(words) > 5 and words[5].startswith("/") and "w" not in words[1]
                start, end = (int(first, 16), int(last, 16)) if is_file else (0, 0)
            elif start and words[:2] == ["Anonymous:", "0"]:
                yield start, end


def serve(control: socket.socket) -> NoReturn:
    """Fork a session for every socket received; exit when the supervisor does."""
    session.ignore_terminal_signals()
    missing = prepare()
    system.set_dumpable(False)
    overlay = os.path.isdir(home.WORKSPACES)
    _reply(control, {"ready": True, "missing": missing, "workspaces": overlay})
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    while True:
        select.select([control], [], [], 5)
        processes.reap()
        descriptors = _descriptors(control)
        if descriptors is None:
            os._exit(0)
        for number in descriptors:
            if os.fork() == 0:
                control.close()
                _become_session(number)
            os.close(number)


def _descriptors(control: socket.socket) -> list[int] | None:
    """Return the sockets of new sessions; None when the supervisor is gone."""
    received = array.array("i")
    space = socket.CMSG_SPACE(received.itemsize)
    try:
        content, ancillary, _, _ = control.recvmsg(1, space, socket.MSG_DONTWAIT)
    except BlockingIOError:
        return []
    if not content:
        return None
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            received.frombytes(data)
    return received.tolist()


def _reply(control: socket.socket, message: dict[str, Any]) -> None:
    control.sendall(json.dumps(message).encode() + b"\n")


def _become_session(number: int) -> NoReturn:
    """Enter namespaces, fork their first process, and serve in it. Never returns."""
    link = SupervisorLink(number, number)
    try:
        home.unshare_namespaces()
        if os.fork():
            os._exit(0)
        home.isolate_proc()
        session.serve(link, home.mount_home, has_own_users=True)
    except (OSError, LinkClosed) as error:
        link.send(Frame("failed", {"reason": f"no namespaces of its own: {error}"}))
    finally:
        os._exit(1)
