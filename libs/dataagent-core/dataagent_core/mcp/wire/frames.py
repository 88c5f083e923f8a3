"""Splits a stream of bytes into messages of a bounded size. Pure.

A message above the limit is discarded as it arrives, except its beginning and end, where JSON-RPC
implementations put the id: the call it answers can then fail.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from dataclasses import dataclass, field

_EDGE = 512
_ID = rb'"id"\s*:\s*(\d{1,18}|"[^"\\]{1,64}")'
_VERSION = rb'"jsonrpc"\s*:\s*"2\.0"'
_AT_HEAD = re.compile(rb"\A\s*\{\s*(?:" + _VERSION + rb"\s*,\s*)?" + _ID)
_AT_TAIL = re.compile(rb",\s*" + _ID + rb"\s*(?:,\s*" + _VERSION + rb"\s*)?\}\s*\Z")


@dataclass(frozen=True, slots=True)
class OversizedMessage:
    """The beginning and end of a message that was too large."""

    head: bytes
    tail: bytes

    def request_id(self, waiting: Container[int | str]) -> int | str | None:
        """Return the id of the pending request it answers, if it is one."""
        for found in (_AT_HEAD.search(self.head), _AT_TAIL.search(self.tail)):
            if found is None:
                continue
            text = found.group(1).decode("utf-8", "replace")
            request_id = text[1:-1] if text.startswith('"') else int(text)
            if request_id in waiting:
                return request_id
        return None


@dataclass(slots=True)
class LineBuffer:
    """Splits bytes into lines, without their ends."""

    most_bytes: int
    _parts: list[bytes] = field(default_factory=list[bytes])
    _size: int = 0
    _head: bytes | None = None
    _tail: bytes = b""

    def feed(self, data: bytes) -> Iterator[bytes | OversizedMessage]:
        """Yield the lines that are now complete."""
        begin = 0
        while (end := data.find(b"\n", begin)) >= 0:
            self._add(data[begin:end])
            yield self._take()
            begin = end + 1
        if begin < len(data):
            self._add(data[begin:])

    def _add(self, part: bytes) -> None:
        self._size += len(part)
        if self._head is None and self._size <= self.most_bytes:
            self._parts.append(part)
            return
        if self._head is None:
            kept = b"".join(self._parts) + part
            self._head, self._tail = kept[:_EDGE], kept[-_EDGE:]
            self._parts.clear()
        else:
            self._tail = (self._tail + part)[-_EDGE:]

    def _take(self) -> bytes | OversizedMessage:
        line: bytes | OversizedMessage
        if self._head is None:
            line = b"".join(self._parts).removesuffix(b"\r")
        else:
            line = OversizedMessage(self._head, self._tail)
        self._parts.clear()
        self._size, self._head, self._tail = 0, None, b""
        return line


@dataclass(frozen=True, slots=True)
class SseEvent:
    """One server-sent event."""

    name: str
    data: bytes


@dataclass(slots=True)
class SseParser:
    """Parses server-sent events; those that are too large become `OversizedMessage`."""

    most_bytes: int
    _lines: LineBuffer = field(init=False)
    _name: str = ""
    _data: list[bytes] = field(default_factory=list[bytes])
    _size: int = 0
    _oversize: OversizedMessage | None = None

    def __post_init__(self) -> None:
        self._lines = LineBuffer(self.most_bytes)

    def feed(self, data: bytes) -> Iterator[SseEvent | OversizedMessage]:
        """Yield the events that are now complete."""
        for line in self._lines.feed(data):
            if isinstance(line, OversizedMessage):
                self._overflow(_value(line.head), line.tail)
            elif line:
                self._field(line)
            elif (event := self._take()) is not None:
                yield event

    def _field(self, line: bytes) -> None:
        if line.startswith(b"event:"):
            self._name = _value(line).decode("utf-8", "replace")[:64]
        elif line.startswith(b"data:"):
            value = _value(line)
            self._size += len(value) + 1
            if self._size > self.most_bytes:
                self._overflow(value[:_EDGE], value[-_EDGE:])
            else:
                self._data.append(value)

    def _overflow(self, head: bytes, tail: bytes) -> None:
        """Add a line to an event that is too large: only its edges are stored."""
        kept = self._oversize
        if kept is None:
            before = b"\n".join(self._data)
            kept = OversizedMessage(before[:_EDGE], before[-_EDGE:])
            self._data.clear()
        self._size = self.most_bytes + 1
        self._oversize = OversizedMessage((kept.head + head)[:_EDGE], (kept.tail + tail)[-_EDGE:])

    def _take(self) -> SseEvent | OversizedMessage | None:
        event: SseEvent | OversizedMessage | None = self._oversize
        if event is None and (self._data or self._name):
            event = SseEvent(self._name or "message", b"\n".join(self._data))
        self._name, self._size, self._oversize = "", 0, None
        self._data.clear()
        return event


def _value(line: bytes) -> bytes:
    """Return the field's value."""
    return line.partition(b":")[2].removeprefix(b" ")
