"""The commands over data come up without what only an agent needs."""

from __future__ import annotations

import subprocess
import sys

import pytest

AGENTS_ONLY = "langchain langchain_core langgraph deepagents"
COMMANDS = (
    ["sources"],
    ["schema", "chinook", "Track"],
    ["sql", "SELECT count(*) AS n FROM Track"],
    ["export", "last", "--format", "csv"],
)


@pytest.mark.slow
def test_commands_over_data_do_not_load_langchain() -> None:
    code = (
        "import sys\n"
        "from dataagent_cli.main import main\n"
        f"assert [main(words) for words in {COMMANDS!r}] == [0, 0, 0, 0]\n"
        f"print([m for m in {AGENTS_ONLY.split()!r} if m in sys.modules], file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1] == "[]"
    assert "chinook" in done.stdout
