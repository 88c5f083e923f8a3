"""(a) Turns per second, and CPU per turn, through our doors against the bare `agent.astream`.

Everything runs in processes of their own, the measured one alone on its core. The model is
scripted, 50 chunks without delay: what is measured is everything around a model.
"""

from __future__ import annotations

from contextlib import ExitStack

from bench.processes import MEASURED, OTHERS, Worker, dataagent_server
from bench.report import Report, Row, Target, at_least, say
from bench.sides import TRANSPORT_NAMES, Cell, Rounds, Side, bare_side, server_side

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


def run(report: Report) -> None:
    """Measure all cells and report their ratios."""
    load_sizes = (_FULL,) if report.options.is_quick else (1, 20, _FULL)
    with ExitStack() as stack:
        load = stack.enter_context(Worker("bench.load", core=OTHERS))
        server = stack.enter_context(dataagent_server())
        bare = {
            name: bare_side(name, stack.enter_context(Worker("bench.bare", name, core=MEASURED)))
            for name in ("untuned", "tuned", *_EXTRA)
        }
        transports = [
            server_side(transport, transport, server, load) for transport in TRANSPORT_NAMES
        ]
        for kind, message in (("text", _TEXT), ("tool", _TOOL)):
            for sessions in load_sizes:
                cell = Cell(f"{kind} × {sessions}", message, sessions, _turns(sessions))
                sides = [bare["untuned"], bare["tuned"], *transports]
                if sessions == _FULL:
                    sides += [bare[name] for name in _EXTRA]
                _compare(report, kind, cell, sides)


def _turns(sessions: int) -> int:
    """So many a session that there are a few hundred in all, and few in one conversation."""
    return {1: 40, 20: 8}.get(sessions, 4)


def _compare(report: Report, kind: str, cell: Cell, sides: list[Side]) -> None:
    say(f"(a) {cell.name}")
    rounds = Rounds(report, "a", cell, sides)
    for transport, name in TRANSPORT_NAMES.items():
        for other in ("tuned", "untuned"):
            target = _TARGETS.get((kind, transport, cell.sessions, other))
            report.add(
                _row(f"{cell.name}: {name} / {other} bare", rounds, transport, other, target=target)
            )
    if cell.sessions == _FULL:
        for name, title in _EXTRA.items():
            report.add(_row(f"{cell.name}: {title} / tuned bare", rounds, name, "tuned"))
        report.add(_row(f"{cell.name}: tuned / untuned bare", rounds, "tuned", "untuned"))


def _row(name: str, rounds: Rounds, ours: str, theirs: str, *, target: Target | None = None) -> Row:
    return Row("a", name, rounds.speed(ours, theirs), rounds.cost(ours, theirs), target=target)
