"""Text piped into the program, whole."""

from __future__ import annotations

import select
from collections.abc import Callable
from typing import BinaryIO

_PATIENCE_SECONDS = 3.0


class NotText(ValueError):
    """The input is not UTF-8 text."""


def read_piped(source: BinaryIO, *, note: Callable[[str], None]) -> str:
    """All of the input, without the newlines at its end.

    `note` says so when an input stays open and sends nothing.

    Raises:
        NotText: the bytes are not UTF-8.
    """
    note_if_silent(source, note)
    return text_of(source.read())


def text_of(data: bytes) -> str:
    """Bytes as text, without a byte-order mark and the newlines at the end.

    Raises:
        NotText: they are not UTF-8.
    """
    try:
        return data.decode("utf-8-sig").rstrip("\n")
    except UnicodeDecodeError as error:
        raise NotText(
            f"Standard input is not UTF-8 text (byte {error.start + 1} of {len(data)})."
        ) from error


def note_if_silent(source: BinaryIO, note: Callable[[str], None]) -> None:
    """Say that the program waits for an input which stays open and sends nothing."""
    try:
        ready, _, _ = select.select([source], [], [], _PATIENCE_SECONDS)
    except (OSError, ValueError):  # not a pipe: a file on Windows, or a buffer
        return
    if not ready:
        note("waiting for standard input\nhint: add </dev/null to ask without it.")
