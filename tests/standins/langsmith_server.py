"""LangSmith's HTTP API, as far as its client uses it, on loopback.

Records data sets, examples, projects, runs and feedback, and answers for them as the real one does;
`raw` is every body as it came, decompressed. Ids that come twice are one record. With `refuses` set
every write is refused.
"""

from __future__ import annotations

import email.parser
import email.policy
import gzip
import json
import re
import threading
import uuid
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

Record = dict[str, Any]
_TENANT = str(uuid.UUID(int=1))
_INFO = {
    "version": "0.13.0",
    "batch_ingest_config": {
        "use_multipart_endpoint": True,
        "size_limit": 100,
        "size_limit_bytes": 20_000_000,
        "scale_up_qsize_trigger": 1000,
        "scale_up_nthreads_limit": 4,
        "scale_down_nempty_trigger": 4,
    },
    "instance_flags": {"dataset_examples_multipart_enabled": True},
}


@dataclass
class LangSmith:
    """Where it is, and what was sent there."""

    url: str
    raw: bytes = b""
    keys: set[str] = field(default_factory=set[str])
    datasets: dict[str, Record] = field(default_factory=dict[str, Record])
    examples: dict[str, Record] = field(default_factory=dict[str, Record])
    projects: dict[str, Record] = field(default_factory=dict[str, Record])
    runs: dict[str, Record] = field(default_factory=dict[str, Record])
    feedback: dict[str, Record] = field(default_factory=dict[str, Record])
    refuses: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)

    def made(self, kind: str, body: Record) -> Record:
        """A data set or a project by its name, made unless it is there."""
        there: dict[str, Record] = self.datasets if kind == "datasets" else self.projects
        new = {
            "id": str(uuid.uuid4()),
            "tenant_id": _TENANT,
            "created_at": "2026-01-01T00:00:00Z",
            "reference_dataset_id": None,
            **body,
        }
        return there.setdefault(body["name"], new)

    def take_parts(self, parts: Iterator[tuple[str, Any]]) -> None:
        """Runs and feedback of a multipart body: `post.<id>`, `post.<id>.outputs`, …"""
        for name, value in parts:
            kind, key, *rest = name.split(".")
            there = self.feedback if kind == "feedback" else self.runs
            record = there.setdefault(key, {})
            record.update({rest[0]: value} if rest else value)

    def take_examples(self, parts: Iterator[tuple[str, Any]], dataset_id: str) -> Record:
        """Examples of a multipart body: `<id>`, `<id>.inputs`, `<id>.outputs`."""
        found: set[str] = set()
        for name, value in parts:
            key, *rest = name.split(".")
            found.add(key)
            new = {"id": key, "dataset_id": dataset_id, "created_at": "2026-01-01T00:00:00Z"}
            record = self.examples.setdefault(key, new)
            record.update({rest[0]: value} if rest else value)
        return {"example_ids": sorted(found), "count": len(found)}


class _Handler(BaseHTTPRequestHandler):
    """One request; `found` is set by a subclass for each server."""

    found: LangSmith

    def do_GET(self) -> None:
        path, query = self._asked()
        if path.endswith("/info"):
            self._answer(_INFO)
        elif path.endswith("/datasets"):
            name = query.get("name", [""])[0]
            self._answer([each for each in self.found.datasets.values() if each["name"] == name])
        elif path.endswith("/examples"):
            first = int(query.get("offset", ["0"])[0])
            there = [
                each
                for each in self.found.examples.values()
                if each["dataset_id"] == query["dataset"][0]
            ]
            self._answer(there[first : first + int(query.get("limit", ["100"])[0])])
        elif path.endswith("/sessions"):
            self._answer(list(self.found.projects.values())[:1])
        else:
            self._answer({})

    def do_POST(self) -> None:
        body = self._body()
        self.found.keys.add(self.headers.get("x-api-key", ""))
        with self.found.lock:
            self.found.raw += body
            if self.found.refuses:
                self._answer({"detail": "not today"}, status=403)
            else:
                self._answer(self._taken(self._asked()[0], body))

    def do_PATCH(self) -> None:
        self.do_POST()

    def _taken(self, path: str, body: bytes) -> Any:
        for pattern, take in _WRITES.items():
            if match := re.search(pattern, path):
                return take(self, body, *match.groups())
        return {}

    def named(self, body: bytes, kind: str) -> Record:
        """Make a data set or a project."""
        return self.found.made(kind, json.loads(body))

    def examples_in(self, body: bytes, dataset_id: str) -> Record:
        """Take examples."""
        return self.found.take_examples(self._parts(body), dataset_id)

    def batch(self, body: bytes) -> Record:
        """Take runs and feedback."""
        self.found.take_parts(self._parts(body))
        return {}

    def feedback_alone(self, body: bytes) -> Record:
        """Take one feedback."""
        record = json.loads(body)
        return self.found.feedback.setdefault(record["id"], record)

    def _parts(self, body: bytes) -> Iterator[tuple[str, Any]]:
        head = f"Content-Type: {self.headers['Content-Type']}\r\n\r\n".encode()
        message = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(head + body)
        for part in message.iter_parts():
            name = part.get_param("name", header="content-disposition")
            content = part.get_payload(decode=True)
            yield str(name), json.loads(content if isinstance(content, bytes) else b"null")

    def _asked(self) -> tuple[str, dict[str, list[str]]]:
        parts = urlsplit(self.path)
        return parts.path, parse_qs(parts.query)

    def _body(self) -> bytes:
        if "Content-Length" in self.headers:
            body = self.rfile.read(int(self.headers["Content-Length"]))
        else:
            body = b"".join(self._chunks())
        return gzip.decompress(body) if body.startswith(b"\x1f\x8b") else body

    def _chunks(self) -> Iterator[bytes]:
        while size := int(self.rfile.readline(), 16):
            yield self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()

    def _answer(self, value: Any, *, status: int = 200) -> None:
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 its name there
        """Nothing."""


_WRITES: dict[str, Callable[..., Any]] = {
    r"/datasets/([^/]+)/examples$": _Handler.examples_in,
    r"/(datasets|sessions)$": _Handler.named,
    r"/runs/multipart$": _Handler.batch,
    r"/feedback$": _Handler.feedback_alone,
}


@contextmanager
def langsmith() -> Generator[LangSmith]:
    """A server that listens while the block lasts; it asks for no compression but gzip."""
    handler = type("Handler", (_Handler,), {})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    found = handler.found = LangSmith(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
