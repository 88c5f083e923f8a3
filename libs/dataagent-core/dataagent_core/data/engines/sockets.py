"""Two things to do with a server's socket that its driver does not offer.

Above: the engines that talk to a server. Below: the operating system.
"""

from __future__ import annotations

import os
import selectors
import socket

_Selector = getattr(selectors, "PollSelector", selectors.SelectSelector)  # any number of files


def has_input(file_number: int, *, timeout_seconds: float | None) -> bool:
    """Whether there is something to read, or the other side has hung up; waits for it."""
    with _Selector() as selector:
        selector.register(file_number, selectors.EVENT_READ)
        return bool(selector.select(timeout_seconds))


def hang_up(file_number: int) -> None:
    """Cut the connection: whoever waits for it, in whichever thread, is woken and fails."""
    with socket.socket(fileno=os.dup(file_number)) as line:
        line.shutdown(socket.SHUT_RDWR)
