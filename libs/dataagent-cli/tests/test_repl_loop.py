"""A sitting at the terminal: lines in, commands and answers out, on the real core."""

from __future__ import annotations

import asyncio
import errno
import os
import signal

import pytest

from dataagent_cli.commands import builtin_commands
from dataagent_cli.hosts.local import LocalHost
from tests.requirements import requirement

from .repl_run import CTRL_C, run_repl


async def test_messages_of_one_sitting_are_one_conversation() -> None:
    repl_run = await run_repl(["!echo one", "", "!echo two"])
    assert repl_run.answers == "one\ntwo\n"
    assert repl_run.sessions == 1
    assert repl_run.code == 0
    assert "hint: continue with: dataagent --resume " in repl_run.said


async def test_new_begins_another_conversation() -> None:
    repl_run = await run_repl(["!echo one", "/new", "!echo two"])
    assert repl_run.sessions == 2


async def test_help_names_every_command() -> None:
    repl_run = await run_repl(["/help"])
    for command in builtin_commands().all():
        assert f"/{command.name} " in repl_run.said
        assert command.summary in repl_run.said


async def test_quit_leaves_what_is_typed_after_it() -> None:
    repl_run = await run_repl(["/quit", "!echo never"])
    assert repl_run.answers == ""


async def test_an_unknown_command_suggests_the_nearest() -> None:
    repl_run = await run_repl(["/hlep", "/xyzzy"])
    assert "unknown command /hlep\nhint: did you mean /help?" in repl_run.said
    assert "hint: /help shows the commands, /skills the skills." in repl_run.said
    assert repl_run.sessions == 0


@requirement("R7.3")
async def test_a_skill_is_used_by_its_name_and_listed() -> None:
    lines = ["/skills", "/sql-review !echo checked", "/sql-reviw x", "/skills-x y"]
    repl_run = await run_repl(lines)
    assert repl_run.answers == "checked\n"
    assert "/sql-review " in repl_run.said
    assert "unknown command /sql-reviw\nhint: did you mean /sql-review?" in repl_run.said
    assert "hint: did you mean /skills?" in repl_run.said
    assert repl_run.sessions == 1


@requirement("R34.4")
async def test_memory_is_seen_and_forgotten() -> None:
    note = '{"file_path": "/memories/AGENTS.md", "content": "Prefers tea."}'
    look = ["/memory", "/memory show agent/AGENTS.md"]
    repl_run = await run_repl(
        [
            "/memory",
            "/mode auto",
            f"!tool write_file {note}",
            *look,
            "/memory forget agent",
            "/memory",
        ]
    )
    assert repl_run.said.count("nothing is remembered about you") == 2
    assert "agent/AGENTS.md  12 bytes" in repl_run.said
    assert "Prefers tea." in repl_run.said.split("/memory show")[1]
    assert "forgotten: agent" in repl_run.said
    odd = await run_repl(
        ["/memory x", "/memory show", "/memory show ../x/y", "/memory show agent/no.md"]
    )
    assert odd.said.count("usage: /memory") == 2
    assert odd.said.count("error: ") == 2


async def test_a_path_is_a_message_and_not_a_command() -> None:
    repl_run = await run_repl(["/tmp/data.csv has what?", " /tmp is full"])
    assert "/tmp/data.csv has what?" in repl_run.answers
    assert "/tmp is full" in repl_run.answers
    assert "unknown command" not in repl_run.said


@requirement("R3.6")
async def test_the_mode_says_who_approves() -> None:
    write = '!tool write_file {"file_path": "/x.txt", "content": "1"}'
    modes = ["/mode auto", write, "/mode plan", write, "/mode manual", write, "/mode", "/mode x"]
    repl_run = await run_repl(modes)
    assert "mode auto: calls run without asking" in repl_run.said
    assert repl_run.said.count("plan mode: say what you would do") == 1
    assert repl_run.said.count("write_file: rejected") == 1
    assert repl_run.said.count("mode manual: risky calls ask you first") == 2
    assert "usage: /mode [manual|auto|plan]" in repl_run.said
    assert repl_run.state.mode == "manual"


