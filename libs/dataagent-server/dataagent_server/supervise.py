"""`serve --workers N`: several web processes on one port, restarted when they die.

Each process binds the port itself (SO_REUSEPORT), so the system spreads connections over them. The
first one starts alone: it migrates the database and prints the address. A process that dies is
started again, after a pause if it lived briefly; SIGTERM or Ctrl-C goes to all. Children notice the
death of this process and end.

uvicorn's `Multiprocess` has none of that: it starts all at once from an import string, restarts
without a pause, leaves orphans behind when it is killed, and kills a process that is too busy to
answer its pings.
"""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess

from dataagent_core.errors import DataAgentError
from dataagent_core.telemetry import configure_logging
from dataagent_server.config import ServerSettings
from dataagent_server.serve import bound_socket, make_server
from dataagent_server.shutdown import error_text

logger = logging.getLogger(__name__)
_STOPPING = (signal.SIGTERM, signal.SIGINT)
_END_SECONDS = 40.0
_SHORT_LIFE_SECONDS = 10.0
_RETRY_SECONDS = (0.0, 0.5, 1.0, 2.0, 5.0)
_START_SECONDS = 120.0


def supervise(settings: ServerSettings) -> int:
    """Serve with `settings.workers` processes until a signal ends it; the exit status."""
    configure_logging(settings, secrets=settings.deployment_secrets)
    with _reserve_port(settings.host, settings.port) as port:
        return _Supervisor(settings.model_copy(update={"port": port})).run()


@dataclass(slots=True)
class _Child:
    """One web process, across restarts."""

    number: int
    process: SpawnProcess | None = None
    started_at: float = 0.0
    short_lives: int = 0
    due_at: float = 0.0  # when it may be started again


class _Supervisor:
    def __init__(self, settings: ServerSettings) -> None:
        self._settings = settings
        self._context = multiprocessing.get_context("spawn")
        self._children = [_Child(number) for number in range(settings.workers)]
        self._is_stopping = False
        self._woken, self._wake = os.pipe()

    def run(self) -> int:
        for number in _STOPPING:
            signal.signal(number, self._stop)
        first, *others = self._children
        if not self._start_and_wait(first):
            return self._end()
        for child in others:
            self._start(child)
        while not self._is_stopping:
            self._watch()
        return self._end()

    def _stop(self, *_: object) -> None:
        self._is_stopping = True
        os.write(self._wake, b".")

    def _start(self, child: _Child, listening: Connection | None = None) -> None:
        child.process = self._context.Process(
            target=serve_one,
            args=(self._settings, listening),
            name=f"dataagent-web-{child.number}",
        )
        child.process.start()
        child.started_at = time.monotonic()

    def _start_and_wait(self, child: _Child) -> bool:
        """Start the first process; False if it ends, or a signal arrives, before it listens."""
        ours, theirs = self._context.Pipe(duplex=False)
        self._start(child, theirs)
        theirs.close()
        with ours:
            ready = wait([ours, self._woken], timeout=_START_SECONDS)
            if ours not in ready:
                return False
            try:
                return bool(ours.recv())
            except EOFError:
                return False

    def _watch(self) -> None:
        """Wait for a process to end or a pause to pass, and restart what has ended."""
        alive = {c.process.sentinel: c for c in self._children if c.process is not None}
        due = [c.due_at for c in self._children if c.process is None]
        pause = max(0.0, min(due) - time.monotonic()) if due else None
        for sentinel in wait([*alive, self._woken], timeout=pause):
            if isinstance(sentinel, int) and sentinel in alive:
                self._handle_exit(alive[sentinel])
        for child in self._children:
            if child.process is None and not self._is_stopping and _is_due(child):
                self._start(child)

    def _handle_exit(self, child: _Child) -> None:
        assert child.process is not None  # noqa: S101 it has a sentinel
        child.process.join()
        logger.error("web process %d ended with %s", child.number, child.process.exitcode)
        child.process.close()
        child.process = None
        lived = time.monotonic() - child.started_at
        child.short_lives = child.short_lives + 1 if lived < _SHORT_LIFE_SECONDS else 0
        pause = _RETRY_SECONDS[min(child.short_lives, len(_RETRY_SECONDS) - 1)]
        child.due_at = time.monotonic() + pause

    def _end(self) -> int:
        """End all processes; 0 if each of them exited with 0."""
        processes = [child.process for child in self._children if child.process is not None]
        for process in processes:
            process.terminate()
        deadline = time.monotonic() + _END_SECONDS
        for process in processes:
            process.join(max(0.0, deadline - time.monotonic()))
            if process.is_alive():
                process.kill()
                process.join()
        return 0 if all(process.exitcode == 0 for process in processes) else 1


def _is_due(child: _Child) -> bool:
    return child.due_at <= time.monotonic()


@contextmanager
def _reserve_port(host: str, port: int) -> Generator[int]:
    """Hold a port without listening on it, so that no other program takes it meanwhile."""
    with bound_socket(host, port, is_shared=True) as holder:
        yield holder.getsockname()[1]


# -- in each process ----------------------------------------------------------------------------


def serve_one(settings: ServerSettings, listening: Connection | None) -> None:
    """Serve as one web process; the first one has `listening` and reports there that it listens."""
    configure_logging(settings, secrets=settings.deployment_secrets)
    server = make_server(settings.model_copy(update={"workers": 1}), is_first=listening is not None)

    async def serve() -> None:
        _exit_with_parent()
        reporting = asyncio.create_task(_report_listening(server.listening, listening))
        try:
            with bound_socket(settings.host, settings.port, is_shared=True) as bound:
                await server.serve(sockets=[bound])
        finally:
            reporting.cancel()
            if listening is not None:
                listening.close()

    with asyncio.Runner(loop_factory=server.config.get_loop_factory()) as runner:
        try:
            runner.run(serve())
        except DataAgentError as error:
            sys.exit(error_text(error))


async def _report_listening(is_listening: asyncio.Event, listening: Connection | None) -> None:
    await is_listening.wait()
    if listening is not None:
        listening.send(True)


def _exit_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        loop = asyncio.get_running_loop()

        def end() -> None:
            loop.remove_reader(parent.sentinel)
            os.kill(os.getpid(), signal.SIGTERM)

        loop.add_reader(parent.sentinel, end)
