"""(a) Turns per second, and CPU per turn, over our transports against the bare `agent.astream`.

The model is scripted, 50 chunks without delay, so that what is measured is everything around a
model. Then the same with a model behind HTTP, an OpenAI-compatible stand-in, against the endpoint
of a tutorial (`a_yardstick.py`): there the provider's client is part of the cost.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from bench.meter import Sample, least_disturbed, median_ratio, to_json
from bench.processes import (
    MEASURED,
    OTHERS,
    Service,
    Worker,
    clean_environment,
    dataagent_server,
    free_port,
    served,
)
from bench.report import Report, Row, Target, at_least, say

_TRANSPORTS = {"ws": "WebSocket", "sse": "SSE", "rest": "REST"}
_TEXT = "!slow 50 0"
_TOOL = '!tool ls {"path": "/files"}\n!slow 50 0'
_FULL = 100
_EXTRA = {
    "tuned-memory": "bare with InMemorySaver",
    "tuned-plain": "bare without plan, skills, memory",
    "ours": "our own graph, bare",
    "ours-unmerged": "our own graph, bare, not merged",
}
_TARGETS: dict[tuple[str, str, int, str], Target] = {
    ("text", "ws", _FULL, "tuned"): at_least(0.7),
    ("text", "ws", _FULL, "untuned"): at_least(1.5),
}
_BUSY = 0.8


@dataclass(frozen=True, slots=True)
class Cell:
    """One combination of a message and a number of sessions that send it."""

    name: str
    message: str
    sessions: int
    turns: int
    expected: str = "chunk49 "


_HTTP_CELLS = (
    Cell("text over HTTP × 100", "Tell me.", _FULL, 3),
    Cell("tool over HTTP × 100", "!tool, then tell me.", _FULL, 2),
    Cell("text over HTTP × 20", "Tell me.", 20, 8),
    Cell("text over HTTP × 1", "Tell me.", 1, 30),
)


@dataclass(frozen=True, slots=True)
class Side:
    """One of the programs compared: it does a cell's turns and reports what they cost."""

    name: str
    measure: Callable[[Cell], Sample]


def run(report: Report) -> None:
    """Measure all cells, with both models, and report their ratios."""
    _run_scripted(report)
    _run_over_http(report)


# -- a scripted model, against the bare loop --


def _run_scripted(report: Report) -> None:
    sizes = (_FULL,) if report.options.is_quick else (1, 20, _FULL)
    with ExitStack() as stack:
        load = stack.enter_context(Worker("bench.load", core=OTHERS))
        server = stack.enter_context(dataagent_server())
        bare = {
            name: _bare_side(name, stack.enter_context(Worker("bench.bare", name, core=MEASURED)))
            for name in ("untuned", "tuned", *_EXTRA)
        }
        transports = [_server_side(transport, server, load) for transport in _TRANSPORTS]
        for kind, message in (("text", _TEXT), ("tool", _TOOL)):
            for sessions in sizes:
                # a few hundred turns in all, and few in one conversation
                turns = {1: 40, 20: 8}.get(sessions, 4)
                cell = Cell(f"{kind} × {sessions}", message, sessions, turns)
                sides = [bare["untuned"], bare["tuned"], *transports]
                if sessions == _FULL:
                    sides += [bare[name] for name in _EXTRA]
                _compare(report, kind, cell, sides)


def _compare(report: Report, kind: str, cell: Cell, sides: list[Side]) -> None:
    say(f"(a) {cell.name}")
    rounds = Rounds(report, cell, sides)
    for transport, name in _TRANSPORTS.items():
        for other in ("tuned", "untuned"):
            target = _TARGETS.get((kind, transport, cell.sessions, other))
            rounds.add_row(f"{name} / {other} bare", transport, other, target)
    if cell.sessions == _FULL:
        for name, title in _EXTRA.items():
            rounds.add_row(f"{title} / tuned bare", name, "tuned")
        rounds.add_row("tuned / untuned bare", "tuned", "untuned")


