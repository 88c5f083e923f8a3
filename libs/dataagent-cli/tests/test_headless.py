"""`dataagent -p` on the real core with the scripted model."""

from __future__ import annotations

import io
import logging
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest

from dataagent_cli.arguments import parse
from dataagent_cli.logs import log_to_file
from dataagent_cli.main import run
from dataagent_cli.streams import Streams
from dataagent_core.config import Settings
from tests.requirements import requirement

WRITE = '!tool write_file {"file_path": "/note.txt", "content": "kept\\n"}\n!echo written'


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str

    @property
    def events(self) -> list[dict[str, Any]]:
        return [orjson.loads(line) for line in self.out.splitlines()]


def dataagent(*argv: str, piped: bytes | None = None) -> Outcome:
    out, err = io.StringIO(), io.StringIO()
    source = None if piped is None else io.BytesIO(piped)
    code = run(parse(argv), Streams(out, err, source))
    return Outcome(code, out.getvalue(), err.getvalue())


def test_a_question_is_answered_on_standard_output() -> None:
    assert dataagent("-p", "!echo hello **there**") == Outcome(0, "hello **there**\n", "")


def test_json_is_the_ledger_line_by_line() -> None:
    events = dataagent("-p", "!echo one\n!echo two", "--json").events
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert len({event["run_id"] for event in events}) == 1
    assert [event["event_type"] for event in events].count("done") == 1
    assert events[-1]["event_type"] == "done"
    assert "one" in "".join(e["data"]["content"] for e in events if e["event_type"] == "text")


def test_what_is_piped_in_is_part_of_the_question() -> None:
    outcome = dataagent("-p", "Repeat this:", piped="甲,1\n乙,2\n".encode())
    assert "Repeat this:" in outcome.out
    assert "甲,1\n乙,2" in outcome.out


def test_a_conversation_goes_on_where_it_was() -> None:
    first = dataagent("-p", "!echo a", "--json").events
    second = dataagent("-p", "!echo b", "--json", "--continue").events
    assert second[0]["seq"] == first[-1]["seq"] + 1
    new = dataagent("-p", "!echo c", "--json").events
    assert new[0]["seq"] == 1


def test_a_session_can_be_named() -> None:
    session_id = str(uuid.uuid4())
    first = dataagent("-p", "!echo a", "--json", "--resume", session_id).events
    second = dataagent("-p", "!echo b", "--json", "--resume", session_id).events
    assert second[0]["seq"] == first[-1]["seq"] + 1


def test_continuing_with_nothing_before_says_so_and_goes_on() -> None:
    outcome = dataagent("-p", "!echo a", "--continue")
    assert (outcome.code, outcome.out) == (0, "a\n")
    assert "no earlier conversation" in outcome.err


@requirement("R11.1", "R11.2", "R11.4")
def test_a_failed_run_is_status_1_with_the_error_on_standard_error() -> None:
    outcome = dataagent("-p", "!echo so far\n!fail")
    assert outcome.code == 1
    assert "error: " in outcome.err
    assert "Traceback" not in outcome.err
    assert "error" not in outcome.out


@requirement("R11.3")
def test_an_error_that_may_pass_invites_another_try() -> None:
    outcome = dataagent("-p", "!fail recoverable")
    assert outcome.code == 1
    assert "ask again" in outcome.err


@requirement("R3.4")
def test_a_call_that_nobody_can_approve_is_rejected(home: Path) -> None:
    outcome = dataagent("-p", WRITE)
    assert outcome.code == 3
    assert "write_file: rejected. No one is at the terminal" in outcome.err
    assert "hint: --auto-approve" in outcome.err
    assert not list(home.rglob("note.txt"))


@requirement("R9.5")
def test_auto_approve_lets_calls_run(home: Path) -> None:
    outcome = dataagent("-p", WRITE, "--auto-approve")
    assert (outcome.code, outcome.out) == (0, "written\n")
    assert "✎ write /note.txt (+1 −0)" in outcome.err
    assert [path.read_text() for path in home.rglob("note.txt")] == ["kept\n"]


