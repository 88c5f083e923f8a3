"""000 R3.6, R9, R29, R34.4: the terminal, on a real pseudo-terminal and as one command."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from dataagent_core import events as ev
from dataagent_core.hitl import ActionRequest
from tests.acceptance.library import WRITE
from tests.acceptance.states import states
from tests.end_to_end.terminal.screen import Screen
from tests.homes import prepared_home
from tests.programs import quick
from tests.standins.mcp_server import digest, stdio_command

READY, DOWN = "manual: asks first", "\x1b[B"
ADD = '!tool sums__add {"a": 19, "b": 23}\n!echo Done.'


def environment(folder: Path, **settings: str) -> dict[str, str]:
    """A person's own machine."""
    prepared_home(folder / "data")
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "DATAAGENT_HOME": str(folder / "data"),
        "DATAAGENT_MODEL": "scripted",
        **settings,
    }


@pytest.fixture
def screen(tmp_path: Path) -> Iterator[Screen]:
    """A terminal with the program in it."""
    folder = tmp_path / "project"
    folder.mkdir()
    argv = [quick("dataagent")]
    with Screen(argv, cwd=folder, env=environment(tmp_path), columns=100, rows=40) as made:
        made.wait_for(READY)
        yield made


def said_by(folder: Path, *words: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """What the program prints for one command."""
    project = folder / "project"
    project.mkdir(exist_ok=True)
    return subprocess.run(
        [quick("dataagent"), *words],
        env=environment(folder, **settings),
        cwd=project,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


# -- R3.6: approvals at the keyboard ----------------------------------------------------------


def choose(screen: Screen, pattern: str) -> None:
    """Go down to the choice that fits and take it."""
    screen.wait_for("arrows and Enter")  # it takes keys from then on
    lines = screen.text.splitlines()
    first = next(at for at, line in enumerate(lines) if re.search("❯ .*Approve", line))
    wanted = next(at for at, line in enumerate(lines) if at >= first and re.search(pattern, line))
    screen.type(DOWN * (wanted - first) + "\r")


@states("R3.6", "approve with the arrow keys")
def test_a_call_is_approved_with_the_arrow_keys(screen: Screen) -> None:
    screen.enter(WRITE.replace("\n", "\x1b\r"))
    choose(screen, "Approve")
    screen.wait_for("\nWritten.")


@states("R3.6", "reject with the arrow keys")
def test_a_call_is_rejected_with_the_arrow_keys(screen: Screen) -> None:
    screen.enter(WRITE.replace("\n", "\x1b\r"))
    choose(screen, "Reject")
    screen.wait_for("Why not")
    screen.type("\r")
    screen.wait_for(READY)
    assert "Written." not in screen.text.replace("!echo Written.", "")


@states("R3.6", "auto-approve-all with the arrow keys")
def test_everything_is_approved_with_the_arrow_keys(screen: Screen) -> None:
    screen.enter(WRITE.replace("\n", "\x1b\r"))
    choose(screen, "everything")
    screen.wait_for("Yes", "Esc goes back")
    screen.type(DOWN + "\r")
    screen.wait_for("\nWritten.", "AUTO")
    screen.enter(
        '!tool write_file {"file_path": "/files/b.txt", "content": "x"}\x1b\r!echo Second.'
    )
    screen.wait_for("\nSecond.")


# -- R9: the renderer -------------------------------------------------------------------------


def renderer() -> Any:
    """A renderer as the requirement names it, with nothing given."""
    return import_module("dataagent_cli.ui").TerminalRenderer()


@states("R9.1", "TerminalRenderer uses Rich")
def test_the_renderer_is_built_on_rich() -> None:
    kind = import_module("dataagent_cli.ui").TerminalRenderer
    names = vars(import_module(kind.__module__)).values()
    assert Console in names
    assert renderer() is not None


EVENTS = [
    ev.TextEvent(content="Hello.", is_final=True),
    ev.ToolCallEvent(tool_name="ls", tool_args={"path": "/"}, tool_call_id="1"),
    ev.HITLRequestEvent(request_id="1", action=ActionRequest("write_file", {}, "Write.")),
    ev.TodoUpdateEvent(todos=[{"content": "Look", "status": "pending"}]),
    ev.FileOperationEvent(operation="write", file_path="/a.txt", diff="+one", metrics={}),
    ev.ErrorEvent(error="It broke.", recoverable=True),
    ev.DoneEvent(token_usage=None, cancelled=False),
]


@states("R9.2", "a method for each type of event")
@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.event_type)
def test_each_type_of_event_has_its_method(event: Any) -> None:
    assert callable(getattr(renderer(), f"render_{event.event_type}"))


@states("R9.2", "a tool's result is rendered")
def test_a_result_is_rendered(capsys: pytest.CaptureFixture[str]) -> None:
    made: Any = ev.ToolResultEvent
    it = renderer()
    it.render(ev.ToolCallEvent(tool_name="ls", tool_args={}, tool_call_id="1"))
    it.render(made(tool_call_id="1", result="a.txt b.txt", status="success"))
    shown = capsys.readouterr()
    assert "a.txt" in shown.out + shown.err


def rendered(capsys: pytest.CaptureFixture[str], *events: Any) -> str:
    """What a renderer shows of events."""
    it = renderer()
    for event in events:
        it.render(event)
    shown = capsys.readouterr()
    return shown.out + shown.err


@states("R9.3", "text is Markdown")
def test_text_is_markdown(capsys: pytest.CaptureFixture[str]) -> None:
    text = ev.TextEvent(content="# Sales\n\n- **north** 10\n", is_final=True)
    shown = rendered(capsys, text, ev.DoneEvent(cancelled=False))
    assert "north" in shown
    assert "**" not in shown
    assert "# Sales" not in shown


@states("R9.4", "an icon", "arguments in short")
def test_a_call_has_an_icon_and_short_arguments(capsys: pytest.CaptureFixture[str]) -> None:
    args = {"file_path": "/a.txt", "content": "x" * 5000}
    shown = rendered(
        capsys, ev.ToolCallEvent(tool_name="write_file", tool_args=args, tool_call_id="1")
    )
    [line] = [line for line in shown.splitlines() if "write_file" in line]
    assert not line.strip()[0].isascii()
    assert "/a.txt" in shown
    assert len(shown) < 1000


@states("R9.5", "the diff", "what was counted")
def test_a_file_operation_shows_its_diff_and_its_figures(
    capsys: pytest.CaptureFixture[str],
) -> None:
    event = ev.FileOperationEvent(
        operation="edit",
        file_path="/a.txt",
        metrics={"lines_added": 2, "lines_removed": 1},
        diff="--- a/a.txt\n+++ b/a.txt\n@@ -1 +1,2 @@\n-old\n+new\n+newer\n",
    )
    shown = rendered(capsys, event)
    assert all(part in shown for part in ("/a.txt", "-old", "+new", "+newer", "+2", "−1"))


@states("R9.6", "a spinner while the agent thinks")
def test_a_spinner_turns_while_the_agent_thinks() -> None:
    kind = import_module("dataagent_cli.ui").TerminalRenderer
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=80)
    it = kind(console, console)
    it.begin()
    it.pause()
    assert re.search("[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]|[◐◓◑◒]|[|/\\\\-] ", screen.getvalue())


