"""What a sentence is about: the rows and columns it names, and the arithmetic its words speak of.

A figure that stands with `Germany` must be one of Germany's row. Texts and dates of a result are
looked for in the answer; in a sentence where names and figures take turns, each figure belongs to
its own name, otherwise to any of the names in the sentence. A difference is only looked for where
the text speaks of one: every operation tried adds numbers that a wrong figure could match by
chance.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from itertools import groupby

from dataagent_core.data.figures.extraction import Figure
from dataagent_core.data.figures.index import IndexedTable, ResultIndex, WorkBudget

_GROWTH = (
    r"increas|\brose\b|\bris(?:e|en|es|ing)\b|grew|grow|\bup\b|gain|higher|\bmore\b|ahead|\blead|"
    r"exceed|jump|above|larger|bigger|greater|(?<!最)[多高]|增|升|涨|超|领先"
)
_DECLINE = (
    r"decreas|drop|declin|\bfell\b|\bfall|\bdown\b|\bloss|\blost\b|lower|shrank|shrink|negative|"
    r"\bless\b|fewer|below|behind|smaller|overdrawn|slip|slid|\bdip|减|降|跌|亏|(?<!最)[少低]|下滑|回落|负"
)
_EITHER = (
    r"versus|\bvs\b|against|compar|\bas (?:many|much)\b|相比|对比|"
    r"chang|differen|\bgap\b|narrow|\bmargin\b|差|变化|同比|环比"
)
_FROM_TO = ((r"\bfrom\b", r"\bto\b"), ("从", "到"), ("由", "[至到]"))  # a change as well
_REST = r"profit|\bnet\b|remain|\bleft\b|less|fewer|利润|剩|净|少|差|margin|inactive|未"
_SHARE = (
    r"share|account|portion|\bmade?\b|make up|represent|contribut|%\s+of\b|"
    r"\bof (?:all|the|total)\b|占|比例|比重|份额"
)
_TOTAL = (
    r"total|\bsum\b|combin|together|altogether|overall|\ball\b|entire|whole|across|payroll|"
    r"in aggregate|合计|总|共|一共|累计|加起来|之和|全部|合起来|全年"
)
_TOP = r"\btop\b|largest|biggest|leading|\bfirst\b|best|前|最大|头部"
_OTHERS = r"\bothers?\b|\belse\b|\brest\b|remain|second.half|其余|其他|剩余|下半"
_AVERAGE = r"averag|\bavg\b|\bmean\b|median|\bper\b|\beach\b|typical|平均|均|每|中位|单价"
_MEDIAN = r"median|中位"
_HIGHEST = r"highest|\bmax|largest|biggest|\bmost\b|\bbest\b|\btop\b|\bpeak|最高|最大|最多|最好|峰"
_LOWEST = r"lowest|\bmin|smallest|\bleast\b|fewest|worst|最低|最小|最少|最差"


def _speaks_of(words: str) -> re.Pattern[str]:
    return re.compile(words, re.IGNORECASE)


_PATTERNS = {
    name: _speaks_of(words)
    for name, words in {
        "growth": _GROWTH,
        "decline": _DECLINE,
        "change": f"{_GROWTH}|{_DECLINE}|{_EITHER}|{_REST}",
        "rest": _REST,
        "share": _SHARE,
        "total": _TOTAL,
        "top": _TOP,
        "others": _OTHERS,
        "average": _AVERAGE,
        "median": _MEDIAN,
        "max": _HIGHEST,
        "min": _LOWEST,
    }.items()
}
_BEGINS = {f"from {at}": _speaks_of(begin) for at, (begin, _) in enumerate(_FROM_TO)}
_ENDS = {f"to {at}": _speaks_of(end) for at, (_, end) in enumerate(_FROM_TO)}
_LOOKED_FOR = {**_PATTERNS, **_BEGINS, **_ENDS}


class TextHints:
    """What a text speaks of, and where. Each pattern is searched for once in the whole text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._places: dict[str, tuple[list[int], list[int]]] = {}

    def within(self, start: int, end: int) -> TextSlice:
        """A stretch of the text."""
        return TextSlice(self, start, end)

    def first(self, what: str, start: int, end: int) -> int | None:
        """Where the first hint inside a stretch of the text ends; None if it has none."""
        places = self._places.get(what)
        if places is None:
            found = [one.span() for one in _LOOKED_FOR[what].finditer(self.text)]
            places = self._places[what] = ([one for one, _ in found], [one for _, one in found])
        starts, ends = places
        at = bisect_left(starts, start)
        return ends[at] if at < len(ends) and ends[at] <= end else None


