"""The words of `/mcp add`, as an entry of a file."""

from __future__ import annotations

from typing import Any

import pytest

from dataagent_cli.commands.mcp import parse_add
from dataagent_core.errors import BadInput
from tests.requirements import requirement


@requirement("R29.2")
@pytest.mark.parametrize(
    ("words", "entry"),
    [
        ("files npx -y server /srv", {"command": "npx", "args": ["-y", "server", "/srv"]}),
        (
            "db --env A=1 --env=B=x=y run --env C=3",
            {"command": "run", "args": ["--env", "C=3"], "env": {"A": "1", "B": "x=y"}},
        ),
        ("web https://x.example/mcp", {"url": "https://x.example/mcp"}),
        (
            "web https://x.example/mcp --header Authorization=${T}",
            {"url": "https://x.example/mcp", "headers": {"Authorization": "${T}"}},
        ),
        (
            "web --header A=b http://x.example/mcp --header C=d",
            {"url": "http://x.example/mcp", "headers": {"A": "b", "C": "d"}},
        ),
    ],
)
def test_an_address_or_a_command_is_an_entry(words: str, entry: dict[str, Any]) -> None:
    name, *_ = words.split()
    assert parse_add(words.split()) == (name, entry)


@pytest.mark.parametrize(
    "words",
    [
        "",
        "files",
        "--env A=1 x",
        "files --env A",
        "files --env",
        "files --header A=b run",
        "web https://x.example/mcp more",
        "web https://x.example/mcp --env A=1",
        "web --env A=1 https://x.example/mcp",
    ],
)
def test_words_that_make_no_sense_are_refused(words: str) -> None:
    with pytest.raises(BadInput):
        parse_add(words.split())
