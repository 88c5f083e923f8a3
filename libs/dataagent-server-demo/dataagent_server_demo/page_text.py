"""Text on its way into Streamlit's Markdown, which reads more than it should. Pure."""

from __future__ import annotations

import re

_CODE = re.compile(r"(```.*?(?:```|\Z)|`[^`\n]+`)", re.DOTALL)
_SPECIAL = re.compile(r"([\\`*_{}\[\]()<>#+!|$~:])")


def sanitize_markdown(text: str) -> str:
    """A model's Markdown, without what would reach out or be misread.

    An image would be fetched from wherever the model says, with whatever it wrote into the address:
    it becomes a link. A dollar is money here, not a formula.
    """
    pieces = _CODE.split(text.replace("![", "!\u200b["))
    return "".join(
        piece if at % 2 else piece.replace("\\$", "$").replace("$", "\\$")
        for at, piece in enumerate(pieces)
    )


def escape_markdown(text: str) -> str:
    """Text as it is, where Markdown would be read."""
    return _SPECIAL.sub(r"\\\1", text)
