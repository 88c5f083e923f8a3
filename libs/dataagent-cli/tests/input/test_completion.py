"""Tab: what is offered for what stands before the cursor."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from dataagent_cli.commands import builtin_commands
from dataagent_cli.commands.registry import Command, CommandContext, CommandOutcome
from dataagent_cli.conversation import Conversation
from dataagent_cli.hitl import TerminalHITLHandler
from dataagent_cli.hosts.local import LocalHost
from dataagent_cli.input.completion import LineCompleter
from dataagent_cli.input.mentions import Mentions, NamedTable, ProjectFiles, best_matches
from dataagent_cli.streams import Streams
from dataagent_cli.turn import TurnRunner, max_tokens
from dataagent_core.app.assembly import open_core
from dataagent_core.config import SessionState, Settings
from dataagent_core.config.settings import Prices
from dataagent_core.data.types import Column, Table
from dataagent_core.errors import BadInput

TABLES = [
    NamedTable("shop", Table("orders", (Column("id", "INTEGER"),))),
    NamedTable("shop", Table("Order details", (Column("id", "INTEGER"),))),
]


async def tables() -> list[NamedTable]:
    return TABLES


async def offered(completer: LineCompleter, typed: str) -> list[str]:
    found = completer.get_completions_async(Document(typed), CompleteEvent())
    return [each.text async for each in found]


async def test_files_and_tables_are_offered_after_an_at_sign(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "old notes.md").write_text("x")
    (tmp_path / "orders.csv").write_text("x")
    completer = LineCompleter(builtin_commands(), None, Mentions(tmp_path, tables))
    assert await offered(completer, "sum @ord") == [
        "@shop.orders",
        '@shop."Order details"',
        "@orders.csv",
    ]
    assert await offered(completer, "see (@notes") == ['@"docs/old notes.md"']
    assert await offered(completer, "me@example") == []


async def test_what_git_ignores_is_not_offered(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", "."], check=True, cwd=tmp_path)
    (tmp_path / ".gitignore").write_text("*.log\nbuild/\n")
    (tmp_path / "build").mkdir()
    for name in ("a.log", "build/a.txt", "kept.txt"):
        (tmp_path / name).write_text("x")
    assert await ProjectFiles(tmp_path).matching("", limit=9) == ["kept.txt", ".gitignore"]


def test_the_best_of_many_files_comes_first() -> None:
    names = [f"src/part{n}/module{n}.py" for n in range(50_000)] + ["src/a/report.py", "report.md"]
    lowered = [(name, name.lower()) for name in names]
    assert best_matches(lowered, "report", 2) == ["report.md", "src/a/report.py"]
    assert best_matches(lowered, "srcmod49999", 1) == ["src/part49999/module49999.py"]
    assert best_matches(lowered, "nothing like it", 3) == []


async def test_words_of_commands_and_skills_are_offered() -> None:
    state = SessionState()
    async with open_core(Settings()) as core:
        host = LocalHost(core, "ann")
        handler = TerminalHITLHandler(state, is_interactive=False)
        turns = TurnRunner(
            host, view=Streams.standard().view(is_json=True), handler=handler, state=state
        )
        talk = Conversation(host, turns, agent=None, state=state)
        await talk.ask("!echo one")
        completer = LineCompleter(builtin_commands(), talk)
        assert await offered(completer, "/agents s") == ["sql"]
        assert "offline" in await offered(completer, "/model ")
        assert talk.session is not None
        assert await offered(completer, "/resume ") == [talk.session.thread_id]
        assert "/sql-review" in await offered(completer, "/sq")
        assert await offered(completer, "/nothing ") == []


async def test_whoever_does_not_answer_offers_nothing() -> None:
    async def fails(_: Conversation) -> list[tuple[str, str]]:
        raise BadInput("no")

    async def run(_: CommandContext, __: str) -> CommandOutcome:
        return CommandOutcome()

    commands = builtin_commands([Command("odd", "odd", run, words=fails)])
    completer = LineCompleter(commands, object())  # pyright: ignore[reportArgumentType] never asked
    assert await offered(completer, "/odd ") == []


@pytest.mark.parametrize(
    ("amount", "prices", "tokens"),
    [
        ("20000t", None, 20_000),
        ("20_000t", None, 20_000),
        ("0.50", Prices(1, 5, "USD"), 100_000),
        ("$1", Prices(2, 1, "USD"), 500_000),
    ],
)
def test_a_budget_is_tokens_or_money(amount: str, prices: Prices | None, tokens: int) -> None:
    assert max_tokens(amount, prices) == tokens


@pytest.mark.parametrize("amount", ["", "many", "-5t", "0t", "1.50", "0", "1e9"])
def test_what_is_no_budget_is_refused(amount: str) -> None:
    with pytest.raises(BadInput):
        max_tokens(amount, None)
