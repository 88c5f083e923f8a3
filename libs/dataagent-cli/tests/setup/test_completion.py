"""Tab in real shells: commands, options, and the names of sources and conversations."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from dataagent_cli.setup import home_reader

from ..pseudo_terminal import Terminal
from .program import dataagent

ASKED = {  # what is typed before Tab: what the line then is
    "dataagent sou": "sources",
    "dataagent sql x --source ch": "chinook",
    "dataagent sources remove ch": "chinook",
    "dataagent --auto": "--auto-approve",
    "dataagent completion z": "zsh",
}
READY = {
    "bash": 'PS1=; eval "$(dataagent completion bash)"; echo rea""dy\r',
    "fish": "function fish_prompt; end; dataagent completion fish | source; echo rea''dy\r",
    "zsh": "PROMPT=; autoload -U compinit; compinit -u -D;"
    ' eval "$(dataagent completion zsh)"; echo rea""dy\r',
}
START = {"bash": ["--norc", "-i"], "fish": ["--no-config", "-i"], "zsh": ["-f", "-i"]}


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A PATH with the program on it under its own name."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "dataagent"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m dataagent_cli "$@"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return f"{folder}:{os.environ['PATH']}"


@pytest.mark.slow
@pytest.mark.parametrize("shell", READY)
async def test_tab_completes_commands_options_and_sources(
    shell: str, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = shutil.which(shell)
    assert program, f"{shell} is missing; scripts/shells installs it"
    monkeypatch.setenv("PATH", path)
    assert (await dataagent("schema")).code == 0  # makes the sample source
    terminal = Terminal(*START[shell], program=[program])
    try:
        terminal.type(READY[shell])
        terminal.wait_for("ready")
        for typed, completed in ASKED.items():
            terminal.type(f"{typed}\t")
            terminal.wait_for(completed)
            terminal.type("\x15")  # the line goes
    finally:
        terminal.end()


async def test_conversations_are_offered_by_their_id_and_title(home: Path) -> None:
    assert home_reader.sessions(str(home)) == {}
    assert (await dataagent("-p", "!echo hi")).code == 0
    assert list(home_reader.sessions(str(home)).values()) == ["!echo hi"]


def test_a_tab_loads_no_library() -> None:
    """A shell waits for it: the core, SQLAlchemy and pydantic take a second."""
    code = (
        "import sys; import dataagent_cli.setup.completion, dataagent_cli.arguments as a;"
        "a.build_parser(); from dataagent_cli.setup import home_reader;"
        "home_reader.newer_tables('/nowhere');"
        "print(sorted({'pydantic', 'sqlalchemy', 'rich', 'asyncio', 'typing_extensions'}"
        " & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
