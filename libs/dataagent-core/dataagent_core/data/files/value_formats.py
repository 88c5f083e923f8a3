"""The formats of written values (integer, decimal, date, …) as patterns and as SQL.

A format has a pattern, for a quick look at a few cells, and SQL that decides for every cell. A
column takes a type only if each of its cells fits; what would change a value (`007`, `+5`, 20
digits) does not fit.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

NULL_WORDS = ("NULL", "null")
"""Stand for no value in every column."""
PLACEHOLDERS = ("NA", "N/A", "n/a", "#N/A", "NaN", "nan", "None", "-", "--", "—", "无", "暂无")
"""Stand for no value where all other cells of the column are numbers or dates."""

_INTEGER = r"-?(?:0|[1-9][0-9]{0,18})"
_DECIMAL = r"-?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]+)?|\.[0-9]+)"
_GROUPED = r"-?(?:[1-9][0-9]{0,2}(?:,[0-9]{3})+|0|[1-9][0-9]*)(?:\.[0-9]+)?"
_COMMA = r"-?(?:[1-9][0-9]{0,2}(?:\.[0-9]{3})+|0|[1-9][0-9]*)(?:,[0-9]+)?"
_SCIENTIFIC = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,3})?"
_PERCENT = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)? ?%"
_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_LOOSE_DATE = (
    r"(?:[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}|[0-9]{4}/[0-9]{1,2}/[0-9]{1,2}"
    r"|[0-9]{4}\.[0-9]{1,2}\.[0-9]{1,2}|[0-9]{4}年[0-9]{1,2}月[0-9]{1,2}日)"
)
_LAST_YEAR = r"[0-9]{1,2}/[0-9]{1,2}/[0-9]{4}"
_CLOCK = r"[0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?"
_ZONE = r" ?(?:Z|UTC|[+-][0-9]{2}(?::?[0-9]{2})?)"


@dataclass(frozen=True, slots=True)
class ValueFormat:
    """One way to read a column. In the SQL, `{c}` stands for the cell."""

    name: str
    pattern: re.Pattern[str]
    fits: str  # boolean SQL; NULL means no
    value: str  # SQL of the value, or for DECIMAL, DOUBLE and PERCENT of its plain writing
    type: str
    note: str | None = None  # said of the columns that were read so
    is_text_date: bool = False

    def matches(self, cell: str) -> bool:
        """Whether a cell looks so. The database has the last word."""
        return self.pattern.fullmatch(cell) is not None


_ISO = r"regexp_replace({c}, '^(\d{4})[-/.年](\d{1,2})[-/.月](\d{1,2})日?', '\1-\2-\3')"
"""Writes `2026年1月5日` and `2026/1/5` as `2026-1-5`, with the rest kept."""


def _full(pattern: str) -> str:
    return f"regexp_full_match({{c}}, '{pattern}')"


def _shape(
    name: str, pattern: str, fits: str, value: str, sql_type: str, *, note: str | None = None
) -> ValueFormat:
    is_date = sql_type in ("DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE")
    return ValueFormat(name, re.compile(pattern), fits, value, sql_type, note, is_date)


def _cast_fits(pattern: str, value: str, sql_type: str) -> str:
    return f"({_full(pattern)} AND TRY_CAST({value} AS {sql_type}) IS NOT NULL)"


def _last_year(order: str) -> str:
    return f"CAST(try_strptime({{c}}, '{order}') AS DATE)"


INTEGER = _shape(
    "integer",
    _INTEGER,
    "TRY_CAST({c} AS BIGINT)::VARCHAR = {c}",
    "CAST({c} AS BIGINT)",
    "BIGINT",
)
DECIMAL = _shape("decimal", _DECIMAL, _full(_DECIMAL), "{c}", "DECIMAL")
GROUPED = _shape(
    "grouped",
    _GROUPED,
    _full(_GROUPED),
    "replace({c}, ',', '')",
    "DECIMAL",
    note="Commas were read as thousands separators",
)
DECIMAL_COMMA = _shape(
    "decimal_comma",
    _COMMA,
    _full(_COMMA),
    "replace(replace({c}, '.', ''), ',', '.')",
    "DECIMAL",
    note="Commas were read as decimal points",
)
SCIENTIFIC = _shape("scientific", _SCIENTIFIC, _full(_SCIENTIFIC), "{c}", "DOUBLE")
PERCENT = _shape(
    "percent",
    _PERCENT,
    _full(_PERCENT),
    "rtrim({c}, ' %')",
    "PERCENT",
    note="Percentages became fractions (12.5% is 0.125)",
)
DAY_FIRST = _shape(
    "day_first",
    _LAST_YEAR,
    f"({_full(_LAST_YEAR)} AND {_last_year('%d/%m/%Y')} IS NOT NULL)",
    _last_year("%d/%m/%Y"),
    "DATE",
    note="Dates were read as day/month/year",
)
MONTH_FIRST = _shape(
    "month_first",
    _LAST_YEAR,
    f"({_full(_LAST_YEAR)} AND {_last_year('%m/%d/%Y')} IS NOT NULL)",
    _last_year("%m/%d/%Y"),
    "DATE",
    note="Dates were read as month/day/year",
)

VALUE_FORMATS: tuple[ValueFormat, ...] = (
    INTEGER,
    _shape(
        "boolean",
        r"(?i:true|false)",
        "lower({c}) IN ('true', 'false')",
        "(lower({c}) = 'true')",
        "BOOLEAN",
    ),
    _shape("date", _DATE, "TRY_CAST({c} AS DATE)::VARCHAR = {c}", "CAST({c} AS DATE)", "DATE"),
    _shape(
        "loose_date",
        _LOOSE_DATE,
        _cast_fits(_LOOSE_DATE, _ISO, "DATE"),
        f"CAST({_ISO} AS DATE)",
        "DATE",
    ),
    DAY_FIRST,
    MONTH_FIRST,
    _shape(
        "timestamp",
        rf"{_DATE} [0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}}",
        "TRY_CAST({c} AS TIMESTAMP)::VARCHAR = {c}",
        "CAST({c} AS TIMESTAMP)",
        "TIMESTAMP",
    ),
    _shape(
        "loose_timestamp",
        rf"{_LOOSE_DATE}[ T]{_CLOCK}",
        _cast_fits(f"{_LOOSE_DATE}[ T]{_CLOCK}", _ISO, "TIMESTAMP"),
        f"CAST({_ISO} AS TIMESTAMP)",
        "TIMESTAMP",
    ),
    _shape(
        "zoned",
        rf"{_LOOSE_DATE}[ T]{_CLOCK}{_ZONE}",
        _cast_fits(f"{_LOOSE_DATE}[ T]{_CLOCK}{_ZONE}", _ISO, "TIMESTAMP WITH TIME ZONE"),
        f"CAST({_ISO} AS TIMESTAMP WITH TIME ZONE)",
        "TIMESTAMP WITH TIME ZONE",
        note="Times with an offset are kept as moments in UTC",
    ),
    _shape(
        "time",
        r"[0-9]{2}:[0-9]{2}:[0-9]{2}",
        _cast_fits("[0-9]{2}:[0-9]{2}:[0-9]{2}", "{c}", "TIME"),
        "CAST({c} AS TIME)",
        "TIME",
    ),
    DECIMAL,
    GROUPED,
    SCIENTIFIC,
    PERCENT,
    DECIMAL_COMMA,
)


def is_typed(cell: str) -> bool:
    """Whether a cell looks like a number, a date or a truth value rather than like a word."""
    stripped = cell.strip()
    return bool(stripped) and any(shape.matches(stripped) for shape in VALUE_FORMATS)
