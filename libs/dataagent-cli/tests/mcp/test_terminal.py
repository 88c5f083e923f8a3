"""MCP servers at the terminal: files read at the start, `/mcp`, trust, on the real core."""

from __future__ import annotations

import asyncio
import io
import json
import re
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from dataagent_cli.arguments import parse
from dataagent_cli.commands import CommandContext, LocalContext, builtin_commands
from dataagent_cli.commands.mcp import manage_servers
from dataagent_cli.conversation import Conversation
from dataagent_cli.data.context import DataCommandContext
from dataagent_cli.hitl import TerminalHITLHandler
from dataagent_cli.hosts.local import LocalHost
from dataagent_cli.input.dialogs import Dialogs
from dataagent_cli.main import run
from dataagent_cli.mcp.config_files import config_locations
from dataagent_cli.mcp.servers import TerminalServers
from dataagent_cli.mcp.trust import Trust
from dataagent_cli.streams import Streams
from dataagent_cli.turn import TurnRunner
from dataagent_cli.ui import PlainRenderer
from dataagent_core.app.assembly import Core, open_core
from dataagent_core.config import SessionState, Settings
from dataagent_core.identity import Principal
from tests.requirements import requirement
from tests.standins.mcp_server import http_server, stdio_command
from tests.waiting import WAIT_SECONDS

ADD = '!tool calc__add {"a": 19, "b": 23}'
PROGRAM: dict[str, Any] = {**stdio_command(), "read_only_tools": ["add"]}
CALC: dict[str, Any] = {"name": "calc", **PROGRAM, "env": {}, "disabled": False}
DEAD: dict[str, Any] = {"name": "dead", "command": "no-such-program-anywhere", "args": []}


class TerminalDriver:
    """A terminal with its servers, and what was said there."""

    def __init__(
        self, core: Core, servers: TerminalServers, out: io.StringIO, err: io.StringIO
    ) -> None:
        self.core, self.servers, self.out, self.err = core, servers, out, err
        self._view = PlainRenderer(out, err)
        self._streams = Streams(out, err, None)
        person = Principal("ann", "user", "terminal")
        data_context = DataCommandContext(core.data, "ann", self._streams)
        self._local = LocalContext(data_context, core.files.memories, person, servers)
        state = SessionState(auto_approve=True)
        handler = TerminalHITLHandler(state, is_interactive=False)
        host = LocalHost(core, "ann")
        turns = TurnRunner(host, view=self._view, handler=handler, state=state)
        self.conversation = Conversation(host, turns, agent=None, state=state)

    async def mcp(self, words: str) -> str:
        """What `/mcp` with these words prints."""
        at_out, at_err = len(self.out.getvalue()), len(self.err.getvalue())
        context = CommandContext(
            self.conversation,
            self._view,
            builtin_commands(),
            self._streams,
            Dialogs(is_interactive=False),
            self._local,
        )
        await manage_servers.run(context, words)
        return self.out.getvalue()[at_out:] + self.err.getvalue()[at_err:]

    async def until(self, pattern: str) -> str:
        """What `/mcp list` shows, once it matches."""
        async with asyncio.timeout(WAIT_SECONDS):
            while not re.search(pattern, shown := await self.mcp("list")):
                await asyncio.sleep(0.02)
        return shown


Confirm = Callable[[str], Awaitable[bool]]


@asynccontextmanager
async def repl_run(
    tmp_path: Path, confirm: Confirm | None = None, asked_for: str | None = None
) -> AsyncGenerator[TerminalDriver]:
    out, err = io.StringIO(), io.StringIO()

    async def say(text: str) -> None:
        err.write(f"{text}\n")

    async with open_core(Settings()) as core:
        files = config_locations(
            agents_home=tmp_path / "agents",
            assistant_id="agent",
            folder=tmp_path,
            named=asked_for,
        )
        trust = Trust(core.settings.home_dir / "mcp-trust.json")
        servers = TerminalServers(core.mcp, files, trust, user_id="ann", say=say, confirm=confirm)
        await servers.load()
        try:
            yield TerminalDriver(core, servers, out, err)
        finally:
            await servers.aclose()


def own_file(tmp_path: Path, *servers: Any) -> Path:
    path = tmp_path / "agents" / "agent" / "mcp.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"servers": servers}))
    return path


