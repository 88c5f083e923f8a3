"""(a) The same with a model behind HTTP: ours against the endpoint everyone writes.

An OpenAI-compatible stand-in streams 50 chunks without delay, so the provider's client is part of
the cost, as in life. Ours uses `openai:`; the yardstick (`yardstick.py`) uses langchain-openai.
"""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import ExitStack, contextmanager

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
from bench.report import Report, Row, at_least, say
from bench.sides import TRANSPORT_NAMES, Cell, Rounds, server_side

_FULL = 100
_CELLS = (
    Cell("text over HTTP × 100", "Tell me.", _FULL, 3),
    Cell("tool over HTTP × 100", "!tool, then tell me.", _FULL, 2),
    Cell("text over HTTP × 20", "Tell me.", 20, 8),
    Cell("text over HTTP × 1", "Tell me.", 1, 30),
)


def run(report: Report) -> None:
    """Measure all cells and report their ratios."""
    with ExitStack() as stack:
        load = stack.enter_context(Worker("bench.load", core=OTHERS))
        model = stack.enter_context(_standin())
        endpoint = {"OPENAI_BASE_URL": f"{model.url}/v1", "OPENAI_API_KEY": "none"}
        ours = stack.enter_context(dataagent_server(model="openai:stand-in", **endpoint))
        sides = [server_side(transport, transport, ours, load) for transport in TRANSPORT_NAMES]
        theirs = stack.enter_context(_yardstick(endpoint))
        sides.append(server_side("yardstick", "yardstick", theirs, load))
        for cell in _CELLS[:1] if report.options.is_quick else _CELLS:
            say(f"(a) {cell.name}")
            rounds = Rounds(report, "a", cell, sides)
            for transport, name in TRANSPORT_NAMES.items():
                is_aim = transport == "ws" and cell is _CELLS[0]
                target = at_least(2.2) if is_aim else None
                speed, cost = (
                    rounds.speed(transport, "yardstick"),
                    rounds.cost(transport, "yardstick"),
                )
                title = f"{cell.name}: {name} / yardstick"
                report.add(Row("a", title, speed, cost, target=target))


@contextmanager
def _standin() -> Generator[Service]:
    port = free_port()
    command = [sys.executable, "-m", "bench.standin", str(port)]
    with served(command, port, "/", core=OTHERS, environment=clean_environment()) as service:
        yield service


@contextmanager
def _yardstick(endpoint: dict[str, str]) -> Generator[Service]:
    """The yardstick under uvicorn as it comes: with uvloop and httptools, as they are installed."""
    port = free_port()
    command = [sys.executable, "-m", "uvicorn", "bench.yardstick:app", "--port", str(port)]
    command += ["--log-level", "warning"]
    environment = clean_environment(**endpoint)
    with served(command, port, "/docs", core=MEASURED, environment=environment) as service:
        yield service
