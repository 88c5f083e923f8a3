"""(n) What Harbor adds to what it measures, with 300 streams at once.

A bare asyncio client, which parses nothing, watches some of the conversations that Harbor has: the
same events of the same answers, so the server's own delays cancel out. `run` opens a
connection for each question and keeps every event; `load` holds its connections. The targets are
times: how far the two clocks are apart for one event, and how late Harbor's loop is for
something that is due, such as the next question.
"""

from __future__ import annotations

import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

from bench.meter import percentile
from bench.processes import ALL, OTHERS, Json, Service, Worker, dataagent_server
from bench.report import Report, Row, below, say

_STREAMS = 300
_WATCHED = 30
_CYCLE = 11.0  # seconds; an answer takes 10, so nearly all streams stream at any time
_MESSAGE = "!slow 20 500"
_WITHIN = below(10)


def run(report: Report) -> None:
    """Measure both commands and report how far Harbor is from the bare client."""
    rounds = 1 if report.options.is_quick else report.options.rounds
    with ExitStack() as stack:
        server = stack.enter_context(dataagent_server(ALL))
        harbor, bare = (
            stack.enter_context(Worker("bench.n_harbor_side", core=OTHERS)) for _ in range(2)
        )
        for command in ("run", "load"):
            apart: dict[str, list[float]] = {"first text": [], "end": [], "loop": []}
            for number in range(rounds):
                say(f"(n) {_STREAMS} streams of `{command}`, round {number + 1}")
                for name, values in _apart(report, command, server, harbor, bare).items():
                    apart[name].extend(values)
            _add(report, command, apart)


def _add(report: Report, command: str, apart: dict[str, list[float]]) -> None:
    titles = {
        "first text": "first text, Harbor / bare apart",
        "end": "end of the answer, Harbor / bare apart",
        "loop": "its loop is late",
    }
    for name, title in titles.items():
        for share in (0.5, 0.95):
            report.add(
                Row(
                    "n",
                    f"{_STREAMS} streams of `{command}`: {title}, p{share * 100:.0f}",
                    percentile(apart[name], share) * 1000,
                    unit="ms",
                    target=_WITHIN,
                    note=f"{len(apart[name])} of them",
                )
            )


def _apart(
    report: Report, command: str, server: Service, harbor: Worker, bare: Worker
) -> dict[str, list[float]]:
    """Seconds between the two clocks for each event that both saw, whichever was later."""
    sessions = [str(uuid.uuid4()) for _ in range(_STREAMS * 11 // 10)]
    watched = sessions[:: len(sessions) // _WATCHED]
    common: dict[str, Any] = {"url": server.url, "turns": 2 if report.options.is_quick else 3}
    questions = {**common, "message": _MESSAGE, "cycle": _CYCLE}
    with ThreadPoolExecutor(2) as both:
        theirs = both.submit(bare.ask, do="watch", sessions=watched, **common)
        ours = both.submit(harbor.ask, do=command, sessions=sessions, **questions)
        answered: Json = ours.result()
        watched_answers: dict[str, list[float]] = theirs.result()["answers"]
    answers: dict[str, list[float]] = answered["answers"]
    pairs = [
        (answers[run_id], watched_answers[run_id])
        for run_id in watched_answers
        if run_id in answers
    ]
    if not pairs:
        raise RuntimeError("no answer was seen by both sides")
    report.keep("n", command, cpu=answered["cpu"], beside=answered["beside"], answers=len(answers))
    say(
        f"  {len(answers)} answers, {len(pairs)} of them watched; Harbor used "
        f"{answered['cpu']:.0%} of a core, the server, the bare client and others on it "
        f"{answered['beside']:.0%}"
    )
    return {
        "first text": [abs(our[0] - their[0]) for our, their in pairs],
        "end": [abs(our[1] - their[1]) for our, their in pairs],
        "loop": answered["lags"],
    }
