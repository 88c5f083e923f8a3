"""What takes part in a comparison, and rounds of it: A B C, A B C, … never A A A, B B B.

A machine that slows down for a minute then slows all sides of a round, and ratios are taken within
a round.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bench.meter import Sample, least_disturbed, median_ratio, to_json
from bench.processes import Service, Worker
from bench.report import Report, say

TRANSPORT_NAMES = {"ws": "WebSocket", "sse": "SSE", "rest": "REST"}
"""Our doors, by their names in `clients.py`."""
_BUSY = 0.8


@dataclass(frozen=True, slots=True)
class Cell:
    """One combination of what is asked and by how many."""

    name: str
    message: str
    sessions: int
    turns: int
    expected: str = "chunk49 "


@dataclass(frozen=True, slots=True)
class Side:
    """Something that can do a cell's turns and says what they cost."""

    name: str
    measure: Callable[[Cell], Sample]


def bare_side(name: str, worker: Worker) -> Side:
    """The bare loop in a worker."""

    def measure(cell: Cell) -> Sample:
        answer = worker.ask(
            do="turns", message=cell.message, sessions=cell.sessions, turns=cell.turns
        )
        return Sample(**answer)

    return Side(name, measure)


def server_side(name: str, transport: str, service: Service, load: Worker) -> Side:
    """A server, through one of its doors."""

    def measure(cell: Cell) -> Sample:
        answer = load.ask(
            do="turns",
            transport=transport,
            url=service.url,
            pid=service.pid,
            message=cell.message,
            sessions=cell.sessions,
            turns=cell.turns,
            expected=cell.expected,
        )
        return Sample(**answer)

    return Side(name, measure)


class Rounds:
    """The samples of one cell: as many of each side as there were rounds."""

    def __init__(self, report: Report, part: str, cell: Cell, sides: Sequence[Side]) -> None:
        self._samples: dict[str, list[Sample]] = {side.name: [] for side in sides}
        for number in range(report.options.rounds):
            for side in sides:
                sample = _measured(side, cell, report.options.tries)
                self._samples[side.name].append(sample)
                report.keep(part, cell.name, side=side.name, round=number, **to_json(sample))
        self._warn(cell)

    def speed(self, ours: str, theirs: str) -> float:
        """Turns per second of one side as a multiple of the other's."""
        return median_ratio(
            *([each.turns_per_second for each in self._samples[side]] for side in (ours, theirs))
        )

    def cost(self, ours: str, theirs: str) -> float:
        """CPU per turn of one side as a multiple of the other's."""
        return median_ratio(
            *([each.cpu_per_turn for each in self._samples[side]] for side in (ours, theirs))
        )

    def _warn(self, cell: Cell) -> None:
        for side, samples in self._samples.items():
            share = max(sample.generator_share for sample in samples)
            if share > _BUSY:
                say(f"  warning: {cell.name}, {side}: the load generator was {share:.0%} busy")


def _measured(side: Side, cell: Cell, tries: int) -> Sample:
    return least_disturbed(lambda: side.measure(cell), tries)
