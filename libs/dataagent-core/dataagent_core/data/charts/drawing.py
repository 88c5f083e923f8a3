"""Joins a checked specification with the rows of its result.

Columns are renamed to `c0`, `c1`, … on the way, and every field gets its title. Vega-Lite reads
dots and brackets in a field's name as paths and pastes names into expressions, so a column's name
reaches it only as a title. Dates go out as wall-clock time without a zone, which a browser anywhere
shows as the table does.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from itertools import islice, pairwise
from typing import Any, Protocol, cast

from dataagent_core.data.charts.fields import Spec, refuse
from dataagent_core.data.charts.settings import clean

MAX_DRAWN = 5_000
MAX_AGGREGATED = 50_000
MAX_CATEGORIES = 500
MAX_PANELS = 50
FEW_TICKS = 12  # are all shown; of more, as many as fit

_DAY = r"(\d{4})(?:-(\d{1,2}))?(?:-(\d{1,2}))?"
_ISO = re.compile(_DAY + r"(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?))?")
_CJK = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]")
_TICKS = (  # dates this far apart at least, and the interval of their ticks
    (timedelta(365), "year", 1),
    (timedelta(90), "month", 3),
    (timedelta(28), "month", 1),
    (timedelta(1), "day", 1),
)
_PANELS = frozenset({"row", "column", "facet"})
_DISCRETE = frozenset({"nominal", "ordinal"})
_AGGREGATE_WORDS = {
    "sum": ("Sum of {}", "{}（合计）"),
    "mean": ("Mean of {}", "{}（平均）"),
    "average": ("Average of {}", "{}（平均）"),
    "median": ("Median of {}", "{}（中位数）"),
    "min": ("Min of {}", "{}（最小）"),
    "max": ("Max of {}", "{}（最大）"),
    "count": ("Count of {}", "{}（计数）"),
    "distinct": ("Distinct {}", "{}（去重计数）"),
}


class ArrowBatch(Protocol):
    """What is used of pyarrow's RecordBatch, which has no types of its own."""

    def to_pylist(self) -> list[dict[str, Any]]:  # Any: a cell
        """The rows, each by column name."""
        ...


class ArrowTable(Protocol):
    """What is used of pyarrow's Table, which has no types of its own."""

    @property
    def num_rows(self) -> int:
        """How many rows there are."""
        ...

    @property
    def column_names(self) -> list[str]:
        """The names, in order."""
        ...

    def select(self, columns: list[str]) -> ArrowTable:
        """Some of the columns."""
        ...

    def to_batches(self, max_chunksize: int | None = None) -> Sequence[ArrowBatch]:
        """The rows in parts."""
        ...


Rows = ArrowTable | Sequence[Mapping[str, Any]]  # Any: a cell


@dataclass(frozen=True, slots=True)
class Drawing:
    """A specification with its data in it. `note` says what the picture leaves out."""

    spec: Spec
    note: str | None


def for_browser(spec: Spec, rows: Rows, *, total_rows: int | None = None) -> Spec:
    """The specification as vega-embed takes it, with a bounded number of values inline."""
    return draw(spec, rows, total_rows=total_rows).spec


def draw(spec: Spec, rows: Rows, *, total_rows: int | None = None) -> Drawing:
    """Join a specification that `check_spec` gave with rows of its result.

    `total_rows` is the result's exact row count when `rows` is only its beginning. `BadChart`
    when the rows cannot be drawn truthfully: an aggregate over a part of them, too many
    categories, text that is no date.
    """
    total = max(total_rows or 0, _length(rows))
    limit = _limit(spec, total, _length(rows))
    channels = list(_channels(spec, "$"))
    names = _columns_used(spec)
    dates = {name for name in names if _is_temporal(name, channels, spec)}
    values = [
        {f"c{at}": _cell(row.get(name)) for at, name in enumerate(names)}
        for row in islice(_dicts(rows, names), limit)
    ]
    for at, name in enumerate(names):
        if name in dates:
            _as_dates(values, f"c{at}", name)
    ids = {name: f"c{at}" for at, name in enumerate(names)}
    _check_categories(channels, ids, values)
    ids |= {name: f"t{at}" for at, name in enumerate(sorted(_made(spec)))}
    bound = cast("Spec", _bind(spec, ids))
    ticks = {ids[name]: _ticks(row[ids[name]] for row in values) for name in dates}
    _space_ticks(bound, {key: found for key, found in ticks.items() if found is not None})
    note = _note(spec, len(values), total) if len(values) < total else None
    if note:
        _add_subtitle(bound, note)
    return Drawing({**bound, "data": {"values": values}}, note)


