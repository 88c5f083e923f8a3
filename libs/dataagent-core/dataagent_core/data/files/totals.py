"""Leaves out the rows of a table that sum up others, found by their label and their numbers.

A row is a total if a cell says so (合计, Grand total, East Total) and its numbers are sums of rows
above it, since the last total or from further up; or if it is the last row, says so in plain words
and has nothing where other rows have a key. A product called Total, with its keys and a value of
its own, is data. Works on cells as they are written, before columns have types: a label must not
turn a column of dates into text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from duckdb import DuckDBPyConnection

from dataagent_core.data.files.types import DUCKDB, RawTable

_SPACES = " \t\u3000\u00a0"
_LABEL = (  # for DuckDB and for Python
    rf"(?i)total|summe|gesamt|[合总小共][{_SPACES}]*计|汇[{_SPACES}]*总|总[{_SPACES}]*和"
    rf"|^[{_SPACES}]*sum[{_SPACES}:：]*$"
)
"""What a label has in it."""
_SIGNS = "%￥¥$€ "
_PLAIN = {
    *("total", "totals", "grandtotal", "subtotal", "sub-total", "sum", "合计", "总计", "小计"),
    *("共计", "汇总", "总和", "summe", "gesamt", "gesamtsumme", "zwischensumme", "insgesamt"),
}
"""A label that is nothing else."""
_ALSO_NAMES = {"total", "totals", "sum", "gesamt", "汇总"}
"""Plain labels that could be the name of something."""
_LABEL_LENGTH = 40
_LABEL_COLUMNS = 30
_MAX_CANDIDATES = 20_000
_MAX_BLOCKS = 50
"""So many totals back a sum may reach."""
_USUAL = 0.9
_EXACT = 1e-11
_SHOWN_ROWS = 5
_SHOWN_CELLS = 6
_INTO = "_data"

_Numbers = list[float | None]


@dataclass(slots=True)
class _Block:
    """Rows one after another: how many, and the sum of each column's numbers."""

    rows: int
    sums: list[float]

    def add(self, other: _Block) -> None:
        self.rows += other.rows
        self.sums = [a + b for a, b in zip(self.sums, other.sums, strict=True)]


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A row with a label. `above` is the row before it."""

    place: int
    label_at: int
    label: str
    cells: tuple[str | None, ...]
    above: tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class _TableProfile:
    """What the other rows are like: those between the candidates, and which columns are what."""

    blocks: list[_Block]  # before the first candidate, between it and the second, …
    are_numbers: list[bool]
    are_usually_filled: list[bool]


def without_totals(connection: DuckDBPyConnection, raw: RawTable) -> RawTable:
    """The table without rows that are totals of others; adds to `raw.left_out` which they were."""
    labels = _label_tests(raw)
    if len(raw.types) < 2 or not labels:
        return raw
    is_labelled = " OR ".join(labels.values())
    found = connection.execute(
        f"SELECT count(*) FROM {raw.relation} WHERE {is_labelled}"  # noqa: S608 our own names
    ).fetchone()
    if not found or not 0 < int(found[0]) <= _MAX_CANDIDATES:
        return raw
    candidates = _candidates(connection, raw, is_labelled, list(labels))
    survey = _profile(connection, raw, [one.place for one in candidates])
    totals = list(_totals(candidates, survey, raw))
    if not totals:
        return raw
    places = ", ".join(str(one.place) for one in totals)
    connection.execute(
        f"CREATE OR REPLACE TEMP TABLE {_INTO} AS SELECT * EXCLUDE (place) "  # noqa: S608 our names
        f"FROM ({_numbered(raw)}) WHERE place NOT IN ({places})"
    )
    raw.left_out.append(_sentence(totals))
    return replace(raw, relation=_INTO)


def _label_tests(raw: RawTable) -> dict[int, str]:
    """For each column that may hold a label: SQL that says whether its cell is one."""
    texts = [index for index, kind in enumerate(raw.types) if kind == "VARCHAR"]
    tests: dict[int, str] = {}
    for index in texts[:_LABEL_COLUMNS]:
        cell = f"c{index + 1}"
        begins = f"({cell} >= 'A' OR starts_with({cell}, ' '))"  # passes numbers and dates over
        short = f"length({cell}) <= {_LABEL_LENGTH}"
        tests[index] = (
            f"({begins} AND {short} AND regexp_matches({cell}, {DUCKDB.literal(_LABEL)}))"
        )
    return tests


def _plain(cell: str) -> str:
    return cell.translate(str.maketrans("", "", f"{_SPACES}:：")).lower()


def _is_label(cell: str | None) -> bool:
    return cell is not None and len(cell) <= _LABEL_LENGTH and bool(re.search(_LABEL, cell))


def _numbered(raw: RawTable) -> str:
    return f"SELECT row_number() OVER () AS place, * FROM {raw.relation}"  # noqa: S608 our names


def _candidates(
    connection: DuckDBPyConnection, raw: RawTable, is_labelled: str, label_columns: Sequence[int]
) -> list[_Candidate]:
    cells = [f"CAST(c{i} AS VARCHAR)" for i in range(1, len(raw.types) + 1)]
    above = [f"lag({cell}) OVER ()" for cell in cells]
    rows = connection.execute(
        f"SELECT place, {', '.join(f'x{i}' for i in range(2 * len(cells)))} FROM ("  # noqa: S608
        f"SELECT *, {', '.join(f'{one} AS x{i}' for i, one in enumerate([*cells, *above]))} "
        f"FROM ({_numbered(raw)})) WHERE {is_labelled} ORDER BY place"
    ).fetchall()
    found: list[_Candidate] = []
    for place, *values in rows:
        own, before = tuple(values[: len(cells)]), tuple(values[len(cells) :])
        label_at = next(index for index in label_columns if _is_label(own[index]))
        found.append(_Candidate(int(place), label_at, str(own[label_at]), own, before))
    return found


def _profile(connection: DuckDBPyConnection, raw: RawTable, places: Sequence[int]) -> _TableProfile:
    """Look at all rows that are no candidates, once."""
    width = len(raw.types)
    numbers = [_number(f"c{i}", raw) for i in range(1, width + 1)]
    parts = ["count(*)"]
    for i, number in enumerate(numbers, start=1):
        parts += [f"count(c{i})", f"count({number})", f"coalesce(sum({number}), 0)"]
    marks = ", ".join(f"({place}, {at})" for at, place in enumerate(places, start=1))
    rows = connection.execute(
        f"""SELECT coalesce(mark.number, 0), {", ".join(parts)}
        FROM ({_numbered(raw)}) AS r
        ASOF LEFT JOIN (VALUES {marks}) AS mark(start, number) ON r.place >= mark.start
        WHERE mark.start IS NULL OR mark.start <> r.place GROUP BY 1"""  # noqa: S608 our own names
    ).fetchall()
    blocks = [_Block(0, [0.0] * width) for _ in range(len(places) + 1)]
    filled, counted = [0] * width, [0] * width
    for number, count, *figures in rows:
        sums = [float(figures[3 * i + 2]) for i in range(width)]
        blocks[number] = _Block(int(count), sums)
        for i in range(width):
            filled[i] += figures[3 * i]
            counted[i] += figures[3 * i + 1]
    total = sum(block.rows for block in blocks)
    return _TableProfile(
        blocks,
        [filled[i] > 0 and counted[i] >= _USUAL * filled[i] for i in range(width)],
        [total > 0 and filled[i] >= _USUAL * total for i in range(width)],
    )


def _number(cell: str, raw: RawTable) -> str:
    """SQL of the cell's number, NULL where it has none."""
    text = f"translate(CAST({cell} AS VARCHAR), '{_SIGNS}', '')"
    plain = f"replace({text}, ',', '')"
    if raw.may_have_decimal_comma:
        comma = f"replace(replace({text}, '.', ''), ',', '.')"
        plain = f"CASE WHEN contains({text}, ',') THEN {comma} ELSE {text} END"
    number = f"TRY_CAST({plain} AS DOUBLE)"
    return f"CASE WHEN isfinite({number}) THEN {number} END"


