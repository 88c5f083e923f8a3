"""Names of columns and tables: as the file writes them, made unique and fit for SQL."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import count
from pathlib import PurePosixPath

from dataagent_core.data.column_names import unique_names

_MAX_COLUMN_NAME = 128
_MAX_TABLE_NAME = 60


def column_names(written: Sequence[str | None]) -> tuple[tuple[str, ...], list[str]]:
    """A usable name for each column, and notes on those that could not stay as written.

    Names stay as written but for white space around them and control characters. A missing name
    becomes `column_3`, a name met before (in whatever case) gets `_2`, `_3`, ….
    """
    cleaned = [_clean(one or "") for one in written]
    names = unique_names([clean[:_MAX_COLUMN_NAME] for clean in cleaned])
    renamed = [
        f"{_short(clean)} → {_short(name)}"
        for clean, name in zip(cleaned, names, strict=True)
        if clean and name != clean
    ]
    notes = [f"Columns were renamed: {_listed(renamed)}."] if renamed else []
    return names, notes


def _clean(name: str) -> str:
    """Without control characters; runs of white space and line breaks are one space."""
    text = "".join(" " if char.isspace() else char for char in name)
    return re.sub(r" +", " ", "".join(c for c in text if c.isprintable())).strip()


def table_name(file: str, label: str | None, taken: Iterable[str], keywords: set[str]) -> str:
    """A name for the table of a file (and sheet): letters of any script, digits, underscores."""
    stem = PurePosixPath(file).stem
    text = f"{stem}_{label}" if label else stem
    name = re.sub(r"_+", "_", re.sub(r"\W", "_", text)).strip("_")[:_MAX_TABLE_NAME] or "table"
    if name[0].isdigit():
        name = f"t_{name}"
    if name.casefold() in keywords or name.casefold() == "table":
        name = f"{name}_table"
    folded = {one.casefold() for one in taken}
    if name.casefold() not in folded:
        return name
    return next(free for n in count(2) if (free := f"{name}_{n}").casefold() not in folded)


def quoted(name: str) -> str:
    """An identifier as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text as SQL writes it."""
    return "'" + text.replace("'", "''") + "'"


def _short(name: str) -> str:
    return name if len(name) <= 40 else f"{name[:40]}…"


def _listed(items: Sequence[str]) -> str:
    shown = ", ".join(items[:10])
    return shown if len(items) <= 10 else f"{shown} and {len(items) - 10} more"


def listed(names: Sequence[str]) -> str:
    """Names in a note: the first ten, and how many more."""
    return _listed([f"'{_short(name)}'" for name in names])
