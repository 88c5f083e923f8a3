"""A process that may use only a share of a core, by a control group of the system's. Needs root."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
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
    limits = {"cpu.cfs_period_us": f"{_PERIOD}", "cpu.cfs_quota_us": f"{quota}"}
    if not old.is_dir():
        limits = {"cpu.max": f"{quota} {_PERIOD}"}
    with ExitStack() as stack:
        try:
            group.mkdir()
            stack.callback(_remove, group)
            for name, value in {**limits, "cgroup.procs": f"{pid}"}.items():
                (group / name).write_text(value)
        except OSError as error:
            raise RuntimeError(f"No process can be held to a share of a core: {error}.") from error
        yield


def _remove(group: Path) -> None:
    """Take a group away; what still runs in it goes on without a limit."""
    for pid in (group / "cgroup.procs").read_text().split():
        with suppress(ProcessLookupError):  # it has ended meanwhile
            (group.parent / "cgroup.procs").write_text(pid)
    group.rmdir()
