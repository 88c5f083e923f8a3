"""A process that may use only a share of a core, by a control group of the system's. Needs root."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

_PERIOD = 10_000  # microseconds; short, so that a process never stands still for long
_GROUPS = Path("/sys/fs/cgroup")


@contextmanager
def limited(pid: int, *, share: float) -> Generator[None]:
    """Hold a process, threads and all, to a share of one core while the block runs.

    Raises:
        RuntimeError: the system has no such groups, or we may not make them.
    """
    old = _GROUPS / "cpu"
    group = (old if old.is_dir() else _GROUPS) / f"dataagent-bench-{pid}"
    quota = int(_PERIOD * share)
    try:
        group.mkdir()
        if old.is_dir():
            (group / "cpu.cfs_period_us").write_text(str(_PERIOD))
            (group / "cpu.cfs_quota_us").write_text(str(quota))
        else:
            (group / "cpu.max").write_text(f"{quota} {_PERIOD}")
        (group / "cgroup.procs").write_text(str(pid))
    except OSError as error:
        raise RuntimeError(f"A process cannot be held to a share of a core: {error}.") from error
    try:
        yield
    finally:
        (group.parent / "cgroup.procs").write_text(str(pid))
        group.rmdir()
