"""A line after the slash, as the words the shell's command would get."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataagent_cli.commands.data import words_of


@pytest.mark.parametrize(
    ("name", "rest", "words"),
    [
        ("sources", "", ["sources"]),
        ("sources", "add shop 'my files'", ["sources", "add", "shop", "my files"]),
        ("sql", "SELECT 'a  b' AS \"c\"", ["sql", "SELECT 'a  b' AS \"c\""]),
        (
            "sql",
            "--limit 5 --source=shop SELECT 1",
            ["sql", "--limit", "5", "--source=shop", "SELECT 1"],
        ),
        ("sql", "--output 'a b.csv' SELECT 1", ["sql", "--output", "a b.csv", "SELECT 1"]),
        ("sql", "SELECT 1 -- limit 5", ["sql", "SELECT 1 -- limit 5"]),
        ("sql", "--limit", ["sql", "--limit"]),
        ("sql", "", ["sql"]),
    ],
)
def test_options_come_first_and_the_statement_stays_as_typed(
    name: str, rest: str, words: list[str]
) -> None:
    assert words_of(name, rest) == words


@given(st.text(min_size=1).map(str.strip).filter(lambda text: text and not text.startswith("--")))
def test_any_statement_stays_as_typed(statement: str) -> None:
    assert words_of("sql", f"--limit 3 {statement}") == ["sql", "--limit", "3", statement]
