"""The program on a real pseudo-terminal: the question of trust, the list, a warning in between."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.requirements import requirement
from tests.standins.mcp_server import stdio_command

from ..pseudo_terminal import Terminal


@pytest.mark.slow
@requirement("R29.3", "R29.5", "P48")
def test_a_project_is_trusted_its_servers_are_listed_and_a_dead_one_is_told(
    tmp_path: Path,
) -> None:
    servers = {"calc": stdio_command(), "dead": {"command": "no-such-program-anywhere"}}
    (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": servers}))
    terminal = Terminal()
    try:
        terminal.wait_for("Trust it?")
        assert "dead: no-such-program-anywhere" in terminal.screen
        terminal.type("y\r")
        terminal.wait_for("warning: MCP server 'dead' is not connected")
        terminal.wait_for("❯")  # before it is there, Enter is a line break
        terminal.type("/mcp list\r")
        terminal.wait_for("Transport")
        terminal.wait_for("dead")
        terminal.wait_for("❯")
        terminal.type("!echo on **we** go\r")
        terminal.wait_for("on we go")
        terminal.wait_for("❯")
        terminal.type("/quit\r")
        terminal.wait_for("hint: continue with: dataagent --resume")
        assert terminal.leave() == 0
        assert "Traceback" not in terminal.screen
    finally:
        terminal.end()
