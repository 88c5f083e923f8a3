"""Changes the code a little, many times, and sees whether a test notices: `make mutants`.

    python -m scripts.mutants [PART …] [--sample 40] [--seed 1] [--at-least 80]

Cosmic Ray makes the changes, in a copy of the tree; for each of the parts that nothing may slip
through a sample of them is drawn, and the part's tests run against each. The ones that no test
noticed are printed: each is a missing test, or a change that changes nothing.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import re
import signal
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any

from scripts.tree import ROOT

_CORE, _SERVER = "libs/dataagent-core", "libs/dataagent-server"
_SLOWEST_SECONDS = 300
# untyped, and only here
_INIT: Any = import_module("cosmic_ray.commands.init")
_MUTATING: Any = import_module("cosmic_ray.mutating")
_PLUGINS: Any = import_module("cosmic_ray.plugins")
_WORK: Any = import_module("cosmic_ray.work_db")


@dataclass(frozen=True, slots=True)
class Part:
    """Modules, and the tests that should notice a change in them, the quickest first."""

    modules: tuple[str, ...]
    tests: tuple[str, ...]


PARTS = {
    "events": Part(
        ("libs/dataagent-protocol/dataagent_protocol/events.py",), (f"{_CORE}/tests/events",)
    ),
    "ledger": Part(
        (f"{_CORE}/dataagent_core/runs/ledger.py",),
        (
            f"{_CORE}/tests/runs/test_ledger_commits.py",
            f"{_CORE}/tests/runs/test_ledger.py",
            f"{_CORE}/tests/runs/test_relay.py",
            f"{_CORE}/tests/runs/test_follow.py",
        ),
    ),
    "guard": Part(
        (f"{_CORE}/dataagent_core/data/sql/*.py",),
        (
            f"{_CORE}/tests/data/sql/test_resolve.py",
            f"{_CORE}/tests/data/sql",
            f"{_CORE}/tests/data/policy/test_compiling.py",
            f"{_CORE}/tests/data/policy/test_fences.py",
        ),
    ),
    "policy": Part(
        (f"{_CORE}/dataagent_core/data/policy/*.py",),
        (
            *(
                f"{_CORE}/tests/data/policy/test_{name}.py"
                for name in ("values", "visible", "filters", "fences", "compiling", "parsing")
            ),
            f"{_CORE}/tests/data/sql/test_resolve.py",
        ),
    ),
    "auth": Part(
        (f"{_SERVER}/dataagent_server/auth/*.py",),
        (f"{_SERVER}/tests/auth", f"{_SERVER}/tests/api/test_auth.py"),
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class SampleOutcome:
    """What became of a part's sample."""

    part: str
    tried: int
    survivors: tuple[str, ...]

    @property
    def killed_percent(self) -> float:
        """How many of them a test noticed."""
        return 100 * (1 - len(self.survivors) / self.tried)


def main(arguments: Sequence[str]) -> int:
    """Try the parts, one on each core; 1 if too few changes of one were noticed."""
    parser = argparse.ArgumentParser(prog="python -m scripts.mutants", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; all")
    parser.add_argument("--sample", type=int, default=40, help="changes tried in each part")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--at-least", type=float, default=80, help="percent that must be noticed")
    given = parser.parse_args(arguments)
    if unknown := set(given.parts) - PARTS.keys():
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        outcomes = [
            *pool.map(partial(tried, sample=given.sample, seed=given.seed), given.parts or [*PARTS])
        ]
    for each in outcomes:
        print(*each.survivors, sep="\n")
    for each in outcomes:
        noticed = each.tried - len(each.survivors)
        print(f"{each.part:<8} {noticed} of {each.tried} noticed, {each.killed_percent:.0f} %")
    return int(any(each.killed_percent < given.at_least for each in outcomes))


def tried(name: str, sample: int, seed: int) -> SampleOutcome:
    """Try a sample of a part's changes, in a copy of the tree."""
    part = PARTS[name]
    with tempfile.TemporaryDirectory(prefix=f"mutants-{name}-") as folder:
        tree = Path(folder)
        _copy(tree)
        if not _do_pass(tree, part):
            sys.exit(f"The tests of {name} fail without any change.")
        drawn = sorted(_changes(tree, part), key=_place)  # Cosmic Ray's order is another each time
        random.Random(seed).shuffle(drawn)  # noqa: S311  a sample, no secret
        drawn = drawn[:sample]
        if not drawn:
            sys.exit(f"There is nothing to change in {name}: {', '.join(part.modules)}.")
        survivors = [said for each in drawn if (said := _survivor(tree, part, each))]
    return SampleOutcome(name, len(drawn), tuple(survivors))


def _copy(tree: Path) -> None:
    """What is committed, with what is not yet."""
    names = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, check=True, text=True,
    ).stdout.split("\0")  # fmt: skip
    packed = BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for name in names:
            if name and not name.startswith("web/") and (ROOT / name).exists():
                tar.add(ROOT / name, name)
    packed.seek(0)
    with tarfile.open(fileobj=packed) as tar:
        tar.extractall(tree, filter="data")


