"""(m) The terminal from nothing: help, the first prompt, one question; whole processes.

The targets are those of the requirements. `import langgraph` is a namespace package today and costs
hardly more than Python itself; `import langgraph.graph` is what a program that uses it pays. The
prompt counts when it can be typed at. Processor time is shown beside the time, for a busy machine.
"""

from __future__ import annotations

import os
import pty
import resource
import select
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

from bench.meter import median_ratio
from bench.processes import MEASURED, clean_environment, finish, program, spawn
from bench.report import Report, Row, below, say

_QUESTION = "!echo hello"
_PROMPT = "❯".encode()
_LEAST = "python -c pass"
_NAMESPACE, _GRAPH = "import langgraph", "import langgraph.graph"
_HELP, _FIRST = "dataagent --help", "dataagent, first prompt"
_BARE, _ONE = "bare agent, one question", "dataagent -p, the same question"
_QUICK_TRIES, _SLOW_TRIES = 30, 15
_PROMPT_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class StartCost:
    """The cost of one start."""

    seconds: float
    processor: float | None
    """None where the program does not end by itself."""


def run(report: Report) -> None:
    """Start everything in turns, and report the ratios."""
    with tempfile.TemporaryDirectory(prefix="dataagent-bench-") as home:
        environment = clean_environment(
            HOME=home, DATAAGENT_HOME=home, DATAAGENT_MODEL="scripted", TERM="xterm-256color"
        )
        _measure(report, environment)


def _measure(report: Report, environment: dict[str, str]) -> None:
    python, dataagent = sys.executable, str(program("dataagent"))

    def start(*command: str) -> Callable[[], StartCost]:
        return lambda: _finished(list(command), environment)

    quick = {
        _LEAST: start(python, "-c", "pass"),
        _NAMESPACE: start(python, "-c", _NAMESPACE),
        _HELP: start(dataagent, "--help"),
        _FIRST: lambda: time_to_prompt(dataagent, environment),
    }
    slow = {
        _GRAPH: start(python, "-c", _GRAPH),
        _FIRST: quick[_FIRST],
        _BARE: start(python, "-m", "bench.m_bare_question", _QUESTION),
        _ONE: start(dataagent, "-p", _QUESTION),
    }
    scale = 3 if report.options.is_quick else 1
    taken = _in_turns(report, quick, _QUICK_TRIES // scale)
    _compare(report, taken, _HELP, _LEAST, 3.0)
    _compare(report, taken, _FIRST, _NAMESPACE, 3.0)
    taken = _in_turns(report, slow, _SLOW_TRIES // scale)
    _compare(report, taken, _FIRST, _GRAPH, 3.0)
    _compare(report, taken, _ONE, _BARE, 1.15)


def _in_turns(
    report: Report, starts: dict[str, Callable[[], StartCost]], tries: int
) -> dict[str, list[StartCost]]:
    found: dict[str, list[StartCost]] = {name: [] for name in starts}
    for number in range(tries + 1):
        if number % 10 == 0:
            say(f"(m) round {number} of {tries}")
        for name, start in starts.items():
            once = start()
            if number:  # the first one fills the disk cache
                found[name].append(once)
    for name, taken in found.items():
        seconds = [each.seconds for each in taken]
        report.keep("m", name, seconds=seconds, median=median(seconds))
    return found


def _compare(
    report: Report, taken: dict[str, list[StartCost]], name: str, against: str, bound: float
) -> None:
    ours, theirs = taken[name], taken[against]
    seconds = median_ratio(*([each.seconds for each in side] for side in (ours, theirs)))
    used = [[each.processor for each in side if each.processor] for side in (ours, theirs)]
    is_known = all(len(each) == len(ours) for each in used)
    cpu = median_ratio(*used) if is_known else None
    report.add(Row("m", f"{name} / {against}", seconds, cpu=cpu, target=below(bound)))


def _finished(command: list[str], environment: dict[str, str]) -> StartCost:
    """The cost of a program that ran to its end."""
    before, started = _children(), time.perf_counter()
    finish(command, environment)
    return StartCost(time.perf_counter() - started, _children() - before)


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def time_to_prompt(command: str, environment: dict[str, str]) -> StartCost:
    """Seconds until a conversation's prompt is on the screen of a terminal.

    Raises:
        RuntimeError: the program ended without one, or it took too long.
    """
    ours, theirs = pty.openpty()
    started = time.perf_counter()
    process = spawn([command], core=MEASURED, environment=environment, stdin=theirs, stdout=theirs)
    os.close(theirs)  # the program's own is the last one: its end is the screen's
    seen = b""
    try:
        while _PROMPT not in seen:
            seen += _read_screen(ours)
        return StartCost(time.perf_counter() - started, None)
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def _read_screen(screen: int) -> bytes:
    """The next output of the program."""
    if not select.select([screen], [], [], _PROMPT_SECONDS)[0]:
        raise RuntimeError(f"No prompt within {_PROMPT_SECONDS:.0f} seconds.")
    try:
        return os.read(screen, 4096)
    except OSError as error:  # how a terminal reports that its program has ended
        raise RuntimeError("The program ended before its prompt.") from error
