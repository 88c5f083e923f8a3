"""Looks for words in the data that the samples do not show, and in which columns they stand.

One query asks all text columns whose samples are not complete for all spellings at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from dataagent_core.data.dialects import Dialect
from dataagent_offline.data.plan import Hop, Ref, SelectPlan
from dataagent_offline.data.schema import SourceSchema, is_title, label_columns, needs_check
from dataagent_offline.data.segmentation import Segmentation
from dataagent_offline.data.sql import Writer
from dataagent_offline.data.terms import QuestionSpan, ValueTerm
from dataagent_offline.data.vocabulary import has_han, keys, names

_MOST_COLUMNS: Final = 40
_MOST_SPELLINGS: Final = 60
_MOST_ROWS: Final = 5_000_000
"""Tables above this are not searched for a word."""


def unmatched_spellings(segmentation: Segmentation, schema: SourceSchema) -> dict[str, str]:
    """Spellings to look for → the words of the question they stand for."""
    found: dict[str, str] = {}
    for run in _runs(segmentation):
        for text, spellings in _pieces(segmentation.text, run):
            for spelling in spellings:
                found.setdefault(spelling.casefold(), text)
    for item in segmentation.items:
        is_value = bool(item.values) and not item.words and not item.noun
        if is_value and _has_unseen_peers(item, schema):
            for spelling in _spellings(item):
                found.setdefault(spelling.casefold(), item.text)
    return dict(list(found.items())[:_MOST_SPELLINGS])


def lookup_query(spellings: Sequence[str], schema: SourceSchema) -> str | None:
    """The query that looks for the spellings; None if every text column is known in full."""
    places = list(_places(schema))[:_MOST_COLUMNS]
    if not places or not spellings:
        return None
    writer = Writer(schema)
    listed = ", ".join(schema.dialect.literal(each) for each in spellings)
    return "\nUNION ALL\n".join(_search(ref, listed, writer, schema.dialect) for ref in places)


def key_check(plan: SelectPlan, schema: SourceSchema) -> str | None:
    """The query that counts rows and keys of each table joined by name alone; None if no such."""
    writer = Writer(schema)
    refs = [_parent(hop) for hop in plan.hops if hop.is_inferred]
    checks = [
        _count_keys(ref, writer, schema.dialect)
        for ref in dict.fromkeys(refs)
        if schema.tables[ref.table].primary_key != (ref.column,)
    ]
    return "\nUNION ALL\n".join(checks) or None


def flag_check(plan: SelectPlan, schema: SourceSchema) -> str | None:
    """The query that counts rows with neither 0 nor 1 in columns that only their name calls flags.

    None without such columns.
    """
    writer = Writer(schema)
    refs = [
        each.ref
        for each in plan.conditions
        if each.operator in {"is", "is_not"}
        and needs_check(schema.column(each.ref.table, each.ref.column))
    ]
    checks = [
        # quoted by the writer
        f"SELECT {schema.dialect.literal(str(ref))} AS flag, COUNT(*) AS others"  # noqa: S608
        f" FROM {writer.table(ref.table)} WHERE {writer.ref(ref)} NOT IN (0, 1)"
        for ref in dict.fromkeys(refs)
    ]
    return "\nUNION ALL\n".join(checks) or None


def _count_keys(ref: Ref, writer: Writer, dialect: Dialect) -> str:
    shown = f"{dialect.literal(str(ref))} AS key_of, COUNT({writer.ref(ref)}) AS key_rows"
    values = f"COUNT(DISTINCT {writer.ref(ref)}) AS key_values"
    # quoted by the writer
    return f"SELECT {shown}, {values} FROM {writer.table(ref.table)}"  # noqa: S608


def _parent(hop: Hop) -> Ref:
    if hop.is_one:
        return Ref(hop.target, hop.target_columns[0])
    return Ref(hop.source, hop.columns[0])


def _search(ref: Ref, listed: str, writer: Writer, dialect: Dialect) -> str:
    """All parts are quoted by the writer; the query goes through the guard like any other."""
    shown = f"{dialect.literal(ref.table)} AS in_table, {dialect.literal(ref.column)} AS in_column"
    column = writer.ref(ref)
    return (
        # as above
        f"SELECT DISTINCT {shown}, {column} AS found FROM {writer.table(ref.table)}"  # noqa: S608
        f" WHERE LOWER({column}) IN ({listed})"
    )


def found_values(
    rows: Sequence[Sequence[Any]], spellings: Mapping[str, str], schema: SourceSchema
) -> dict[str, tuple[ValueTerm, ...]]:
    """Words of the question → where the data has them."""
    found: dict[str, list[ValueTerm]] = {}
    for row in rows:
        table, column, value = (str(cell) for cell in row[:3])
        text = spellings.get(value.casefold())
        if text is not None and column in schema.tables[table].columns:
            term = ValueTerm(table, column, value, is_title(schema.tables[table], column))
            found.setdefault(text, []).append(term)
    return {text: tuple(terms) for text, terms in found.items()}


def _runs(segmentation: Segmentation) -> Iterator[tuple[QuestionSpan, ...]]:
    """Neighbouring unknown spans, with single small words between them: `Bank of America`."""
    run: list[QuestionSpan] = []
    gap: list[QuestionSpan] = []
    for item in segmentation.items:
        if not item.is_known:
            run.extend((*gap, item))
            gap = []
        elif run and not gap and item.has("noise", "and"):
            gap = [item]
        else:
            if run:
                yield tuple(run)
            run, gap = [], []
    if run:
        yield tuple(run)


def _pieces(text: str, run: Sequence[QuestionSpan]) -> Iterator[tuple[str, list[str]]]:
    """The run and its parts, each with its spellings; long ones first."""
    if run[0].lookups and len(run) == 1:
        yield run[0].text, list(run[0].lookups)
        return
    for length in range(min(len(run), 8), 0, -1):
        for start in range(len(run) - length + 1):
            piece = text[run[start].start : run[start + length - 1].end]
            if len(piece) > 1 or not has_han(piece):
                yield piece, [piece, *names().get(keys(piece), ())]


def _spellings(item: QuestionSpan) -> list[str]:
    stored = [term.value for term in item.values]
    return list(dict.fromkeys([item.text, *stored, *names().get(keys(item.text), ())]))


def _has_unseen_peers(item: QuestionSpan, schema: SourceSchema) -> bool:
    """Whether a column of the same kind may hold the value without showing it.

    Names of rows are left out: what one row is called says nothing about the rows of other tables.
    """
    known = {(term.table, term.column) for term in item.values}
    kinds = {
        keys(term.column)[-1:]
        for term in item.values
        if term.column not in label_columns(schema.tables[term.table])
    }
    return any(
        keys(ref.column)[-1:] in kinds and (ref.table, ref.column) not in known
        for ref in _places(schema)
    )


def _places(schema: SourceSchema) -> Iterator[Ref]:
    tables = sorted(schema.tables.values(), key=lambda table: table.row_count or 0)
    for table in tables:
        if (table.row_count or 0) > _MOST_ROWS:
            continue
        for column in table.columns.values():
            if column.kind == "text" and column.are_samples_truncated:
                yield Ref(table.name, column.name)
