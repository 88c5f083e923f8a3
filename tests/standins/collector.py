"""A collector of OpenTelemetry spans, on loopback."""

from __future__ import annotations

import re
import threading
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status


@dataclass
class Collector:
    """Where it is, and the spans that were sent there."""

    url: str
    spans: list[Span] = field(default_factory=list[Span])
    services: set[str] = field(default_factory=set[str])
    service_of: dict[bytes, str] = field(default_factory=dict[bytes, str])
    headers: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    paths: set[str] = field(default_factory=set[str])
    raw: bytes = b""

    def named(self, name: str) -> list[Span]:
        return [span for span in self.spans if span.name == name]

    def parent_of(self, span: Span) -> Span | None:
        found = [each for each in self.spans if each.span_id == span.parent_span_id]
        return found[0] if found else None

    def of_trace(self, trace_id: str) -> Collector:
        """What there is of one trace."""
        spans = [span for span in self.spans if span.trace_id.hex() == trace_id]
        return replace(self, spans=spans)

    def take(self, body: bytes) -> None:
        self.raw += body
        sent = ExportTraceServiceRequest.FromString(body)
        for resource in sent.resource_spans:
            [service] = [
                pair.value.string_value
                for pair in resource.resource.attributes
                if pair.key == "service.name"
            ]
            self.services.add(service)
            for scope in resource.scope_spans:
                self.spans.extend(scope.spans)
                self.service_of.update({span.span_id: service for span in scope.spans})

    def tree(self, *, hidden: str = "") -> str:
        """All spans as a tree, in the order they began; what differs each time has a name.

        Attributes stand below their span, those whose name has a `hidden` pattern do not.
        """
        known = {span.span_id for span in self.spans}
        top = [span for span in self.spans if span.parent_span_id not in known]
        return "\n".join(line for span in _in_order(top) for line in self._lines(span, 0, hidden))

    def _lines(self, span: Span, depth: int, hidden: str) -> Iterator[str]:
        kind = Span.SpanKind.Name(span.kind).removeprefix("SPAN_KIND_").lower()
        end = " FAILED" if span.status.code == Status.STATUS_CODE_ERROR else ""
        assert span.end_time_unix_nano >= span.start_time_unix_nano > 0
        yield f"{'  ' * depth}{span.name} [{self.service_of[span.span_id]} {kind}]{end}"
        for name, value in sorted(attributes(span).items()):
            if not (hidden and re.search(hidden, name)):
                shown = "<count>" if name.endswith("_tokens") else _VARIES.sub(_called, str(value))
                yield f"{'  ' * depth}  . {name} = {shown}"
        for below in _in_order(each for each in self.spans if each.parent_span_id == span.span_id):
            yield from self._lines(below, depth + 1, hidden)


_VARIES = re.compile(
    r"(?P<uuid>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})"
    r"|(?<![0-9a-f])(?P<hex>[0-9a-f]{16,32})(?![0-9a-f])"
)


def _called(found: re.Match[str]) -> str:
    return f"<{found.lastgroup}>"


def _in_order(spans: Iterable[Span]) -> list[Span]:
    return sorted(spans, key=lambda span: span.start_time_unix_nano)


def attributes(span: Span) -> dict[str, Any]:
    return {
        pair.key: getattr(pair.value, pair.value.WhichOneof("value") or "string_value")
        for pair in span.attributes
    }


@contextmanager
def collecting() -> Generator[Collector]:
    """A collector that listens while the block lasts."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            collector.paths.add(self.path)
            collector.headers.append({name.lower(): value for name, value in self.headers.items()})
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                import gzip

                body = gzip.decompress(body)
            collector.take(body)
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 its name there
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    collector = Collector(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield collector
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
