"""One question in a script comes up without what only other work needs."""

from __future__ import annotations

import subprocess
import sys

import pytest

FOR_DATA = "sqlglot duckdb pyarrow dataagent_core.data.sql dataagent_core.data.figures"
FOR_A_PERSON = "prompt_toolkit wcwidth dataagent_cli.input.keyboard dataagent_cli.commands"
FOR_OTHERS = "alembic httpx langgraph_sdk._async langsmith.types.run mcp redis websockets"
UNUSED = f"{FOR_DATA} {FOR_A_PERSON} {FOR_OTHERS}"
CODE = f"""
import sys
from dataagent_cli.main import main
assert main(["-p", "!echo hello"]) == 0
print([m for m in {UNUSED.split()!r} if m in sys.modules], file=sys.stderr)
"""


def ask() -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", CODE],
        capture_output=True,
        stdin=subprocess.DEVNULL,
        text=True,
        check=True,
    )


@pytest.mark.slow
def test_one_question_loads_nothing_that_it_does_not_use() -> None:
    ask()  # the first one makes the tables
    done = ask()
    assert done.stderr.splitlines()[-1] == "[]"
    assert done.stdout == "hello\n"
