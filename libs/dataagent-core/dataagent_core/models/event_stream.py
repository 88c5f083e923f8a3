"""Server-sent events, bytes in and payloads out.

Pure. It reads the `data` of events and nothing else of the format, and knows nothing of what a
payload means: `openai_stream.py` does.
"""

from __future__ import annotations

from collections.abc import Iterable


class EventParser:
    """Cuts a server-sent event stream into the payloads of its events."""

    def __init__(self) -> None:
        self._rest: list[bytes] = []  # of a line that has not ended
        self._data: list[bytes] = []

    def feed(self, received: bytes) -> list[bytes]:
        """The payloads that are complete with these bytes."""
        *ended, rest = received.split(b"\n")
        if not ended:  # joined once, however many reads a line takes
            self._rest.append(rest)
            return []
        ended[0] = b"".join([*self._rest, ended[0]])
        self._rest = [rest]
        return self._payloads(ended)

    def finish(self) -> list[bytes]:
        """What is left when the stream ends without an empty line."""
        lines, self._rest = [b"".join(self._rest), b""], []
        return self._payloads(lines)

    def _payloads(self, lines: Iterable[bytes]) -> list[bytes]:
        payloads: list[bytes] = []
        for raw in lines:
            line = raw.removesuffix(b"\r")
            if line.startswith(b"data:"):
                self._data.append(line[5:].removeprefix(b" "))
            elif not line and self._data:
                payloads.append(b"\n".join(self._data))
                self._data.clear()
        return payloads
