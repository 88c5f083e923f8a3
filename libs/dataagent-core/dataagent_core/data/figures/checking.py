"""Each figure of an answer, looked for in the results of its run.

A figure is verified when it is a cell at the precision shown, a count, or declared arithmetic over
cells; it is unbacked otherwise. What the question said itself is no claim. Above: whoever sends
the answer, with `to_metadata` for its events. Below: `reading.py` finds figures, `index.py` holds
results, `labels.py` tells rows, `arithmetic.py` what follows from them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cached_property
from typing import Any

from dataagent_core.data.figures.arithmetic import MAX_ANCHORS, Part, candidates
from dataagent_core.data.figures.focus import clause, clause_span, column_said, columns_in_play
from dataagent_core.data.figures.hints import says
from dataagent_core.data.figures.index import Cell, Index, IndexedTable, ResultTable, Summary
from dataagent_core.data.figures.labels import Sentence, bound_rows, rows_before, sentences
from dataagent_core.data.figures.matching import PERCENT_NAME, Span, equal_cells, needs_exact, span
from dataagent_core.data.figures.reading import Figure, find_figures

MAX_FIGURES = 1_000  # of one answer
INFORMATIVE = 3  # a figure of so many digits is not met by chance
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
class Verified:
    """A figure with what backs it."""

    figure: Figure
    evidence: Evidence


@dataclass(frozen=True, slots=True)
class Unbacked:
    """A figure that nothing backs. `reason` is `not_found` or `other_row`."""

    figure: Figure
    reason: str


@dataclass(frozen=True, slots=True)
class FigureReport:
    """Every claim of an answer. `is_complete` is false when a result was too large to read."""

    verified: tuple[Verified, ...]
    unbacked: tuple[Unbacked, ...]
    is_complete: bool


def check_figures(text: str, question: str, results: Sequence[ResultTable]) -> FigureReport:
    """Look each figure of `text` up in `results`; figures of `question` are not claims.

    Of a very long text only the first thousand figures are looked up.
    """
    index = Index(results)
    figures = find_figures(text)[:MAX_FIGURES]
    return _Check(text, index, figures, question).report()


class _Check:
    """One answer against one run's results."""

    def __init__(self, text: str, index: Index, figures: Sequence[Figure], question: str) -> None:
        self._text = text
        self._index = index
        self._figures = figures
        self._question = question
        self._asked = find_figures(question)
        self._sentences = sentences(text, index)

    def report(self) -> FigureReport:
        """First cells, then what follows from cells of rows that are now known to be meant."""
        found: dict[int, Evidence] = {}
        for at, figure in enumerate(self._figures):
            evidence = self._direct(figure)
            if evidence is not None:
                found[at] = evidence
        for at, figure in enumerate(self._figures):
            if at not in found and (evidence := self._derived(figure, found)) is not None:
                found[at] = evidence
        claims = [
            at
            for at, figure in enumerate(self._figures)
            if not self._is_asked(figure) and not self._is_name(found.get(at))
        ]
        return FigureReport(
            tuple(Verified(self._figures[at], found[at]) for at in claims if at in found),
            tuple(
                Unbacked(self._figures[at], self._reason(self._figures[at]))
                for at in claims
                if at not in found
            ),
            self._index.is_complete,
        )

    def _sentence(self, figure: Figure) -> Sentence:
        return next(one for one in self._sentences if one.start <= figure.start < one.end)

    def _direct(self, figure: Figure) -> Evidence | None:
        sentence = self._sentence(figure)
        return (
            self._label(figure, sentence)
            or self._cell(figure, sentence)
            or self._summary(figure, sentence)
            or self._year(figure)
        )

    def _label(self, figure: Figure, sentence: Sentence) -> Evidence | None:
        """A number that is part of a name in the results: Boeing 747."""
        for one in sentence.mentions:
            if one.start <= figure.start and figure.end <= one.end:
                artifact_id = self._index.tables[one.table].artifact_id
                return Evidence(artifact_id, "label", row=min(one.rows))
        return None

    def _cells(self, figure: Figure) -> list[Cell]:
        is_less = says("decline", self._sentence(figure).text)
        return equal_cells(figure, self._index, may_lose_sign=is_less)

    def _cell(self, figure: Figure, sentence: Sentence) -> Evidence | None:
        meant: dict[int, tuple[frozenset[int] | None, int | None]] = {}  # by table: rows, column
        for cell in self._cells(figure):
            table = self._index.tables[cell.table]
            if cell.table not in meant:
                rows = self._bound(figure, sentence, cell.table)
                meant[cell.table] = rows, column_said(table, self._text, figure)
            rows, said = meant[cell.table]
            if (rows is None or cell.row in rows) and said in (None, cell.column):
                name = table.columns[cell.column].name
                return Evidence(table.artifact_id, "cell", row=cell.row, column=name)
        return None

    def _bound(self, figure: Figure, sentence: Sentence, table: int) -> frozenset[int] | None:
        words = clause(self._text, figure)
        return bound_rows(figure, sentence, self._figures, table, words=words)

    def _summary(self, figure: Figure, sentence: Sentence) -> Evidence | None:
        wanted = span(figure)
        words = clause(self._text, figure)
        for table in self._index.tables:
            said = column_said(table, self._text, figure)
            for one in table.summaries:
                is_said = said is not None and said == one.column
                if _reads_as(one, wanted, figure, table) and _may_be(
                    one, figure, "" if is_said else words
                ):
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

    def _derived(self, figure: Figure, found: Mapping[int, Evidence]) -> Evidence | None:
        parts = [self._part(at, figure, found) for at in range(len(self._index.tables))]
        words = clause(self._text, figure)
        if figure.kind == "percent" and not (says("change", words) or says("share", words)):
            words = self._sentence(figure).text
        wanted, exact = span(figure), needs_exact(figure)
        factor = 10 if figure.unit == "‰" else 1
        for one in candidates(figure, parts, words):
            value = one.value * factor
            is_equal = abs(value) == abs(figure.value)
            if is_equal or (not exact and (wanted.holds(value) or wanted.holds(-value))):
                return Evidence(
                    one.artifact_id, one.how, column=one.column, expression=one.expression
                )
        return None

    def _part(self, at: int, figure: Figure, found: Mapping[int, Evidence]) -> Part:
        """The rows and columns of a table that a figure's sentence names or has figures from."""
        table, sentence = self._index.tables[at], self._sentence(figure)
        near = [
            evidence
            for place, evidence in found.items()
            if evidence.how == "cell"
            and evidence.artifact_id == table.artifact_id
            and sentence.start <= self._figures[place].start < sentence.end
        ]
        rows = sentence.rows_of(at) | {one.row for one in near if one.row is not None}
        start, end = clause_span(self._text, figure)
        own = sentence.rows_of(at, start, end)
        rows = own if len(own) > 1 else rows
        before = rows_before(sentence, self._sentences, at) if len(rows) < 2 else set[int]()
        named = tuple(sorted(rows)[:MAX_ANCHORS])
        bound = self._bound(figure, sentence, at)
        known = [one.column for one in near if one.column]
        texts = (sentence.text, self._before(sentence), self._question)
        columns = columns_in_play(table, *texts, known=known)
        return Part(
            table,
            tuple(column for column in columns if table.column(column)),
            named,
            tuple(sorted(before)),
            named if bound is None else tuple(row for row in named if row in bound),
            len(bound or ()),
            says("top", sentence.text),
        )

    def _before(self, sentence: Sentence) -> str:
        at = self._sentences.index(sentence)
        return self._sentences[at - 1].text if at else ""

    def _is_name(self, evidence: Evidence | None) -> bool:
        """Whether a number turned out to be part of a name or a year in the results."""
        return evidence is not None and evidence.how == "label"

    def _is_asked(self, figure: Figure) -> bool:
        """Whether a figure only repeats the question: the same number of the same thing."""
        for asked in self._asked:
            if (asked.value, asked.kind) != (figure.value, figure.kind):
                continue
            if asked.significant_digits >= INFORMATIVE:
                return True
            if _neighbours(self._text, figure) & _neighbours(self._question, asked):
                return True
        return False

    def _reason(self, figure: Figure) -> str:
        return "other_row" if self._cells(figure) else "not_found"


def _reads_as(summary: Summary, wanted: Span, figure: Figure, table: IndexedTable) -> bool:
    """Whether a summary has the figure's value; a column of percentages may hold fractions."""
    if figure.kind != "percent":
        return wanted.holds(summary.value)
    if summary.column is None or not PERCENT_NAME.search(table.columns[summary.column].name):
        return False
    is_fraction = table.has_fractions(summary.column)
    return wanted.holds(summary.value * 100 if is_fraction else summary.value)


def _may_be(summary: Summary, figure: Figure, words: str) -> bool:
    """Whether a figure may be read as this summary, by its kind and the words around it."""
    name = summary.name
    if name in ("min", "max", "median"):
        return says(name, words) and figure.kind in ("plain", "percent")
    if figure.kind == "percent":
        return name == "mean"
    if figure.kind != "plain" or (needs_exact(figure) and summary.value != figure.value):
        return False
    is_informative = figure.significant_digits >= INFORMATIVE
    if name in _COUNTS:
        return figure.value == summary.value or is_informative
    is_average, is_total = says("average", words), says("total", words)
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
