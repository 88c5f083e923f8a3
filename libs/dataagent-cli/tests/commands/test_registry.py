"""Which command a line names, and which lines are no commands."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataagent_cli.commands import builtin_commands
from dataagent_cli.commands.registry import is_command


@pytest.mark.parametrize(
    ("line", "name", "rest"),
    [
        ("/help", "help", ""),
        ("/NEW", "new", ""),
        ("/clear and start with this", "new", "and start with this"),
        ("/q", "quit", ""),
        ("/exit ", "quit", ""),
    ],
)
def test_a_line_names_a_command_by_name_or_alias(line: str, name: str, rest: str) -> None:
    found = builtin_commands().parse(line)
    assert found is not None
    assert (found[0].name, found[1]) == (name, rest)


@pytest.mark.parametrize(
    ("line", "is_one"),
    [
        ("/help", True),
        ("/no-such-thing", True),
        ("/", False),
        ("/etc/passwd", False),
        ("/2024 sales", False),
        ("what is /help?", False),
        ("!ls", False),
    ],
)
def test_paths_and_questions_are_messages(line: str, is_one: bool) -> None:
    assert is_command(line) is is_one


@pytest.mark.parametrize(("line", "near"), [("/hlep", "help"), ("/quti", "quit"), ("/zzz", None)])
def test_a_slip_of_the_fingers_finds_the_nearest_name(line: str, near: str | None) -> None:
    assert builtin_commands().parse(line) is None
    assert builtin_commands().nearest(line) == near


def test_names_and_aliases_are_unique() -> None:
    names = [name for each in builtin_commands().all() for name in (each.name, *each.aliases)]
    assert len(names) == len(set(names))


def test_every_command_is_in_the_guide() -> None:
    guide = (Path(__file__).parents[4] / "docs" / "guides" / "terminal.md").read_text()
    for command in builtin_commands().all():
        assert f"`/{command.name}" in guide, command.name


@given(st.text())
def test_any_line_can_be_looked_up(line: str) -> None:
    is_command(line)
    builtin_commands().parse(line)
    builtin_commands().nearest(line)