# -- R29: MCP servers of the terminal ---------------------------------------------------------


def servers(folder: Path, *names: str, **broken: str) -> Path:
    """`mcp.json` of the default assistant."""
    empty: dict[str, str] = {}
    given: list[dict[str, Any]] = [
        {"name": name, **stdio_command(), "env": empty, "disabled": False} for name in names
    ]
    given += [{"name": name, "command": command, "args": []} for name, command in broken.items()]
    path = folder / ".deepagents" / "agent" / "mcp.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"servers": given}), encoding="utf-8")
    return path


def results(shown: str) -> list[Any]:
    """The results of calls, of a program that prints one event a line."""
    events = [json.loads(line) for line in shown.splitlines() if line.startswith("{")]
    return [each for each in events if each["event_type"] == "tool_result"]


@states("R29.1", "~/.deepagents/{assistant_id}/mcp.json")
@states("R29.2", "servers", "name", "command", "args", "env", "disabled")
@states("R29.3", "servers are connected when the program starts")
@states("R29.4 (departs)", "through the mcp SDK")
@states("P47", "a valid mcp.json is loaded when the program starts")
def test_the_servers_of_the_file_are_connected(tmp_path: Path) -> None:
    servers(tmp_path, "sums")
    done = said_by(tmp_path, "-p", ADD, "--json", "--auto-approve")
    [result] = results(done.stdout)
    assert "42" in str(result["data"]["result"]), done.stderr


