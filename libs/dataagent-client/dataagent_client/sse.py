"""Server-sent events from bytes. Pure: feed it what arrives, take the messages that are whole.

Follows the WHATWG rules that matter to a client: CR, LF and CRLF end lines, `data` lines are joined
by newlines, comments keep the connection alive, an `id` with NUL is ignored.
"""

from __future__ import annotations

import codecs
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SseMessage:
    """One message. `last_id` is what `Last-Event-ID` says after it."""

    event: str
    data: str
    last_id: str


class SseParser:
    """Turns a stream of bytes, cut anywhere, into messages."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self._buffer = ""
        self._data: list[str] = []
        self._event = ""
        self._last_id = ""
        self.retry_seconds: float | None = None

    def feed(self, chunk: bytes) -> list[SseMessage]:
        """The messages that are complete with this chunk."""
        self._buffer += self._decoder.decode(chunk)
        messages: list[SseMessage] = []
        for line in self._take_lines():
            message = self._line(line)
            if message is not None:
                messages.append(message)
        return messages

    def _take_lines(self) -> list[str]:
        text = self._buffer
        held = "\r" if text.endswith("\r") else ""  # may be half of a CRLF
        text = text[: len(text) - len(held)].replace("\r\n", "\n").replace("\r", "\n")
        *lines, rest = text.split("\n")
        self._buffer = rest + held
        return lines

    def _line(self, line: str) -> SseMessage | None:
        if not line:
            return self._dispatch()
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._event = value
        elif name == "id" and "\0" not in value:
            self._last_id = value
        elif name == "retry" and value.isascii() and value.isdigit():
            self.retry_seconds = int(value) / 1000
        return None

    def _dispatch(self) -> SseMessage | None:
        event, data = self._event or "message", self._data
        self._event, self._data = "", []
        return SseMessage(event, "\n".join(data), self._last_id) if data else None
