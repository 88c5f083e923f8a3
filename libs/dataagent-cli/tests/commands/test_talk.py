"""The commands of a conversation, typed in a sitting on the real core."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import psutil
import pytest

from tests.requirements import requirement

from ..repl_run import CTRL_D, DOWN, run_repl

CTRL_U = "\x15"


async def test_conversations_are_listed_renamed_and_gone_on_with() -> None:
    first = await run_repl(["!echo one", "!echo two", "/rename  Quarterly   figures "])
    assert "renamed: Quarterly figures" in first.said
    second = await run_repl(["!echo other", "/sessions", "/resume 2", "!echo three", "/resume 9"])
    assert "Quarterly figures" in second.answers
    assert "Quarterly figures · 4 messages" in second.said
    assert "❯ !echo one" in second.said
    assert second.answers.index("two") < second.answers.index("three")
    assert "There is no conversation number 9." in second.said
    assert second.sessions == 2


async def test_a_conversation_is_picked_with_the_arrows() -> None:
    await run_repl(["!echo one", "/new", "!echo two"])
    repl_run = await run_repl(
        [f"/sessions\r{DOWN}", "!echo three", "/resume", "!echo four"], can_ask=True
    )
    assert "❯ !echo one" in repl_run.said
    assert repl_run.sessions == 2
    left = await run_repl(["/sessions\rq!echo new"], can_ask=True)
    assert left.sessions == 3


async def test_resume_takes_the_start_of_an_id() -> None:
    first = await run_repl(["!echo one"])
    session_id = first.said.split("dataagent --resume ")[1].split()[0]
    repl_run = await run_repl(
        [f"/resume {session_id[:8]}", "!echo more", "/resume nothing-like-this"]
    )
    assert repl_run.sessions == 1
    assert "error: There is no session 'nothing-like-this'." in repl_run.said


@requirement("R6.5")
async def test_the_state_of_the_terminal_names_the_thread_that_is_talked_in() -> None:
    first = await run_repl(["!echo one", "/sessions"])
    assert first.state.thread_id in first.answers
    second = await run_repl(["!echo two", "/resume 2", "!echo three"])
    assert second.state.thread_id == first.state.thread_id


@pytest.mark.slow
async def test_what_was_said_is_summarised_and_the_context_shrinks() -> None:
    long = "word " * 400
    lines = ["/compact", f"!echo {long}", f"!echo {long}", "!echo end", "/context"]
    repl_run = await run_repl([*lines, "/compact the word", "/context"])
    assert "There is no conversation yet." in repl_run.said
    assert "4 earlier messages are summarised" in repl_run.answers
    before, after = (
        int(line.split()[1].replace(",", ""))
        for line in repl_run.said.splitlines()
        if line.strip().startswith("messages ")
    )
    assert after < before
    assert "scripted: about " in repl_run.said
    assert "of 200,000 (" in repl_run.said


async def test_explain_is_about_the_last_statement_or_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DATAAGENT_MODEL", "offline")
    repl_run = await run_repl(
        [
            "how many customers are there?",
            "/explain",
            "/sql SELECT GenreId AS statement FROM Genre",
            "/explain",
            "hello",
            "/explain",
        ]
    )
    of_answer, of_statement = repl_run.answers.split("Result    ")[1:]
    assert "Figures   ✓" in of_answer
    assert of_statement.startswith("SELECT GenreId AS statement FROM Genre\n")
    assert "Figures" not in of_statement
    assert "the last answer used no statement" in repl_run.said


async def test_the_cost_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "hint: set DATAAGENT_PRICE_INPUT" in (await run_repl(["!echo one", "/cost"])).said
    monkeypatch.setenv("DATAAGENT_PRICE_INPUT", "1000")
    repl_run = await run_repl(["/cost", "!echo two", "/cost"])
    assert "this conversation   0 tokens (0 in, 0 out) · $0.0000" in repl_run.said
    last = repl_run.said.strip().splitlines()[-3:-1]
    assert all("$" in line and "$0.0000" not in line for line in last)


async def test_another_model_and_another_agent_answer() -> None:
    repl_run = await run_repl(
        [
            "/model",
            "/model nonsense",
            "/model offline",
            "hello",
            "/agents",
            "/agents sql",
            "/agents nobody",
            "/model",
        ]
    )
    assert "scripted answers" in repl_run.said
    assert "error: There is no model 'nonsense'." in repl_run.said
    assert "offline answers from now on" in repl_run.said
    assert repl_run.answers.startswith("Hello. I am")
    assert "* general" in repl_run.said
    assert "sql answers from now on" in repl_run.said
    assert "There is no agent 'nobody'. There are: research, sql" in repl_run.said
    assert repl_run.said.strip().splitlines()[-3].startswith("offline answers")


@pytest.mark.slow
async def test_tools_say_which_ask_first() -> None:
    repl_run = await run_repl(["/tools", "/agents sql", "/tools"])
    lines = [line.split() for line in repl_run.answers.splitlines()]
    assert ["write_file", "asks", "first"] in [line[:3] for line in lines]
    assert ["ls", "runs"] in [line[:2] for line in lines]
    assert "tools of sql" in repl_run.said


async def test_the_last_turns_files_are_taken_back(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "kept.txt").write_text("before\n")
    monkeypatch.setenv("DATAAGENT_PROJECT", str(project))
    write = '!tool write_file {"file_path": "/kept.txt", "content": "after"}'
    again = f"/undo\ry{CTRL_U}{CTRL_D}"  # the message is in the line again: it is not sent
    repl_run = await run_repl(["/undo", write, "/undo\rn/copy"], again, can_ask=True, is_auto=True)
    assert "There is no conversation yet." in repl_run.said
    assert "  changed /kept.txt" in repl_run.said or "  changed kept.txt" in repl_run.said
    assert "nothing was undone" in repl_run.said
    assert "undone: 1 file" in repl_run.said
    assert (project / "kept.txt").read_text() == "before\n"


async def test_the_message_is_written_in_an_editor(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nprintf "!echo from the editor" > "$1"\n')
    editor.chmod(0o755)
    monkeypatch.setenv("VISUAL", str(editor))
    assert (await run_repl(["/editor", ""])).answers == "from the editor\n"
    monkeypatch.setenv("VISUAL", "no-such-editor")
    assert "The editor 'no-such-editor' cannot be started" in (await run_repl(["/editor"])).said


async def test_an_answer_is_copied(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "wl-copy"
    program.write_text(f"#!/bin/sh\ncat > {tmp_path}/clipboard\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")
    repl_run = await run_repl(["!echo 值 is 42", "/copy"])
    assert "copied 7 characters with wl-copy" in repl_run.said
    assert (tmp_path / "clipboard").read_text() == "值 is 42"


async def test_a_conversation_is_exported(tmp_path: Path) -> None:
    look = '!tool ls {"path": "/"}\n!echo looked'.replace("\n", "\x1b\r")
    repl_run = await run_repl(
        [
            look,
            "/export conversation talk.md",
            "/export conversation talk.json",
            "/export conversation talk.md",
            "/export conversation",
            "/export conversation 'x",
        ]
    )
    text = (tmp_path / "talk.md").read_text()
    assert "## You" in text
    assert '- `ls` `{"path": "/"}`' in text
    assert text.rstrip().endswith("looked")
    data = json.loads((tmp_path / "talk.json").read_text())
    assert [each["role"] for each in data["messages"]] == ["user", "assistant"]
    assert data["messages"][1]["events"][-1]["event_type"] == "done"
    assert "Cannot write talk.md: File exists." in repl_run.said
    assert "usage: /export conversation" in repl_run.said
    assert "hint: close the quotation mark." in repl_run.said


async def test_init_writes_what_is_here_when_no_model_can(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DATAAGENT_MODEL", "offline")
    (tmp_path / "README.md").write_text("# Shop\n\nSells things.\n")
    (tmp_path / "src").mkdir()
    subprocess.run(["git", "init", "-q", "-b", "trunk", "."], check=True)
    repl_run = await run_repl(["/init", "/init"])
    text = (tmp_path / "AGENTS.md").read_text()
    assert "Sells things." in text
    assert "- `src/`" in text
    assert "branch `trunk`" in text
    assert "`chinook`" in text
    assert "AGENTS.md exists already" in repl_run.said


async def test_init_asks_a_model_to_write_it() -> None:
    assert "Write AGENTS.md for this project." in (await run_repl(["/init"])).answers


async def test_a_command_of_ones_own_runs_and_goes_along(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    repl_run = await run_repl(["!ls a.txt; exit 3", "and now?", "!true", "!", "plain"])
    assert repl_run.answers.startswith("a.txt\n")
    assert "status 3 · the output is attached to your next message" in repl_run.said
    assert "<attached command='ls a.txt; exit 3' status=3>\na.txt\n</attached>" in repl_run.answers
    assert "no output" in repl_run.said
    assert "usage: !COMMAND" in repl_run.said
    assert repl_run.answers.endswith("plain\n")


async def test_a_clipboard_program_ends_with_the_command_that_waits_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, pids = tmp_path / "wl-copy", tmp_path / "pids"
    program.write_text(f"#!/bin/sh\necho $$ > {pids}\nkill -INT $PPID\nexec sleep 60\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")
    repl_run = await run_repl(["!echo one", "/copy", "!echo two"])
    assert "error: Stopped" in repl_run.said
    assert repl_run.answers == "one\ntwo\n"
    assert not psutil.pid_exists(int(pids.read_text()))


async def test_output_that_comes_in_pieces_keeps_its_characters() -> None:
    euro = "!printf 'a\\342\\202'; sleep 0.2; printf '\\254b'"
    assert (await run_repl([euro])).answers == "a€b\n"


async def test_an_escape_sequence_that_comes_in_pieces_leaves_no_tail() -> None:
    title = "!printf 'a\\033]0;ti'; sleep 0.2; printf 'tle\\007b'"
    assert (await run_repl([title])).answers == "ab\n"


async def test_a_shell_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHELL", "/no/such/shell")
    repl_run = await run_repl(["!ls", "!echo still here"])
    assert "error: /no/such/shell cannot run this" in repl_run.said
    assert repl_run.answers == "still here\n"


async def test_long_output_is_sent_along_in_part() -> None:
    repl_run = await run_repl(["!seq 1 20000", "so?"])
    assert "characters left out" in repl_run.answers
    assert repl_run.answers.count("\n20000\n") == 2


async def test_named_files_and_tables_go_along(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("remember the milk")
    (tmp_path / "large.bin").write_bytes(b"\xff" * 100)
    repl_run = await run_repl(["see @notes.md, @large.bin and @Genre; not me@example.com @nobody"])
    assert "attached: notes.md (17 characters)" in repl_run.said
    assert "named: file large.bin; its content is not attached" in repl_run.said
    assert "attached: the columns of chinook.Genre" in repl_run.said
    assert '<attached file="notes.md">\nremember the milk\n</attached>' in repl_run.answers
    assert '<attached table="chinook.Genre">' in repl_run.answers
    assert repl_run.answers.count("<attached") == 3