def has_cjk(spec: Spec) -> bool:
    """Whether anything that would be drawn is written in Chinese characters."""
    return _CJK.search(json.dumps(spec, ensure_ascii=False)) is not None


def _length(rows: Rows) -> int:
    return len(rows) if isinstance(rows, Sequence) else rows.num_rows


def _dicts(rows: Rows, names: Sequence[str]) -> Iterator[Mapping[str, Any]]:  # Any: a cell
    if isinstance(rows, Sequence):
        yield from rows
        return
    selected = rows.select([name for name in names if name in rows.column_names])
    for batch in selected.to_batches(max_chunksize=1_000):
        yield from batch.to_pylist()


def _limit(spec: Spec, total: int, given: int) -> int:
    """How many rows are drawn. An aggregate is drawn over all rows or not at all."""
    if not any(_is_aggregate(key, item) for key, item in _pairs(spec)):
        return MAX_DRAWN
    if total > MAX_AGGREGATED or given < total:
        refuse(
            f"The result has {total:,} rows; a chart aggregates at most {MAX_AGGREGATED:,}. "
            "Aggregate in the query and chart its result.",
            path="$",
            reason="too_many_rows",
        )
    return MAX_AGGREGATED


def _is_aggregate(key: str, item: object) -> bool:
    """Whether a setting makes figures of many rows; the mark of quartiles does it by itself."""
    is_boxes = key in ("mark", "type") and item == "boxplot"
    return is_boxes or key in ("aggregate", "joinaggregate", "bin")


def _pairs(node: object) -> Iterator[tuple[str, Any]]:  # Any: JSON
    """Every key and value in a specification, at any depth."""
    if isinstance(node, dict):
        for key, item in cast("Spec", node).items():
            if item is not None and item is not False:
                yield key, item
            yield from _pairs(item)
    elif isinstance(node, list):
        for item in cast("list[Any]", node):
            yield from _pairs(item)


def _made(spec: Spec) -> set[str]:
    return {item for key, item in _pairs(spec) if key == "as" and isinstance(item, str)}


def _columns_used(spec: Spec) -> list[str]:
    used: dict[str, None] = {}
    for key, item in _pairs(spec):
        if key == "field" and isinstance(item, str):
            used[item] = None
        elif key == "groupby":
            used |= dict.fromkeys(cast("list[str]", item))
    return [name for name in used if name not in _made(spec)]


def _channels(node: object, key: str) -> Iterator[tuple[str, Spec]]:
    """Every definition of a channel: an object with a field and a type, under its key."""
    if isinstance(node, list):
        for item in cast("list[Any]", node):
            yield from _channels(item, key)
    if not isinstance(node, dict):
        return
    spec = cast("Spec", node)
    if "field" in spec and "type" in spec:
        yield key, spec
    for inner, item in spec.items():
        yield from _channels(item, inner)


def _is_temporal(name: str, channels: Sequence[tuple[str, Spec]], spec: Spec) -> bool:
    units = (
        item["field"]
        for key, items in _pairs(spec)
        if key == "transform"
        for item in items
        if "timeUnit" in item
    )
    return name in units or any(
        channel["field"] == name and ("timeUnit" in channel or channel["type"] == "temporal")
        for _, channel in channels
    )


def _cell(cell: Any) -> str | float | int | bool | None:  # Any: a cell of any Arrow type
    """A value as JSON has it."""
    if cell is None or isinstance(cell, bool | str | int):
        return cell
    if isinstance(cell, float | Decimal):
        return float(cell) if math.isfinite(cell) else None
    if isinstance(cell, datetime | date):
        start_of_day = datetime.min.time()
        moment = cell if isinstance(cell, datetime) else datetime.combine(cell, start_of_day)
        return moment.replace(tzinfo=None).isoformat()
    return None if isinstance(cell, bytes) else clean(str(cell))[:200]


def _as_dates(values: list[dict[str, Any]], key: str, name: str) -> None:
    """Turn ISO texts into full timestamps; any other is refused, or its row would be missing."""
    for row in values:
        text = row[key]
        if not isinstance(text, str):
            continue
        row[key] = _timestamp(text)
        if row[key] is None and text.strip():
            refuse(
                f"Column '{name}' holds text such as '{text[:40]}', which is no ISO date. "
                "Draw it as nominal, or convert it in the query.",
                path="$",
                reason="type_mismatch",
            )


