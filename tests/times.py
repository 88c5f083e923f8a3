"""Measures each test: wall time, processor time, and what it starts.

A pytest plugin: `pytest --times=DIR` writes one JSON line a test to a file per process in DIR.
`python -m tests.times DIR PAGE` writes where the time of such a run went, by folder, into a page
(`make test-times`). Processor time is that of the test's process and of the children that ended in
the test; programs that the loading process forks (`tests/programs.py`) are counted as started, not
timed.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

_COUNTED = "dataagent.tests.start"
_BEGIN, _END = "<!-- times -->", "<!-- /times -->"


def count_start(kind: str) -> None:
    """Note that something expensive is started: a server, a database, a program, a browser."""
    sys.audit(_COUNTED, kind)


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--times DIR`."""
    parser.addoption("--times", metavar="DIR", help="write what each test costs to this folder")


def pytest_configure(config: pytest.Config) -> None:
    """Measure, if `--times` is given."""
    folder = config.getoption("--times")
    if folder:
        config.pluginmanager.register(_Times(Path(folder)))


class _Times:
    """Writes a line after each test."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        name = os.environ.get("PYTEST_XDIST_WORKER", "main")
        self._file = (folder / f"{name}.jsonl").open("w", encoding="utf-8")
        self._starts: Counter[str] = Counter()
        sys.addaudithook(self._count)
        self._count_cores()

    def _count(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == _COUNTED:
            self._starts[arguments[0]] += 1
        elif event == "subprocess.Popen":
            self._starts["process"] += 1

    def _count_cores(self) -> None:
        from dataagent_core.app.assembly import Core

        made = Core.__init__

        def count(core: Core, *args: Any, **kwargs: Any) -> None:
            self._starts["core"] += 1
            made(core, *args, **kwargs)

        setattr(Core, "__init__", count)  # noqa: B010 pyright refuses the plain assignment

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Measure one test with its fixtures."""
        self._starts.clear()
        wall, processor = time.monotonic(), _processor_seconds()
        result = yield
        line = {
            "test": item.nodeid,
            "wall": round(time.monotonic() - wall, 4),
            "processor": round(_processor_seconds() - processor, 4),
            "starts": dict(self._starts),
        }
        self._file.write(json.dumps(line) + "\n")
        self._file.flush()
        return result


def _processor_seconds() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def _folder_of(test: str) -> str:
    """`libs/dataagent-core/tests/runs/test_a.py::test_b` → `dataagent-core/runs`."""
    folder = Path(test.partition("::")[0]).parent.as_posix()
    lib, _, inside = folder.removeprefix("libs/").partition("/tests")
    return lib + "/".join(inside.split("/")[:2])


def read_records(folder: Path) -> list[dict[str, Any]]:
    """What each test of a measured run cost."""
    files = sorted(folder.glob("*.jsonl"))
    return [
        json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()
    ]


def table(records: list[dict[str, Any]], rows: int = 20) -> str:
    """A Markdown table: tests, seconds and starts by folder, the longest first, the rest as one."""
    groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for record in records:
        groups[_folder_of(record["test"])].append(record)
    ordered = sorted(groups.items(), key=lambda group: -_sum(group[1], "wall"))
    others = [record for _, group in ordered[rows:] for record in group]
    lines = ["| folder | tests | wall s | processor s | starts |", "|---|---:|---:|---:|---|"]
    for name, group in [*ordered[:rows], ("all others", others), ("**all**", records)]:
        starts: Counter[str] = Counter()
        for record in group:
            starts.update(record["starts"])
        listed = ", ".join(f"{kind} {count}" for kind, count in starts.most_common())
        wall, processor = _sum(group, "wall"), _sum(group, "processor")
        lines.append(f"| {name} | {len(group)} | {wall:.0f} | {processor:.0f} | {listed} |")
    return "\n".join(lines)


def _sum(records: list[dict[str, Any]], field: str) -> float:
    return sum(record[field] for record in records)


def main(folder: Path, page: Path) -> None:
    """Write the table of a measured run between the two marks of a page."""
    text = page.read_text(encoding="utf-8")
    before, _, rest = text.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    new = f"{before}{_BEGIN}\n{table(read_records(folder))}\n{_END}{after}"
    page.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
