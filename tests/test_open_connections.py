"""A test that leaves a connection open is the one that fails."""

from __future__ import annotations

import asyncio
import socket
import weakref

import pytest

from tests.open_connections import OpenConnections


@pytest.mark.parametrize("is_closed", [True, False], ids=["closed", "left open"])
def test_connection_left_open_is_named(*, is_closed: bool) -> None:
    ours, theirs = socket.socketpair()
    watcher = OpenConnections()

    async def connect() -> asyncio.Transport:
        transport, _ = await asyncio.get_running_loop().create_connection(
            asyncio.Protocol, sock=ours
        )
        # as `watch` does for all
        watcher._known.append(weakref.ref(transport))  # pyright: ignore[reportPrivateUsage]
        if is_closed:
            transport.close()
            await asyncio.sleep(0)
        return transport

    transport = asyncio.run(connect())
    assert transport.is_closing() is is_closed
    theirs.close()
    look = watcher.pytest_runtest_teardown()
    next(look)
    with pytest.raises(StopIteration if is_closed else AssertionError):
        next(look)
