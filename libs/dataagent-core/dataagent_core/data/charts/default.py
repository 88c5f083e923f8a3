"""Chooses a chart by the types of a result's columns.

Time and a number make a line, a category and a number a bar, two numbers a scatter. What a table
shows better than a chart is refused with that sentence. The result passes `check_spec`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn, cast

from dataagent_core.data.charts.fields import FieldKind, Spec, kind_of, refuse
from dataagent_core.data.charts.spec import check_spec
from dataagent_core.data.types import ResultColumn

HORIZONTAL_FROM = 8  # more categories than this are read from a list, not under an axis
LONG_LABEL = 10
MAX_SERIES = 12
MAX_BARS = 60
_TIME_WORDS = frozenset({"date", "month", "year", "quarter", "week", "day", "time", "period"})
_TIME_ENDINGS = ("日期", "时间", "月", "月份", "年", "年份", "年度", "季度", "周")
_ID_WORDS = frozenset({"id", "code", "key", "zip", "phone"})
_ID_ENDINGS = ("编号", "序号", "代码", "电话")
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def default_spec(
    columns: Sequence[ResultColumn],
    *,
    row_count: int,
    statistics: Mapping[str, Any] | None = None,  # Any: a column's figures, as results keep them
    title: str | None = None,
) -> Spec:
    """A Vega-Lite specification for a result with these columns.

    `statistics` may say, by column name, `distinct` and `max_length`. `BadChart` when a table says
    it better.
    """
    picked = _ColumnRoles(columns, row_count, statistics or {})
    spec = picked.chart()
    if title:
        spec["title"] = title
    return check_spec(spec, columns)


class _ColumnRoles:
    """The columns of a result by the part they would play in a chart."""

    def __init__(
        self, columns: Sequence[ResultColumn], row_count: int, statistics: Mapping[str, Any]
    ) -> None:
        self._row_count = row_count
        self._statistics = statistics
        kinds: dict[str, FieldKind] = {column.name: kind_of(column.type) for column in columns}
        self._times = [name for name, kind in kinds.items() if kind == "temporal"]
        self._times += [name for name, kind in kinds.items() if kind == "text" and _is_time(name)]
        periods = [name for name, kind in kinds.items() if kind == "number" and _is_time(name)]
        ids = [name for name, kind in kinds.items() if kind == "number" and _is_id(name)]
        numbers = [name for name, kind in kinds.items() if kind == "number"]
        self._numbers = [name for name in numbers if name not in (*periods, *ids)]
        self._categories = [
            name
            for name, kind in kinds.items()
            if kind in ("text", "boolean") and name not in self._times
        ]
        if not self._times and not self._categories:
            self._categories = periods or (ids if self._numbers else [])
        elif periods and not self._times:
            self._categories = [*periods, *self._categories]
        self._ordered = set(periods)

    def chart(self) -> Spec:
        """The specification, before it is checked."""
        if self._row_count == 0:
            _better_as_table("The result has no rows")
        if self._row_count == 1:
            _better_as_table("The result is a single row")
        if not self._numbers:
            _better_as_table("The result has no number to draw")
        if self._times:
            return self._line()
        if self._categories:
            return self._bar()
        if len(self._numbers) >= 2:
            x, y = self._numbers[:2]
            return {
                "mark": {"type": "point", "tooltip": True},
                "encoding": {"x": _number(x, zero=False), "y": _number(y, zero=False)},
            }
        name = self._numbers[0]
        return {
            "mark": {"type": "bar", "tooltip": True},
            "encoding": {
                "x": {"field": name, "type": "quantitative", "bin": {"maxbins": 30}},
                "y": {"aggregate": "count", "type": "quantitative"},
            },
        }

    def _line(self) -> Spec:
        encoding: Spec = {
            "x": {"field": self._times[0], "type": "temporal"},
            "y": _number(self._numbers[0], zero=False),
        }
        if self._categories and self._distinct(self._categories[0]) <= MAX_SERIES:
            encoding["color"] = {"field": self._categories[0], "type": "nominal"}
            if len(self._categories) > 1:  # a line each, or one would go through all of them
                encoding["detail"] = [
                    {"field": name, "type": "nominal"} for name in self._categories[1:]
                ]
        elif self._categories and self._repeats(self._times[0]):
            _better_as_table(f"Column '{self._categories[0]}' has too many values for lines")
        is_sparse = self._row_count <= 60
        return {
            "mark": {"type": "line", "point": is_sparse, "tooltip": True},
            "width": 560,
            "height": 300,
            "encoding": encoding,
        }

    def _bar(self) -> Spec:
        name, number = self._categories[0], self._numbers[0]
        count = self._distinct(name)
        if count > MAX_BARS:
            _better_as_table(f"Column '{name}' has {count:,} different values")
        category: Spec = {"field": name, "type": "nominal"}
        encoding: Spec = {}
        is_ordered = name in self._ordered
        is_horizontal = not is_ordered and (
            count > HORIZONTAL_FROM or self._longest(name) > LONG_LABEL
        )
        along, across = ("y", "x") if is_horizontal else ("x", "y")
        if is_ordered:
            category["type"] = "ordinal"
        else:
            category["sort"] = f"-{across}"
        encoding[along] = category
        encoding[across] = _number(number)
        second = self._categories[1] if len(self._categories) > 1 else None
        if second is not None and self._distinct(second) <= MAX_SERIES:
            encoding["color"] = {"field": second, "type": "nominal"}
            if self._distinct(second) <= 4 and count <= HORIZONTAL_FROM:
                encoding[f"{along}Offset"] = {"field": second, "type": "nominal"}
        elif self._repeats(name):  # the rows would be added up, and an average cannot be
            _better_as_table(f"Column '{name}' has the same value in several rows")
        spec: Spec = {"mark": {"type": "bar", "tooltip": True}, "encoding": encoding}
        if not is_horizontal:
            category["axis"] = {"labelAngle": 0 if count <= HORIZONTAL_FROM else -40}
            spec["width"] = {"step": 44} if f"{along}Offset" not in encoding else {"step": 22}
        return spec

    def _repeats(self, name: str) -> bool:
        """Whether several rows share a value; NULL is none of the values that are counted."""
        return self._row_count > self._distinct(name) + 1

    def _distinct(self, name: str) -> int:
        return int(self._figure(name, ("distinct", "distinct_count", "unique"), self._row_count))

    def _longest(self, name: str) -> int:
        return int(self._figure(name, ("max_length", "longest"), 0))

    def _figure(self, name: str, keys: Sequence[str], otherwise: int) -> int:
        figures = self._statistics.get(name)
        if not isinstance(figures, Mapping):
            return otherwise
        known = cast("Mapping[str, object]", figures)
        found = (known.get(key) for key in keys)
        return next((value for value in found if isinstance(value, int)), otherwise)


def _number(name: str, *, zero: bool = True) -> Spec:
    spec: Spec = {"field": name, "type": "quantitative"}
    return spec if zero else {**spec, "scale": {"zero": False}}


def _is_time(name: str) -> bool:
    return _last_word(name) in _TIME_WORDS or name.endswith(_TIME_ENDINGS)


def _is_id(name: str) -> bool:
    return _last_word(name) in _ID_WORDS or name.endswith(_ID_ENDINGS)


def _last_word(name: str) -> str:
    words = _WORD.findall(name)
    return words[-1].lower() if words else ""


def _better_as_table(why: str) -> NoReturn:
    refuse(f"{why}; a table says it better than a chart.", path="$", reason="better_as_table")