def dataagent(*argv: str) -> tuple[int, str, str]:
    """The whole program, one question."""
    kept, err = io.BytesIO(), io.StringIO()
    out = io.TextIOWrapper(kept, encoding="utf-8", newline="", write_through=True)
    code = run(parse(argv), Streams(out, err, None))
    return code, kept.getvalue().decode(), err.getvalue()


def results(printed: str) -> list[tuple[str, str]]:
    events = [json.loads(line) for line in printed.splitlines()]
    found = [each["data"] for each in events if each["event_type"] == "tool_result"]
    return [(each["status"], str(each["result"])) for each in found]


# -- at the start ---------------------------------------------------------------------------


@requirement("R29.1", "R29.3", "R29.4", "P47")
def test_the_assistants_servers_are_there_for_the_first_question(tmp_path: Path) -> None:
    own_file(tmp_path, CALC)
    code, out, err = dataagent("-p", ADD, "--json")
    assert code == 0, err
    [(status, result)] = results(out)
    assert (status, "42" in result) == ("success", True)
    assert "warning" not in err


@requirement("R29.5", "P48")
def test_a_server_that_fails_is_one_warning_and_the_session_goes_on(tmp_path: Path) -> None:
    own_file(tmp_path, DEAD, CALC)
    code, out, err = dataagent("-p", ADD, "--json")
    assert code == 0
    assert results(out)[0][0] == "success"
    warnings = [line for line in err.splitlines() if line.startswith("warning: ")]
    assert len(warnings) == 1, err
    assert "MCP server 'dead' is not connected" in warnings[0]
    assert "Traceback" not in err


@requirement("R29.6")
def test_a_file_that_is_named_stands_in_place_of_the_others(tmp_path: Path) -> None:
    own_file(tmp_path, DEAD)
    named = tmp_path / "named.json"
    named.write_text(json.dumps({"mcpServers": {"calc": PROGRAM}}))
    code, out, err = dataagent("-p", ADD, "--json", "--mcp-config", "named.json")
    assert code == 0, err
    assert results(out)[0][0] == "success"
    assert "dead" not in err
    code, _, err = dataagent("-p", "!echo x", "--mcp-config", "missing.json")
    assert code == 2
    assert "missing.json" in err


@requirement("R29.2", "P47")
def test_an_entry_that_makes_no_sense_is_named_and_left_out(tmp_path: Path) -> None:
    own_file(tmp_path, {"name": "odd", "args": 7}, CALC)
    code, out, err = dataagent("-p", ADD, "--json")
    assert code == 0
    assert results(out)[0][0] == "success"
    assert "warning: mcp.json: server 1 is left out." in err
    (tmp_path / "agents" / "agent" / "mcp.json").write_text("{not JSON")
    code, out, err = dataagent("-p", "!echo on we go")
    assert (code, out) == (0, "on we go\n")
    assert err.count("warning: ") == 1


# -- /mcp -----------------------------------------------------------------------------------


async def test_the_list_shows_each_server_with_its_state(tmp_path: Path) -> None:
    with http_server("--token", "t0ken") as standin:
        own_file(
            tmp_path,
            CALC,
            DEAD,
            {"name": "off", "command": "x", "disabled": True},
            {"name": "web", "url": standin.url, "headers": {"Authorization": "Bearer t0ken"}},
        )
        async with repl_run(tmp_path) as here:
            shown = await here.until(r"calc +connected(.|\n)+dead +error(.|\n)+web +connected")
            rows = [re.split(r"  +", line.strip()) for line in shown.splitlines()]
            assert rows[0] == ["Name", "Status", "Transport", "Tools", "From"]
            assert rows[2] == ["calc", "connected", "stdio", "3", "mcp.json"]
            assert rows[4][:4] == ["off", "disabled", "stdio", "-"]
            assert rows[5][:4] == ["web", "connected", "auto", "3"]
            assert "t0ken" not in shown


