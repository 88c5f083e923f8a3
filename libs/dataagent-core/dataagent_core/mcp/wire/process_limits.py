"""What a program behind the wall may use of the machine: memory, processes, processor time.

Kept by the system for the program and all it starts, in a control group. Where we may not make one
(an ordinary user without delegation) each process has limits of its own instead, and the program
steps back for others. Above: `confinement.py`, `process.py`. Below: `sandbox/cgroups.py`.
"""

from __future__ import annotations

import shutil
from uuid import uuid4

from dataagent_core.sandbox import SandboxLimits
from dataagent_core.sandbox.cgroups import Cgroup, Cgroups

_MIB = 1024 * 1024
DEFAULT_LIMITS = SandboxLimits(memory_bytes=1024 * _MIB, cpus=1.0, processes=256)


class ProcessLimits:
    """One program's share."""

    def __init__(self, limits: SandboxLimits, group: Cgroup | None) -> None:
        self._limits = limits
        self._group = group

    @property
    def cgroup_files(self) -> list[str]:
        """Files into which the program's first process writes its number."""
        return [] if self._group is None else [str(path) for path in self._group.cgroup_files]

    def with_limits(self, command: list[str]) -> list[str]:
        """The command, with limits of its own where there is no group to keep them."""
        if self._group is not None or shutil.which("prlimit") is None:
            return command
        limits = [f"--data={self._limits.memory_bytes}", f"--nproc={self._limits.processes}"]
        return ["nice", "-n", "10", "prlimit", *limits, "--core=0", "--", *command]

    @property
    def hit_process_limit(self) -> bool:
        """Whether it tried to start more processes than it may."""
        return self._group is not None and self._group.fork_refusals() > 0

    def exceeded_limit(self) -> str | None:
        """What it used too much of, in a sentence; None: nothing that is known."""
        if self.hit_process_limit:
            return f"The program started more than {self._limits.processes} processes."
        if self._group is not None and self._group.memory_kills():
            return f"The program used more than {self._limits.memory_bytes // _MIB} MiB of memory."
        return None

    def release(self) -> None:
        """Forget it, once the program is gone. Waits for the last of its processes."""
        if self._group is not None:
            self._group.remove()


class ProcessLimiter:
    """Gives programs their shares."""

    def __init__(self, limits: SandboxLimits = DEFAULT_LIMITS) -> None:
        self._limits = limits
        self._groups = Cgroups(kind="mcp")

    def new(self) -> ProcessLimits:
        """A share for one program."""
        return ProcessLimits(self._limits, self._groups.make(uuid4().hex, None, self._limits))

    def close(self) -> None:
        """Forget all, once the programs are gone."""
        self._groups.close()
