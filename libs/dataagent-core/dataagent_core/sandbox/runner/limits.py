"""The limits of a session, as the supervisor sets them. Plain data."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True)
class RunLimits:
    """Bytes and counts. `has_own_users`: processes are counted for this session alone."""

    memory: int
    processes: int
    file: int
    disk: int
    inodes: int
    output: int
    harvest_files: int
    harvest_bytes: int
    cpus: float = 1.0
    has_own_users: bool = False


def limits_from(header: dict[str, Any], *, has_own_users: bool) -> RunLimits:  # Any: it is JSON
    """Parse the limits of a `bind` frame.

    Raises:
        ValueError: one is missing or no number.
    """
    names = [field.name for field in fields(RunLimits) if field.name != "has_own_users"]
    values = {name: header.get(name) for name in names}
    wrong = [name for name, value in values.items() if not isinstance(value, (int, float))]
    if wrong:
        raise ValueError(f"The limit {wrong[0]!r} is missing.")
    whole = {name: int(value) for name, value in values.items() if name != "cpus" and value}
    return RunLimits(**whole, cpus=float(values["cpus"] or 1), has_own_users=has_own_users)
