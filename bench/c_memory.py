"""(c) The server's memory for a session: idle, idle with a socket, and running.

That is resident memory before and after, divided; the warm-up before covers what is allocated
once. For comparison: a thread in LangGraph's InMemorySaver, which never frees it.
"""

from __future__ import annotations

import time
from contextlib import ExitStack

from bench.meter import memory_of
from bench.processes import MEASURED, OTHERS, Worker, dataagent_server
from bench.report import Report, Row, below, say

_MESSAGE = "!slow 50 0"
_LONG = "!slow 200 50"
_SOCKETS = 200
_RUNNING = 100
_WARM = 1000


def run(report: Report) -> None:
    """Measure, and report kilobytes and their ratio to the library's."""
    idle = 500 if report.options.is_quick else 2000
    with ExitStack() as stack:
        load = stack.enter_context(Worker("bench.load", core=OTHERS))
        server = stack.enter_context(dataagent_server())
        bare = stack.enter_context(Worker("bench.bare", "tuned-memory", core=MEASURED))
        visits = {"do": "visits", "url": server.url, "message": _MESSAGE}
        say(f"(c) {idle} idle sessions")
        load.ask(**visits, sessions=_WARM)
        empty = _settled(server.pid)
        load.ask(**visits, sessions=idle)
        full = _settled(server.pid)
        _add(report, "an idle session", (full - empty) / idle, has_target=True)
        say(f"(c) {_SOCKETS} open sockets, {_RUNNING} running sessions")
        load.ask(do="hold", url=server.url, message=_MESSAGE, sessions=_SOCKETS)
        _add(report, "an idle session with a socket", (_settled(server.pid) - full) / _SOCKETS)
        load.ask(do="release")
        running = {"do": "running", "url": server.url, "pid": server.pid, "message": _LONG}
        answer = load.ask(**running, sessions=_RUNNING, seconds=9.0)
        _add(report, "a running session", answer["bytes"])
        thread = bare.ask(do="threads", message=_MESSAGE, count=idle, at_once=50)["bytes"]
    ratio = max(0.0, full - empty) / idle / thread
    report.add(Row("c", "idle session / thread in InMemorySaver", ratio))


def _add(report: Report, name: str, size: float, *, has_target: bool = False) -> None:
    target = below(20) if has_target else None
    report.add(Row("c", f"memory of {name}", max(0.0, size) / 1024, unit="KB", target=target))
    report.keep("c", name, bytes=size)


def _settled(pid: int) -> int:
    """The memory once it no longer changes, or after ten seconds."""
    last = memory_of(pid)
    for _ in range(10):
        time.sleep(1)
        now = memory_of(pid)
        if abs(now - last) < 64 * 1024:
            return now
        last = now
    return last
