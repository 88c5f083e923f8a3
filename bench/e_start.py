"""(e) How long programs take to their first answer, and a killed server to its next one.

Starts are compared with `python -c pass`, the least any program here can take, and with
`import langchain.agents`, what a program takes that loads the libraries before it needs them. The
server is killed in the middle of an answer and started again on the same data directory: until it
is ready, and until the conversation that was cut off answers its next message.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from http.client import HTTPException
from statistics import median
from typing import Any

import orjson

from bench.meter import median_ratio
from bench.processes import (
    KEY,
    MEASURED,
    clean_environment,
    finish,
    free_port,
    program,
    spawn,
    stop,
    wait_until_served,
)
from bench.report import Report, Row, Target, below, say

_HELP = """
import sys
from dataagent_cli.main import main
try:
    main(["--help"])
except SystemExit:
    pass
sys.exit(any(name.partition(".")[0].startswith("langchain") for name in sys.modules))
"""
_LEAST, _LIBRARIES = "python -c pass", "import langchain.agents"
_READY, _USABLE = below(10_000), below(15_000)
_WAIT_SECONDS = 60.0
_HEADERS = {"X-API-Key": KEY, "Content-Type": "application/json"}


def run(report: Report) -> None:
    """Start everything a few times, then kill a server a few times, and report both."""
    _measure_starts(report)
    _measure_kills(report)


# -- starts --


def _measure_starts(report: Report) -> None:
    starts: dict[str, Callable[[], float]] = {
        _LEAST: lambda: _finished([sys.executable, "-c", "pass"]),
        _LIBRARIES: lambda: _finished([sys.executable, "-c", "import langchain.agents"]),
        "dataagent --help": lambda: _finished([str(program("dataagent")), "--help"]),
        "dataagent --version": lambda: _finished([str(program("dataagent")), "--version"]),
        "server, first healthy answer": _first_answer,
    }
    seconds: dict[str, list[float]] = {name: [] for name in starts}
    for number in range(max(3, report.options.rounds) + 1):
        say(f"(e) round {number}")
        for name, start in starts.items():
            taken = start()
            if number:  # the first one fills the disk cache
                seconds[name].append(taken)
    for name, taken in seconds.items():
        report.keep("e", name, seconds=taken, median=median(taken))
        if name not in (_LEAST, _LIBRARIES):
            report.add(Row("e", f"{name} / {_LEAST}", median_ratio(taken, seconds[_LEAST])))
            report.add(Row("e", f"{name} / {_LIBRARIES}", median_ratio(taken, seconds[_LIBRARIES])))
    row = Row(
        "e",
        "dataagent --help imports LangChain",
        _imports_langchain(),
        unit="imported",
        target=below(1),
    )
    report.add(row)


def _finished(command: list[str]) -> float:
    """Seconds until a program ended well."""
    started = time.perf_counter()
    finish(command)
    return time.perf_counter() - started


def _first_answer() -> float:
    """Seconds until a server with a new data directory answers that it is well."""
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="dataagent-bench-") as home:
        environment = clean_environment(
            HOME=home,
            DATAAGENT_HOME=home,
            DATAAGENT_API_KEYS=KEY,
            DATAAGENT_PORT=str(port),
            DATAAGENT_LOG_LEVEL="WARNING",
        )
        started = time.perf_counter()
        command = [str(program("dataagent-server")), "serve"]
        process = spawn(command, core=MEASURED, environment=environment, stdout=subprocess.DEVNULL)
        try:
            wait_until_served(process, f"http://127.0.0.1:{port}/api/v1/health")
            return time.perf_counter() - started
        finally:
            stop(process)


def _imports_langchain() -> float:
    """1 if `dataagent --help` loads any of LangChain, else 0."""
    process = spawn([sys.executable, "-c", _HELP], core=MEASURED, stdout=subprocess.DEVNULL)
    return float(process.wait() != 0)


# -- a server that is killed --


def _measure_kills(report: Report) -> None:
    ready: list[float] = []
    usable: list[float] = []
    for number in range(max(3, report.options.rounds)):
        say(f"(e) kill {number + 1}")
        taken = _killed_once()
        ready.append(taken[0])
        usable.append(taken[1])
    report.keep("e", "restart", ready=ready, usable=usable)
    _add(report, "killed in mid-answer, ready again", ready, _READY)
    _add(report, "killed in mid-answer, its conversation answers again", usable, _USABLE)


def _add(report: Report, name: str, seconds: list[float], target: Target) -> None:
    note = f"slowest of {len(seconds)}: {max(seconds) * 1000:.0f} ms"
    report.add(Row("e", name, median(seconds) * 1000, unit="ms", target=target, note=note))


def _killed_once() -> tuple[float, float]:
    """Seconds until a killed server is ready, and until its conversation goes on."""
    port = free_port()
    client = _HttpClient(f"http://127.0.0.1:{port}/api/v1")
    with tempfile.TemporaryDirectory(prefix="dataagent-bench-") as home:
        environment = clean_environment(
            HOME=home,
            DATAAGENT_HOME=home,
            DATAAGENT_MODEL="scripted",
            DATAAGENT_API_KEYS=f"bench:{KEY}",
            DATAAGENT_PORT=str(port),
            DATAAGENT_LOG_LEVEL="ERROR",
        )
        command = [str(program("dataagent-server")), "serve"]
        first = spawn(command, core=MEASURED, environment=environment, stdout=subprocess.DEVNULL)
        try:
            wait_until_served(first, f"{client.url}/health/ready")
            session_id = client.post("/sessions", {})["session_id"]
            sending = _start_long_turn(client, session_id)
            messages = f"/sessions/{session_id}/messages"
            _until(lambda: client.get(messages)["total"] > 0, "The question was not accepted.")
        finally:
            first.kill()
            first.wait()
        sending.join()
        started = time.perf_counter()
        second = spawn(command, core=MEASURED, environment=environment, stdout=subprocess.DEVNULL)
        try:
            wait_until_served(second, f"{client.url}/health/ready")
            ready = time.perf_counter() - started
            again = {"message": "!echo again", "session_id": session_id}
            _until(lambda: client.post("/chat", again)["status"] == "done", "It did not go on.")
            return ready, time.perf_counter() - started
        finally:
            stop(second)


class _HttpClient:
    """A few requests, one after another."""

    def __init__(self, url: str) -> None:
        self.url = url

    def get(self, path: str) -> Any:
        return self._answer(urllib.request.Request(self.url + path, headers=_HEADERS))

    def post(self, path: str, body: dict[str, Any]) -> Any:
        return self._answer(
            urllib.request.Request(self.url + path, orjson.dumps(body), headers=_HEADERS)
        )

    def _answer(self, request: urllib.request.Request) -> Any:
        with urllib.request.urlopen(request, timeout=_WAIT_SECONDS) as response:
            return orjson.loads(response.read())


def _start_long_turn(client: _HttpClient, session_id: str) -> threading.Thread:
    """Send a message with a long answer, in a thread that ends with the server."""

    def send() -> None:
        with suppress(OSError, HTTPException):
            client.post("/chat", {"message": "!slow 3000 20", "session_id": session_id})

    thread = threading.Thread(target=send)
    thread.start()
    return thread


def _until(condition: Callable[[], bool], problem: str) -> None:
    """Wait until the condition holds; an error response counts as "not yet".

    Raises:
        RuntimeError: it never did; the message ends with `problem`.
    """
    deadline = time.monotonic() + _WAIT_SECONDS
    while time.monotonic() < deadline:
        with suppress(urllib.error.HTTPError):
            if condition():
                return
        time.sleep(0.01)
    raise RuntimeError(f"After a server was killed in mid-answer: {problem}")
