"""What a process applies to itself before it runs user code, and whether that worked.

Fails closed: a process whose walls are incomplete exits with `BROKEN` and has run nothing.
"""

from __future__ import annotations

import os
import resource
import sys
from contextlib import suppress
from functools import cache

from . import seccomp, system
from .limits import RunLimits

BROKEN = 91
"""Exit status of a process that could not build its walls."""


FIRST, LATER = 1000, 600
"""Whom the system ends first when memory is short: what runs, before the state to go back to."""


def set_rank(rank: int) -> None:
    """Set how early the system kills this process when memory runs out."""
    system.write("/proc/self/oom_score_adj", str(rank))


def prepare() -> None:
    """Compute once what every process would compute again; on failure each one does."""
    with suppress(seccomp.UnknownArchitecture):
        _filter()


@cache
def _filter() -> bytes:
    return seccomp.build(os.uname().machine)


def build_or_exit(limits: RunLimits, open_files: set[int]) -> None:
    """Give up everything that user code must not have; exit if that fails.

    Of the open files those in `open_files` stay open, and 0, 1, 2.
    """
    try:
        _close_others(open_files)
        _set_limits(limits)
        system.set_dumpable(True)  # else the next file is not ours, and the watch sees nothing
        set_rank(FIRST)
        system.drop_capabilities()
        system.set_no_new_privileges()
        filters = _filters()
        system.set_filter(_filter())
        _verify(filters)
    except BaseException as error:
        os.write(2, f"The walls could not be built: {error}\n".encode())
        os._exit(BROKEN)


def _close_others(open_files: set[int]) -> None:
    start = 3
    for number in sorted(open_files):
        os.closerange(start, number)
        start = number + 1
    os.closerange(start, 65536)


def _set_limits(limits: RunLimits) -> None:
    data = _data_bytes() + limits.memory
    pairs = [
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, limits.file),
        (resource.RLIMIT_DATA, data),
        (resource.RLIMIT_NOFILE, 512),
        (resource.RLIMIT_MEMLOCK, 0),
    ]
    if limits.has_own_users:
        pairs.append((resource.RLIMIT_NPROC, limits.processes))
    for kind, value in pairs:
        _, hard = resource.getrlimit(kind)
        most = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (most, most))


def _data_bytes() -> int:
    """Return how much this process has mapped already: the limit counts from there."""
    return int(_status()["VmData"].split()[0]) * 1024


def _filters() -> int | None:
    """Return the number of seccomp filters, a container's included; None before Linux 5.9."""
    count = _status().get("Seccomp_filters")
    return None if count is None else int(count)


def _verify(filters: int | None) -> None:
    """Verify that everything was given up, and that there is one filter more than before."""
    status = _status()
    wanted = {"CapEff": 0, "CapPrm": 0, "CapInh": 0, "CapBnd": 0, "CapAmb": 0}
    held = {name: int(status[name], 16) for name in wanted}
    if held != wanted or status["NoNewPrivs"] != "1" or status["Seccomp"] != "2":
        raise PermissionError(f"not all rights were given up on {sys.platform}")
    if filters is not None and _filters() != filters + 1:
        raise PermissionError("the filter of system calls is not there")


def _status() -> dict[str, str]:
    lines = system.read("/proc/self/status").splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}
