"""What a schema calls things: phrase → tables, columns and values it may stand for.

From names (`UnitPrice`, `unit_price`), comments in both languages, synonyms and sampled values.
Which meaning holds is decided by `parse` and `planner`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, TypeAlias

from dataagent_offline.data.schema import (
    SchemaColumn,
    SchemaTable,
    SourceSchema,
    is_title,
    state_of,
)
from dataagent_offline.data.terms import ColumnTerm, TableTerm, ValueTerm
from dataagent_offline.data.vocabulary import fixed_words, has_han, keys, names, nouns

Phrase: TypeAlias = tuple[str, ...]

_PREFIXES: Final = frozenset({"t", "tbl", "tb", "dim", "fact", "v", "vw", "stg", "fct"})
_COMMENT_PART: Final = re.compile(r"[\u4e00-\u9fff]++|[A-Za-z][A-Za-z' -]*+")
_TABLE_ENDINGS: Final = (
    "信息表",
    "记录表",
    "数据表",
    "明细表",
    "表",
    "信息",
    "记录",
    "数据",
    "主表",
)
_DATE_ENDINGS: Final = ("日期", "时间", "年份", "日")
_DATE_WORDS: Final = frozenset({"date", "at", "on", "time", "day", "datetime", "timestamp"})
_KEY_WORDS: Final = frozenset({"id", "key", "code", "no", "number"})
_KEY_ENDINGS: Final = ("编号", "号", "代码", "主键", "外键", "标识")
_NAME_ENDINGS: Final = ("名称", "姓名", "名字", "名")
_HALF_NAMES: Final = frozenset(
    {("first",), ("last",), ("full",), ("given",), ("family",), ("middle",), ("short",)}
)
_MOST_WORDS: Final = 6


@dataclass(frozen=True, slots=True)
class Lexicon:
    """Every phrase of a schema, by the keys of its words."""

    tables: dict[Phrase, dict[str, TableTerm]] = field(
        default_factory=dict[Phrase, dict[str, TableTerm]]
    )
    columns: dict[Phrase, dict[tuple[str, str], ColumnTerm]] = field(
        default_factory=dict[Phrase, dict[tuple[str, str], ColumnTerm]]
    )
    values: dict[Phrase, dict[tuple[str, str, str], ValueTerm]] = field(
        default_factory=dict[Phrase, dict[tuple[str, str, str], ValueTerm]]
    )

    def with_values(self, found: Mapping[str, tuple[ValueTerm, ...]]) -> Lexicon:
        """The same, with values found in the data under a spelling of the question."""
        more = Lexicon(self.tables, self.columns, dict(self.values))
        for spelling, terms in found.items():
            known = more.values.get(keys(spelling), {})
            more.values[keys(spelling)] = {**known, **{_place(term): term for term in terms}}
        return more

    def has(self, phrase: Phrase) -> bool:
        """Whether the schema knows the phrase."""
        return phrase in self.tables or phrase in self.columns or phrase in self.values


@lru_cache(maxsize=16)
def lexicon_of(schema: SourceSchema) -> Lexicon:
    """All phrases that name something in the schema."""
    lexicon = Lexicon()
    for table in schema.tables.values():
        owners = table_names(table)
        for phrase, quality in _table_phrases(table, owners):
            _add_table(lexicon, phrase, TableTerm(table.name, quality))
        for column in table.columns.values():
            for phrase, quality in _column_phrases(table, column, owners):
                _add_column(lexicon, phrase, ColumnTerm(table.name, column.name, quality))
            if column.kind == "text":
                _add_values(lexicon, table, column)
    return lexicon


def _add_table(lexicon: Lexicon, phrase: Phrase, term: TableTerm) -> None:
    known = lexicon.tables.setdefault(phrase, {})
    if term.table not in known or known[term.table].quality < term.quality:
        known[term.table] = term


def _add_column(lexicon: Lexicon, phrase: Phrase, term: ColumnTerm) -> None:
    known = lexicon.columns.setdefault(phrase, {})
    position = (term.table, term.column)
    if position not in known or known[position].quality < term.quality:
        known[position] = term


def _add_values(lexicon: Lexicon, table: SchemaTable, column: SchemaColumn) -> None:
    for sample in column.samples:
        phrase = keys(sample)
        if not _can_be_said(sample, phrase):
            continue
        term = ValueTerm(table.name, column.name, sample, is_title(table, column.name))
        spellings = {phrase, *(keys(name) for name in names().get(phrase, ()))}
        for spelling in spellings:
            lexicon.values.setdefault(spelling, {})[_place(term)] = term


def _can_be_said(sample: str, phrase: Phrase) -> bool:
    """Whether a value is one that a question would name: no number, no lone letter, no prose."""
    if not phrase or (len(phrase) > _MOST_WORDS and not has_han(sample)) or len(sample) > 60:
        return False
    if all(word[0].isdigit() for word in phrase):
        return False
    return len(sample) > 1 or has_han(sample)


def _place(term: ValueTerm) -> tuple[str, str, str]:
    return (term.table, term.column, term.value)


def _table_phrases(table: SchemaTable, owners: list[Phrase]) -> Iterator[tuple[Phrase, int]]:
    for phrase in owners:
        yield phrase, 4
        yield from ((keys(word), 3) for word in nouns().get(phrase, ()))
    for part in _parts(_bare_name(table)):
        yield part, 2
        yield from ((keys(word), 2) for word in nouns().get(part, ()))


def table_names(table: SchemaTable) -> list[Phrase]:
    """What the table itself and its comment call it."""
    found = [_bare_name(table), keys(table.name.rpartition(".")[2])]
    for part in _comment_parts(table.comment):
        found.append(keys(part))
        for ending in _TABLE_ENDINGS:
            if part.endswith(ending) and len(part) > len(ending) + 1:
                found.append(keys(part.removesuffix(ending)))
    return [phrase for phrase in dict.fromkeys(found) if phrase]


def _bare_name(table: SchemaTable) -> Phrase:
    words = keys(table.name.rpartition(".")[2])
    if len(words) > 1 and words[0] in _PREFIXES:
        words = words[1:]
    if len(words) > 1 and has_han(table.name) and words[-1] == "表":
        words = words[:-1]
    return words


def _column_phrases(
    table: SchemaTable, column: SchemaColumn, owners: list[Phrase]
) -> Iterator[tuple[Phrase, int]]:
    own = keys(column.name)
    if not own:
        return
    if table.is_key(column.name):
        yield own, 4
        if column.name not in table.primary_key:
            yield from ((phrase, 2) for phrase in _key_phrases(own, column))
        return
    phrases = [own, *(keys(part) for part in _comment_parts(column.comment))]
    for phrase in dict.fromkeys(phrases):
        yield phrase, 4
        yield from ((owner + phrase, 4) for owner in owners)
        yield from ((keys(word), 3) for word in nouns().get(phrase, ()))
        yield from ((part, 2) for part in _parts(phrase))
        for named in entity_names(phrase):
            yield named, 3
            yield from ((keys(word), 3) for word in nouns().get(named, ()))
        for owner in owners:
            if len(phrase) > len(owner) and phrase[: len(owner)] == owner:
                yield phrase[len(owner) :], 3
    if state := state_of(column):
        yield state, 4
        yield from ((keys(word), 3) for word in nouns().get(state, ()))
    if column.kind == "date":
        yield from ((phrase, 3) for phrase in _event_phrases(phrases))


def _key_phrases(own: Phrase, column: SchemaColumn) -> Iterator[Phrase]:
    """What a key to another table is called: `support rep` for `SupportRepId`."""
    if len(own) > 1 and own[-1] in _KEY_WORDS:
        yield own[:-1]
        yield from (keys(word) for word in nouns().get(own[:-1], ()))
    for part in _comment_parts(column.comment):
        if has_han(part) and not part.endswith(_KEY_ENDINGS):
            yield keys(part)


def entity_names(phrase: Phrase) -> Iterator[Phrase]:
    """What a column names or numbers: `customer` for `customer_name`, `客户` for `客户编号`."""
    text = "".join(phrase)
    if has_han(text):
        ending = next((each for each in _NAME_ENDINGS + _KEY_ENDINGS if text.endswith(each)), "")
        named = keys(text.removesuffix(ending)) if ending else ()
        if len(named) > 1:
            yield named
        return
    is_name = len(phrase) > 1 and phrase[-1] in _KEY_WORDS | {"name"}
    if is_name and phrase[:-1] not in fixed_words() and phrase[:1] not in _HALF_NAMES:
        yield phrase[:-1]


def is_number_of(column: str) -> bool:
    """Whether a column numbers things, and so tells two of the same name apart."""
    words = keys(column)
    return column.endswith(_KEY_ENDINGS) or (len(words) > 1 and words[-1] in _KEY_WORDS)


def _parts(phrase: Phrase) -> Iterator[Phrase]:
    """The ends of a longer name: `country` of `billing country`, `国家` of `所在国家`."""
    if has_han("".join(phrase)):
        yield from (phrase[start:] for start in range(1, len(phrase) - 1))
    elif len(phrase) > 1:
        yield phrase[-1:]
        if len(phrase) > 2:
            yield phrase[-2:]


def _event_phrases(phrases: list[Phrase]) -> Iterator[Phrase]:
    """What happened on a date: `hired` for `hire date`, `入职` for `入职日期`."""
    for phrase in phrases:
        if has_han("".join(phrase)):
            text = "".join(phrase)
            yield from (
                keys(text.removesuffix(ending))
                for ending in _DATE_ENDINGS
                if text.endswith(ending) and len(text) > len(ending) + 1
            )
        elif len(phrase) > 1 and phrase[-1] in _DATE_WORDS:
            verb = phrase[-2]
            yield from ((verb,), *(((verb + end),) for end in ("ed", "d", verb[-1] + "ed")))
            if verb == "birth":
                yield ("born",)


def _comment_parts(comment: str) -> list[str]:
    parts = [part.strip() for part in _COMMENT_PART.findall(comment)]
    return [part for part in parts if part and (has_han(part) or _is_name(keys(part)))]


def _is_name(phrase: Phrase) -> bool:
    """Whether a part of a comment is a name and not prose: `at what price` names nothing."""
    words = fixed_words()
    return len(phrase) <= 3 and not any(
        phrase[start:end] in words
        for start in range(len(phrase))
        for end in range(start + 1, len(phrase) + 1)
    )
