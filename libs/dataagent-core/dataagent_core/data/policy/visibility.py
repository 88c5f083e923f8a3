"""The catalogue as one reader may see it: what is forbidden is absent, not marked.

Names are checked, schemas shown and values searched in this catalogue only, so that no list, hint
or error text knows more than its reader. Above: the data service. Below: `rights.py`.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace

from dataagent_core.data.policy.rights import ReaderRights, VisibleTable
from dataagent_core.data.policy.rules import PolicySet
from dataagent_core.data.types import Catalogue, Column, ForeignKey, Reader, Table


def visible_catalogue(catalogue: Catalogue, policies: PolicySet, reader: Reader) -> Catalogue:
    """What the reader may know of the source; the same object when that is everything.

    Forbidden tables and columns are gone, with the keys that mention them. Sampled values are gone
    where a column is masked or rows are filtered, and so is the row count of a filtered table. A
    mask that gives text makes the column's type TEXT. The hash is one of what is left.
    """
    rights = ReaderRights(policies, reader, catalogue)
    if rights.is_unrestricted:
        return catalogue
    opened = {table.key: seen for table in catalogue.tables if (seen := rights.table(table))}
    if len(opened) == len(catalogue.tables) and all(
        each.is_unrestricted for each in opened.values()
    ):
        return catalogue
    tables = tuple(_shown(seen, opened) for seen in opened.values())
    return replace(catalogue, tables=tables, hash=_hash(catalogue, tables))


def _shown(seen: VisibleTable, opened: dict[str, VisibleTable]) -> Table:
    table = seen.table
    names = {column.name for column in seen.columns}
    return replace(
        table,
        columns=tuple(_shown_column(column, seen) for column in seen.columns),
        primary_key=table.primary_key if names.issuperset(table.primary_key) else (),
        foreign_keys=tuple(key for key in table.foreign_keys if _is_shown(key, names, opened)),
        row_count=None if seen.filters else table.row_count,
    )


def _shown_column(column: Column, seen: VisibleTable) -> Column:
    mask = seen.masks.get(column.name)
    if mask is None and not (seen.filters and column.samples):
        return column
    bare = replace(column, samples=(), are_samples_truncated=False)
    if mask is None:
        return bare
    if mask.kind == "null":
        return replace(bare, is_nullable=True)
    return replace(bare, type="TEXT")


def _is_shown(key: ForeignKey, names: set[str], opened: dict[str, VisibleTable]) -> bool:
    target = opened.get(key.target_table)
    if target is None or not names.issuperset(key.columns):
        return False
    return {column.name for column in target.columns}.issuperset(key.target_columns)


def _hash(catalogue: Catalogue, tables: tuple[Table, ...]) -> str:
    digest = hashlib.sha256(catalogue.hash.encode())
    for table in tables:
        digest.update(repr(table).encode())
    return digest.hexdigest()
