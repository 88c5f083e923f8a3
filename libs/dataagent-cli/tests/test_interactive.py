"""A sitting at the terminal: lines in, commands and answers out, on the real core."""

from __future__ import annotations

import asyncio
import errno
import os
import signal

import pytest

from dataagent_cli.commands import builtin_commands
from dataagent_cli.hosts.here import HereHost
from tests.requirements import requirement

from .sitting import CTRL_C, sit


async def test_messages_of_one_sitting_are_one_conversation() -> None:
    sitting = await sit(["!echo one", "", "!echo two"])
    assert sitting.answers == "one\ntwo\n"
    assert sitting.sessions == 1
    assert sitting.code == 0
    assert "hint: continue with: dataagent --resume " in sitting.said


async def test_new_begins_another_conversation() -> None:
    sitting = await sit(["!echo one", "/new", "!echo two"])
    assert sitting.sessions == 2


async def test_help_names_every_command() -> None:
    sitting = await sit(["/help"])
    for command in builtin_commands().all():
        assert f"/{command.name} " in sitting.said
        assert command.summary in sitting.said


async def test_quit_leaves_what_is_typed_after_it() -> None:
    sitting = await sit(["/quit", "!echo never"])
    assert sitting.answers == ""


async def test_an_unknown_command_suggests_the_nearest() -> None:
    sitting = await sit(["/hlep", "/xyzzy"])
    assert "unknown command /hlep\nhint: did you mean /help?" in sitting.said
    assert "hint: /help shows the commands, /skills the skills." in sitting.said
    assert sitting.sessions == 0


@requirement("R7.3")
async def test_a_skill_is_used_by_its_name_and_listed() -> None:
    lines = ["/skills", "/sql-review !echo checked", "/sql-reviw x", "/skills-x y"]
    sitting = await sit(lines)
    assert sitting.answers == "checked\n"
    assert "/sql-review " in sitting.said
    assert "unknown command /sql-reviw\nhint: did you mean /sql-review?" in sitting.said
    assert "hint: did you mean /skills?" in sitting.said
    assert sitting.sessions == 1


@requirement("R34.4")
async def test_memory_is_seen_and_forgotten() -> None:
    note = '{"file_path": "/memories/AGENTS.md", "content": "Prefers tea."}'
    look = ["/memory", "/memory show agent/AGENTS.md"]
    sitting = await sit(
        [
            "/memory",
            "/mode auto",
            f"!tool write_file {note}",
            *look,
            "/memory forget agent",
            "/memory",
        ]
    )
    assert sitting.said.count("nothing is remembered of you") == 2
    assert "agent/AGENTS.md  12 bytes" in sitting.said
    assert "Prefers tea." in sitting.said.split("/memory show")[1]
    assert "forgotten: agent" in sitting.said
    odd = await sit(
        ["/memory x", "/memory show", "/memory show ../x/y", "/memory show agent/no.md"]
    )
    assert odd.said.count("usage: /memory") == 2
    assert odd.said.count("error: ") == 2


async def test_a_path_is_a_message_and_not_a_command() -> None:
    sitting = await sit(["/tmp/data.csv has what?", " /tmp is full"])
    assert "/tmp/data.csv has what?" in sitting.answers
    assert "/tmp is full" in sitting.answers
    assert "unknown command" not in sitting.said


@requirement("R3.6")
async def test_the_mode_says_who_approves() -> None:
    write = '!tool write_file {"file_path": "/x.txt", "content": "1"}'
    modes = ["/mode auto", write, "/mode plan", write, "/mode manual", write, "/mode", "/mode x"]
    sitting = await sit(modes)
    assert "mode auto: calls run unasked" in sitting.said
    assert sitting.said.count("plan mode: say what you would do") == 1
    assert sitting.said.count("write_file: rejected") == 1
    assert sitting.said.count("mode manual: calls that may do harm ask first") == 2
    assert "usage: /mode [manual|auto|plan]" in sitting.said
    assert sitting.state.mode == "manual"


@requirement("R11.3")
async def test_retry_sends_the_last_message_again() -> None:
    sitting = await sit(["/retry", "!fail recoverable", "/retry", "!echo on we go"])
    assert "nothing was asked yet" in sitting.said
    assert sitting.said.count("hint: /retry sends the message again.") == 2
    assert sitting.answers == "on we go\n"


async def test_ctrl_c_twice_leaves() -> None:
    sitting = await sit(["/help"], end=CTRL_C + CTRL_C)  # no answer that they would stop
    assert sitting.code == 0
    assert "hint: Ctrl-C again, Ctrl-D or /quit leaves." in sitting.said


@pytest.mark.parametrize(("waits", "line"), [("context_use", "/context"), ("check", "hello")])
async def test_ctrl_c_stops_what_a_line_waits_for_and_nothing_else(
    waits: str, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The host is made to wait for ever: as long as no server does."""

    async def never(*_: object, **__: object) -> None:
        monkeypatch.setattr(HereHost, waits, as_ever)
        os.kill(os.getpid(), signal.SIGINT)
        await asyncio.Event().wait()

    as_ever = getattr(HereHost, waits)
    monkeypatch.setattr(HereHost, waits, never)
    sitting = await sit([line, "!echo still here"])
    assert "error: Stopped; what had begun may be done all the same." in sitting.said
    assert sitting.answers == "still here\n"
    assert "hint: continue with: dataagent --resume " in sitting.said


async def test_what_the_system_refuses_is_told_and_the_conversation_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A disk that is full cannot be had in a test."""

    async def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/data/x.db")

    monkeypatch.setattr(HereHost, "context_use", full)
    sitting = await sit(["/context", "!echo still here", "/export conversation no/such.md"])
    assert (
        "error: Cannot use /data/x.db: No space left on device.\n"
        "hint: make room on the disk, then try again."
    ) in sitting.said
    assert (
        "error: Cannot write no/such.md: No such file or directory.\n"
        "hint: it has to be a new file, in a folder that you can write to."
    ) in sitting.said
    assert sitting.answers == "still here\n"
    assert "hint: continue with: dataagent --resume " in sitting.said


async def test_data_is_looked_at_without_leaving_the_conversation() -> None:
    sitting = await sit(
        [
            "/sources",
            "/schema chinook",
            "/schema chinook Genre",
            "/sql --limit 1 SELECT Name AS \"a name\" FROM Genre WHERE Name <> 'Rock'",
            "/sql SELECT 'it''s' AS quoted",
            "/help",
        ]
    )
    assert "chinook" in sitting.answers
    assert "table Genre, 25 rows" in sitting.answers
    assert "a name" in sitting.answers
    assert "it's" in sitting.answers
    assert "stopped at the row limit" in sitting.said
    assert "hint: columns of a table: /schema chinook Album" in sitting.said
    for name in ("/sources ", "/schema ", "/sql ", "/export "):
        assert name in sitting.said
    assert sitting.sessions == 0


async def test_a_data_command_that_fails_is_told_and_the_conversation_goes_on() -> None:
    sitting = await sit(
        [
            "/sql DELETE FROM Genre",
            "/sql",
            "/sources drop it",
            "/schema 'open",
            "/export last --output no/such/file.csv",
            "!echo still here",
        ]
    )
    assert "error: chinook: A statement that starts with DELETE" in sitting.said
    assert "usage: /sql " in sitting.said
    assert "invalid choice: 'drop'" in sitting.said
    assert "hint: close the quotation mark." in sitting.said
    assert "error: No result has been kept yet." in sitting.said
    assert sitting.answers == "still here\n"
    assert sitting.code == 0
