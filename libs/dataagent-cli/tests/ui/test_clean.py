"""What a terminal would obey is not shown, wherever the text is cut."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from dataagent_cli.ui.clean import Cleaner, printable

_PIECES = st.sampled_from(
    ["\x1b", "[", "]", "P", "\\", "\x07", "\x9b", "31", ";", " ", "m", "a", "\r", "\n", "0;title"]
)


@given(st.lists(_PIECES, max_size=30).map("".join), st.lists(st.integers(0, 60), max_size=6))
def test_text_in_pieces_is_cleaned_as_the_whole(text: str, cuts: list[int]) -> None:
    edges = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    cleaner = Cleaner()
    shown = [cleaner.feed(text[start:end]) for start, end in pairwise(edges)]
    assert "".join(shown) + cleaner.rest() == printable(text)


def test_a_title_that_never_ends_is_not_kept_and_a_sequence_that_does_not_is_text() -> None:
    cleaner = Cleaner()
    assert cleaner.feed("before\x1b]0;") == "before"
    assert cleaner.feed("t" * 100_000) == ""
    assert cleaner.feed("\x07after\x1b[") == "after"
    assert cleaner.feed("1" * 1_000) == printable("\x1b[" + "1" * 1_000)
