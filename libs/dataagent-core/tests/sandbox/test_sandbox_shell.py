"""A conversation's shell behind a wall goes on from command to command."""

from __future__ import annotations

from pathlib import Path

import pytest

from dataagent_core.sandbox.sandbox_shell import SandboxShells
from tests.requirements import requirement

from .keeping import MakeSandboxes

pytestmark = pytest.mark.asyncio(loop_scope="session")


@requirement("R7.4")
async def test_a_command_with_half_a_character_runs_and_the_shell_goes_on(
    make_sandboxes: MakeSandboxes, tmp_path: Path
) -> None:
    shells = SandboxShells(make_sandboxes())
    said: list[str] = []
    for command in ("A=1; echo '\ud800'", "echo $A"):
        result = await shells.run("ann", "t1", command, directory=tmp_path, timeout_seconds=20)
        assert result.exit_code == 0
        said.append(result.output)
    assert said == ["?\n", "1\n"]
