"""Text that every database can keep. Pure functions.

PostgreSQL refuses NUL and no database takes half a surrogate pair. What users send is refused at
the edge; what a model or a tool produced is repaired here, so that one bad character cannot lose an
answer.
"""

from __future__ import annotations


def storable(text: str) -> str:
    """The text, with NUL and lone surrogates replaced."""
    if is_storable(text):
        return text
    return text.encode("utf-8", "replace").decode("utf-8").replace("\x00", "\ufffd")


def is_storable(text: str) -> bool:
    """Whether the text can be kept, or be an id that was kept."""
    if "\x00" in text:
        return False
    if text.isascii():
        return True
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
