"""Earlier runs, and the rows that have become slower since.

A run is a line of `history.jsonl`, which is committed. Only rows with a target count, because only
there it is known which direction is better. Ratios can be compared over days; sizes and times only
on the same machine. A quick run is compared with quick ones only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from math import inf, isfinite
from pathlib import Path
from typing import Any

import orjson

from bench.report import Report, Row, packages

FILE = Path(__file__).with_name("history.jsonl")
SLOWDOWN = 1.15
"""How many times worse than its last stored value a row may be."""
Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class StoredValue:
    """A row's value in an earlier run."""

    at: str
    value: float


@dataclass(frozen=True, slots=True)
class Slower:
    """A row that is worse than before."""

    row: Row
    before: float

    @property
    def times(self) -> float:
        """How many times worse."""
        return _worse(self.row, self.before)

    def __str__(self) -> str:
        now, then = f"{self.row.value:.3g}", f"{self.before:.3g}"
        much = f"{self.times:.2f} times worse" if isfinite(self.times) else "it misses its target"
        return f"{self.row.name}: {now} {self.row.unit}, was {then}; {much}"


def append_run(report: Report, file: Path = FILE) -> None:
    """Add a run's rows to the file."""
    line = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "is_quick": report.options.is_quick,
        "packages": packages(),
        "rows": [
            {"part": row.part, "name": row.name, "value": round(row.value, 4), "unit": row.unit}
            for row in report.rows
            if row.target is not None
        ],
    }
    with file.open("ab") as lines:
        lines.write(orjson.dumps(line) + b"\n")


def load_values(*, is_quick: bool, file: Path = FILE) -> dict[Key, list[StoredValue]]:
    """Each row's stored values, the oldest first."""
    found: dict[Key, list[StoredValue]] = {}
    for run in _runs(file):
        if run["is_quick"] == is_quick:
            for row in run["rows"]:
                value = StoredValue(run["at"], row["value"])
                found.setdefault((row["part"], row["name"]), []).append(value)
    return found


def slower(rows: Iterable[Row], before: dict[Key, list[StoredValue]]) -> list[Slower]:
    """The rows that are more than `SLOWDOWN` times worse than their last stored value."""
    found = [
        Slower(row, values[-1].value)
        for row in rows
        if row.target is not None and (values := before.get((row.part, row.name)))
    ]
    return [one for one in found if one.times > SLOWDOWN]


def better(first: Row, second: Row) -> Row:
    """The better of two measurements of one row; the later one without a target."""
    if first.target is None:
        return second
    best = max if first.target.is_minimum else min
    return best(first, second, key=lambda row: row.value)


def _worse(row: Row, before: float) -> float:
    """How many times worse a row is than it was; below 1 it is better.

    There is no multiple of zero: the row is then infinitely worse if it now misses its target.
    """
    if row.target is None:
        return 1.0
    more, less = (before, row.value) if row.target.is_minimum else (row.value, before)
    if less > 0:
        return more / less
    return inf if more > less and not row.is_met else 1.0


def _runs(file: Path) -> Iterator[dict[str, Any]]:
    lines = file.read_bytes().splitlines() if file.exists() else []
    return (orjson.loads(line) for line in lines if line.strip())
