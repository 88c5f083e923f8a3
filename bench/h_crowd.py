"""(h) Many users of one process: a hundred who stream at once, a thousand who are connected.

The targets here are times, as part f's are: the product promises them on this kind of machine. The
server has all cores, as it would in the field, and shares the last one with the load generator.
"""

from __future__ import annotations

from contextlib import ExitStack

from bench.processes import ALL, OTHERS, Service, Worker, dataagent_server
from bench.report import Report, Row, below, say

_PACE = 0.02
_CHUNKS = 50
_LENGTH = _PACE * _CHUNKS
_MESSAGE = f"!slow {_CHUNKS} {_PACE * 1000:.0f}"
_LATE = below(100)
_HEALTH = below(250)


def run(report: Report) -> None:
    """Measure both and report them."""
    with ExitStack() as stack:
        load = stack.enter_context(Worker("bench.load", core=OTHERS))
        server = stack.enter_context(dataagent_server(ALL))
        _streaming(report, server, load)
        _connected(report, server, load)


def _streaming(report: Report, server: Service, load: Worker) -> None:
    """A hundred users whose answers stream back to back."""
    seconds = 3.0 if report.options.is_quick else 10.0
    say("(h) 100 users stream at once")
    found = load.ask(
        do="paced",
        url=server.url,
        pid=server.pid,
        message=_MESSAGE,
        sessions=100,
        seconds=seconds,
        settle=2.0,
        pace=_PACE,
        length=_LENGTH,
    )
    report.keep("h", "streaming", **found)
    report.add(
        Row("h", "100 users streaming, p95 late", found["p95"] * 1000, unit="ms", target=_LATE)
    )


def _connected(report: Report, server: Service, load: Worker) -> None:
    """A thousand connected users, forty of whom send a message each second."""
    users = 200 if report.options.is_quick else 1000
    seconds = 5.0 if report.options.is_quick else 20.0
    say(f"(h) {users} connected users, 40 new turns a second")
    found = load.ask(
        do="crowd",
        url=server.url,
        pid=server.pid,
        message=_MESSAGE,
        users=users,
        seconds=seconds,
        turns_per_second=40,
        pace=_PACE,
    )
    report.keep("h", "crowd", **found)
    name = f"{users:,} users, 40 turns/s"
    note = f"{found['turns']} turns, all complete"
    late, health = found["p95"] * 1000, found["health_p95"] * 1000
    report.add(Row("h", f"{name}, p95 late", late, unit="ms", target=_LATE, note=note))
    report.add(Row("h", f"{name}, /health p95", health, unit="ms", target=_HEALTH))
