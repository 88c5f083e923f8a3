"""What a user types in front of a task."""

from __future__ import annotations

import pytest

from dataagent_core.skills import split_command
from tests.requirements import requirement


@requirement("S2.3c")
@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("/sql-review is this right?", ("sql-review", "is this right?")),
        ("/sql-review", ("sql-review", "")),
        ("/sql-review\nSELECT 1\nFROM x", ("sql-review", "SELECT 1\nFROM x")),
        ("/SQL-Review x", ("sql-review", "x")),
        ("/tmp/data.csv has what?", None),
        ("/tmp. is full", None),
        ("/2024 sales", None),
        ("/2024-sales now", ("2024-sales", "now")),
        ("/", None),
        ("//sql-review x", None),
        ("/-x y", None),
        ("/sql--review x", None),
        (" /sql-review x", None),
        ("use /sql-review please", None),
        ("[SKILL: sql-review] x", None),
        ("/" + "x" * 65 + " y", None),
        ("/数据 x", None),
        ("", None),
    ],
)
def test_a_command_stands_at_the_very_beginning(
    message: str, expected: tuple[str, str] | None
) -> None:
    assert split_command(message) == expected
