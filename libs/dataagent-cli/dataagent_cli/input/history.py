"""What was asked before, in a file only its owner can read."""

from __future__ import annotations

from pathlib import Path

from prompt_toolkit.history import FileHistory, History, InMemoryHistory


def open_history(path: Path) -> History:
    """The history at `path`; one that lasts as long as the program if the file cannot be used."""
    try:
        path.touch(mode=0o600)
        path.read_bytes()
    except OSError:
        return InMemoryHistory()
    return FileHistory(path)
