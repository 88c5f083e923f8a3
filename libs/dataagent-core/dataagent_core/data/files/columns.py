"""Names and types of a table's columns, decided by all of their cells.

A look at the first rows says what a column might be; then one scan of the whole table, inside the
database, says whether every cell fits. What does not fit stays text. Nothing is rounded: a number
becomes DOUBLE only where that keeps all its digits, and decimals of any number of places become
DECIMAL with the most of them, so that their sum is exact. Cells that could mean something else
(`03/04/2024`, `1,234`) stay text.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import PurePosixPath

from duckdb import DuckDBPyConnection

from dataagent_core.data.column_names import unique_names
from dataagent_core.data.files import value_formats as shapes
from dataagent_core.data.files.types import RawTable
from dataagent_core.data.files.value_formats import ValueFormat

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


def _short(name: str) -> str:
    return name if len(name) <= 40 else f"{name[:40]}…"


def _listed(items: Sequence[str]) -> str:
    shown = ", ".join(items[:10])
    return shown if len(items) <= 10 else f"{shown} and {len(items) - 10} more"


def listed(names: Sequence[str]) -> str:
    """Names in a note: the first ten, and how many more."""
    return _listed([f"'{_short(name)}'" for name in names])


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


_LOOK_ROWS = 500
_QUICK_PLACES = 6
_AT_ONCE = 100
"""Columns examined by one statement."""


@dataclass(frozen=True, slots=True)
class TypedColumn:
    """A column's final form. `value` is SQL over the raw relation."""

    name: str
    type: str
    value: str
    is_empty: bool = False


@dataclass(slots=True)
class _Column:
    """A text column while it is being examined."""

    cell: str
    name: str
    tries: list[TypeCandidate]
    null_words_are: str  # SQL: whether the cell is a word for no value
    filled: int = 0
    null_words: int = 0
    placeholders: int = 0
    chosen: TypeCandidate | None = None
    reason_for_text: str | None = None  # why it stays text although the cells look like more
    looks: str | None = None  # why text is right although the cells are digits

    @property
    def cells(self) -> int:
        return self.filled - self.null_words


def infer_types(
    connection: DuckDBPyConnection, raw: RawTable, names: Sequence[str]
) -> list[TypedColumn]:
    """The columns with their types; adds to `raw.notes` what was taken for what."""
    examined = _examine(connection, raw, names)
    _add_notes(raw.notes, list(examined.values()))
    settled: list[TypedColumn] = []
    for index, (name, kind) in enumerate(zip(names, raw.types, strict=True)):
        column = examined.get(index)
        if column is None:
            settled.append(TypedColumn(name, kind, f"c{index + 1}"))
        else:
            settled.append(_typed_column(column))
    return settled


def _typed_column(column: _Column) -> TypedColumn:
    words = [*shapes.NULL_WORDS] if column.null_words else []
    if column.chosen is None:
        return TypedColumn(
            column.name, "VARCHAR", _without(column.cell, words), is_empty=column.cells == 0
        )
    if column.placeholders:
        words += shapes.PLACEHOLDERS
    if not words:
        return TypedColumn(column.name, column.chosen.type, column.chosen.value)
    cell, chosen = column.cell, column.chosen
    value = f"CASE WHEN trim({cell}) NOT IN ({_literals(words)}) THEN {chosen.value} END"
    return TypedColumn(column.name, chosen.type, value)


def _without(cell: str, words: Sequence[str]) -> str:
    return f"CASE WHEN {cell} NOT IN ({_literals(words)}) THEN {cell} END" if words else cell


def _literals(words: Sequence[str]) -> str:
    return ", ".join(f"'{word}'" for word in words)


def _examine(
    connection: DuckDBPyConnection, raw: RawTable, names: Sequence[str]
) -> dict[int, _Column]:
    """Every text column, examined. Indexes are those of `raw`."""
    texts = [
        i for i, guess in enumerate(raw.guesses) if guess != "none" and raw.types[i] == "VARCHAR"
    ]
    examined: dict[int, _Column] = {}
    for start in range(0, len(texts), _AT_ONCE):
        chunk = texts[start : start + _AT_ONCE]
        cells = ", ".join(f"c{index + 1}" for index in chunk)
        rows = connection.execute(
            f"SELECT {cells} FROM {raw.relation} LIMIT {_LOOK_ROWS}"  # noqa: S608 our own names
        ).fetchall()
        columns: list[_Column] = []
        for position, index in enumerate(chunk):
            seen = [row[position] for row in rows if row[position] is not None]
            columns.append(_candidate_types(raw, index, names[index], seen))
        _verify(connection, raw.relation, columns)
        examined.update(zip(chunk, columns, strict=True))
    return examined


