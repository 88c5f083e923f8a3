"""How far a reader has been served, and waiting for it to be served that far.

When the server ends, what is committed is still delivered before a reader is let go.
"""

from __future__ import annotations

import asyncio


class DeliveryProgress:
    """The `seq` of the last event a reader was sent."""

    __slots__ = ("_changed", "_seq")

    def __init__(self, seq: int) -> None:
        self._seq = seq
        self._changed: asyncio.Event | None = None

    def advance(self, seq: int) -> None:
        """The reader has been sent everything up to this."""
        self._seq = seq
        if self._changed is not None:
            self._changed.set()

    async def reach(self, seq: int) -> None:
        """Wait until the reader has been sent everything up to this."""
        while self._seq < seq:
            self._changed = asyncio.Event()
            await self._changed.wait()
