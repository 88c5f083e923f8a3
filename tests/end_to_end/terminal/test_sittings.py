"""Sittings at a real terminal, step by step; after each step the whole screen is compared.

Six sittings of over forty steps: talking, approvals, data, MCP servers, the agent's surroundings,
and coming back after `kill -9`. How captures are written anew: `screen.py`.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from tests.end_to_end.terminal.conftest import PROMPT, READY, StartTerminal
from tests.end_to_end.terminal.screen import Screen
from tests.requirements import requirement
from tests.standins.mcp_server import PROGRAM

CTRL_C, CTRL_D, CTRL_G, CTRL_R, ESC = "\x03", "\x04", "\x07", "\x12", "\x1b"
UP, DOWN, ALT_ENTER, SHIFT_TAB, TAB = "\x1b[A", "\x1b[B", "\x1b\r", "\x1b[Z", "\t"
WRITE = '!tool write_file {"file_path": "/%s", "content": "one\\ntwo\\n"}'
EDIT = '!tool edit_file {"file_path": "/notes.md", "old_string": "first", "new_string": "第一"}'


class Sitting:
    """Steps at one terminal; each begins on an empty screen."""

    def __init__(self, screen: Screen, name: str) -> None:
        self.screen, self._name, self._number = screen, name, 0
        screen.wait_for(READY)

    def step(self, line: str, name: str) -> None:
        """Enter a line; then the screen is the capture's."""
        self.screen.clear(PROMPT)
        self.screen.enter(line)
        self.shows(name)

    def keys(self, keys: str, name: str) -> None:
        """Press keys; then the screen is the capture's."""
        self.screen.type(keys)
        self.shows(name)

    def shows(self, name: str) -> None:
        """The screen is that of the next capture."""
        self._number += 1
        self.screen.shows(f"{self._name}-{self._number:02}-{name}")


@requirement("R9.1", "R9.3", "R9.4", "R9.6")
def test_talking(start_terminal: StartTerminal) -> None:
    it = Sitting(start_terminal(), "talk")
    it.step("!echo Hello **you**, and `code`", "markdown")
    it.step("!echo | a | 数量 |\\n|---|---|\\n| 中文 | 1,234 |", "table")
    it.step(f"!think Let me see.{ALT_ENTER}!echo Seen.", "thinking")
    it.step(
        '!tool write_todos {"todos": [{"content": "Look", "status": "completed"},'
        ' {"content": "Say", "status": "in_progress"}]}',
        "plan",
    )
    it.step(
        "你好，世界！这是一条比较长的中文消息，用来检查宽度是否正确，以及换行是否正确。", "chinese"
    )
    it.screen.clear(PROMPT)
    it.screen.paste("!echo a pasted\n!echo paragraph")
    it.shows("pasted")
    it.keys("\r", "sent")
    it.step('!tool ls {"path": "/"}', "tool")
    it.step("!fail recoverable", "failed")
    it.screen.clear(PROMPT)
    it.screen.type(UP)
    it.screen.wait_for(f"{PROMPT} !fail recoverable")
    it.screen.type(CTRL_C)
    it.screen.clear(PROMPT)
    it.screen.type(f"{CTRL_R}Hello")
    it.screen.wait_for("!echo Hello **you**")
    it.screen.type(CTRL_G)
    it.screen.clear(PROMPT)
    it.screen.type("/renam")
    it.screen.wait_for("change the title of this conversation")
    it.screen.type(TAB)
    it.screen.wait_for(f"{PROMPT} /rename")


@pytest.mark.slow
def test_stopping_and_conversations(start_terminal: StartTerminal) -> None:
    it = Sitting(start_terminal(), "stop")
    it.screen.clear(PROMPT)
    it.screen.enter("!slow 400 50")
    it.screen.wait_for("chunk8")
    it.screen.type(CTRL_C)
    it.screen.wait_for("cancelled")
    it.screen.clear(PROMPT)
    it.screen.enter("!slow 400 50")
    it.screen.wait_for("chunk3")
    it.screen.type(ESC)
    it.screen.wait_for("cancelled")
    it.screen.wait_for(f" s\n{PROMPT} !slow 400 50")  # the new prompt, not the line above
    it.screen.type(CTRL_C)
    it.step("/cost", "cost")
    it.step("/rename Sales of spring", "renamed")
    it.screen.resize(60, 20)
    it.step(
        "!echo A narrow window: this line is longer than sixty columns, so it is wrapped.", "60"
    )
    it.screen.resize(80, 24)
    it.step("/new", "new")
    it.step("!echo another conversation", "another")
    it.step("/nosuch", "unknown")
    it.screen.type(CTRL_C)
    it.screen.wait_for("Ctrl-C again", READY)
    it.screen.type(CTRL_C)
    assert it.screen.leave() == 0


