"""What differs between the engines' SQL: how names are quoted and how a time is cut to steps."""

from __future__ import annotations

import re
from typing import Final

from dataagent_core.config.models.offline_data.terms import Bucket, Trouble

_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*$")
_RESERVED_WORDS: Final = (
    "all alter analyse analyze and any array as asc between both by case cast check column"
    " columns condition constraint create cross current current_date current_user database default"
    " delete desc describe distinct div do drop else end except exists explain false fetch filter"
    " for foreign from full function grant group groups having if in index inner insert intersect"
    " interval into is join key keys lateral leading left like limit lock match mod natural not"
    " null of off offset on only option or order outer over partition pivot primary procedure"
    " qualify range rank read references release rename repeat replace return right row rows"
    " sample schema select set show some symmetric system table tables then to trailing trigger"
    " true union unique unpivot update usage use user using values varying view when where while"
    " window with write year_month"
)
_RESERVED: Final = frozenset(_RESERVED_WORDS.split())
_MYSQL: Final = frozenset({"mysql", "mariadb"})
_POSTGRES: Final = frozenset({"postgres", "postgresql"})
_FORMATS: Final[dict[Bucket, tuple[str, str]]] = {
    "day": ("%Y-%m-%d", "YYYY-MM-DD"),
    "month": ("%Y-%m", "YYYY-MM"),
    "year": ("%Y", "YYYY"),
}


def quoted(name: str, dialect: str) -> str:
    """The name as the dialect takes it, in quotes where it must be."""
    is_folded = dialect in {"postgres", "postgresql", "redshift"} and name != name.lower()
    if _PLAIN.match(name) and name.lower() not in _RESERVED and not is_folded:
        return name
    if dialect in _MYSQL:
        return "`" + name.replace("`", "``") + "`"
    return '"' + name.replace('"', '""') + '"'


def literal(text: str, dialect: str) -> str:
    """A text value. MySQL reads a backslash as an escape."""
    if dialect in _MYSQL:
        text = text.replace("\\", "\\\\")
    return "'" + text.replace("'", "''") + "'"


def time_step(column: str, bucket: Bucket, dialect: str, *, is_text: bool) -> str:
    """The step of time a date falls into, as text that sorts: `2023-04`, `2023-Q2`."""
    if dialect not in {"sqlite", "duckdb"} | _MYSQL | _POSTGRES:
        raise Trouble("dialect", dialect)
    if is_text and dialect in {"duckdb"} | _POSTGRES:
        column = f"CAST({column} AS TIMESTAMP)"
    if bucket == "quarter":
        return _quarter(column, dialect)
    plain, postgres = _FORMATS[bucket]
    if dialect in _POSTGRES:
        return f"TO_CHAR({column}, '{postgres}')"
    if dialect in _MYSQL:
        return f"DATE_FORMAT({column}, '{plain}')"
    arguments = (f"'{plain}'", column) if dialect == "sqlite" else (column, f"'{plain}'")
    return f"STRFTIME({', '.join(arguments)})"


def _quarter(column: str, dialect: str) -> str:
    if dialect == "sqlite":
        quarter = f"(CAST(STRFTIME('%m', {column}) AS INTEGER) + 2) / 3"
        return f"STRFTIME('%Y', {column}) || '-Q' || CAST({quarter} AS TEXT)"
    parts = [f"EXTRACT({part} FROM {column})" for part in ("YEAR", "QUARTER")]
    return f"CONCAT({parts[0]}, '-Q', {parts[1]})"


TEXT_STEPS: Final[dict[Bucket, int]] = {"day": 10, "month": 7, "year": 4}
"""How much of a date in ISO 8601 says the step."""


def text_step(column: str, bucket: Bucket, dialect: str) -> str:
    """The same, cut from the date as text: for engines or policies that lack the functions."""
    kind = "CHAR" if dialect in _MYSQL else "TEXT" if dialect == "sqlite" else "VARCHAR"
    return f"SUBSTR(CAST({column} AS {kind}), 1, {TEXT_STEPS[bucket]})"


def nulls_last(name: str, direction: str, dialect: str, *, expression: str = "") -> str:
    """An order in which rows without a value come last, whichever way.

    `expression` is what the name stands for: MySQL takes no name of an aggregate inside another.
    """
    if dialect in _MYSQL and direction == "asc":
        return f"{expression or name} IS NULL, {name} ASC"
    if dialect in _MYSQL:
        return f"{name} DESC"
    return f"{name} {direction.upper()} NULLS LAST"
