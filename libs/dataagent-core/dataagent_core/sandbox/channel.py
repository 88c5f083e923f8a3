"""Requests to a runner and its answers: one at a time, each with a timeout.

A cancelled request is first ended by the runner, so that the sandbox can be used again. A runner
that does not answer is killed, and the sandbox with it. The frames are those of `runner/frames.py`;
a wall without a stream (Docker's attach socket) uses a `FrameBuffer` instead of `FrameStream`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from dataagent_core.errors import SandboxGone, SandboxUnavailable
from dataagent_core.sandbox.runner.frames import (
    LENGTHS_SIZE,
    BadFrame,
    Frame,
    decode,
    encode,
    lengths,
)
from dataagent_core.sandbox.types import WallProcess


class FrameStream:
    """Frames over a pair of streams. One reader and one writer at a time."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def send(self, frame: Frame) -> None:
        """Write a frame and drain.

        Raises:
            SandboxGone: the other side has ended.
        """
        try:
            self._writer.write(encode(frame))
            await self._writer.drain()
        except OSError as error:
            raise SandboxGone("The sandbox has ended.") from error

    async def receive(self) -> Frame:
        """Wait for the next frame; as `send` if there is none."""
        try:
            header, body = lengths(await self._reader.readexactly(LENGTHS_SIZE))
            head = await self._reader.readexactly(header)
            return decode(head, await self._reader.readexactly(body))
        except (asyncio.IncompleteReadError, OSError, BadFrame) as error:
            raise SandboxGone("The sandbox has ended.") from error

    def close(self) -> None:
        """Close both directions."""
        self._writer.close()


_CANCEL_SECONDS = 2.0
"""How long a runner may take to end what was cancelled."""


class RunnerChannel:
    """Requests to one runner."""

    def __init__(self, process: WallProcess, on_idle: Callable[[], None]) -> None:
        """`on_idle` is called whenever the last request has been answered."""
        self._process = process
        self._on_idle = on_idle
        self._lock = asyncio.Lock()
        self._users = 0

    @property
    def is_busy(self) -> bool:
        """Whether a request is running or waiting."""
        return self._users > 0

    async def ask(self, frame: Frame, seconds: float) -> Frame:
        """Send a request and wait for its answer.

        Raises:
            SandboxGone: the runner has ended, or was ended because it did not answer.
            SandboxUnavailable: the request could not be served; no code has run.
        """
        self._users += 1
        try:
            async with self._lock:
                answer = await self._exchange(frame, seconds)
        finally:
            self._users -= 1
            if self._users == 0:
                self._on_idle()
        if answer.op == "failed":
            raise SandboxUnavailable(f"The sandbox refused: {answer.fields.get('reason')}")
        return answer

    async def _exchange(self, frame: Frame, seconds: float) -> Frame:
        task = asyncio.create_task(self._send_and_receive(frame))
        try:
            await asyncio.wait({task}, timeout=seconds)
        except asyncio.CancelledError:
            await _wait_uninterrupted(asyncio.create_task(self._cancel_request(task)))
            raise
        if not task.done():
            await self._end(task)
            raise SandboxGone("The sandbox did not answer in time and was ended.")
        return task.result()

    async def _send_and_receive(self, frame: Frame) -> Frame:
        await self._process.send(frame)
        return await self._process.receive()

    async def _cancel_request(self, task: asyncio.Task[Frame]) -> None:
        """Have the runner end the request; kill a runner that does not."""
        try:
            await self._process.send(Frame("cancel"))
        except SandboxGone:
            await self._end(task)
            return
        await asyncio.wait({task}, timeout=_CANCEL_SECONDS)
        if not task.done() or task.cancelled() or task.exception() is not None:
            await self._end(task)

    async def _end(self, task: asyncio.Task[Frame]) -> None:
        task.cancel()
        await self._process.kill()
        await asyncio.wait({task})


async def _wait_uninterrupted(task: asyncio.Task[None]) -> None:
    """Wait for a task's end however often the caller is cancelled."""
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            continue
    task.result()
