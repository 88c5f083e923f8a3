"""What remains to be settled once all cells of a column fit a shape.

Which number type keeps every digit, and whether the cells could just as well mean something else.
Above: `columns.py`. Below: `shapes.py`, DuckDB.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from duckdb import DuckDBPyConnection

from dataagent_core.data.files import value_formats as shapes
from dataagent_core.data.files.value_formats import ValueFormat

_EXACT_DIGITS = 15
"""So many significant digits survive in a DOUBLE."""
_MONEY_PLACES = 6
"""Up to so many decimal places no number looks like the rest of a binary fraction."""
_WIDE_PLACES = 12
"""Up to so many decimal places a DECIMAL may have 38 digits: a product has twice the places."""


@dataclass(frozen=True, slots=True)
class TypeCandidate:
    """A shape to be tried on all cells of a column, as they are or trimmed. All SQL."""

    shape: ValueFormat
    cell: str
    type: str
    fits: str
    value: str


@dataclass(frozen=True, slots=True)
class _Digits:
    whole: int  # the most digits before the point
    places: int  # the most after it
    significant: int
    is_double: bool  # each number is written as a DOUBLE writes itself
    is_bigint: bool
    is_finite: bool


def count_matching(
    connection: DuckDBPyConnection, relation: str, questions: Sequence[str]
) -> list[int]:
    """For how many rows each question is true."""
    if not questions:
        return []
    counts = ", ".join(f"count(*) FILTER (WHERE {question})" for question in questions)
    row = connection.execute(f"SELECT {counts} FROM {relation}").fetchone()  # noqa: S608 our names
    return [int(one) for one in row or ()]


def reason_for_text(
    connection: DuckDBPyConnection, relation: str, one: TypeCandidate, fitting: int
) -> str | None:
    """Why the cells should stay text although they all fit, or None."""
    if one.shape is shapes.DAY_FIRST:
        other = shapes.MONTH_FIRST.fits.replace("{c}", one.cell)
        if count_matching(connection, relation, [other])[0] == fitting:
            return "Kept as text, day and month cannot be told apart"
    if one.shape is shapes.DECIMAL_COMMA:
        proof = f"regexp_full_match({one.cell}, '.*,([0-9]{{1,2}}|[0-9]{{4,}})')"
        if count_matching(connection, relation, [proof])[0] == 0:
            return "Kept as text, a comma may separate thousands or decimals"
    return None


def exact_number(
    connection: DuckDBPyConnection, relation: str, one: TypeCandidate
) -> TypeCandidate | None:
    """The form with a type that keeps every digit; None when there is no such type."""
    if one.type not in ("DECIMAL", "DOUBLE", "PERCENT") or one.value.startswith("CAST("):
        return one
    digits = _digits(connection, relation, one)
    if one.type == "PERCENT":
        if digits.whole + digits.places > 15:
            return None
        value = f"CAST({one.value} AS DECIMAL(15,{digits.places})) * 0.01"
        sql_type = f"DECIMAL(18,{digits.places + 2})"
        return replace(one, type=sql_type, value=f"CAST({value} AS {sql_type})")
    sql_type = _double(digits) if one.type == "DOUBLE" else _number(digits)
    if sql_type is None:
        return None
    return replace(one, type=sql_type, value=f"CAST({one.value} AS {sql_type})")


def _double(digits: _Digits) -> str | None:
    is_exact = digits.significant <= _EXACT_DIGITS or digits.is_double
    return "DOUBLE" if is_exact and digits.is_finite else None


def _number(digits: _Digits) -> str | None:
    if digits.places == 0:
        return "BIGINT" if digits.is_bigint else None
    size = digits.whole + digits.places
    is_noise = digits.is_double and digits.places > _MONEY_PLACES  # 0.30000000000000004
    if size <= 18 and (digits.significant <= _EXACT_DIGITS or not is_noise):
        return f"DECIMAL(18,{digits.places})"
    is_wide = size <= 38 and digits.places <= _WIDE_PLACES
    if is_wide and digits.significant <= _EXACT_DIGITS:
        return f"DECIMAL(38,{digits.places})"
    return _double(digits) or (f"DECIMAL(38,{digits.places})" if size <= 38 else None)


def _digits(connection: DuckDBPyConnection, relation: str, one: TypeCandidate) -> _Digits:
    plain = f"ltrim({one.value}, '-')"
    mantissa = f"split_part(lower({plain}), 'e', 1)"
    row = connection.execute(
        f"""SELECT max(length(split_part({mantissa}, '.', 1))),
                   max(length(split_part({mantissa}, '.', 2))),
                   max(length(ltrim(replace({mantissa}, '.', ''), '0'))),
                   bool_and(TRY_CAST({one.value} AS DOUBLE)::VARCHAR IN ({one.value},
                                                                         {one.value} || '.0')),
                   bool_and(TRY_CAST({one.value} AS BIGINT) IS NOT NULL),
                   bool_and(isfinite(TRY_CAST({one.value} AS DOUBLE)))
            FROM {relation} WHERE {one.fits}"""  # noqa: S608 our own names
    ).fetchone()
    whole, places, significant, is_double, is_bigint, is_finite = row or (0, 0, 0, 0, 0, 0)
    return _Digits(
        int(whole),
        int(places),
        int(significant),
        bool(is_double),
        bool(is_bigint),
        bool(is_finite),
    )
