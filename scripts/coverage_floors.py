"""Checks that the tests reach enough of the branches; `make coverage` ends with it.

    python -m scripts.coverage_floors [DATA_FILE]

Every package of the core and every other library has a floor. Modules that no test imports count as
not reached; so does what only runs in a process that coverage does not see.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coverage import Coverage

from scripts.tree import ROOT
from tests.traced_wall import noted

CENTRAL = frozenset({"core/engine", "core/runs", "protocol"})
CENTRAL_FLOOR = 90.0
FLOOR = 80.0
_CORE = "dataagent_core"


@dataclass(frozen=True, slots=True)
class PackageCoverage:
    """How much of a package the tests reach; by its statements if it has no branches."""

    package: str
    branches: int
    reached_branches: int
    statements: int
    reached_statements: int

    @property
    def percent(self) -> float:
        """Of the branches."""
        if self.branches:
            return 100 * self.reached_branches / self.branches
        return 100 * self.reached_statements / max(self.statements, 1)

    @property
    def floor(self) -> float:
        """The least it must reach."""
        return CENTRAL_FLOOR if self.package in CENTRAL else FLOOR


def package_coverage(files: Mapping[str, Any]) -> Iterator[PackageCoverage]:
    """The packages of a coverage report in JSON, by name."""
    sums: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for name, about in files.items():
        summary = about["summary"]
        for at, key in enumerate(
            ("num_branches", "covered_branches", "num_statements", "covered_lines")
        ):
            sums[_package_of(Path(name))][at] += summary[key]
    for package in sorted(sums):
        yield PackageCoverage(package, *sums[package])


def _package_of(path: Path) -> str:
    """`core/runs` of a module of the core, the package's own name of any other."""
    parts = path.parts
    package = next(part for part in parts if part.startswith("dataagent_"))
    if package != _CORE:
        return package.removeprefix("dataagent_")
    return f"core/{Path(parts[parts.index(package) + 1]).stem}"


def main(arguments: Sequence[str]) -> int:
    """Print every package; 1 if one is below its floor."""
    measured = Coverage(data_file=arguments[0] if arguments else ROOT / ".coverage")
    measured.load()
    measured.get_data().add_arcs(noted())
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "coverage.json")
        ours = [f"{ROOT}/libs/*"]  # and no tool that a test put into a user's folder
        measured.json_report(outfile=str(report), include=ours)
        found = [*package_coverage(json.loads(report.read_text(encoding="utf-8"))["files"])]
    for each in found:
        low = "  below its floor" if each.percent < each.floor else ""
        print(f"{each.package:<18} {each.percent:5.1f} % of {each.branches:>5} branches{low}")
    return int(any(each.percent < each.floor for each in found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