def _parsed(cell: str | None, raw: RawTable) -> float | None:
    """As `_number`, of one cell."""
    if not cell:
        return None
    cell = cell.translate(str.maketrans("", "", _SIGNS))
    plain = cell.replace(",", "")
    if raw.may_have_decimal_comma and "," in cell:
        plain = cell.replace(".", "").replace(",", ".")
    try:
        value = float(plain)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _totals(
    candidates: Sequence[_Candidate], survey: _TableProfile, raw: RawTable
) -> Iterator[_Candidate]:
    """Those of the rows that are totals, judged from the top: what is data counts further down."""
    empty = [0.0] * len(raw.types)
    whole = _Block(0, empty)
    for block in survey.blocks:
        whole.add(block)
    blocks = [_Block(0, empty)]
    for at, one in enumerate(candidates):
        blocks[-1].add(survey.blocks[at])
        values = [
            _parsed(cell, raw) if survey.are_numbers[i] and i != one.label_at else None
            for i, cell in enumerate(one.cells)
        ]
        is_last = not any(block.rows for block in survey.blocks[at + 1 :])
        if _is_sum(one, values, [*_reaching_up(blocks), whole], survey) or (
            is_last and _is_bare(one, survey)
        ):
            yield one
            blocks = [*blocks[-_MAX_BLOCKS:], _Block(0, empty)]
        else:
            blocks[-1].add(_Block(1, [value or 0.0 for value in values]))