@requirement("R11.4")
@pytest.mark.parametrize(
    ("argv", "said", "code"),
    [
        (["-p", "hi", "--model", "no-such-model"], "no-such-model", 1),
        (["-p", "hi", "--resume", "nonsense"], "hint: leave out --resume", 1),
        (["-p", "hi", "--agent", "../evil"], "assistant_id", 2),
        (["-p", "  "], "There is no question", 2),
    ],
)
def test_a_mistake_is_a_sentence_and_never_a_traceback(
    argv: list[str], said: str, code: int
) -> None:
    outcome = dataagent(*argv)
    assert outcome.code == code
    assert said in outcome.err
    assert outcome.err.startswith("error: ")
    assert "Traceback" not in outcome.err
    assert outcome.out == ""


def test_a_home_that_cannot_be_used_is_said_to_be_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    outcome = dataagent("-p", "hi", "--home", str(tmp_path / "file" / "home"))
    assert outcome.code == 1
    assert "hint: choose a data directory you can write to with --home DIR." in outcome.err


def test_a_setting_that_makes_no_sense_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATAAGENT_HITL_TIMEOUT", "secret-soon")
    outcome = dataagent("-p", "hi")
    assert outcome.code == 1
    assert "DATAAGENT_HITL_TIMEOUT" in outcome.err
    assert "secret-soon" not in outcome.err


def test_what_is_not_text_is_refused() -> None:
    outcome = dataagent("-p", "hi", piped=b"\xff\xfe\x00")
    assert outcome.code == 2
    assert "hint: convert it first" in outcome.err


@requirement("R11.5")
@pytest.mark.parametrize("level", ["DEBUG", "INFO", "WARNING", "ERROR"])
def test_logging_goes_to_a_private_file_from_the_level_that_was_set(
    level: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    root_before = logging.getLogger().handlers[:]
    levels = ["DEBUG", "INFO", "WARNING", "ERROR"]
    with log_to_file(Settings(log_level=level)) as path:
        for name in levels:
            logging.getLogger("test").log(logging.getLevelNamesMapping()[name], "at %s", name)
    lines = [orjson.loads(line) for line in path.read_text().splitlines()]
    kept = levels[levels.index(level) :]
    assert [line["message"] for line in lines] == [f"at {name}" for name in kept]
    assert path.stat().st_mode & 0o077 == 0
    assert logging.getLogger().handlers == root_before
    assert capfd.readouterr().err == ""


@requirement("R11.5")
def test_an_unexpected_failure_is_in_the_log_and_only_its_name_on_the_screen(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No input is known that causes one, so a part of the program is taken away."""
    monkeypatch.setattr("dataagent_cli.conversation.Conversation.ask", None)
    outcome = dataagent("-p", "hi")
    assert outcome.code == 1
    assert outcome.err == (
        "error: Unexpected TypeError.\n"
        "hint: the details are in dataagent.log in the data directory.\n"
    )
    assert "Traceback" in (home / "dataagent.log").read_text()


@pytest.mark.slow
def test_rules_of_the_command_line_hold_for_the_question(home: Path) -> None:
    denied = dataagent("-p", WRITE, "--auto-approve", "--deny", "write_*")
    assert "denied" in denied.err
    planned = dataagent("-p", WRITE, "--auto-approve", "--plan")
    assert "plan mode" in planned.err.lower()
    assert not list(home.rglob("note.txt"))
    allowed = dataagent("-p", WRITE, "--allow", "write_file")
    assert (allowed.code, allowed.out) == (0, "written\n")
    assert list(home.rglob("note.txt"))


def test_a_question_ends_with_its_budget() -> None:
    spent = dataagent("-p", "!echo one", "--max-budget", "10t", "--json")
    assert spent.code == 1
    assert spent.events[-1]["data"]["reason"] == "budget"
    for amount in ("lots", "0.50"):
        refused = dataagent("-p", "!echo one", "--max-budget", amount)
        assert (refused.code, refused.out) == (2, "")
        assert "20000t" in refused.err


def test_a_server_that_is_not_there_is_told() -> None:
    outcome = dataagent("-p", "hi", "--server", "http://127.0.0.1:9")
    assert outcome.code == 1
    assert "error: The server cannot be reached" in outcome.err
    assert "hint: is a DataAgent server at http://127.0.0.1:9?" in outcome.err
    assert dataagent("-p", "hi", "--server", "nonsense").code == 1
