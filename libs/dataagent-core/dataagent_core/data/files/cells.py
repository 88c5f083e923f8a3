"""A cell of a workbook as text. Light: showing a sheet needs no database."""

from __future__ import annotations

import datetime as dt
from typing import Any

Cell = Any  # str, int, float, bool, date, datetime, time or timedelta, as calamine gives them

LAST_EXACT = 2**53
"""Above this a float no longer tells one whole number from the next."""


def text_of(cell: Cell) -> str | None:
    """A cell as one would write it: `5`, not `5.0`; `true`; `2026-01-05`; `36:00:00`."""
    match cell:
        case str():
            return cell or None
        case bool():
            return "true" if cell else "false"
        case float():
            return str(int(cell)) if cell.is_integer() and abs(cell) <= LAST_EXACT else repr(cell)
        case dt.datetime():
            return cell.isoformat(sep=" ")
        case dt.timedelta():
            return _clock(cell)
        case _:
            return str(cell)


def _clock(span: dt.timedelta) -> str:
    seconds = abs(span).days * 86_400 + abs(span).seconds
    sign = "-" if span < dt.timedelta() else ""
    clock = f"{sign}{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return f"{clock}.{abs(span).microseconds:06}" if span.microseconds else clock