def _reaching_up(blocks: Sequence[_Block]) -> Iterator[_Block]:
    """The rows since the last total, since the one before it, and so on."""
    reached = _Block(0, [0.0] * len(blocks[0].sums))
    for block in reversed(blocks):
        reached.add(block)
        yield _Block(reached.rows, reached.sums)


def _is_sum(
    one: _Candidate, values: _Numbers, scopes: Sequence[_Block], survey: _TableProfile
) -> bool:
    """Whether the numbers are sums of some rows; in a complete row, all that repeat no key."""
    is_complete = bool(_filled_keys(one, survey)) or not _lacks(one, survey)
    least = 2 if is_complete and not _is_never_a_name(one) else 1
    given = [(i, value) for i, value in enumerate(values) if value is not None]
    for scope in scopes:
        if scope.rows < least:
            continue
        sums = [i for i, value in given if value and _equals(value, scope.sums[i], one.cells[i])]
        others = [
            i
            for i, value in given
            if i not in sums and (value or scope.sums[i]) and one.cells[i] != one.above[i]
        ]
        if sums and not (is_complete and others):
            return True
    return False


def _equals(value: float, total: float, written: str | None) -> bool:
    """Whether a number is the sum, as exactly as it is written."""
    places = len((written or "").replace(",", ".").rpartition(".")[2]) if _has_point(written) else 0
    half = 0.5 * 10.0**-places if places else 0.0
    return abs(value - total) <= max(half, _EXACT * abs(total))


def _has_point(written: str | None) -> bool:
    return written is not None and ("." in written or "," in written)


def _is_bare(one: _Candidate, survey: _TableProfile) -> bool:
    """Whether it is a plain label in a row without keys, where other rows have more in it."""
    if _plain(one.label) not in _PLAIN or _filled_keys(one, survey):
        return False
    return _lacks(one, survey) or _is_never_a_name(one)


def _is_never_a_name(one: _Candidate) -> bool:
    return _plain(one.label) in _PLAIN - _ALSO_NAMES


def _lacks(one: _Candidate, survey: _TableProfile) -> bool:
    """Whether a column is empty that other rows usually have filled."""
    return any(
        is_usual and one.cells[i] is None and i != one.label_at
        for i, is_usual in enumerate(survey.are_usually_filled)
    )


def _filled_keys(one: _Candidate, survey: _TableProfile) -> list[int]:
    """The columns of words or dates, but for the label's own, in which the row has something."""
    return [
        i
        for i, cell in enumerate(one.cells)
        if cell is not None and i != one.label_at and not survey.are_numbers[i]
    ]


def _sentence(totals: Sequence[_Candidate]) -> str:
    shown = "; ".join(_shown(one) for one in totals[:_SHOWN_ROWS])
    more = f"; and {len(totals) - _SHOWN_ROWS} more" if len(totals) > _SHOWN_ROWS else ""
    noun = "row that sums" if len(totals) == 1 else "rows that sum"
    return f"{len(totals)} {noun} up others, no data: {shown}{more}."


def _shown(one: _Candidate) -> str:
    cells = [cell for cell in one.cells if cell is not None][:_SHOWN_CELLS]
    return "“" + " · ".join(cell[:_LABEL_LENGTH] for cell in cells) + "”"
