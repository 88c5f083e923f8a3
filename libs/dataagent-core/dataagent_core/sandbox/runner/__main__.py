"""`python -m runner fork|single`: see the package."""

from __future__ import annotations

import os
import socket
import sys

from . import home, session, system, zygote
from .limits import RunLimits
from .link import SupervisorLink


def _single() -> None:
    """Serve one session on stdin and stdout, in a container that is its wall."""
    readable, writable = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    for place in (0, 1, 2):
        os.dup2(nothing, place)
    zygote.prepare()
    system.set_dumpable(False)
    session.ignore_terminal_signals()
    link = SupervisorLink(readable, writable)
    session.serve(link, _container_home, has_own_users=False)


def _container_home(_limits: RunLimits, _place: str | None) -> home.Home:
    return home.plain_home()


def main() -> None:
    """Serve in the mode that the first argument names."""
    if sys.argv[1:] == ["single"]:
        _single()
    elif sys.argv[1:] == ["fork"]:
        zygote.serve(socket.socket(fileno=0))
    else:
        sys.exit("usage: python -m runner fork|single")


if __name__ == "__main__":
    main()
