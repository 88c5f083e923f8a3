"""The catalogue as one reader may see it: what is forbidden is absent, not marked.

Names are checked, schemas shown and values searched in this catalogue only, so that no list, hint
or error text knows more than its reader.

A stored catalogue serves all readers, so its sampled values must be open to all of them. The rule
is simple and errs on the side of storing less. Values are stored unless, in any policy of the
source and whomever it speaks to:

- the column is denied or masked;
- the table is denied, or has a row filter (then none of its columns: a value does not say of which
  row it is);
- tables are closed by default, and no policy grants this one to everyone;
- it is a view, and anything of the source is protected: a catalogue does not say what a view shows.

Names, types, keys, comments and row counts are structure, not values.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace

from dataagent_core.data.policy.names import TableIndex
from dataagent_core.data.policy.rights import ReaderRights, VisibleTable
from dataagent_core.data.policy.rules import ANY_TABLE, Policy, PolicySet, TableRule
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


OPEN = PolicySet()
"""No policies: everything may be stored."""
CLOSED = PolicySet(default="deny")
"""For policies that cannot be read: no value may be stored."""


class StorableValues:
    """The columns of a source that no policy protects."""

    def __init__(self, policies: PolicySet, catalogue: Catalogue) -> None:
        self._policies = policies.policies
        self._is_closed_by_default = policies.default == "deny"
        self._is_anything_kept_away = self._is_closed_by_default or any(
            rule.is_restrictive for policy in self._policies for rule in policy.tables.values()
        )
        self._names = TableIndex(catalogue)

    def columns(self, table: Table) -> tuple[Column, ...]:
        """The columns of the table whose values may be stored."""
        if not self._is_anything_kept_away:
            return table.columns
        if table.is_view:
            return ()
        rules = [(policy, rule) for policy in self._policies for rule in self._rules(policy, table)]
        if any(rule.is_granted is False or rule.is_filtered for _, rule in rules):
            return ()
        if self._is_closed_by_default and not any(
            rule.is_granted and policy.subjects.is_everyone for policy, rule in rules
        ):
            return ()
        hidden = {
            name.casefold() for _, rule in rules for name in (*rule.deny_columns, *rule.masks)
        }
        return tuple(each for each in table.columns if each.name.casefold() not in hidden)

    def _rules(self, policy: Policy, table: Table) -> list[TableRule]:
        """What the policy says of the table, with what it says of all."""
        general = policy.tables.get(ANY_TABLE)
        named = [
            rule.with_defaults_from(general)
            for name, rule in policy.tables.items()
            if name != ANY_TABLE and table in self._names.tables(name)
        ]
        return named or ([] if general is None else [general])


def without_protected_values(catalogue: Catalogue, policies: PolicySet) -> Catalogue:
    """The catalogue with only the values that may be stored; the same object if none is removed."""
    allowed = StorableValues(policies, catalogue)
    tables = tuple(_with_values(table, allowed.columns(table)) for table in catalogue.tables)
    is_same = all(one is other for one, other in zip(tables, catalogue.tables, strict=True))
    return catalogue if is_same else replace(catalogue, tables=tables)


def _with_values(table: Table, allowed: tuple[Column, ...]) -> Table:
    names = {column.name for column in allowed}
    if all(column.name in names or not column.samples for column in table.columns):
        return table
    columns = tuple(
        column if column.name in names else replace(column, samples=(), are_samples_truncated=False)
        for column in table.columns
    )
    return replace(table, columns=columns)
