"""(d) What one more turn costs: in a session of 200 turns, and beside 5,000 other sessions.

CPU per turn of the server's process, in blocks of turns large enough for its clock. Young and old,
or lonely and crowded, are measured next to each other.
"""

from __future__ import annotations

import uuid
from contextlib import ExitStack
from statistics import mean, median

from bench.meter import Sample, least_disturbed, to_json
from bench.processes import OTHERS, Service, Worker, dataagent_server
from bench.report import Report, Row, below, say

_MESSAGE = "!slow 50 0"
_SESSIONS = 10
_EARLY, _LATE, _OLD = 9, 10, 190
_LIMIT = below(1.3)


def run(report: Report) -> None:
    """Measure both kinds of growth and report them."""
    with ExitStack() as stack:
        load = stack.enter_context(Worker("bench.load", core=OTHERS))
        server = stack.enter_context(dataagent_server())
        _with_age(report, server, load)
        crowded = stack.enter_context(dataagent_server())
        _with_others(report, server, crowded, load)


def _with_age(report: Report, server: Service, load: Worker) -> None:
    """Turns 191 to 200 of a session against its first nine."""
    ratios: list[float] = []
    for number in range(1 if report.options.is_quick else report.options.rounds):
        say(f"(d) round {number + 1}: {_SESSIONS} sessions grow to 200 turns")
        grown = _new_ids()
        _turns(server, load, grown, _OLD)
        young = [_turns(server, load, _new_ids(), _EARLY)]
        old = _turns(server, load, grown, _LATE)
        young.append(_turns(server, load, _new_ids(), _EARLY))
        ratios.append(old.cpu_per_turn / mean(each.cpu_per_turn for each in young))
        for name, sample in (("old", old), ("young", young[0]), ("young", young[1])):
            report.keep("d", name, round=number, **to_json(sample))
    name = "CPU/turn: turn 191-200 of a session / turn 1-9"
    report.add(Row("d", name, median(ratios), target=_LIMIT))


def _with_others(report: Report, lonely: Service, crowded: Service, load: Worker) -> None:
    """Turns in a server that holds thousands of other sessions against one that holds few."""
    others = 500 if report.options.is_quick else 5000
    say(f"(d) {others} other sessions")
    load.ask(do="visits", url=lonely.url, message="!echo hello", sessions=1, transport="rest")
    load.ask(do="visits", url=crowded.url, message="!echo hello", sessions=others, transport="rest")
    ratios: list[float] = []
    for number in range(report.options.rounds):
        samples: dict[str, Sample] = {}
        for name, server in (("lonely", lonely), ("crowded", crowded)):
            samples[name] = _block(report, server, load)
            report.keep("d", name, round=number, **to_json(samples[name]))
        ratios.append(samples["crowded"].cpu_per_turn / samples["lonely"].cpu_per_turn)
    name = f"CPU/turn: beside {others:,} other sessions / beside few"
    report.add(Row("d", name, median(ratios), target=_LIMIT))


def _block(report: Report, server: Service, load: Worker) -> Sample:
    return least_disturbed(
        lambda: _turns(server, load, _new_ids(), _LATE, warm=1), report.options.tries
    )


def _turns(
    server: Service, load: Worker, session_ids: list[str], turns: int, warm: int = 0
) -> Sample:
    answer = load.ask(
        do="turns",
        transport="ws",
        url=server.url,
        pid=server.pid,
        message=_MESSAGE,
        sessions=len(session_ids),
        session_ids=session_ids,
        turns=turns,
        warm=warm,
    )
    return Sample(**answer)


def _new_ids() -> list[str]:
    return [str(uuid.uuid4()) for _ in range(_SESSIONS)]
