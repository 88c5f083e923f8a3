"""Where a growing answer can be cut without changing how it looks."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dataagent_cli.ui.markdown import BlockSplitter
from tests.requirements import requirement

PIECES = ["para\n", "more", "\n", "\n\n", "- item\n", "2. two\n", "  inner\n", "```py\n"]
MORE = ["x = 1\n", "```\n", "~~~\n", "# head\n", "| a |\n", "    code\n", "> quote\n", "``"]
markdown = st.lists(st.sampled_from(PIECES + MORE), max_size=30)


@requirement("R9.3")
@given(markdown)
def test_the_blocks_joined_are_the_text(pieces: list[str]) -> None:
    splitter = BlockSplitter()
    blocks = [block for piece in pieces for block in splitter.feed(piece)]
    assert "".join(blocks) + splitter.flush() == "".join(pieces)


@requirement("R9.3")
@given(markdown, st.integers(1, 9))
def test_the_cut_does_not_depend_on_how_the_text_arrives(pieces: list[str], size: int) -> None:
    text = "".join(pieces)
    whole, chunked = BlockSplitter(), BlockSplitter()
    at_once = whole.feed(text)
    in_pieces = [
        block for i in range(0, len(text), size) for block in chunked.feed(text[i : i + size])
    ]
    assert in_pieces == at_once


def test_code_is_not_cut_at_its_blank_lines() -> None:
    splitter = BlockSplitter()
    assert splitter.feed("intro\n```py\na = 1\n\nb = 2\n") == ["intro\n"]
    assert splitter.feed("```\nafter") == ["```py\na = 1\n\nb = 2\n```\n"]
    assert splitter.tail == "after"


def test_a_loose_list_stays_one_block() -> None:
    splitter = BlockSplitter()
    assert splitter.feed("1. one\n\n2. two\n\n   more\n") == []
    assert splitter.feed("\nend\n") == ["1. one\n\n2. two\n\n   more\n\n"]