def _candidate_types(raw: RawTable, index: int, name: str, seen: Sequence[str]) -> _Column:
    """What the first cells leave possible."""
    cell = f"c{index + 1}"
    guess = raw.guesses[index]
    skipped = {*shapes.NULL_WORDS, *shapes.PLACEHOLDERS}
    words = [one for value in seen if (one := value.strip()) not in skipped]
    is_padded = any(value != value.strip() for value in seen)
    tries: list[TypeCandidate] = []
    for shape in shapes.VALUE_FORMATS:
        if guess == "dates" and not shape.is_text_date:
            continue
        if not _is_allowed(shape, raw) or not all(shape.matches(word) for word in words):
            continue
        tries += _tries(shape, cell, words)
    if is_padded:
        tries = [one for one in tries if one.cell != cell]
    if guess == "dates":  # a string of JSON that says NULL says so
        return _Column(cell, name, tries, "FALSE")
    is_null_word = f"{cell} IN ({_literals(shapes.NULL_WORDS)})"
    return _Column(cell, name, tries, is_null_word, looks=_looks(words))


def _looks(words: Sequence[str]) -> str | None:
    """Why cells of digits are text all the same."""
    if not words or not all(word.isdigit() and word.isascii() for word in words):
        return None
    if any(len(word) > 1 and word[0] == "0" for word in words):
        return "Kept as text for the leading zeros"
    if any(len(word) > 18 for word in words):
        return "Kept as text, the numbers are too long for 64 bits"
    return None


def _is_allowed(shape: ValueFormat, raw: RawTable) -> bool:
    """With a decimal comma possible, `1,234` could be either number: it is not decided."""
    if shape is shapes.DECIMAL_COMMA:
        return raw.may_have_decimal_comma
    return shape is not shapes.GROUPED or not raw.may_have_decimal_comma


def _tries(shape: ValueFormat, cell: str, words: Sequence[str]) -> list[TypeCandidate]:
    """The shape with the cell as it is, then trimmed; quick forms of decimals come first."""
    tries: list[TypeCandidate] = []
    for form in (cell, f"trim({cell})"):
        if shape is shapes.DECIMAL:
            tries += _quick_decimals(form, words)
        tries.append(
            TypeCandidate(
                shape,
                form,
                shape.type,
                shape.fits.replace("{c}", form),
                shape.value.replace("{c}", form),
            )
        )
    return tries


def _quick_decimals(form: str, words: Sequence[str]) -> list[TypeCandidate]:
    """A form that one cast there and back proves, where all have as many places."""
    scales = {len(word.partition(".")[2]) for word in words}
    if len(scales) != 1 or not 0 < (scale := scales.pop()) <= _QUICK_PLACES:
        return []
    sql_type = f"DECIMAL(18,{scale})"
    fits = f"TRY_CAST({form} AS {sql_type})::VARCHAR = {form}"
    return [TypeCandidate(shapes.DECIMAL, form, sql_type, fits, f"CAST({form} AS {sql_type})")]


def _verify(connection: DuckDBPyConnection, relation: str, columns: list[_Column]) -> None:
    """Ask the database about every cell: first the likeliest form, then all others at once."""
    questions: list[str] = []
    for one in columns:
        first = one.tries[0].fits if one.tries else "FALSE"
        questions += [f"{one.cell} IS NOT NULL", one.null_words_are, first]
    counts = count_matching(connection, relation, questions)
    for position, column in enumerate(columns):
        column.filled, column.null_words, fitting = counts[position * 3 : position * 3 + 3]
        if column.tries and fitting:
            _choose(connection, relation, column, column.tries[0], fitting)
    rest = [(one, other) for one in columns if _is_open(one) for other in one.tries[1:]]
    counts = count_matching(connection, relation, [other.fits for _, other in rest])
    for (column, one), fitting in zip(rest, counts, strict=True):
        if _is_open(column) and fitting:
            _choose(connection, relation, column, one, fitting)


def _is_open(column: _Column) -> bool:
    return column.chosen is None and column.reason_for_text is None and column.cells > 0


def _choose(
    connection: DuckDBPyConnection, relation: str, column: _Column, one: TypeCandidate, fitting: int
) -> None:
    """Take the form if all cells have it, but for a minority of placeholders."""
    missing = column.cells - fitting
    if missing * 2 >= column.cells:
        return
    if missing:
        words = _literals(shapes.PLACEHOLDERS)
        [placeholders] = count_matching(connection, relation, [f"trim({column.cell}) IN ({words})"])
        if placeholders != missing or one.type == "BOOLEAN" or column.null_words_are == "FALSE":
            return
    column.reason_for_text = reason_for_text(connection, relation, one, fitting)
    if column.reason_for_text is None:
        column.chosen = exact_number(connection, relation, one)
        column.placeholders = missing


def _add_notes(notes: list[str], columns: Sequence[_Column]) -> None:
    """Say what was taken for what, one sentence for all columns it is true of."""
    said: defaultdict[str, list[str]] = defaultdict(list)
    for one in columns:
        if one.null_words:
            said["The word NULL was read as no value"].append(one.name)
        if one.chosen and one.placeholders:
            said["'N/A', '-' and the like were read as no value"].append(one.name)
        if one.chosen and one.chosen.shape.note:
            said[one.chosen.shape.note].append(one.name)
        if one.chosen is None and (reason := one.reason_for_text or one.looks):
            said[reason].append(one.name)
    notes.extend(f"{sentence}: {listed(names)}." for sentence, names in said.items())