@requirement("R11.3")
async def test_retry_sends_the_last_message_again() -> None:
    repl_run = await run_repl(["/retry", "!fail recoverable", "/retry", "!echo on we go"])
    assert "no message yet" in repl_run.said
    assert repl_run.said.count("hint: /retry sends the message again.") == 2
    assert repl_run.answers == "on we go\n"


async def test_ctrl_c_twice_leaves() -> None:
    repl_run = await run_repl(["/help"], end=CTRL_C + CTRL_C)  # no answer that they would stop
    assert repl_run.code == 0
    assert "hint: press Ctrl-C again to quit." in repl_run.said


@pytest.mark.parametrize(("waits", "line"), [("context_use", "/context"), ("check", "hello")])
async def test_ctrl_c_stops_what_a_line_waits_for_and_nothing_else(
    waits: str, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The host is made to wait for ever: as long as no server does."""

    async def never(*_: object, **__: object) -> None:
        monkeypatch.setattr(LocalHost, waits, as_ever)
        os.kill(os.getpid(), signal.SIGINT)
        await asyncio.Event().wait()

    as_ever = getattr(LocalHost, waits)
    monkeypatch.setattr(LocalHost, waits, never)
    repl_run = await run_repl([line, "!echo still here"])
    assert "error: Stopped; what had already started may still take effect." in repl_run.said
    assert repl_run.answers == "still here\n"
    assert "hint: continue with: dataagent --resume " in repl_run.said


async def test_what_the_system_refuses_is_told_and_the_conversation_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A disk that is full cannot be had in a test."""

    async def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/data/x.db")

    monkeypatch.setattr(LocalHost, "context_use", full)
    repl_run = await run_repl(["/context", "!echo still here", "/export conversation no/such.md"])
    assert (
        "error: Cannot use /data/x.db: No space left on device.\n"
        "hint: free some disk space, then try again."
    ) in repl_run.said
    assert (
        "error: Cannot write no/such.md: No such file or directory.\n"
        "hint: name a new file, in a folder that you can write to."
    ) in repl_run.said
    assert repl_run.answers == "still here\n"
    assert "hint: continue with: dataagent --resume " in repl_run.said


async def test_data_is_looked_at_without_leaving_the_conversation() -> None:
    repl_run = await run_repl(
        [
            "/sources",
            "/schema chinook",
            "/schema chinook Genre",
            "/sql --limit 1 SELECT Name AS \"a name\" FROM Genre WHERE Name <> 'Rock'",
            "/sql SELECT 'it''s' AS quoted",
            "/help",
        ]
    )
    assert "chinook" in repl_run.answers
    assert "table Genre, 25 rows" in repl_run.answers
    assert "a name" in repl_run.answers
    assert "it's" in repl_run.answers
    assert "stopped at the row limit" in repl_run.said
    assert "hint: columns of a table: /schema chinook Album" in repl_run.said
    for name in ("/sources ", "/schema ", "/sql ", "/export "):
        assert name in repl_run.said
    assert repl_run.sessions == 0


async def test_a_data_command_that_fails_is_told_and_the_conversation_goes_on() -> None:
    repl_run = await run_repl(
        [
            "/sql DELETE FROM Genre",
            "/sql",
            "/sources drop it",
            "/schema 'open",
            "/export last --output no/such/file.csv",
            "!echo still here",
        ]
    )
    assert "error: chinook: A statement that starts with DELETE" in repl_run.said
    assert "usage: /sql " in repl_run.said
    assert "invalid choice: 'drop'" in repl_run.said
    assert "hint: close the quotation mark." in repl_run.said
    assert "error: No result has been stored yet." in repl_run.said
    assert repl_run.answers == "still here\n"
    assert repl_run.code == 0
