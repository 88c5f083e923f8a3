"""What changed between two catalogues of a source, in sentences. Pure.

Tables and columns that came, went or changed; not rows, samples or comments. Above: `refresh.py`
logs them and the API shows them.
"""

from __future__ import annotations

from collections.abc import Iterator

from dataagent_core.data.types import Catalogue, Column, ForeignKey, Table


def drift(old: Catalogue, new: Catalogue) -> list[str]:
    """One sentence a change; empty if the structure is the same."""
    before = {table.key: table for table in old.tables}
    after = {table.key: table for table in new.tables}
    sentences: list[str] = []
    if old.dialect != new.dialect:
        sentences.append(f"The source speaks {new.dialect} now, not {old.dialect}.")
    for key in sorted(after.keys() - before.keys()):
        table = after[key]
        sentences.append(f"{_kind(table)} {key} was added ({len(table.columns)} columns).")
    sentences += [f"{_kind(before[key])} {key} is gone." for key in sorted(before.keys() - after)]
    for key in sorted(before.keys() & after.keys()):
        sentences += _table_drift(before[key], after[key])
    return sentences


def _kind(table: Table) -> str:
    return "View" if table.is_view else "Table"


def _table_drift(old: Table, new: Table) -> Iterator[str]:
    if old.is_view != new.is_view:
        yield f"{old.key} is a {_kind(new).lower()} now."
    before = {column.name: column for column in old.columns}
    after = {column.name: column for column in new.columns}
    added, gone = after.keys() - before.keys(), before.keys() - after.keys()
    yield from (f"Column {new.key}.{c.name} was added ({c.type})." for c in _in_order(new, added))
    yield from (f"Column {old.key}.{c.name} is gone." for c in _in_order(old, gone))
    for column in new.columns:
        if column.name in before:
            yield from _column_drift(new.key, before[column.name], column)
    if not added and not gone and [*before] != [*after]:
        yield f"The columns of {new.key} stand in another order."
    if old.primary_key != new.primary_key:
        yield f"The primary key of {new.key} is {_listed(new.primary_key)} now."
    yield from _key_drift(old, new)


def _in_order(table: Table, names: set[str]) -> list[Column]:
    return [column for column in table.columns if column.name in names]


def _column_drift(key: str, old: Column, new: Column) -> Iterator[str]:
    if old.type != new.type:
        yield f"Column {key}.{new.name} is {new.type} now, not {old.type}."
    if old.is_nullable != new.is_nullable:
        yield f"Column {key}.{new.name} may {'now' if new.is_nullable else 'no longer'} be NULL."


def _key_drift(old: Table, new: Table) -> Iterator[str]:
    before, after = set(old.foreign_keys), set(new.foreign_keys)
    yield from sorted(f"{new.key} now points from {_pointing(key)}." for key in after - before)
    yield from sorted(
        f"{new.key} no longer points from {_pointing(key)}." for key in before - after
    )


def _pointing(key: ForeignKey) -> str:
    return f"{_listed(key.columns)} to {key.target_table} {_listed(key.target_columns)}"


def _listed(columns: tuple[str, ...]) -> str:
    return f"({', '.join(columns)})"
