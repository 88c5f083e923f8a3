"""What a program behind the wall may use of the machine: memory, processes, processor time.

Kept by the system for the program and all it starts, in a control group. Where we may not make one
(an ordinary user without delegation) each process has limits of its own instead, and the program
steps back for others. Above: `confinement.py`, `process.py`. Below: `sandbox/cgroups.py`.
"""

from __future__ import annotations

import shutil
from uuid import uuid4

from dataagent_core.sandbox import Limits
from dataagent_core.sandbox.cgroups import Cgroup, Cgroups

_MIB = 1024 * 1024
LIMITS = Limits(memory_bytes=1024 * _MIB, cpus=1.0, processes=256)


class Allowance:
    """One program's share."""

    def __init__(self, limits: Limits, group: Cgroup | None) -> None:
        self._limits = limits
        self._group = group

    @property
    def doors(self) -> list[str]:
        """Files into which the program's first process writes its number."""
        return [] if self._group is None else [str(path) for path in self._group.doors]

    def limited(self, command: list[str]) -> list[str]:
        """The command, with limits of its own where there is no group to keep them."""
        if self._group is not None or shutil.which("prlimit") is None:
            return command
        limits = [f"--data={self._limits.memory_bytes}", f"--nproc={self._limits.processes}"]
        return ["nice", "-n", "10", "prlimit", *limits, "--core=0", "--", *command]

    @property
    def has_too_many(self) -> bool:
        """Whether it tried to start more processes than it may."""
        return self._group is not None and self._group.fork_refusals() > 0

    def excess(self) -> str | None:
        """What it used too much of, in a sentence; None: nothing that is known."""
        if self.has_too_many:
            return f"The program started more than {self._limits.processes} processes."
        if self._group is not None and self._group.memory_kills():
            return f"The program used more than {self._limits.memory_bytes // _MIB} MiB of memory."
        return None

    def give_back(self) -> None:
        """Forget it, once the program is gone. Waits for the last of its processes."""
        if self._group is not None:
            self._group.remove()


class Allowances:
    """Gives programs their shares."""

    def __init__(self, limits: Limits = LIMITS) -> None:
        self._limits = limits
        self._groups = Cgroups(kind="mcp")

    def new(self) -> Allowance:
        """A share for one program."""
        return Allowance(self._limits, self._groups.make(uuid4().hex, None, self._limits))

    def close(self) -> None:
        """Forget all, once the programs are gone."""
        self._groups.close()
