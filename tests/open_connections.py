"""Fails the test that leaves a connection open.

Python notices an abandoned connection only when the garbage collector runs, during any later test.
Here each of asyncio's connections is recorded when it is made, and one that is still open when its
event loop is closed fails the test that made it.
"""

from __future__ import annotations

import weakref
from asyncio import selector_events
from collections.abc import Generator
from typing import Any

import pytest


class OpenConnections:
    """A pytest plugin."""

    def __init__(self) -> None:
        self._known: list[weakref.ref[Any]] = []

    def watch(self) -> None:
        """Remember every connection that asyncio makes from now on."""
        # asyncio has no hook for new connections, and the class no public name
        kind: Any = getattr(selector_events, "_SelectorTransport")  # noqa: B009
        make = kind.__init__

        def remember(transport: Any, *given: Any, **named: Any) -> None:
            make(transport, *given, **named)
            self._known.append(weakref.ref(transport))

        kind.__init__ = remember

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self) -> Generator[None]:
        """Check after the test's own fixtures have ended."""
        yield
        left = [made for known in self._known if (made := known()) is not None and made._sock]
        lost = [transport for transport in left if transport._loop.is_closed()]
        self._known = [weakref.ref(transport) for transport in left if transport not in lost]
        names = [f"{each} to {each.get_extra_info('peername')}" for each in lost]
        for transport in lost:  # reported once, here
            transport._sock.close()
            transport._sock = None
        assert not names, f"The test leaves connections open: {', '.join(names)}"
