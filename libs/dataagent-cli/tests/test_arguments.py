"""The command line, and how little `--help` costs."""

from __future__ import annotations

import subprocess
import sys

import pytest

from dataagent_cli.arguments import parse
from dataagent_cli.main import main
from tests.programs import quick
from tests.requirements import requirement

HEAVY = "langchain langchain_core langgraph pydantic pydantic_settings rich prompt_toolkit orjson"


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["sql", "--help"]])
def test_help_and_version_load_nothing_heavy(words: list[str]) -> None:
    code = (
        "import sys\n"
        "from dataagent_cli.main import main\n"
        f"try: main({words!r})\n"
        "except SystemExit as leaving: assert leaving.code == 0\n"
        f"print([m for m in {HEAVY.split()!r} if m in sys.modules], file=sys.stderr)\n"
        "print([m for m in sys.modules if m.startswith('dataagent_core')], file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "[]\n[]\n"
    assert "dataagent" in done.stdout


def test_help_says_what_the_exit_status_means(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    assert "3 cancelled or rejected, 130 interrupted" in capsys.readouterr().out


@requirement("R11.4")
@pytest.mark.parametrize(
    "argv",
    [
        ["--nope"],
        ["-p", "a", "b"],
        ["--resume", "x", "--continue"],
        ["--json"],
        ["-p", "a", "sources"],
        ["--json", "schema"],
    ],
)
def test_wrong_usage_is_status_2_with_a_hint(
    argv: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as leaving:
        main(argv)
    assert leaving.value.code == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "error: " in said.err
    assert "hint: dataagent --help" in said.err


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["sql"], "the following arguments are required: SQL"),
        (["sql", "SELECT 1", "--limit", "0"], "'0' is not a number of rows above zero"),
        (["sql", "SELECT 1", "--format", "pdf"], "invalid choice: 'pdf'"),
        (["sources", "add", "shop"], "the following arguments are required: URL|FOLDER"),
        (["sources", "drop", "shop"], "invalid choice: 'drop'"),
        (["export"], "the following arguments are required: ARTEFACT"),
    ],
)
def test_wrong_usage_of_a_data_command_is_status_2_with_its_own_hint(
    argv: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as leaving:
        main(argv)
    assert leaving.value.code == 2
    complaint = capsys.readouterr().err
    assert said in complaint
    assert f"hint: dataagent {argv[0]}" in complaint


def test_a_question_without_p_is_told_how_to_ask(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["How many users?"])
    assert 'hint: to ask a question: dataagent -p "QUESTION"' in capsys.readouterr().err


def test_the_data_directory_may_be_named_before_or_after_a_command() -> None:
    assert parse(["--home", "h", "sources"]).home == "h"
    assert parse(["sources", "--home", "h"]).home == "h"
    assert parse(["sources", "refresh", "shop", "--home", "h"]).home == "h"
    assert parse(["sources"]).home is None


def test_a_conversation_without_a_terminal_is_wrong_usage() -> None:
    done = subprocess.run(
        [quick("dataagent")],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert 'hint: ask one question with: dataagent -p "QUESTION"' in done.stderr


def test_the_options_are_parsed() -> None:
    options = parse(
        ["-p", "q", "--json", "--model", "m", "--agent", "sql", "--resume", "s", "--home", "h"]
    )
    assert vars(options) == {
        "command": None,
        "question": "q",
        "is_json": True,
        "model": "m",
        "agent": "sql",
        "resume": "s",
        "is_continued": False,
        "is_plan": False,
        "allow": None,
        "deny": None,
        "max_budget": None,
        "server": None,
        "api_key_from": None,
        "is_auto_approved": False,
        "is_projectless": False,
        "mcp_config": None,
        "home": "h",
        "output_format": "text",
        "sources": [],
    }
    assert parse(["--mcp-config", "own.json"]).mcp_config == "own.json"
    assert parse([]).agent is None
    assert parse(["-p"]).question == ""
