"""The figures of a run: rows with a ratio and, where there is one, a target; printed and stored."""

from __future__ import annotations

import platform
import sys
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

import orjson

from bench.meter import CALM

Unit = Literal["×", "KB", "ms", "/s", "imported"]
RESULTS = Path(__file__).parent / "results"
_PACKAGES = ("dataagent-server", "deepagents", "langchain", "langgraph", "langchain-openai")


@dataclass(frozen=True, slots=True)
class Target:
    """The bound of a value."""

    bound: float
    is_minimum: bool

    def is_met_by(self, value: float) -> bool:
        """Whether the value is on the right side."""
        return value >= self.bound if self.is_minimum else value < self.bound

    def __str__(self) -> str:
        return f"{'≥' if self.is_minimum else '<'} {self.bound:g}"


def at_least(bound: float) -> Target:
    """A value that should be large."""
    return Target(bound, is_minimum=True)


def below(bound: float) -> Target:
    """A value that should be small."""
    return Target(bound, is_minimum=False)


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table: a ratio of speeds, sizes or times, and of CPU where that is known."""

    part: str
    name: str
    value: float
    cpu: float | None = None
    unit: Unit = "×"
    target: Target | None = None
    note: str = ""

    @property
    def is_met(self) -> bool | None:
        """Whether the target is met; None without one."""
        return None if self.target is None else self.target.is_met_by(self.value)


@dataclass(frozen=True, slots=True)
class BenchOptions:
    """How thorough a run is."""

    is_quick: bool = False
    rounds: int = 3
    tries: int = 2
    """How often a disturbed measurement is made, at most."""


@dataclass(slots=True)
class Report:
    """All figures of a run."""

    options: BenchOptions
    rows: list[Row] = field(default_factory=list[Row])
    samples: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    def add(self, row: Row) -> None:
        """Add a row."""
        self.rows.append(row)

    def keep(self, part: str, what: str, **values: Any) -> None:
        """Store a raw measurement; it goes to the file, not to the screen."""
        self.samples.append({"part": part, "what": what, **values})

    @property
    def missed(self) -> list[Row]:
        """Rows whose target is not met."""
        return [row for row in self.rows if row.is_met is False]

    def print_table(self) -> None:
        """Print all rows, and how much other processes disturbed them."""
        print()
        print(f"{'':2} {'':60} {'measured':>9} {'':3} {'CPU/turn':>9}  {'target':>7}  met")
        for row in self.rows:
            print(_line(row))
        if (share := self.disturbance) is not None:
            print(f"\nOthers used {share:.0%} of the measured core on average; calm is {CALM:.0%}.")
        print("× is a ratio of two things measured in this run; other units depend on the machine.")

    @property
    def disturbance(self) -> float | None:
        """The share of the measured core that others used, if it was measured."""
        foreign = [sample["foreign"] for sample in self.samples if "foreign" in sample]
        return sum(foreign) / len(foreign) if foreign else None

    def write(self) -> Path:
        """Write everything as JSON to `results/`, which git ignores."""
        RESULTS.mkdir(exist_ok=True)
        now = datetime.now(UTC)
        path = RESULTS / f"{now:%Y%m%d-%H%M%S}.json"
        content = {
            "at": now.isoformat(timespec="seconds"),
            "python": platform.python_version(),
            "packages": packages(),
            "options": asdict(self.options),
            "rows": [{**asdict(row), "is_met": row.is_met} for row in self.rows],
            "samples": self.samples,
        }
        path.write_bytes(orjson.dumps(content, option=orjson.OPT_INDENT_2))
        return path


def packages() -> dict[str, str]:
    """The versions of what is measured."""
    return {name: version(name) for name in _PACKAGES}


def say(text: str) -> None:
    """Print progress to stderr; the table alone goes to stdout."""
    print(text, file=sys.stderr, flush=True)


def as_text(row: Row) -> tuple[str, str, str]:
    """A row's value, its unit and its target as text."""
    if row.unit == "imported":
        return "yes" if row.value else "no", "", "no" if row.target else ""
    value = f"{row.value:.2f}" if row.value < 100 else f"{row.value:.0f}"
    return value, row.unit, str(row.target or "")


def _line(row: Row) -> str:
    value, unit, target = as_text(row)
    met = {None: "", True: "yes", False: "NO"}[row.is_met]
    cpu = "" if row.cpu is None else f"{row.cpu:.2f} ×"
    note = f"  ({row.note})" if row.note else ""
    line = f"{row.part:2} {row.name:60} {value:>9} {unit:3} {cpu:>9}  {target:>7}  {met}{note}"
    return line.rstrip()
