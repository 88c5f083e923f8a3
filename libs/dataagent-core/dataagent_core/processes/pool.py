"""Worker processes that call functions, each call within limits of processor time and memory.

A busy machine makes no call too long, since waiting does not count. A process that exceeds a limit
ends and fails its call, and nothing else; the next call gets a new process.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from importlib import import_module
from multiprocessing.connection import Connection, Pipe
from typing import Any, TypeVar

from dataagent_core.processes.concurrency import KeyedLimiter, run_in_thread

T = TypeVar("T")
_MAX_WAITING = 50  # calls of one user
_WALL_SECONDS = 60.0  # for a call that waits instead of working


class CallTimedOut(Exception):
    """A call took more time than allowed."""


class WorkerEnded(Exception):
    """The process ended during a call: it was killed, or had too little memory."""


class ProcessPool:
    """Up to `size` processes, started when needed. Thread-safe."""

    def __init__(
        self,
        *,
        size: int = 2,
        cpu_seconds: float = 5.0,
        memory_bytes: int = 1024 * 1024 * 1024,
    ) -> None:
        self.size = size
        self._cpu_seconds = cpu_seconds
        self._memory_bytes = memory_bytes
        self._threads = ThreadPoolExecutor(size, thread_name_prefix="worker-process")
        self._turns = KeyedLimiter("checks", at_once=max(1, size - 1), waiting=_MAX_WAITING)
        self._idle: list[_Worker] = []

    async def run(self, user_id: str, function: Callable[..., T], *arguments: Any) -> T:
        """Call a function of a module in a worker process, and return its value.

        It waits while all processes are busy; one is left to the others by each user. Arguments,
        value and error are pickled.

        Raises:
            UserLimit: too many calls of the user wait.
            CallTimedOut: it took more time than it may.
            WorkerEnded: it needed more memory than it may, or its process was killed.
            DataAgentError: as the function does; any other error of it is a RuntimeError here.
        """
        call = _Call(self, pickle.dumps((function, arguments)))
        async with self._turns.turn(user_id):
            answer = await run_in_thread(self._threads, call.answer, interrupt=call.kill)
        has_returned, value = pickle.loads(answer)  # noqa: S301  # our worker wrote it
        if has_returned:
            return value
        raise value

    def prepare(self, module: str) -> None:
        """Start a process in the background that has imported the module, if there is none."""
        if not self._idle:
            self._threads.submit(_Call(self, pickle.dumps((_load, (module,)))).answer)

    def close(self) -> None:
        """End the idle processes; the others end with their calls."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        while self._idle:
            self._idle.pop().end()

    def take(self) -> tuple[_Worker, bool]:
        """Return a process, and whether it is a new one."""
        while self._idle:
            with suppress(IndexError):  # another thread was quicker
                worker = self._idle.pop()
                if worker.is_alive:
                    return worker, False
                worker.end()
        return _Worker(self._memory_bytes, self._cpu_seconds), True

    def give_back(self, worker: _Worker) -> None:
        """Return a process for the next call."""
        self._idle.append(worker)


class _Call:
    """One call; `kill` may be called from any thread."""

    def __init__(self, pool: ProcessPool, request: bytes) -> None:
        self._pool = pool
        self._request = request
        self._lock = threading.Lock()
        self._worker: _Worker | None = None
        self._is_killed = False

    def answer(self) -> bytes:
        """Return the worker's answer. Blocks."""
        worker, is_new = self._pool.take()
        try:
            return self._answer_of(worker)
        except WorkerEnded:
            if is_new or self._is_killed:
                raise
        return self._answer_of(self._pool.take()[0])  # it may have been about to end idle

    def kill(self) -> None:
        """End the call and its process."""
        with self._lock:
            self._is_killed = True
            if self._worker is not None:
                self._worker.kill()

    def _answer_of(self, worker: _Worker) -> bytes:
        with self._lock:
            self._worker = worker
            if self._is_killed:
                worker.kill()
        try:
            answer = worker.call(self._request)
        except BaseException:
            worker.end()
            raise
        with self._lock:
            self._worker = None
        if self._is_killed:
            worker.end()
        else:
            self._pool.give_back(worker)
        return answer


class _Worker:
    """A child process and the connection to it."""

    def __init__(self, memory_bytes: int, cpu_seconds: float) -> None:
        self._connection: Connection
        self._connection, theirs = Pipe()
        limits = [str(memory_bytes), str(cpu_seconds)]
        with theirs:
            self._process = subprocess.Popen(
                [
                    *(sys.executable, "-P", "-m", "dataagent_core.processes.worker"),
                    *(str(theirs.fileno()), *limits),
                ],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={"PYTHONPATH": os.pathsep.join(sys.path), "LANG": "C.UTF-8", "TZ": "UTC"},
                start_new_session=True,  # Ctrl-C in a terminal is for its parent
            )

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def call(self, request: bytes) -> bytes:
        """Return the answer to a request.

        Raises:
            CallTimedOut, WorkerEnded: as `ProcessPool.run`.
        """
        try:
            self._connection.send_bytes(request)
            if not self._connection.poll(_WALL_SECONDS):
                raise CallTimedOut
            return self._connection.recv_bytes()
        except (EOFError, OSError) as error:
            if self._process.wait() == -signal.SIGPROF:
                raise CallTimedOut from error
            raise WorkerEnded from error

    def kill(self) -> None:
        """Kill the process, which ends a waiting call."""
        self._process.kill()

    def end(self) -> None:
        """Kill the process and release its resources."""
        self._process.kill()
        self._process.wait()
        self._connection.close()


@cache
def shared_pool() -> ProcessPool:
    """Return the pool of this program. Its processes end with it."""
    return ProcessPool()


def _load(module: str) -> None:
    import_module(module)