@dataclass(frozen=True, slots=True)
class TextSlice:
    """A stretch of a text, a sentence or a clause."""

    hints: TextHints
    start: int
    end: int

    @property
    def text(self) -> str:
        """The words themselves."""
        return self.hints.text[self.start : self.end]

    def has_hint(self, what: str) -> bool:
        """Whether it speaks of growth, decline, change, rest, share, total, top, average, …"""
        if self.hints.first(what, self.start, self.end) is not None:
            return True
        return what == "change" and any(map(self._has_range, _BEGINS, _ENDS))

    def _has_range(self, begin: str, end: str) -> bool:
        """Whether it says `from … to …`: if any pair does, the first `from` has a `to`."""
        first = self.hints.first(begin, self.start, self.end)
        return first is not None and self.hints.first(end, first, self.end) is not None


MAX_CLAUSE = 300
_CLAUSE_END = re.compile(r",(?=\s)|[，；：;\n。|]|:(?=\s)|\.(?=\s)")
_TOKEN = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[\u3400-\u9fff]+")
_WORD_AFTER = re.compile(r"\W?([A-Za-z]{3,})")
_GENERIC = frozenset(
    ("total", "count", "sum", "avg", "average", "number", "name", "of", "the", "per", "num")
)


def clause_span(text: str, figure: Figure) -> tuple[int, int]:
    """Where the clause that a figure stands in begins and ends: the stretch between commas."""
    near = max(0, figure.start - MAX_CLAUSE)
    ends = _CLAUSE_END.finditer(text, near, figure.start)
    start = max((found.end() for found in ends), default=near)
    found = _CLAUSE_END.search(text, figure.end, figure.end + MAX_CLAUSE)
    return start, found.start() if found else min(len(text), figure.end + MAX_CLAUSE)


def words_of(text: str) -> frozenset[str]:
    """What in a text can name a column: its words, and each two Chinese characters in a row."""
    words: set[str] = set()
    for token in _TOKEN.findall(text):
        words.add(_stem(token))
        if not token.isascii():
            words.update(token[at : at + 2] for at in range(len(token) - 1))
    return frozenset(words)


class ColumnNames:
    """The columns of a table, by the words of their names."""

    def __init__(self, table: IndexedTable) -> None:
        self._table = table
        self._by_name: defaultdict[str, list[int]] = defaultdict(list)
        self._by_word: defaultdict[str, list[int]] = defaultdict(list)
        self._by_stem: dict[str, int] = {}
        for at, column in enumerate(table.columns):
            self._by_name[column.name].append(at)
            self._by_stem.setdefault(_stem(column.name), at)
            for token in {_stem(token) for token in _TOKEN.findall(column.name)} - _GENERIC:
                self._by_word[token].append(at)
                if len(token) > 2 and not token.isascii():
                    self._by_word[token[:2]].append(at)

    def in_play(self, *texts: frozenset[str], known: Iterable[str] = ()) -> list[int]:
        """The columns that figures nearby came from or words name; the first text that names any.

        All columns when nothing is said about them, or there is only one row.
        """
        if len(self._table.numbers) == 1:
            return list(range(len(self._table.columns)))
        sure = {at for name in known for at in self._by_name.get(name, ())}
        for words in texts:
            named = {at for word in words for at in self._by_word.get(word, ())}
            sure |= {at for at in named if self._table.column(at)}
            if sure:
                return sorted(sure)
        return list(range(len(self._table.columns)))

    def named_after(self, text: str, figure: Figure) -> int | None:
        """The column whose name follows a figure at once: `98 orders`."""
        found = _WORD_AFTER.match(text, figure.end)
        if found is None:
            return None
        said = self._by_stem.get(_stem(found[1]))
        return said if said is not None and self._table.column(said) else None


def _stem(word: str) -> str:
    folded = word.casefold()
    return folded[:-1] if folded.endswith("s") and len(folded) > 3 else folded


MAX_LABELS = 50_000  # of a table, that begin as something in the text does
ROWS_IN_A_STEP = 64
CHARACTERS_IN_A_STEP = 64
NEAR = 4  # sentences that name rows
FEW = 6  # rows
SHORT = 5  # shorter labels are found only as they are written
_SENTENCE_END = re.compile(
    r"[。！？；\n]|[!?;](?=\s|$)|(?<!\bvs)(?<!\bNo)(?<!\be\.g)(?<!\bi\.e)(?<!\bca)(?<!approx)"
    r"\.(?=\s+[^\sa-z]|\s*$)"
)
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_ISO_MONTH = re.compile(r"(\d{4})-(\d{2})(?:-(\d{2}))?")
_YEAR_TEXT = re.compile(r"(?:19|20)\d{2}")