@states("R29.1", "{assistant_id}: an assistant has the servers of its own file")
def test_each_assistant_has_its_own_file(tmp_path: Path) -> None:
    path = servers(tmp_path, "sums")
    path.parent.rename(path.parent.with_name("sql"))
    for assistant, has in (("sql", True), ("general", False)):
        done = said_by(tmp_path, "--agent", assistant, "-p", ADD, "--json", "--auto-approve")
        [result] = results(done.stdout)
        assert (result["data"]["status"] == "success") is has, done.stderr


@states("R29.2", "env: what the server's process is given")
def test_a_server_is_started_with_its_environment(tmp_path: Path) -> None:
    path = servers(tmp_path, "sums")
    given = json.loads(path.read_text(encoding="utf-8"))
    given["servers"][0]["env"] = {"STANDIN_TOKEN": "tulips"}
    path.write_text(json.dumps(given), encoding="utf-8")
    done = said_by(tmp_path, "-p", "!tool sums__whose {}", "--json", "--auto-approve")
    [result] = results(done.stdout)
    assert digest("tulips") in str(result["data"]["result"]), done.stderr


@states("R29.2", "a server with disabled is not connected")
def test_a_disabled_server_is_not_connected(tmp_path: Path) -> None:
    path = servers(tmp_path, "sums")
    path.write_text(path.read_text().replace("false", "true"), encoding="utf-8")
    done = said_by(tmp_path, "-p", ADD, "--json", "--auto-approve")
    [result] = results(done.stdout)
    assert result["data"]["status"] != "success"


@states("R29.5", "a server that fails is a warning", "the program goes on")
@states("P48", "a server that fails does not hold up the terminal")
def test_a_server_that_fails_is_a_warning(tmp_path: Path) -> None:
    servers(tmp_path, "sums", dead="no-such-program-anywhere")
    done = said_by(tmp_path, "-p", ADD, "--json", "--auto-approve")
    [result] = results(done.stdout)
    assert "42" in str(result["data"]["result"])
    assert re.search("warning.*dead", done.stderr, re.IGNORECASE)
    assert done.returncode == 0


@states("R29.6", "--mcp-config FILE")
def test_another_file_can_be_named(tmp_path: Path) -> None:
    other = servers(tmp_path, "sums").rename(tmp_path / "other.json")
    done = said_by(tmp_path, "-p", ADD, "--json", "--auto-approve", "--mcp-config", str(other))
    [result] = results(done.stdout)
    assert "42" in str(result["data"]["result"]), done.stderr


@states("R29.7", "/mcp reload")
def test_the_servers_are_read_again(tmp_path: Path, screen: Screen) -> None:
    servers(tmp_path, "sums")
    screen.enter("/mcp reload")
    screen.wait_for("sums")
    screen.enter(ADD.replace("\n", "\x1b\r"))
    choose(screen, "Approve")
    screen.wait_for("42")


# -- R34.4: forgetting ------------------------------------------------------------------------


@states("R34.4", "a command erases the memory")
def test_a_command_erases_the_memory(tmp_path: Path, screen: Screen) -> None:
    args = '{"file_path": "/memories/AGENTS.md", "content": "Remember tulips."}'
    screen.enter(f"!tool write_file {args}\x1b\r!echo Kept.")
    choose(screen, "Approve")
    screen.wait_for(READY, "approved")
    kept = tmp_path / "data" / "memories"
    assert [path.read_text(encoding="utf-8") for path in kept.rglob("*.md")] == ["Remember tulips."]
    screen.enter("/memory forget")
    screen.wait_for("forg")
    screen.enter("!echo Still here.")
    screen.wait_for("\nStill here.")
    assert list(kept.rglob("*.md")) == []
