"""(e) A server that is killed in the middle of an answer: how soon it is there again.

The same data directory, started anew: until it is ready, and until the conversation whose answer
was cut off takes the next message and answers it.
"""

from __future__ import annotations

import subprocess
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

from bench.processes import (
    KEY,
    MEASURED,
    clean_environment,
    free_port,
    program,
    spawn,
    stop,
    wait_until_served,
)
from bench.report import Report, Row, Target, below, say

_READY, _USABLE = below(10_000), below(15_000)
_WAIT_SECONDS = 60.0


def run(report: Report) -> None:
    """Kill it a few times and report the times."""
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
    transport = _HttpClient(f"http://127.0.0.1:{port}/api/v1")
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
            wait_until_served(first, f"{transport.url}/health/ready")
            session_id = transport.post("/sessions", {})["session_id"]
            asking = _start_long_turn(transport, session_id)
            messages = f"/sessions/{session_id}/messages"
            _until(lambda: transport.get(messages)["total"] > 0, "The question was not taken.")
        finally:
            first.kill()
            first.wait()
        asking.join()
        started = time.perf_counter()
        second = spawn(command, core=MEASURED, environment=environment, stdout=subprocess.DEVNULL)
        try:
            wait_until_served(second, f"{transport.url}/health/ready")
            ready = time.perf_counter() - started
            again = {"message": "!echo again", "session_id": session_id}
            _until(lambda: transport.post("/chat", again)["status"] == "done", "It did not go on.")
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


_HEADERS = {"X-API-Key": KEY, "Content-Type": "application/json"}


def _start_long_turn(transport: _HttpClient, session_id: str) -> threading.Thread:
    """Ask something that takes long, in a thread that the server's death ends."""

    def ask() -> None:
        with suppress(OSError, HTTPException):
            transport.post("/chat", {"message": "!slow 3000 20", "session_id": session_id})

    thread = threading.Thread(target=ask)
    thread.start()
    return thread


def _until(is_so: Callable[[], bool], problem: str) -> None:
    """Wait until it is so; a refusal is an answer as well.

    Raises:
        RuntimeError: it never was; with the problem that this is.
    """
    deadline = time.monotonic() + _WAIT_SECONDS
    while time.monotonic() < deadline:
        with suppress(urllib.error.HTTPError):
            if is_so():
                return
        time.sleep(0.01)
    raise RuntimeError(f"A server that is killed in mid-answer: {problem}")