@dataclass(frozen=True, slots=True)
class LabelMention:
    """A label in the text, and the rows of one table that carry it."""

    start: int
    end: int
    table: int
    rows: frozenset[int]

    def __len__(self) -> int:
        return self.end - self.start


class Sentence:
    """A stretch of text with the labels it mentions and the figures that stand in it."""

    def __init__(
        self,
        at: int,
        words: TextSlice,
        mentions: Sequence[LabelMention],
        figures: Sequence[Figure],
        budget: WorkBudget,
    ) -> None:
        self.at = at
        self.start, self.end = words.start, words.end
        self.words = words
        self.mentions = mentions
        self.figures = figures
        self._budget = budget
        self._by_table: dict[int, _NamedRows] = {}

    def mention_around(self, figure: Figure) -> LabelMention | None:
        """The label that a figure is part of."""
        return self._around.get(figure.start)

    @cached_property
    def _around(self) -> Mapping[int, LabelMention]:
        """By the start of each figure, the first label that it lies in."""
        starts = [figure.start for figure in self.figures]
        around: dict[int, LabelMention] = {}
        for one in self.mentions:
            first, last = _range(starts, one.start, one.end)
            self._budget.spend(1 + last - first)
            for figure in self.figures[first:last]:
                if figure.end <= one.end:
                    around.setdefault(figure.start, one)
        return around

    def mentions_of(self, table: int) -> Sequence[LabelMention]:
        """The labels of one table, in order."""
        return self._in(table).mentions

    def rows_of(self, table: int) -> frozenset[int]:
        """Every row of a table that the sentence mentions."""
        return self._in(table).rows

    def rows_within(self, table: int, start: int, end: int) -> frozenset[int]:
        """Every row of a table that a stretch of the text in the sentence mentions."""
        mentions = self.mentions_of(table)
        first, last = _range(self._in(table).starts, start, end)
        inside = {one.rows for one in mentions[first:last] if one.end <= end}
        self._budget.spend(1 + last - first + sum(map(len, inside)) // ROWS_IN_A_STEP)
        return frozenset[int]().union(*inside)

    def bound_rows(self, table: int, figure: Figure, words: TextSlice) -> frozenset[int] | None:
        """The rows of a table that a figure of it may be from, or None when it names none.

        `words` is the figure's clause: one that compares takes its figures from any row named.
        """
        named = self._in(table)
        if not named.mentions:
            return None
        if words.has_hint("change"):  # `in April it fell to 3 from 4 in March`
            return named.with_neighbours
        owner = named.owners.get(figure.start)
        if owner is None and named.mentions[0].start >= figure.end:
            self._budget.spend(len(named.labels))
            text = words.text
            is_near = any(label in text for label in named.labels)
            return named.rows if is_near else None  # `between 2 and 4, the most in March`
        return owner if owner is not None else named.rows

    def _in(self, table: int) -> _NamedRows:
        known = self._by_table.get(table)
        if known is None:
            mentions = [one for one in self.mentions if one.table == table]
            steps = sum(len(one.rows) for one in mentions) // ROWS_IN_A_STEP
            self._budget.spend(len(self.mentions) + len(self.figures) + steps)
            known = self._by_table[table] = _NamedRows(self, mentions)
        return known


class _NamedRows:
    """The rows of one table that a sentence names, and which of its figures belong to which."""

    def __init__(self, sentence: Sentence, mentions: Sequence[LabelMention]) -> None:
        self.mentions = mentions
        self.starts = [one.start for one in mentions]
        self.rows = frozenset[int]().union(*{one.rows for one in mentions})
        self._sentence = sentence

    @cached_property
    def with_neighbours(self) -> frozenset[int]:
        """The rows, and those before and after each."""
        return self.rows | {row + by for row in self.rows for by in (-1, 1)}

    @cached_property
    def labels(self) -> frozenset[str]:
        """The labels as the sentence writes them."""
        text, start = self._sentence.words.text, self._sentence.start
        return frozenset(text[one.start - start : one.end - start] for one in self.mentions)

    @cached_property
    def owners(self) -> Mapping[int, frozenset[int]]:
        """The rows of each figure, by its start, where names and figures take turns."""
        return _owners(_groups(self.mentions), self._sentence.figures)


class Passage:
    """A text in sentences; a line of a list or table is one."""

    def __init__(
        self, hints: TextHints, index: ResultIndex, figures: Sequence[Figure], budget: WorkBudget
    ) -> None:
        """Find the labels of `index` in the text. `figures` are those that stand in it."""
        text = hints.text
        labels = _LabelIndex(text, index, budget)
        mentions = list(labels.mentions())
        self.knows_all_labels = labels.is_complete
        self.sentences: list[Sentence] = []
        self._before: dict[tuple[int, int], frozenset[int]] = {}
        figure_starts = [one.start for one in figures]
        mention_starts = [one.start for one in mentions]
        start = 0
        for end in [*(found.end() for found in _SENTENCE_END.finditer(text)), len(text)]:
            if end > start:
                near = mentions[slice(*_range(mention_starts, start, end))]
                inside = [one for one in near if one.end <= end]
                standing = figures[slice(*_range(figure_starts, start, end))]
                at = len(self.sentences)
                words = hints.within(start, end)
                self.sentences.append(Sentence(at, words, inside, standing, budget))
            start = end
        self._starts = [one.start for one in self.sentences]
        self._with_mentions = [one.at for one in self.sentences if one.mentions]

    def sentence_of(self, figure: Figure) -> Sentence:
        """The sentence that a figure stands in."""
        return self.sentences[bisect_right(self._starts, figure.start) - 1]

    def rows_before(self, sentence: Sentence, table: int) -> frozenset[int]:
        """The rows that the few sentences or lines before one were about, if they are few."""
        key = sentence.at, table
        known = self._before.get(key)
        if known is None:
            until = bisect_left(self._with_mentions, sentence.at)
            near = self._with_mentions[max(0, until - NEAR) : until]
            rows = frozenset[int]().union(*(self.sentences[at].rows_of(table) for at in near))
            known = self._before[key] = rows if len(rows) <= FEW else frozenset[int]()
        return known


def _range(ordered: Sequence[int], start: int, end: int) -> tuple[int, int]:
    """Which of some ordered positions are in a stretch."""
    return bisect_left(ordered, start), bisect_left(ordered, end)


def _groups(mentions: Sequence[LabelMention]) -> list[LabelMention]:
    """Labels side by side that share a row (`Rock in Germany`) are one label."""
    merged: list[LabelMention] = []
    for one in mentions:
        last = merged[-1] if merged else None
        if last and (common := last.rows & one.rows) and one.start - last.end < 40:
            merged[-1] = LabelMention(last.start, one.end, one.table, common)
        else:
            merged.append(one)
    return merged


def _owners(
    groups: Sequence[LabelMention], figures: Sequence[Figure]
) -> Mapping[int, frozenset[int]]:
    """The rows of the name that each figure, by its start, belongs to; empty if it is not clear."""
    ordered = sorted([*groups, *figures], key=lambda one: one.start)
    turns = [
        (is_name, list(run))
        for is_name, run in groupby(ordered, key=lambda one: isinstance(one, LabelMention))
    ]
    if len(turns) % 2 or any(is_name and len(run) != 1 for is_name, run in turns):
        return {}  # they do not take turns: `A and B have 1 and 2`
    names = [
        one for is_name, run in turns if is_name for one in run if isinstance(one, LabelMention)
    ]
    runs = [run for is_name, run in turns if not is_name]
    return {
        figure.start: name.rows for name, run in zip(names, runs, strict=True) for figure in run
    }


class _LabelIndex:
    """The labels of all results that a text may contain, by their beginning and length."""

    def __init__(self, text: str, index: ResultIndex, budget: WorkBudget) -> None:
        self._text = text
        self._folded = _fold(text)
        self._budget = budget
        self._tables = len(index.tables)
        self._written = _PrefixIndex()
        self._any_case = _PrefixIndex()
        self.is_complete = True
        pairs = {self._folded[at : at + 2] for at in range(len(text) - 1)}
        for at in range(self._tables):
            for label, rows in self._labels(index.tables[at], pairs).items():
                if len(label) >= SHORT and label not in _MONTHS:  # May is not may
                    self._any_case.add(_fold(label), at, frozenset(rows))
                else:
                    self._written.add(label, at, frozenset(rows))

    def mentions(self) -> Iterator[LabelMention]:
        """In order, of each table only those that do not lie inside a longer one."""
        ends = [0] * self._tables
        for start in range(len(self._text) - 1):
            if _joins(self._text[start - 1 : start] if start else "", self._text[start]):
                continue
            written = self._written.at(self._text, start, self._budget)
            any_case = self._any_case.at(self._folded, start, self._budget)
            for end, table, rows in sorted([*written, *any_case], key=lambda one: -one[0]):
                if end > ends[table] and not _joins(self._text[end : end + 1], self._text[end - 1]):
                    ends[table] = end
                    yield LabelMention(start, end, table, rows)

    def _labels(self, table: IndexedTable, pairs: set[str]) -> Mapping[str, set[int]]:
        """The texts of a table that can name a row, with the rows they name.

        Only those that begin with two characters that stand side by side in the text.
        """
        labels: dict[str, set[int]] = {}
        forms: dict[str | date, list[str]] = {}
        named = [at for at in range(len(table.columns)) if _can_name(table, at)]
        for row, cells in enumerate(table.texts):
            self._budget.spend(len(named))
            for cell in (cells[column] for column in named):
                if cell is None:
                    continue
                if cell not in forms:
                    forms[cell] = [form for form in _forms(cell) if _fold(form[:2]) in pairs]
                for form in forms[cell]:
                    labels.setdefault(form, set()).add(row)
            if len(labels) > MAX_LABELS:
                self.is_complete = False
                break
        count = len(table.texts)
        return {label: rows for label, rows in labels.items() if len(rows) < count or count == 1}


class _PrefixIndex:
    """Labels by their first two characters and their length, the longest first."""

    def __init__(self) -> None:
        self._labels: dict[str, list[tuple[int, frozenset[int]]]] = {}
        self._lengths: defaultdict[str, set[int]] = defaultdict(set)
        self._ordered: dict[str, list[int]] = {}

    def add(self, label: str, table: int, rows: frozenset[int]) -> None:
        """Put in a label; of two that a table writes alike the first counts."""
        entries = self._labels.setdefault(label, [])
        if all(known != table for known, _ in entries):
            entries.append((table, rows))
        self._lengths[label[:2]].add(len(label))

    def at(
        self, text: str, start: int, budget: WorkBudget
    ) -> Iterator[tuple[int, int, frozenset[int]]]:
        """The labels that stand at a place of a text: their ends, tables and rows."""
        beginning = text[start : start + 2]
        if beginning not in self._lengths:
            return
        if beginning not in self._ordered:
            self._ordered[beginning] = sorted(self._lengths[beginning], reverse=True)
        for length in self._ordered[beginning]:
            budget.spend(1 + length // CHARACTERS_IN_A_STEP)
            if start + length > len(text):
                continue
            for table, rows in self._labels.get(text[start : start + length], ()):
                yield start + length, table, rows


def _fold(text: str) -> str:
    """The text in small letters, as long as before."""
    return "".join(small if len(small := char.lower()) == 1 else char for char in text)


def _joins(outside: str, inside: str) -> bool:
    return bool(outside) and all(char.isascii() and char.isalnum() for char in (outside, inside))


def _can_name(table: IndexedTable, column: int) -> bool:
    """Texts and dates name rows; numbers do only when all of them are years."""
    cells = [cell for row in table.texts if (cell := row[column]) is not None]
    return not table.column(column) or all(_is_year(cell) for cell in cells)


def _is_year(cell: str | date) -> bool:
    return isinstance(cell, str) and _YEAR_TEXT.fullmatch(cell) is not None


def _forms(cell: str | date) -> Iterator[str]:
    """The ways a text or a date may be written in an answer."""
    written = cell.strip() if isinstance(cell, str) else cell.isoformat()
    if len(written) >= 2:
        yield written
    found = _ISO_MONTH.fullmatch(written)
    if found is None or not 1 <= int(found[2]) <= 12:
        if _is_year(written):
            yield f"{written}年"
        return
    year, month, day = found[1], int(found[2]), int(found[3] or 1)
    name = _MONTHS[month - 1]
    if found[3] is None or day == 1:
        yield from (f"{year}-{month:02}", f"{name} {year}", f"{name[:3]} {year}")
        yield from (f"{year}年{month}月", f"{year}年{month:02}月")
        if found[3] is None or not isinstance(cell, str):
            yield from (name, f"{month}月")
        yield from _quarters(year, (month + 2) // 3)
    if found[3] is not None:
        yield from (f"{year}年{month}月{day}日", f"{month}月{day}日")
        yield from (f"{name} {day}, {year}", f"{day} {name} {year}", f"{name} {day}")


def _quarters(year: str, quarter: int) -> Iterator[str]:
    written = "一二三四"[quarter - 1]
    yield from (f"Q{quarter} {year}", f"{year} Q{quarter}", f"{year}Q{quarter}", f"Q{quarter}")
    yield from (f"{year}年第{written}季度", f"第{written}季度")
    yield "上半年" if quarter < 3 else "下半年"
