"""What a question groups by: `by country and year`, `per month`, `每个国家`."""

from __future__ import annotations

from typing import Final, cast

from dataagent_offline.data.intent import Dimension
from dataagent_offline.data.spans import SpanList
from dataagent_offline.data.terms import Bucket, Noun, QuestionSpan

_LISTED: Final = frozenset(",、，&/ ")


def dimensions_of(spans: SpanList, text: str) -> list[Dimension]:
    """Take the groupings out of a sentence, in order."""
    found: list[Dimension] = []
    for position in spans.find("by"):
        if _asks_for_distinct(spans, position):
            continue
        run = _run(spans, position + 1, text)
        if run or _is_before_a_measure(spans, position + 1) or _is_before_a_value(spans, position):
            spans.use(position)
        found.extend(run)
    for position in spans.find("bucket"):
        found.append(_bucket(spans, position))
    trends = spans.find("trend")
    spans.use(*trends)
    if trends and not any(each.bucket for each in found):
        found.append(Dimension("month", bucket="month"))
    return found


def _asks_for_distinct(spans: SpanList, position: int) -> bool:
    """`有多少不同的国家`: here `不同` groups nothing."""
    before = spans.at(position - 1)
    return spans.items[position].text == "不同" and bool(before and before.has("count"))


def _run(spans: SpanList, position: int, text: str) -> list[Dimension]:
    """The groupings from a place on, joined by `and` or a comma."""
    found: list[Dimension] = []
    while (item := spans.at(position)) is not None:
        if item.has("bucket"):
            found.append(_bucket(spans, position))
        elif item.noun and not _is_measured(spans, item.noun):
            found.append(_noun(spans, position, item.noun))
        else:
            break
        following = _following(spans, position, text)
        if following is None:
            break
        position = following
    return found


def _noun(spans: SpanList, position: int, noun: Noun) -> Dimension:
    spans.use(position)
    after = spans.at(position + 1)
    if (dates := spans.dates(noun)) and after and after.has("bucket"):
        spans.use(position + 1)
        return Dimension(f"{noun.text} {after.text}", dates, _step(after))
    return Dimension(noun.text, noun)


def _bucket(spans: SpanList, position: int) -> Dimension:
    item = spans.items[position]
    spans.use(position)
    for near in (position - 1, position + 1):
        noun = spans.noun(near)
        if noun and (dates := spans.dates(noun)):
            spans.use(near)
            return Dimension(f"{noun.text} {item.text}", dates, _step(item))
    return Dimension(item.text, item.noun, _step(item))


def _step(item: QuestionSpan) -> Bucket:
    return cast("Bucket", item.value_of("bucket"))  # the vocabulary lists no other value


def _following(spans: SpanList, position: int, text: str) -> int | None:
    """Where the next grouping of the list stands, if the list goes on."""
    here = max(each for each in spans.used if each <= position + 1)
    link, after = spans.at(here + 1), spans.at(here + 2)
    if link and after and link.has("and") and (after.noun or after.has("bucket")):
        if after.noun and _is_measured(spans, after.noun):
            return None
        spans.use(here + 1)
        return here + 2
    if link and (link.noun or link.has("bucket")):
        between = text[spans.items[here].end : link.start]
        return here + 1 if between.strip() and set(between) <= _LISTED else None
    return None


def _is_measured(spans: SpanList, noun: Noun) -> bool:
    """Whether a number after `by` is what is ranked by: `top 5 tracks by unit price`."""
    return spans.is_number(noun) and bool(spans.find("order", "take", "extreme"))


def _is_before_a_value(spans: SpanList, position: int) -> bool:
    """`tracks by Queen`: here `by` groups nothing."""
    after = spans.items[position + 1 : position + 2]
    return spans.items[position].text.casefold() == "by" and any(item.values for item in after)


def _is_before_a_measure(spans: SpanList, position: int) -> bool:
    item = spans.at(position)
    if item is None:
        return False
    if item.noun:
        return _is_measured(spans, item.noun)
    return item.has("measure", "agg", "count", "order")
