"""A collector of OpenTelemetry spans, on loopback."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span


@dataclass
class Collector:
    """Where it is, and the spans that were sent there."""

    url: str
    spans: list[Span] = field(default_factory=list[Span])
    services: set[str] = field(default_factory=set[str])
    raw: bytes = b""

    def named(self, name: str) -> list[Span]:
        return [span for span in self.spans if span.name == name]

    def parent_of(self, span: Span) -> Span | None:
        found = [each for each in self.spans if each.span_id == span.parent_span_id]
        return found[0] if found else None

    def take(self, body: bytes) -> None:
        self.raw += body
        sent = ExportTraceServiceRequest.FromString(body)
        for resource in sent.resource_spans:
            for pair in resource.resource.attributes:
                if pair.key == "service.name":
                    self.services.add(pair.value.string_value)
            for scope in resource.scope_spans:
                self.spans.extend(scope.spans)


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
            assert self.path == "/v1/traces"
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
