"""What a question groups by: `by country and year`, `per month`, `每个国家`."""

from __future__ import annotations

from typing import Final, cast

from dataagent_offline.data.intent import Dimension
from dataagent_offline.data.sentence import Sentence
from dataagent_offline.data.terms import Bucket, Item, Noun

_LISTED: Final = frozenset(",、，&/ ")


def dimensions_of(sentence: Sentence, text: str) -> list[Dimension]:
    """Take the groupings out of a sentence, in order."""
    found: list[Dimension] = []
    for place in sentence.find("by"):
        if _asks_for_distinct(sentence, place):
            continue
        run = _run(sentence, place + 1, text)
        if run or _is_before_a_measure(sentence, place + 1) or _is_before_a_value(sentence, place):
            sentence.use(place)
        found.extend(run)
    for place in sentence.find("bucket"):
        found.append(_bucket(sentence, place))
    trends = sentence.find("trend")
    sentence.use(*trends)
    if trends and not any(each.bucket for each in found):
        found.append(Dimension("month", bucket="month"))
    return found


def _asks_for_distinct(sentence: Sentence, place: int) -> bool:
    """`有多少不同的国家`: here `不同` groups nothing."""
    before = sentence.at(place - 1)
    return sentence.items[place].text == "不同" and bool(before and before.has("count"))


def _run(sentence: Sentence, place: int, text: str) -> list[Dimension]:
    """The groupings from a place on, joined by `and` or a comma."""
    found: list[Dimension] = []
    while (item := sentence.at(place)) is not None:
        if item.has("bucket"):
            found.append(_bucket(sentence, place))
        elif item.noun and not _is_measured(sentence, item.noun):
            found.append(_noun(sentence, place, item.noun))
        else:
            break
        following = _following(sentence, place, text)
        if following is None:
            break
        place = following
    return found


def _noun(sentence: Sentence, place: int, noun: Noun) -> Dimension:
    sentence.use(place)
    after = sentence.at(place + 1)
    if (dates := sentence.dates(noun)) and after and after.has("bucket"):
        sentence.use(place + 1)
        return Dimension(f"{noun.text} {after.text}", dates, _step(after))
    return Dimension(noun.text, noun)


def _bucket(sentence: Sentence, place: int) -> Dimension:
    item = sentence.items[place]
    sentence.use(place)
    for near in (place - 1, place + 1):
        noun = sentence.noun(near)
        if noun and (dates := sentence.dates(noun)):
            sentence.use(near)
            return Dimension(f"{noun.text} {item.text}", dates, _step(item))
    return Dimension(item.text, item.noun, _step(item))


def _step(item: Item) -> Bucket:
    return cast("Bucket", item.value_of("bucket"))  # the vocabulary lists no other value


def _following(sentence: Sentence, place: int, text: str) -> int | None:
    """Where the next grouping of the list stands, if the list goes on."""
    here = max(each for each in sentence.used if each <= place + 1)
    link, after = sentence.at(here + 1), sentence.at(here + 2)
    if link and after and link.has("and") and (after.noun or after.has("bucket")):
        if after.noun and _is_measured(sentence, after.noun):
            return None
        sentence.use(here + 1)
        return here + 2
    if link and (link.noun or link.has("bucket")):
        between = text[sentence.items[here].end : link.start]
        return here + 1 if between.strip() and set(between) <= _LISTED else None
    return None


def _is_measured(sentence: Sentence, noun: Noun) -> bool:
    """Whether a number after `by` is what is ranked by: `top 5 tracks by unit price`."""
    return sentence.is_number(noun) and bool(sentence.find("order", "take", "extreme"))


def _is_before_a_value(sentence: Sentence, place: int) -> bool:
    """`tracks by Queen`: here `by` groups nothing."""
    after = sentence.items[place + 1 : place + 2]
    return sentence.items[place].text.casefold() == "by" and any(item.values for item in after)


def _is_before_a_measure(sentence: Sentence, place: int) -> bool:
    item = sentence.at(place)
    if item is None:
        return False
    if item.noun:
        return _is_measured(sentence, item.noun)
    return item.has("measure", "agg", "count", "order")
