"""A TCP proxy on loopback that can be cut and mended: a server's network going away."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from tests.end_to_end.server import free_port


class FaultProxy:
    """Forwards to a port; while cut, it drops connections and accepts none."""

    def __init__(self, target_port: int) -> None:
        self.port = free_port()
        self._target_port = target_port
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.writers: set[asyncio.StreamWriter] = set()

    async def mend(self) -> None:
        """Accept connections (again)."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)

    async def cut(self) -> None:
        """Drop everything."""
        if self._server is not None:
            self._server.close()
            self._server = None
        for writer in list(self.writers):
            writer.transport.abort()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.sleep(0)  # what was dropped is closed in the loop's next round

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        serving = asyncio.current_task()
        assert serving is not None
        writers = {writer}
        tasks: set[asyncio.Task[None]] = {serving}
        self._tasks.add(serving)
        self.writers.add(writer)
        try:
            with suppress(OSError, asyncio.CancelledError):  # nobody is there, or it was cut
                there_reader, there_writer = await asyncio.open_connection(
                    "127.0.0.1", self._target_port
                )
                writers.add(there_writer)
                self.writers.add(there_writer)
                pumps = {
                    asyncio.create_task(_pump(reader, there_writer)),
                    asyncio.create_task(_pump(there_reader, writer)),
                }
                tasks |= pumps
                self._tasks |= pumps
                await asyncio.wait(pumps)
        finally:
            for each in writers:
                each.transport.abort()
            self._tasks -= tasks
            self.writers -= writers


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    writer.transport.abort()