def _changes(tree: Path, part: Part) -> Iterator[Any]:
    """All changes Cosmic Ray knows for the part, but for what nothing runs.

    These are annotations, and the star between parameters, which it takes for a multiplication.
    """
    modules = [path for pattern in part.modules for path in sorted(tree.glob(pattern))]
    left_out = {module: {*_annotated(module), *_stars(module)} for module in modules}
    with _WORK.use_db(str(tree / "changes.sqlite"), _WORK.WorkDB.Mode.create) as found:
        _INIT.init(modules, found, {})
        for item in found.work_items:
            (change,) = item.mutations
            if change.start_pos not in left_out[change.module_path]:
                yield change


def _place(change: Any) -> tuple[str, str, int, str]:
    """What tells a change from all others, the same in every copy."""
    operator_args = str(sorted(change.operator_args.items()))
    return change.module_path.name, change.operator_name, change.occurrence, operator_args


def _annotated(module: Path) -> Iterator[tuple[int, int]]:
    """The places inside a module's annotations."""
    text = module.read_text(encoding="utf-8")
    lines = text.splitlines()
    for node in ast.walk(ast.parse(text)):
        for name in ("annotation", "returns"):
            found = getattr(node, name, None)
            if isinstance(found, ast.expr):
                for row in range(found.lineno, (found.end_lineno or found.lineno) + 1):
                    first = found.col_offset if row == found.lineno else 0
                    last = found.end_col_offset if row == found.end_lineno else None
                    yield from ((row, at) for at in range(first, last or len(lines[row - 1])))


def _stars(module: Path) -> Iterator[tuple[int, int]]:
    """The stars that say that what follows is given by name."""
    for row, line in enumerate(module.read_text(encoding="utf-8").splitlines(), 1):
        yield from ((row, found.start()) for found in re.finditer(r"\*(?=,)", line))


def _survivor(tree: Path, part: Part, change: Any) -> str | None:
    """The change as a line, if no test noticed it."""
    operator = _PLUGINS.get_operator(change.operator_name)(**change.operator_args)
    changed = _MUTATING.use_mutation(change.module_path, operator, change.occurrence)
    with changed as (before, after):
        if after is None or not _do_pass(tree, part):
            return None
    old, new = before.splitlines(), after.splitlines()
    row = next(at for at, (was, now) in enumerate(zip(old, new, strict=False)) if was != now)
    where = f"{change.module_path.relative_to(tree)}:{row + 1}"
    return f"{where} {change.operator_name}\n  - {old[row].strip()}\n  + {new[row].strip()}"


def _do_pass(tree: Path, part: Part) -> bool:
    """Whether the part's tests pass in the tree as it is."""
    paths = [str(tree), *(str(path.parent) for path in tree.glob("libs/*/pyproject.toml"))]
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *part.tests]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(paths),
        "PYTHONDONTWRITEBYTECODE": "",
    }
    with subprocess.Popen(
        command, cwd=tree, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, start_new_session=True,
    ) as running:  # fmt: skip
        try:
            return running.wait(_SLOWEST_SECONDS) == 0
        except subprocess.TimeoutExpired:  # noticed: it never ends
            os.killpg(running.pid, signal.SIGKILL)
            return False


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
