"""What a model or a server wrote is shown as meant, and reaches nobody else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataagent_server_demo.page_text import escape_markdown, sanitize_markdown


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("It cost $5, then $6.", "It cost \\$5, then \\$6."),
        ("`$HOME` and $5", "`$HOME` and \\$5"),
        ("```sh\necho $HOME\n```\n$5", "```sh\necho $HOME\n```\n\\$5"),
        ("already \\$5", "already \\$5"),
        ("![a](http://x/?q=1)", "!\u200b[a](http://x/?q=1)"),
    ],
)
def test_money_is_no_formula_and_no_image_is_fetched(text: str, safe: str) -> None:
    assert sanitize_markdown(text) == safe


@given(st.text(alphabet="![]()`$ \n\\ab", max_size=60))
def test_no_text_keeps_an_image(text: str) -> None:
    assert "![" not in sanitize_markdown(text)


def test_plain_text_is_not_read_as_markdown() -> None:
    assert (
        escape_markdown("a_b *c* [d](e) :red[f] $g")
        == "a\\_b \\*c\\* \\[d\\]\\(e\\) \\:red\\[f\\] \\$g"
    )
