"""Every static check, as many at once as there are processors; all run even if one fails.

`make check` runs all; `python -m scripts.check types files` runs the named ones.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from scripts.tree import ROOT

_PYTHON = sys.executable
_BIN = Path(_PYTHON).parent
_NPM = [shutil.which("npm") or "npm", "--prefix", "web", "run", "--silent"]

# The longest first.
CHECKS: dict[str, list[str]] = {
    "types": [f"{_BIN}/pyright"],
    "web-lint": [*_NPM, "lint"],
    "web-format": [*_NPM, "format"],
    "unused": [_PYTHON, "-m", "scripts.check_unused"],
    "web-schema": [_PYTHON, "-m", "scripts.web_schema", "--check"],
    "chart-schema": [_PYTHON, "-m", "scripts.chart_schema", "--check"],
    "web-types": [*_NPM, "types"],
    "docs": [_PYTHON, "-m", "scripts.reference", "--check"],
    "dependencies": [_PYTHON, "-m", "scripts.check_dependencies"],
    "format": [f"{_BIN}/ruff", "format", "--check", "--quiet", "."],
    "lint": [f"{_BIN}/ruff", "check", "--quiet", "--no-cache", "."],
    "names": [_PYTHON, "-m", "scripts.check_names"],
    "imports": [f"{_BIN}/lint-imports", "--no-logo"],
    "files": [_PYTHON, "-m", "scripts.check_files"],
    "sync-client": [_PYTHON, "-m", "scripts.sync_client", "--check"],
}


def run(name: str) -> bool:
    """Run one check, print its outcome and, if it failed, its output."""
    started = time.monotonic()
    environment = {**os.environ, "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"}
    result = subprocess.run(
        CHECKS[name], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    outcome = "ok" if result.returncode == 0 else "FAILED"
    lines = [f"{name:<13} {outcome:<7} {time.monotonic() - started:5.1f} s"]
    if result.returncode != 0:
        lines.append(result.stdout + result.stderr)
    print("\n".join(lines), flush=True)
    return result.returncode == 0


def main(names: list[str]) -> int:
    """Run the named checks, or all; 1 if one failed."""
    unknown = [name for name in names if name not in CHECKS]
    if unknown:
        print(f"No check named {unknown[0]!r}. There are: {' '.join(CHECKS)}", file=sys.stderr)
        return 2
    chosen = [name for name in CHECKS if name in names or not names]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(run, chosen))
    failed = [name for name, passed in zip(chosen, results, strict=True) if not passed]
    if failed:
        print(f"make check: {', '.join(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
