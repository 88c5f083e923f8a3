"""A page that says something else than what happened is found out."""

from __future__ import annotations

import pytest

from tests.docs.pages import Block
from tests.docs.transcripts import Step, missing_line, steps_of


def block(text: str) -> Block:
    return Block("page.md", 1, "console", text, None)


def step(*expected: str) -> Step:
    return Step("page.md:1", "true", expected)


def test_commands_and_their_output_are_separated() -> None:
    found = steps_of(block("$ one\nprinted\n$ two \\\n    more\n$ three '{\n  x}'\n…\n"))
    assert [(each.command, each.expected) for each in found] == [
        ("one", ("printed",)),
        ("two \\\n    more", ()),
        ("three '{\n  x}'", ("…",)),
    ]


def test_text_before_the_first_command_is_refused() -> None:
    with pytest.raises(AssertionError, match="belongs to no command"):
        steps_of(block("printed\n$ one\n"))


@pytest.mark.parametrize(
    ("expected", "output"),
    [
        (("a", "b"), "a\nb\n"),
        (("a…c",), "x\nabc\n"),
        (("…",), ""),
        (("a", "…", "z"), "a\nm\nz\n"),
        (("a b",), "a b   \n"),
    ],
)
def test_what_was_printed_is_found(expected: tuple[str, ...], output: str) -> None:
    assert missing_line(step(*expected), output) is None


@pytest.mark.parametrize(
    ("expected", "output", "missing"),
    [
        (("a",), "ab\n", "a"),
        (("b", "a"), "a\nb\n", "a"),
        (("a…d",), "abc\n", "a…d"),
        (("a",), "", "a"),
    ],
)
def test_what_was_not_printed_is_named(
    expected: tuple[str, ...], output: str, missing: str
) -> None:
    assert missing_line(step(*expected), output) == missing


def test_only_a_page_that_shows_an_error_expects_one() -> None:
    assert step("error: no").fails
    assert not step("no error: here").fails
