"""Each package declares what it imports, and imports what it declares (deptry, per package).

Run as `python -m scripts.check_dependencies`.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from scripts.tree import ROOT

_BY_NAME = {
    "dataagent": ["dataagent-server", "dataagent-core"],  # it only brings them along
    "dataagent-core": [
        "dataagent-offline",  # an entry point
        "asyncpg",  # SQLAlchemy loads the driver that the URL names
        "langchain-openai",  # `init_chat_model` loads the provider's package
        "pandas",  # the sandbox's runner imports all of these by name
        "numpy",
        "matplotlib",
        "pillow",
        "openpyxl",
        "pdfplumber",
        "reportlab",
    ],
    "dataagent-client": ["pandas", "pyarrow"],  # extras, imported by name on demand
    "dataagent-server": ["httptools"],  # uvicorn loads it
}
"""Declared on purpose although no line imports them."""
_UNUSED = "DEP002"


def problems(project: Path) -> list[str]:
    """The problems of a package, a sentence each; an unneeded exception is one."""
    with tempfile.TemporaryDirectory(prefix="dataagent-dependencies-") as folder:
        report = Path(folder, "report.json")
        package = project.name.replace("-", "_")
        command = [sys.executable, "-m", "deptry", package, "--known-first-party", package]
        command += ["--json-output", str(report)]
        done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)
        if not report.exists():
            return [f"deptry failed: {done.stdout}{done.stderr}"]
        found = json.loads(report.read_text(encoding="utf-8"))
    return [*complaints(found, _BY_NAME.get(project.name, []))]


def complaints(found: list[Any], by_name: list[str]) -> Iterator[str]:  # Any: deptry's JSON
    """Deptry's findings except for the exceptions, and the exceptions that it did not find."""
    unused = {each["module"] for each in found if each["error"]["code"] == _UNUSED}
    for each in found:
        if each["error"]["code"] != _UNUSED or each["module"] not in by_name:
            place = ":".join(str(each["location"][key]) for key in ("file", "line"))
            yield f"{place.removesuffix(':None')}: {each['error']['message']}"
    for name in by_name:
        if name not in unused:
            yield f"'{name}' is imported, or not declared: it needs no exception."


def main() -> int:
    """Check every package; 1 if one has a problem."""
    projects = [path.parent for path in sorted(ROOT.glob("libs/*/pyproject.toml"))]
    found = [f"{project.name}: {each}" for project in projects for each in problems(project)]
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
