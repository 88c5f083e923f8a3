"""Mutation tests of one part with Cosmic Ray: `python -m scripts.mutants PART [--sample 40]`.

`tests/mutants/PART.toml` is Cosmic Ray's configuration: the modules to change, the tests that
should fail then, the quickest first. It works in a clone of what is committed, on a random sample
of the possible changes, and prints those that no test noticed: each is a missing test, or a change
without an effect.
"""

from __future__ import annotations

import argparse
import os
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from scripts.tree import ROOT

CONFIGURATIONS = ROOT / "tests/mutants"
_BIN = Path(sys.executable).parent
_SURVIVORS_ALLOWED = 20
"""Percent of a sample that no test needs to notice."""
_WITHOUT_EFFECT = ("core/ReplaceBinaryOperator_BitOr_%", "core/ReplaceBinaryOperator_Mul_%")
"""They change annotations (`int | None`) and the star between parameters more than anything."""


def main(arguments: Sequence[str]) -> int:
    """Try a sample; 1 if too few of the changes were noticed."""
    parser = argparse.ArgumentParser(prog="python -m scripts.mutants", description=__doc__)
    parser.add_argument("part", choices=sorted(path.stem for path in CONFIGURATIONS.glob("*.toml")))
    parser.add_argument("--sample", type=int, default=40, help="how many changes are tried")
    options = parser.parse_args(arguments)
    configuration = str(CONFIGURATIONS / f"{options.part}.toml")
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        subprocess.run(["git", "clone", "--quiet", ROOT, folder], check=True)
        session = f"{folder}/.mutants.sqlite"
        _run(folder, "cosmic-ray", "init", configuration, session)
        _draw(session, options.sample)
        _run(folder, "cosmic-ray", "baseline", configuration)
        _run(folder, "cosmic-ray", "exec", configuration, session)
        _run(folder, "cr-report", "--surviving-only", "--show-diff", session)
        return _run(folder, "cr-rate", "--fail-over", str(_SURVIVORS_ALLOWED), session, check=False)


def _draw(session: str, count: int) -> None:
    """Leave a random sample of the changes in the session."""
    chosen = (
        "SELECT job_id FROM mutation_specs WHERE operator_name NOT LIKE ? "
        "AND operator_name NOT LIKE ? ORDER BY random() LIMIT ?"
    )
    with closing(sqlite3.connect(session)) as database, database:
        database.execute(f"CREATE TEMP TABLE chosen AS {chosen}", (*_WITHOUT_EFFECT, count))
        database.execute("DELETE FROM mutation_specs WHERE job_id NOT IN (SELECT * FROM chosen)")
        database.execute("DELETE FROM work_items WHERE job_id NOT IN (SELECT * FROM chosen)")


def _run(folder: str, program: str, *arguments: str, check: bool = True) -> int:
    paths = [folder, *(str(path.parent) for path in Path(folder).glob("libs/*/pyproject.toml"))]
    environment = {
        **os.environ,
        "PATH": f"{_BIN}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join(paths),
    }
    command = [str(_BIN / program), *arguments]
    return subprocess.run(command, cwd=folder, env=environment, check=check).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