@requirement("R29.7")
async def test_reload_restarts_only_what_changed(tmp_path: Path) -> None:
    own_file(tmp_path, CALC, {**CALC, "name": "second"})
    async with repl_run(tmp_path) as here:
        await here.until(r"calc +connected(.|\n)+second +connected")

        def generations() -> dict[str, int]:
            known = here.core.mcp.pool.statuses()
            return {key.server_id: status.generation for key, status in known.items()}

        before = {key.server_id for key in here.core.mcp.pool.statuses()}
        assert await here.mcp("reload") == "nothing changed\n"
        own_file(tmp_path, CALC, {**CALC, "name": "second", "timeout": 20}, {**CALC, "name": "x"})
        assert await here.mcp("reload") == "added x; changed second\n"
        await here.until(r"calc +connected(.|\n)+second +connected(.|\n)+x +connected")
        own_file(tmp_path, CALC)
        assert await here.mcp("reload") == "removed second, x\n"
        assert "second" not in await here.mcp("list")
        kept = generations()
        assert len(kept.keys() & before) == 1
        assert set(kept.values()) == {1}  # it was never started again


async def test_a_server_is_added_and_removed_and_nothing_of_it_is_left(tmp_path: Path) -> None:
    words = " ".join([CALC["command"], *CALC["args"]])
    async with repl_run(tmp_path) as here:
        assert "hint: /mcp add" in await here.mcp("")
        assert "added calc to " in await here.mcp(f"add calc {words}")
        await here.until(r"calc +connected")
        await here.conversation.ask(ADD)
        assert "error" not in here.err.getvalue()
        assert "There is a server 'calc' already" in await failed(here, f"add calc {words}")
        assert "removed calc" in await here.mcp("remove calc")
        assert "no MCP servers" in await here.mcp("list")
        assert "no server 'calc'" in await failed(here, "remove calc")
        assert "a secret as ${NAME}" in await here.mcp(
            "add w https://mcp.example.com/ --header A=b"
        )
        assert "usage: /mcp" in await here.mcp("dance")
        assert "close the quotation mark" in await here.mcp("add 'x")


async def failed(here: TerminalDriver, words: str) -> str:
    with pytest.raises(Exception) as error:  # noqa: PT011 its text is looked at
        await here.mcp(words)
    return str(error.value)


# -- trust ----------------------------------------------------------------------------------


def test_a_folders_file_is_not_used_where_nobody_can_be_asked(tmp_path: Path) -> None:
    marker = tmp_path / "started"
    evil = {"command": "sh", "args": ["-c", f"touch {marker}"]}
    (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": {"evil": evil}}))
    code, out, err = dataagent("-p", "!echo x")
    assert (code, out) == (0, "x\n")
    assert "warning: .mcp.json of this folder is not trusted yet" in err
    assert "hint: " in err
    assert not marker.exists()


async def test_a_folders_file_is_asked_for_once_for_each_content(tmp_path: Path) -> None:
    file = tmp_path / ".mcp.json"
    file.write_text(json.dumps({"mcpServers": {"calc": stdio_command()}}))
    asked: list[str] = []

    def answering(answer: bool) -> Confirm:
        async def confirm(text: str) -> bool:
            asked.append(text)
            return answer

        return confirm

    async with repl_run(tmp_path, answering(False)) as here:
        assert "no MCP servers" in await here.mcp("list")
        assert here.core.mcp.pool.statuses() == {}
    async with repl_run(tmp_path, answering(True)) as here:
        assert ".mcp.json" in await here.until(r"calc +connected")
    async with repl_run(tmp_path, answering(False)) as here:
        await here.until(r"calc +connected")
        assert len(asked) == 2
        more = {"calc": stdio_command(), "x": {"command": "y"}}
        file.write_text(json.dumps({"mcpServers": more}))
        await here.mcp("reload")
        assert "no MCP servers" in await here.mcp("list")
    assert len(asked) == 3
    assert "x: y" in asked[-1]


async def test_what_is_agreed_to_is_used_though_the_file_changes_meanwhile(tmp_path: Path) -> None:
    file = tmp_path / ".mcp.json"
    file.write_text(json.dumps({"mcpServers": {"calc": {"command": "calc", "disabled": True}}}))

    async def confirm(_: str) -> bool:
        file.write_text(json.dumps({"mcpServers": {"other": {"command": "x", "disabled": True}}}))
        return True

    async with repl_run(tmp_path, confirm) as here:
        shown = await here.mcp("list")
    assert "calc" in shown
    assert "other" not in shown
