"""Prometheus metrics: what runs, how long it takes, what fails.

One `Metrics` per process. Nothing here is called for a chunk of text. Labels come from fixed sets;
names that others choose (tools) are counted separately up to a limit, then together.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread
from wsgiref.simple_server import WSGIServer

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    GCCollector,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
    start_http_server,
)

from dataagent_core.errors import Misconfigured

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_MOST_NAMES = 200
_MOST_PORTS = 64
_OTHER = "other"
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "WEBSOCKET"})
_QUICK = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
_USUAL = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_LONG = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 180.0, 600.0)


class Metrics:
    """The counts of one process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._make_runs()
        self._make_requests()
        self._make_work()
        self._make_sandbox()
        for collector in (ProcessCollector, PlatformCollector, GCCollector):
            collector(registry=self.registry)

    def _make_runs(self) -> None:
        self._runs = self._counter("runs", "Runs that ended, by status.", "status")
        self._run_seconds = self._histogram("run_seconds", "From start to end of a run.", _LONG)
        self._first_text = self._histogram(
            "first_text_seconds", "From start of a run to its first text.", _USUAL
        )
        self._events = self._counter("events", "Events that runs wrote.")
        self._queue = Gauge(
            "dataagent_queue_depth", "Runs that wait for a worker.", registry=self.registry
        )

    def _make_requests(self) -> None:
        self._requests = self._counter(
            "http_requests", "Requests and sockets, when they end.", "method", "route", "status"
        )
        self._request_seconds = self._histogram(
            "http_request_seconds", "From a request to the start of its answer.", _USUAL, "route"
        )
        self._login_failures = self._counter("login_failures", "Logins that were refused.")
        self._children: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}

    def _make_work(self) -> None:
        self._commit_seconds = self._histogram(
            "db_commit_seconds", "A transaction of our own database.", _QUICK
        )
        self._tools = self._counter("tool_calls", "Tool calls, by name and end.", "tool", "status")
        self._tool_names: set[str] = set()
        self._sql_seconds = self._histogram(
            "sql_seconds", "A statement on a data source.", _LONG, "outcome"
        )
        self._audit_lost = self._counter(
            "audit_records_lost", "Audit records that could not be written."
        )

    def _make_sandbox(self) -> None:
        self._code_seconds = self._histogram(
            "sandbox_run_seconds", "Code in a sandbox, by its end.", _LONG, "status"
        )
        self._sandbox_wait = self._histogram(
            "sandbox_wait_seconds", "From asking for a sandbox to having one.", _USUAL
        )
        self._sandbox_refill = self._histogram(
            "sandbox_refill_seconds", "Making one sandbox that waits for an owner.", _USUAL
        )
        self._sandbox_kills = self._counter(
            "sandbox_kills", "Code and sandboxes that were ended from outside.", "cause"
        )

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(f"dataagent_{name}", text, labels, registry=self.registry)

    def _histogram(
        self, name: str, text: str, buckets: tuple[float, ...], *labels: str
    ) -> Histogram:
        return Histogram(f"dataagent_{name}", text, labels, buckets=buckets, registry=self.registry)

    # -- what is counted ----------------------------------------------------------------------

    def run_ended(
        self, status: str, seconds: float, *, first_text_seconds: float | None, events: int
    ) -> None:
        """A run has its end."""
        self._runs.labels(status).inc()
        self._run_seconds.observe(seconds)
        self._events.inc(events)
        if first_text_seconds is not None:
            self._first_text.observe(first_text_seconds)

    def request_ended(
        self, method: str, route: str, status: int, *, seconds_to_answer: float
    ) -> None:
        """A request was answered, or a socket closed. `route` is a template, never an address."""
        key = (method, route, status)
        children = self._children.get(key)
        if children is None:
            kind = method if method in _METHODS else _OTHER
            children = self._children[key] = (
                self._requests.labels(kind, route, str(status)),
                self._request_seconds.labels(route),
            )
            if kind is _OTHER:  # a made-up method must not fill the table
                del self._children[key]
        children[0].inc()
        children[1].observe(seconds_to_answer)

    def login_failed(self) -> None:
        """A login was refused."""
        self._login_failures.inc()

    def transaction_committed(self, seconds: float) -> None:
        """Our own database took a transaction. May be called from any thread."""
        self._commit_seconds.observe(seconds)

    def tool_called(self, tool: str, status: str) -> None:
        """A tool call ended."""
        if tool not in self._tool_names:
            if len(self._tool_names) >= _MOST_NAMES:
                tool = _OTHER
            else:
                self._tool_names.add(tool)
        self._tools.labels(tool, status).inc()

    def query_ended(self, outcome: str, seconds: float) -> None:
        """A statement on a data source ended."""
        self._sql_seconds.labels(outcome).observe(seconds)

    def code_ran(self, status: str, seconds: float) -> None:
        """Code in a sandbox ended: ok, error, timeout, memory, killed, or it was refused."""
        self._code_seconds.labels(status).observe(seconds)

    def sandbox_waited(self, seconds: float) -> None:
        """A run got its sandbox."""
        self._sandbox_wait.observe(seconds)

    def sandbox_made(self, seconds: float) -> None:
        """A sandbox was made in advance."""
        self._sandbox_refill.observe(seconds)

    def sandbox_killed(self, cause: str) -> None:
        """Code was ended (timeout, memory, killed, cancelled) or a whole sandbox (its cause)."""
        self._sandbox_kills.labels(cause).inc()

    def audit_lost(self, count: int) -> None:
        """Audit records could not be written."""
        self._audit_lost.inc(count)

    def set_queue_depth(self, depth: int) -> None:
        """As many runs wait for a worker, in all processes."""
        self._queue.set(depth)

    # -- what is looked at --------------------------------------------------------------------

    def watch(self, name: str, text: str, value: Callable[[], float]) -> None:
        """A gauge that is read at each scrape."""
        Gauge(f"dataagent_{name}", text, registry=self.registry).set_function(value)

    def serve(self, host: str, port: int) -> Callable[[], None]:
        """Offer the text on a port of its own, for processes without another endpoint.

        Takes the first free port from the given one on, so that processes of one machine may have
        the same setting. Ends with the function that is returned.

        Raises:
            Misconfigured: none of the next ports is free.
        """
        for candidate in range(port, port + _MOST_PORTS):
            try:
                server, thread = start_http_server(candidate, host, registry=self.registry)
            except OSError:
                continue
            return lambda: _stopped(server, thread)
        raise Misconfigured(
            f"No port from {port} to {port + _MOST_PORTS - 1} of {host} is free for metrics. "
            "Set DATAAGENT_METRICS_HOST and DATAAGENT_METRICS_PORT."
        )

    def text(self) -> bytes:
        """Everything, as Prometheus reads it."""
        return generate_latest(self.registry)


def _stopped(server: WSGIServer, thread: Thread) -> None:
    server.shutdown()
    server.server_close()
    thread.join()