# -- a model behind HTTP, against the endpoint of a tutorial --


def _run_over_http(report: Report) -> None:
    with ExitStack() as stack:
        load = stack.enter_context(Worker("bench.load", core=OTHERS))
        model = stack.enter_context(_standin())
        endpoint = {"OPENAI_BASE_URL": f"{model.url}/v1", "OPENAI_API_KEY": "none"}
        server = stack.enter_context(dataagent_server(model="openai:stand-in", **endpoint))
        sides = [_server_side(transport, server, load) for transport in _TRANSPORTS]
        sides.append(_server_side("yardstick", stack.enter_context(_yardstick(endpoint)), load))
        for cell in _HTTP_CELLS[:1] if report.options.is_quick else _HTTP_CELLS:
            say(f"(a) {cell.name}")
            rounds = Rounds(report, cell, sides)
            for transport, name in _TRANSPORTS.items():
                has_target = transport == "ws" and cell is _HTTP_CELLS[0]
                target = at_least(2.2) if has_target else None
                rounds.add_row(f"{name} / yardstick", transport, "yardstick", target)


@contextmanager
def _standin() -> Generator[Service]:
    port = free_port()
    command = [sys.executable, "-m", "bench.a_standin", str(port)]
    with served(command, port, "/", core=OTHERS, environment=clean_environment()) as service:
        yield service


@contextmanager
def _yardstick(endpoint: dict[str, str]) -> Generator[Service]:
    """The yardstick under uvicorn as it comes: with uvloop and httptools, as they are installed."""
    port = free_port()
    command = [sys.executable, "-m", "uvicorn", "bench.a_yardstick:app", "--port", str(port)]
    command += ["--log-level", "warning"]
    environment = clean_environment(**endpoint)
    with served(command, port, "/docs", core=MEASURED, environment=environment) as service:
        yield service


# -- sides and rounds --


def _bare_side(name: str, worker: Worker) -> Side:
    """The bare loop in a worker."""

    def measure(cell: Cell) -> Sample:
        answer = worker.ask(
            do="turns", message=cell.message, sessions=cell.sessions, turns=cell.turns
        )
        return Sample(**answer)

    return Side(name, measure)


def _server_side(transport: str, service: Service, load: Worker) -> Side:
    """A server, over one of its transports, named as in `clients.py`."""

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

    return Side(transport, measure)


class Rounds:
    """The samples of one cell, taken in turns: A B C, A B C, … never A A A, B B B.

    A machine that slows down for a minute then slows all sides of a round, and ratios are taken
    within a round.
    """

    def __init__(self, report: Report, cell: Cell, sides: Sequence[Side]) -> None:
        self._report = report
        self._cell = cell
        self._samples: dict[str, list[Sample]] = {side.name: [] for side in sides}
        for number in range(report.options.rounds):
            for side in sides:
                sample = least_disturbed(lambda s=side: s.measure(cell), report.options.tries)
                self._samples[side.name].append(sample)
                report.keep("a", cell.name, side=side.name, round=number, **to_json(sample))
        self._warn()

    def add_row(self, name: str, ours: str, theirs: str, target: Target | None = None) -> None:
        """Report one side's turns per second and CPU per turn as multiples of another's."""
        samples = [self._samples[side] for side in (ours, theirs)]
        speed = median_ratio(*([each.turns_per_second for each in side] for side in samples))
        cpu = median_ratio(*([each.cpu_per_turn for each in side] for side in samples))
        self._report.add(Row("a", f"{self._cell.name}: {name}", speed, cpu, target=target))

    def _warn(self) -> None:
        for side, samples in self._samples.items():
            share = max(sample.generator_share for sample in samples)
            if share > _BUSY:
                say(
                    f"  warning: {self._cell.name}, {side}: the load generator was {share:.0%} busy"
                )
