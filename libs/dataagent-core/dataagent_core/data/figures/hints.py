"""The words that say what arithmetic a text means.

A difference is only looked for where the text speaks of one: every operation tried adds numbers
that a wrong figure could match by chance.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass

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
