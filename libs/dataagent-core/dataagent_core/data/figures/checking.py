"""Looks for each figure of an answer in the results of its run.

A figure is verified when it is a cell at the precision shown, a count, or declared arithmetic over
cells; it is unbacked otherwise. What the question itself says is no claim.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from functools import cached_property
from heapq import nsmallest
from typing import Any

from dataagent_core.data.figures.arithmetic import MAX_ANCHORS, TableContext, candidates
from dataagent_core.data.figures.context import (
    ROWS_IN_A_STEP,
    ColumnNames,
    Passage,
    Sentence,
    TextHints,
    TextSlice,
    clause_span,
    words_of,
)
from dataagent_core.data.figures.extraction import MAX_TEXT, Figure, FigureKind, find_figures
from dataagent_core.data.figures.index import (
    ColumnSummary,
    IndexedTable,
    NumberCell,
    ResultIndex,
    ResultTable,
    ValueRange,
    WorkBudget,
    WorkBudgetExceeded,
    equal_cells,
    needs_exact,
    value_range,
)

MAX_FIGURES = 1_000  # of one answer
INFORMATIVE = 3  # a figure of so many digits is not met by chance
_PERCENT = Decimal("0.01")
_NO_WORDS = TextHints("").within(0, 0)
_COUNTS = frozenset({"row_count", "count", "distinct"})
_WORD_BEFORE = re.compile(r"([^\W\d]+|[\u3400-\u9fff])\W{0,2}$")
_WORD_AFTER = re.compile(r"\W{0,2}([^\W\d]+)")


@dataclass(frozen=True, slots=True)
class Evidence:
    """What backs a figure: a cell, or an expression over cells."""

    artifact_id: str
    how: str  # cell, label, row_count, sum, mean, difference, share, …
    row: int | None = None
    column: str | None = None
    expression: str | None = None


@dataclass(frozen=True, slots=True)
class VerifiedFigure:
    """A figure with what backs it."""

    figure: Figure
    evidence: Evidence


@dataclass(frozen=True, slots=True)
class UnbackedFigure:
    """A figure that nothing backs. `reason` is `not_found` or `other_row`."""

    figure: Figure
    reason: str


@dataclass(frozen=True, slots=True)
class FigureReport:
    """Every claim of an answer.

    `unchecked` are figures that were not looked up, since the answer has too many or the check was
    too much work. `is_complete` is false when there are such, when the answer is longer than what
    is read of it, or when a result was too large to read.
    """

    verified: tuple[VerifiedFigure, ...]
    unbacked: tuple[UnbackedFigure, ...]
    unchecked: tuple[Figure, ...]
    is_complete: bool


def check_figures(text: str, question: str, results: Sequence[ResultTable]) -> FigureReport:
    """Look each figure of `text` up in `results`; figures of `question` are not claims.

    The work is bounded: what is left of a very long answer is reported as unchecked.
    """
    index = ResultIndex(results)
    figures = find_figures(text)
    check = _FigureCheck(text[:MAX_TEXT], index, figures, question)
    return check.report(is_cut=len(text) > MAX_TEXT)


@dataclass(frozen=True, slots=True)
class _FigureContext:
    """A figure with the words around it."""

    figure: Figure
    sentence: Sentence
    words: TextSlice  # of its clause


class _FigureCheck:
    """One answer against one run's results."""

    def __init__(
        self, text: str, index: ResultIndex, figures: Sequence[Figure], question: str
    ) -> None:
        self._text = text
        self._index = index
        self._figures = figures
        self._question = question
        self._hints = TextHints(text)
        self._budget = WorkBudget()
        self._columns = [ColumnNames(table) for table in index.tables]
        self._words: dict[int, frozenset[str]] = {}  # by sentence
        self._in_play: dict[tuple[int, int], tuple[int, ...]] = {}  # by table and sentence

    def report(self, *, is_cut: bool) -> FigureReport:
        """First cells, then what follows from cells of rows that are now known to be meant.

        `is_cut` says that the answer goes on: its last sentence may be half a figure.
        """
        found: dict[int, Evidence] = {}
        missed: dict[int, str] = {}
        knows_all_labels = False
        with suppress(WorkBudgetExceeded):
            self._passage = Passage(self._hints, self._index, self._figures, self._budget)
            knows_all_labels = self._passage.knows_all_labels
            places = self._places(is_cut=is_cut)
            for at, place in enumerate(places):
                if (evidence := self._direct(place)) is not None:
                    found[at] = evidence
            self._note_cells(places, found)
            for at, place in enumerate(places):
                if at in found:
                    continue
                if (evidence := self._derived(place)) is not None:
                    found[at] = evidence
                else:
                    missed[at] = self._reason(place)
        claims = [
            (at, figure)
            for at, figure in enumerate(self._figures)
            if not self._is_in_question(figure) and not self._is_name(found.get(at))
        ]
        unchecked = tuple(one for at, one in claims if at not in found and at not in missed)
        return FigureReport(
            tuple(VerifiedFigure(figure, found[at]) for at, figure in claims if at in found),
            tuple(UnbackedFigure(figure, missed[at]) for at, figure in claims if at in missed),
            unchecked,
            self._index.is_complete and knows_all_labels and not is_cut and not unchecked,
        )

    def _places(self, *, is_cut: bool) -> list[_FigureContext]:
        """The figures that are looked up."""
        places: list[_FigureContext] = []
        for figure in self._figures[:MAX_FIGURES]:
            sentence = self._passage.sentence_of(figure)
            if is_cut and sentence is self._passage.sentences[-1]:
                break
            words = self._hints.within(*clause_span(self._text, figure))
            places.append(_FigureContext(figure, sentence, words))
        return places

    def _direct(self, place: _FigureContext) -> Evidence | None:
        self._budget.spend()
        return (
            self._label(place)
            or self._cell(place)
            or self._summary(place)
            or self._year(place.figure)
        )

    def _label(self, place: _FigureContext) -> Evidence | None:
        """A number that is part of a name in the results: Boeing 747."""
        mention = place.sentence.mention_around(place.figure)
        if mention is None:
            return None
        artifact_id = self._index.tables[mention.table].artifact_id
        return Evidence(artifact_id, "label", row=min(mention.rows))

    def _cells(self, place: _FigureContext) -> Iterator[NumberCell]:
        is_less = place.sentence.words.has_hint("decline")
        return equal_cells(place.figure, self._index, self._budget, may_lose_sign=is_less)

    def _cell(self, place: _FigureContext) -> Evidence | None:
        meant: dict[int, tuple[frozenset[int] | None, int | None]] = {}  # by table: rows, column
        for cell in self._cells(place):
            table = self._index.tables[cell.table]
            if cell.table not in meant:
                said = self._columns[cell.table].named_after(self._text, place.figure)
                meant[cell.table] = self._bound(place, cell.table), said
            rows, said = meant[cell.table]
            if (rows is None or cell.row in rows) and said in (None, cell.column):
                name = table.columns[cell.column].name
                return Evidence(table.artifact_id, "cell", row=cell.row, column=name)
        return None

    def _bound(self, place: _FigureContext, table: int) -> frozenset[int] | None:
        return place.sentence.bound_rows(table, place.figure, place.words)

    def _summary(self, place: _FigureContext) -> Evidence | None:
        figure, wanted = place.figure, value_range(place.figure)
        part = wanted.times(_PERCENT) if figure.kind == "percent" else wanted
        ranges = {(wanted.low, wanted.high), (part.low, part.high)}
        for one in self._index.summaries_between(*ranges):
            self._budget.spend()
            table = self._index.tables[one.table]
            if not _reads_as(one, wanted, figure, table):
                continue
            said = self._columns[one.table].named_after(self._text, figure)
            is_said = said is not None and said == one.column
            if _may_be(one, figure, _NO_WORDS if is_said else place.words):
                column = table.columns[one.column].name if one.column is not None else None
                text = f"{one.name}({column or '*'})"
                return Evidence(table.artifact_id, one.name, column=column, expression=text)
        return None

    def _year(self, figure: Figure) -> Evidence | None:
        if figure.kind != "plain" or not re.fullmatch(r"(?:19|20)\d\d", figure.text):
            return None
        return self._years.get(figure.text)

    @cached_property
    def _years(self) -> dict[str, Evidence]:
        """Where each year is first met in the results."""
        years: dict[str, Evidence] = {}
        for table in self._index.tables:
            for row, cells in enumerate(table.texts):
                for year in filter(None, map(_year_of, cells)):
                    years.setdefault(year, Evidence(table.artifact_id, "label", row=row))
        return years

    def _note_cells(self, places: Sequence[_FigureContext], found: Mapping[int, Evidence]) -> None:
        """Which cells the figures of each sentence were found in, by table."""
        self._near: defaultdict[tuple[int, str], list[Evidence]] = defaultdict(list)
        for at, evidence in found.items():
            if evidence.how == "cell":
                self._near[places[at].sentence.at, evidence.artifact_id].append(evidence)

    def _derived(self, place: _FigureContext) -> Evidence | None:
        figure, words = place.figure, place.words
        parts = [self._part(at, place) for at in range(len(self._index.tables))]
        if figure.kind == "percent" and not (words.has_hint("change") or words.has_hint("share")):
            words = place.sentence.words
        wanted, exact = value_range(figure), needs_exact(figure)
        factor = 10 if figure.unit == "‰" else 1
        for one in candidates(figure, parts, words):
            value = one.value * factor
            is_equal = abs(value) == abs(figure.value)
            if is_equal or (not exact and (wanted.contains(value) or wanted.contains(-value))):
                return Evidence(
                    one.artifact_id, one.how, column=one.column, expression=one.expression
                )
        return None

    def _part(self, at: int, place: _FigureContext) -> TableContext:
        """The rows and columns of a table that a figure's sentence names or has figures from."""
        table, sentence = self._index.tables[at], place.sentence
        near = self._near.get((sentence.at, table.artifact_id), [])
        columns = self._columns_in_play(at, sentence)
        self._budget.spend(len(columns) + len(near))
        own = sentence.rows_within(at, place.words.start, place.words.end)
        named = sentence.rows_of(at)
        rows = own if len(own) > 1 else named | {one.row for one in near if one.row is not None}
        before = self._passage.rows_before(sentence, at) if len(rows) < 2 else frozenset[int]()
        self._budget.spend(len(rows) // ROWS_IN_A_STEP)
        anchors = tuple(nsmallest(MAX_ANCHORS, rows))
        bound = self._bound(place, at)
        return TableContext(
            table=table,
            budget=self._budget,
            columns=columns,
            named=anchors,
            before=tuple(sorted(before)),
            bound=anchors if bound is None else tuple(row for row in anchors if row in bound),
            count=len(bound or ()),
            is_top=sentence.words.has_hint("top"),
        )

    def _columns_in_play(self, at: int, sentence: Sentence) -> tuple[int, ...]:
        """The columns with numbers that a sentence, the one before it or the question names."""
        known = self._in_play.get((at, sentence.at))
        if known is None:
            table = self._index.tables[at]
            near = self._near.get((sentence.at, table.artifact_id), [])
            self._budget.spend(len(table.columns) + len(near))
            texts = (
                self._words_of(sentence.at),
                self._words_of(sentence.at - 1),
                self._question_words,
            )
            names = {one.column for one in near if one.column}
            columns = self._columns[at].in_play(*texts, known=names)
            known = tuple(column for column in columns if table.column(column))
            self._in_play[at, sentence.at] = known
        return known

    def _words_of(self, at: int) -> frozenset[str]:
        """The words of a sentence; none if there is no such."""
        if at not in self._words:
            text = self._passage.sentences[at].words.text if at >= 0 else ""
            self._words[at] = words_of(text)
        return self._words[at]

    @cached_property
    def _question_words(self) -> frozenset[str]:
        return words_of(self._question[:MAX_TEXT])

    def _is_name(self, evidence: Evidence | None) -> bool:
        """Whether a number turned out to be part of a name or a year in the results."""
        return evidence is not None and evidence.how == "label"

    def _is_in_question(self, figure: Figure) -> bool:
        """Whether a figure only repeats the question: the same number of the same thing."""
        question_figure = self._question_figures.get((figure.value, figure.kind))
        if question_figure is None:
            return False
        return question_figure.is_informative or bool(
            _neighbours(self._text, figure) & question_figure.neighbours
        )

    @cached_property
    def _question_figures(self) -> dict[tuple[Decimal, FigureKind], _QuestionFigure]:
        """The figures of the question."""
        figures: dict[tuple[Decimal, FigureKind], _QuestionFigure] = {}
        for figure in find_figures(self._question):
            one = figures.setdefault((figure.value, figure.kind), _QuestionFigure())
            one.is_informative |= figure.significant_digits >= INFORMATIVE
            one.neighbours |= _neighbours(self._question, figure)
        return figures

    def _reason(self, place: _FigureContext) -> str:
        return "other_row" if next(self._cells(place), None) else "not_found"


@dataclass(slots=True)
class _QuestionFigure:
    """A number that a question names, and the words beside it."""

    is_informative: bool = False
    neighbours: set[str] = field(default_factory=set[str])


def _reads_as(
    summary: ColumnSummary, wanted: ValueRange, figure: Figure, table: IndexedTable
) -> bool:
    """Whether a summary has the figure's value; a column of percentages may hold fractions."""
    if figure.kind != "percent":
        return wanted.contains(summary.value)
    if summary.column is None or not table.is_percentage(summary.column):
        return False
    is_fraction = table.has_fractions(summary.column)
    return wanted.contains(summary.value * 100 if is_fraction else summary.value)


def _may_be(summary: ColumnSummary, figure: Figure, words: TextSlice) -> bool:
    """Whether a figure may be read as this summary, by its kind and the words around it."""
    name = summary.name
    if name in ("min", "max", "median"):
        return words.has_hint(name) and figure.kind in ("plain", "percent")
    if figure.kind == "percent":
        return name == "mean"
    if figure.kind != "plain" or (needs_exact(figure) and summary.value != figure.value):
        return False
    is_informative = figure.significant_digits >= INFORMATIVE
    if name in _COUNTS:
        return figure.value == summary.value or is_informative
    is_average, is_total = words.has_hint("average"), words.has_hint("total")
    said, other = (is_average, is_total) if name == "mean" else (is_total, is_average)
    return said or (is_informative and not other)


def _year_of(cell: str | date | None) -> str | None:
    if isinstance(cell, date):
        return str(cell.year)
    return cell[:4] if cell and re.match(r"(?:19|20)\d\d(?:-|$)", cell) else None


def _neighbours(text: str, figure: Figure) -> set[str]:
    before = _WORD_BEFORE.search(text[max(0, figure.start - 20) : figure.start])
    after = _WORD_AFTER.match(text[figure.end : figure.end + 20])
    return {found[1].lower()[:4] for found in (before, after) if found}


def to_metadata(report: FigureReport) -> dict[str, Any]:  # Any: JSON for an event
    """The report as an event carries it."""
    return {
        "verified": [
            {**_figure_data(one.figure), **_evidence_data(one.evidence)} for one in report.verified
        ],
        "unbacked": [{**_figure_data(one.figure), "reason": one.reason} for one in report.unbacked],
        "unchecked": len(report.unchecked),
        "is_complete": report.is_complete,
    }


def _figure_data(figure: Figure) -> dict[str, Any]:  # Any: JSON
    value: Decimal = figure.value
    return {
        "text": figure.text,
        "value": format(value.normalize(), "f") if value else "0",
        "start": figure.start,
        "end": figure.end,
        "kind": figure.kind,
    }


def _evidence_data(evidence: Evidence) -> dict[str, Any]:  # Any: JSON
    known: dict[str, Any] = {
        "artifact_id": evidence.artifact_id,
        "how": evidence.how,
        "row": evidence.row,
        "column": evidence.column,
        "expression": evidence.expression,
    }
    return {key: item for key, item in known.items() if item is not None}
