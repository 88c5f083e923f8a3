"""Runs the event loop of the sync client in a thread.

`Portal.call` waits for one coroutine; `Stream` iterates an async generator, one step for each that
its reader requests. Several threads may use both, and so may code that an event loop runs.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator
from concurrent.futures import CancelledError, Future
from contextlib import aclosing, suppress
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

from dataagent_client.errors import ClientError
from dataagent_protocol.events import HITLRequestEvent
from dataagent_protocol.hitl import Decision

T = TypeVar("T")
SyncOnApproval = Callable[[HITLRequestEvent], Decision | None]
"""Asked for each call that waits, in the reader's thread; None leaves it to someone else."""


class Portal:
    """A loop in a thread, from its making until `close`."""

    def __init__(self, aclose: Callable[[], Awaitable[None]]) -> None:
        """Start the thread; `aclose` is the last thing it does."""
        self._aclose = aclose
        self._lock = threading.Lock()
        self._is_closed = False
        self._begun: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = Future()
        self._thread = threading.Thread(target=self._run, name="dataagent-client", daemon=True)
        self._thread.start()
        self._loop, self._closing = self._begun.result()

    @property
    def is_here(self) -> bool:
        """Whether the caller is the loop's own thread, which must never wait for itself."""
        return threading.current_thread() is self._thread

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """What the coroutine gives; it is stopped if the wait for it is interrupted.

        Raises:
            ClientError: the client is closed.
        """
        future = self.begin(work)
        try:
            return future.result()
        except CancelledError:
            raise _closed() from None
        finally:
            future.cancel()

    def begin(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Have the loop run a coroutine. `ClientError` if the client is closed."""
        with self._lock:
            if not self._is_closed:
                return asyncio.run_coroutine_threadsafe(work, self._loop)
        work.close()
        raise _closed()

    def close(self) -> None:
        """Stop what still runs, close the connections, end the thread. A second time is nothing."""
        with self._lock:
            if not self._is_closed:
                self._is_closed = True
                self._loop.call_soon_threadsafe(self._closing.set)
        if not self.is_here:
            self._thread.join()

    def _run(self) -> None:
        with asyncio.Runner() as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        closing = asyncio.Event()
        self._begun.set_result((asyncio.get_running_loop(), closing))
        await closing.wait()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for each in others:
            each.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await self._aclose()


@dataclass(frozen=True, slots=True)
class _Item(Generic[T]):
    value: T


@dataclass(frozen=True, slots=True)
class _End:
    error: BaseException | None


@dataclass(frozen=True, slots=True)
class _Question:
    ask: Callable[[], Decision | None]
    answer: Future[Decision | None]


class Stream(Generic[T]):
    """One async generator, read by a plain one in another thread.

    It goes on only when its reader asks for the next item, and ends with its reader: a loop that is
    left closes the connection before the next statement runs.
    """

    def __init__(self, portal: Portal) -> None:
        self._portal = portal
        self._arrived = SimpleQueue[_Item[T] | _End | _Question]()
        self._steps = asyncio.Semaphore(0)
        self._pumping: asyncio.Task[None] | None = None

    def asks(
        self, on_approval: SyncOnApproval | None
    ) -> Callable[[HITLRequestEvent], Awaitable[Decision | None]] | None:
        """The callback as the loop can ask it; the answer is given in the reader's thread."""
        if on_approval is None:
            return None

        async def ask(request: HITLRequestEvent) -> Decision | None:
            question = _Question(lambda: on_approval(request), Future())
            self._arrived.put(question)
            return await asyncio.wrap_future(question.answer)

        return ask

    def read(self, items: AsyncGenerator[T]) -> Generator[T]:
        """The items in order; what stops them is raised here.

        Raises:
            ClientError: the client is closed, before or meanwhile.
        """
        try:
            self._portal.call(self._begin(items))
            while True:
                match self._arrived.get():
                    case _Item(value):
                        yield value
                        self._portal.begin(self._step())
                    case _Question() as question:
                        _answer(question)
                    case _End(error):
                        if error is None:
                            return
                        raise error
        finally:
            self._stop()

    async def _begin(self, items: AsyncGenerator[T]) -> None:
        self._pumping = asyncio.create_task(self._pump(items))

    async def _step(self) -> None:
        self._steps.release()

    def _stop(self) -> None:
        """End it and wait until it has; the loop's own thread, when it collects garbage, cannot."""
        with suppress(ClientError, CancelledError):  # closed: it has been stopped
            stopping = self._portal.begin(self._ended())
            if not self._portal.is_here:
                stopping.result()

    async def _ended(self) -> None:
        if self._pumping is not None:
            self._pumping.cancel()
            await asyncio.wait({self._pumping})

    async def _pump(self, items: AsyncGenerator[T]) -> None:
        """Pass items on, one for each step. The last thing that arrives is an `_End`."""
        end = _End(None)
        try:
            async with aclosing(items):
                async for item in items:
                    self._arrived.put(_Item(item))
                    await self._steps.acquire()
        except asyncio.CancelledError:
            end = _End(_closed())
            raise
        except Exception as error:  # raised again in the reader's thread
            end = _End(error)
        finally:
            self._arrived.put(end)


def _answer(question: _Question) -> None:
    if not question.answer.set_running_or_notify_cancel():
        return
    try:
        question.answer.set_result(question.ask())
    except Exception as error:  # the chat ends with it, and so does its reader
        question.answer.set_exception(error)


def _closed() -> ClientError:
    return ClientError("The client is closed.")
