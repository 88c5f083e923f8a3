"""Each package declares what it imports, and imports what it declares (deptry, per package).

Run as `python -m scripts.check_dependencies`.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from scripts.tree import ROOT

_BY_NAME = {
    "dataagent": ["dataagent-server", "dataagent-core"],  # it only brings them along
    "dataagent-core": [
        "asyncpg",  # SQLAlchemy loads the driver that the URL names
        "asyncmy",
        "pymysql",
        "psycopg",
        "psycopg-pool",
        "langchain-openai",  # `init_chat_model` loads the provider's package
        "langgraph-checkpoint-mysql",
        "langgraph-checkpoint-postgres",
        "langgraph-checkpoint-sqlite",
        "redis",
        "pandas",  # the sandbox's runner imports all of these by name
        "numpy",
        "matplotlib",
        "pillow",
        "openpyxl",
        "pdfplumber",
        "reportlab",
    ],
    "dataagent-client": ["pandas", "pyarrow"],  # extras, imported by name where they are asked for
    "dataagent-server": [
        "httptools",  # uvicorn loads all three
        "websockets",
        "uvloop",
        "starlette",  # the floor of what FastAPI brings
    ],
}
"""Declared on purpose although no line imports them."""

_NOT_YET = {
    "dataagent-harbor": ["dataagent-client"],
}
"""Declared because the contract allows no other way in; used once the package talks to a server."""


def check(project: Path) -> bool:
    """Whether deptry is content with one package; prints what it says otherwise."""
    unused = [*_BY_NAME.get(project.name, []), *_NOT_YET.get(project.name, [])]
    package = project.name.replace("-", "_")
    command = [sys.executable, "-m", "deptry", package, "--known-first-party", package, "--no-ansi"]
    if unused:
        command += ["--per-rule-ignores", "DEP002=" + "|".join(unused)]
    result = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        print(f"{project.name}:\n{result.stdout}{result.stderr}")
    return result.returncode == 0


def main() -> int:
    """Check every package; 1 if one is not right."""
    results = [check(path.parent) for path in sorted(ROOT.glob("libs/*/pyproject.toml"))]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