@requirement("R3.6", "R9.5")
def test_approvals_by_keys(start_terminal: StartTerminal, project: Path, place: Path) -> None:
    editor = place / "editor"
    editor.write_text("#!/bin/sh\nsed -i 's/two/three/' \"$1\"\n")
    editor.chmod(0o755)
    it = Sitting(start_terminal(VISUAL=str(editor)), "approve")
    it.step(WRITE % "a.txt", "asked")
    it.keys("y", "approved")
    assert (project / "a.txt").read_text() == "one\ntwo\n"
    it.step(EDIT, "diff")
    it.keys(f"{DOWN}\r", "reason")
    it.keys("not now\r", "rejected")
    assert "first" in (project / "notes.md").read_text()
    it.step(WRITE % "b.txt", "asked-again")
    it.keys("e", "edited")
    assert (project / "b.txt").read_text() == "one\nthree\n"
    it.step(WRITE % "c.txt", "third")
    it.screen.type("k")
    it.screen.wait_for("Esc goes back")
    it.keys("y", "kind")
    it.step(WRITE % "d.txt", "unasked")
    assert (project / "d.txt").exists()
    it.step("/undo", "undo")
    it.keys("y", "undone")
    assert not (project / "d.txt").exists()
    it.screen.type(CTRL_C)
    it.screen.clear(PROMPT)
    it.screen.type(SHIFT_TAB + SHIFT_TAB)
    it.shows("plan-mode")
    it.step(EDIT, "planned")
    assert "first" in (project / "notes.md").read_text()
    it.step("/mode auto", "auto-mode")
    it.step(EDIT, "auto")
    assert "第一" in (project / "notes.md").read_text()


def test_data_like_a_repository(start_terminal: StartTerminal, project: Path) -> None:
    it = Sitting(start_terminal("sales.csv", DATAAGENT_MODEL="offline"), "data")
    it.step("/sources", "sources")
    it.step("/schema", "schema")
    it.step("/sql SELECT region, sum(total) AS total FROM sales GROUP BY 1 ORDER BY 1", "sql")
    it.step("/chart bar region total", "chart")
    it.step("/explain", "explain")
    it.step("/export last out.csv", "exported")
    assert (project / "out.csv").read_text() == "region,total\nnorth,10.40\nsouth,20.20\n"
    it.step("total by region", "asked")
    it.screen.clear(PROMPT)
    it.screen.type("@sal")
    it.screen.wait_for("sales.csv")
    it.screen.type(CTRL_C)
    it.screen.wait_for("Ctrl-C again")
    it.step("/sql DELETE FROM sales", "refused")


@pytest.mark.slow
@requirement("R29.1", "R29.3", "R29.5", "R29.7")
def test_mcp_servers_at_the_terminal(start_terminal: StartTerminal, place: Path) -> None:
    it = Sitting(start_terminal(columns=100), "mcp")
    it.step("/mcp", "none")
    it.screen.enter(f"/mcp add calc {sys.executable} {PROGRAM} stdio")
    it.screen.wait_for("added calc")
    until_connected(it.screen)
    it.screen.clear(PROMPT)
    it.screen.enter('!tool calc__add {"a": 19, "b": 23}')
    it.screen.wait_for("Esc stops")
    it.keys("y", "called")
    it.step("/mcp reload", "reloaded")
    file = next(place.rglob("mcp.json"))
    file.write_text(file.read_text().replace('"stdio"', '"stdio", "--words", "/nowhere"'))
    it.screen.clear(PROMPT)
    it.screen.enter("/mcp reload")
    it.screen.wait_for("changed calc")
    it.step("/mcp remove calc", "removed")
    it.step("/mcp", "none-again")


def until_connected(screen: Screen) -> None:
    """Ask until it is; a busy machine takes its time to start a program."""
    for _ in range(120):
        screen.clear(PROMPT)
        screen.enter("/mcp list")
        screen.wait_for("stdio", READY)
        if " connected " in screen.text:
            return
        time.sleep(0.5)
    raise AssertionError(screen.text)


def test_the_agents_surroundings(start_terminal: StartTerminal, project: Path) -> None:
    it = Sitting(start_terminal(rows=50), "around")
    it.step("/help", "help")
    it.step("/agents", "agents")
    it.step("/model", "model")
    it.step("/model nosuch:thing", "no-model")
    it.step("/skills", "skills")
    it.step("/tools", "tools")
    it.step("/memory", "memory")
    it.screen.clear(PROMPT)
    it.screen.enter("/context")
    it.screen.wait_for("system prompt", "MCP tools", "messages", "/compact makes room")
    it.step("!ls", "shell")
    it.step("/init", "init")


def test_coming_back_after_a_kill(start_terminal: StartTerminal) -> None:
    first = start_terminal()
    first.wait_for(READY)
    first.enter("!echo remember **this**")
    first.wait_for("remember this", "tokens")
    first.clear(PROMPT)
    first.enter("!slow 400 50")
    first.wait_for("chunk5")
    first.kill()
    it = Sitting(start_terminal("--continue"), "back")
    it.screen.wait_for("remember this", "chunk0 chunk1", "its text is stored", "/retry")
    it.step("!echo and on", "on")
    it.step("/sessions", "sessions")
    it.keys(ESC, "left")
    it.screen.type(CTRL_D)
    assert it.screen.leave() == 0


def test_without_colour_and_with_a_plain_terminal(start_terminal: StartTerminal) -> None:
    it = Sitting(start_terminal(NO_COLOR="1", LANG="C", columns=60), "plain")
    it.step("!echo plain **text**", "no-colour")