def _timestamp(text: str) -> str | None:
    found = _ISO.fullmatch(text)
    if found is None:
        return None
    year, month, day, clock = found.groups()
    try:
        start = date(int(year), int(month or 1), int(day or 1))
    except ValueError:  # a browser would take the 30th of February for a day in March
        return None
    return f"{start.isoformat()}T{clock or '00:00:00'}"


def _ticks(moments: Iterable[object]) -> Spec | None:
    """An axis with ticks as far apart as the dates: a series by year has one a year at most."""
    try:
        ordered = sorted({datetime.fromisoformat(one) for one in moments if isinstance(one, str)})
    except ValueError:  # a clock at 24:00, which Vega reads
        return None
    closest = min((later - earlier for earlier, later in pairwise(ordered)), default=timedelta(0))
    for least, interval, step in _TICKS:
        if closest < least:
            continue
        if (ordered[-1] - ordered[0]) / least <= FEW_TICKS:
            return {"tickCount": {"interval": interval, "step": step}}
        return {"tickMinStep": least // timedelta(milliseconds=1)}
    return None


def _space_ticks(node: object, ticks: Mapping[str, Spec]) -> None:
    """Put the ticks of each field with dates on its axes, but for what an axis says itself."""
    if isinstance(node, list):
        for item in cast("list[object]", node):
            _space_ticks(item, ticks)
    if not isinstance(node, dict):
        return
    spec = cast("Spec", node)
    for key in ("x", "y"):
        channel = cast("Spec", spec.get(key)) if isinstance(spec.get(key), dict) else {}
        axis = channel.get("axis", {})
        if channel.get("type") != "temporal" or "timeUnit" in channel or axis is None:
            continue  # Vega-Lite knows the ticks of a time unit
        if (given := ticks.get(channel.get("field", ""))) is not None:
            channel["axis"] = {**given, **axis}
    for item in spec.values():
        _space_ticks(item, ticks)


def _check_categories(
    channels: Sequence[tuple[str, Spec]], ids: Mapping[str, str], values: list[dict[str, Any]]
) -> None:
    """Refuse a chart with more bars or panels than anyone can read, or a browser can draw."""
    for key, channel in channels:
        limit = MAX_PANELS if key in _PANELS else MAX_CATEGORIES if key in ("x", "y") else None
        is_discrete = channel["type"] in _DISCRETE or key in _PANELS
        name = channel["field"]
        if limit is None or not is_discrete or name not in ids or channel.get("bin"):
            continue
        count = len({row[ids[name]] for row in values})
        if count > limit:
            refuse(
                f"Column '{name}' has {count:,} different values; "
                f"'{key}' shows at most {limit}. Keep the top ones in the query, or group them.",
                path=f"$.encoding.{key}",
                reason="too_many_categories",
            )


def _bind(node: Any, ids: Mapping[str, str]) -> Any:  # Any: JSON
    """The specification with ids for names, and titles where names were shown."""
    if isinstance(node, list):
        return [_bind(item, ids) for item in cast("list[Any]", node)]
    if not isinstance(node, dict):
        return node
    spec = cast("Spec", node)
    result = {key: _bound(key, item, ids) for key, item in spec.items()}
    if "field" in spec and "type" in spec and "title" not in spec:
        result["title"] = _channel_title(spec)
    return result


def _bound(key: str, item: Any, ids: Mapping[str, str]) -> Any:  # Any: JSON
    if key in ("field", "as") and isinstance(item, str):
        return ids[item]
    if key == "groupby":
        return [ids[name] for name in item]
    return _bind(item, ids)


def _channel_title(spec: Spec) -> str:
    name = clean(spec["field"])
    words = _AGGREGATE_WORDS.get(spec.get("aggregate", ""))
    return words[1 if _CJK.search(name) else 0].format(name) if words else name


def _note(spec: Spec, drawn: int, total: int) -> str:
    if has_cjk(spec):
        return f"仅绘制前 {drawn:,} 行，共 {total:,} 行"
    return f"Drawn from the first {drawn:,} of {total:,} rows"


def _add_subtitle(spec: Spec, note: str) -> None:
    title = spec.get("title")
    if isinstance(title, dict):
        spec["title"] = {**cast("Spec", title), "subtitle": note}
    else:
        spec["title"] = {"text": title or "", "subtitle": note}
