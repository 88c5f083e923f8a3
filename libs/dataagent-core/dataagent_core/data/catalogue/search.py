"""Which tables and columns a question is about, when the whole catalogue does not fit.

Tables are ranked by words they share with the question (`index.py`) plus a share of what their
neighbours by foreign key have, so that a table which joins two hits rises with them; what is still
missing to join the best ones is put in. A catalogue given here is the reader's own: what a policy
hides is not in it. Above: the `search_catalogue` tool, `data/service.py`. Pure.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Set
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

from dataagent_core.data.catalogue.index import CatalogueIndex, Match, weighted_query
from dataagent_core.data.types import Catalogue, Table

MOST_COLUMNS = 40
_NEIGHBOUR_SHARE = 0.45
_COLUMN_SHARE = 0.5
_MUST_JOIN = 3


@dataclass(frozen=True, slots=True)
class Hit:
    """A table that fits, its columns best first, and why."""

    table_key: str
    columns: tuple[str, ...]
    score: float
    why: str


def search(
    catalogue: Catalogue, query: str, limit: int = 8, *, max_columns: int = MOST_COLUMNS
) -> list[Hit]:
    """The tables that fit a question in English or Chinese, best first; empty if none does.

    A table brings all its columns if they are at most `max_columns`, else its keys and those that
    fit best: a column too many costs less than one that is missing.
    """
    index = _index_of(catalogue)
    asked = weighted_query(query)
    of_tables, of_columns = index.match_tables(asked), index.match_columns(asked)
    own = _scores(of_tables, of_columns)
    if not own or limit < 1:
        return []
    joins = _joins(index.tables)
    scores = _with_neighbours(own, joins)
    for number, gained in _pointed_at(index.tables, of_columns).items():
        scores[number] = scores.get(number, 0.0) + gained
    chosen = _chosen(_one_of_each_family(scores, index), joins, limit)
    by_table: dict[int, dict[str, Match]] = defaultdict(dict)
    for (number, name), match in of_columns.items():
        by_table[number][name] = match
    return [
        Hit(
            table_key=index.tables[number].key,
            columns=_columns(
                index.tables[number], by_table[number], max_columns, index.common_columns
            ),
            score=round(scores.get(number, 0.0), 3),
            why=_why(number, of_tables.get(number), index, joins, chosen),
        )
        for number in chosen
    ]


@lru_cache(maxsize=16)
def _index_of(catalogue: Catalogue) -> CatalogueIndex:
    """By the whole content, not by hash: readers with different rights have different ones."""
    return CatalogueIndex(catalogue)


def _scores(
    tables: Mapping[int, Match], columns: Mapping[tuple[int, str], Match]
) -> dict[int, float]:
    best: dict[int, float] = defaultdict(float)
    for (number, _name), match in columns.items():
        best[number] = max(best[number], match.score)
    return {n: match.score + _COLUMN_SHARE * best[n] for n, match in tables.items()}


def _joins(tables: tuple[Table, ...]) -> dict[int, set[int]]:
    numbers = {table.key.casefold(): number for number, table in enumerate(tables)}
    joins: dict[int, set[int]] = defaultdict(set)
    for number, table in enumerate(tables):
        for key in table.foreign_keys:
            target = numbers.get(key.target_table.casefold())
            if target is not None and target != number:
                joins[number].add(target)
                joins[target].add(number)
    return joins


def _with_neighbours(own: Mapping[int, float], joins: Mapping[int, set[int]]) -> dict[int, float]:
    scores = dict(own)
    for number, neighbours in joins.items():
        nearest = sorted((own.get(each, 0.0) for each in neighbours), reverse=True)[:2]
        gained = _NEIGHBOUR_SHARE * sum(nearest) / 2
        if gained:
            scores[number] = own.get(number, 0.0) + gained
    return scores


def _pointed_at(
    tables: tuple[Table, ...], columns: Mapping[tuple[int, str], Match]
) -> dict[int, float]:
    """What a table gains from the best fitting column that points at it: it holds the names."""
    numbers = {table.key.casefold(): number for number, table in enumerate(tables)}
    gained: dict[int, float] = defaultdict(float)
    for number, table in enumerate(tables):
        for key in table.foreign_keys:
            target = numbers.get(key.target_table.casefold())
            fits = [columns[number, c].score for c in key.columns if (number, c) in columns]
            if target is not None and fits:
                gained[target] = max(gained[target], _NEIGHBOUR_SHARE * max(fits))
    return gained


def _one_of_each_family(scores: Mapping[int, float], index: CatalogueIndex) -> dict[int, float]:
    """Of tables that are alike the one that fits best, the last of several: else they fill up."""
    best: dict[str, int] = {}
    for number in sorted(scores, key=lambda each: (scores[each], each)):
        best[index.family_of[index.tables[number].key].label] = number
    return {number: scores[number] for number in best.values()}


def _chosen(scores: Mapping[int, float], joins: Mapping[int, set[int]], limit: int) -> list[int]:
    """The best tables, with those in between that join the very best; at most `limit`."""
    ranked = sorted(scores, key=lambda number: (-scores[number], number))
    must = ranked[: min(_MUST_JOIN, limit)]
    for one, other in combinations(must[:], 2):
        if other in joins.get(one, set()):
            continue
        between = joins.get(one, set()) & joins.get(other, set())
        if between and not between & set(must) and len(must) < limit:
            must.append(max(between, key=lambda number: (scores.get(number, 0.0), -number)))
    rest = [number for number in ranked if number not in must]
    chosen = [*must, *rest][:limit]
    return sorted(chosen, key=lambda number: (-scores.get(number, 0.0), number))


def _columns(
    table: Table, matches: Mapping[str, Match], most: int, common: Set[str]
) -> tuple[str, ...]:
    names = [column.name for column in table.columns]
    keys = {*table.primary_key, *(name for key in table.foreign_keys for name in key.columns)}

    def rank(name: str) -> tuple[float, bool, bool]:
        fit = matches[name].score if name in matches else 0.0
        return -fit, name not in keys, name in common

    best = sorted(names, key=rank)
    others = [name for name in best if name not in keys]
    room = max(most - len(best) + len(others), most // 2)  # keys may take half, not all
    kept = {*others[:room]}
    kept |= {*[name for name in best if name in keys][: most - len(kept)]}
    return tuple(name for name in best if name in kept)


def _why(
    number: int,
    match: Match | None,
    index: CatalogueIndex,
    joins: Mapping[int, set[int]],
    chosen: list[int],
) -> str:
    reasons: list[str] = []
    family = index.family_of[index.tables[number].key]
    if len(family.members) > 1:
        reasons.append(f"one of {len(family.members)} alike, {family.label}")
    if match is None:
        joined = [index.tables[each].key for each in chosen if each in joins.get(number, set())]
        return "; ".join([*reasons, f"joins {', '.join(joined)}"])
    places: dict[str, list[str]] = defaultdict(list)
    for word, place in match.matched_words.items():
        places[place].append(word)
    reasons += [f"{place}: {', '.join(found[:5])}" for place, found in places.items()]
    return "; ".join(reasons)
