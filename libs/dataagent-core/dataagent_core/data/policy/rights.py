"""What the policies of a source come to for one reader. `rules.py` has the semantics."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dataagent_core.data.policy.names import TableIndex
from dataagent_core.data.policy.rules import (
    ANY_TABLE,
    Default,
    Mask,
    Policy,
    PolicySet,
    TableRule,
    strictest,
)
from dataagent_core.data.types import Catalogue, Column, Reader, Table
from dataagent_core.errors import BadInput

if TYPE_CHECKING:
    from dataagent_core.data.policy import filters
    from dataagent_core.data.policy.filters import BoundFilter
else:  # sqlglot, which only a filter needs
    from dataagent_core.config.lazy_modules import LazyModule

    filters = LazyModule("dataagent_core.data.policy.filters")

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class VisibleTable:
    """What a reader may see of a table: some columns, some of them masked, some rows."""

    table: Table
    columns: tuple[Column, ...]
    masks: dict[str, Mask]  # by column name
    filters: tuple[BoundFilter, ...]
    has_column_rules: bool = False
    """Whether some rule speaks of columns, be it of one that the catalogue does not have yet."""

    @property
    def is_unrestricted(self) -> bool:
        """Whether the reader sees all of it, and of columns that are added to it."""
        return not (self.has_column_rules or self.filters)


class ReaderRights:
    """One reader's rights in one source."""

    def __init__(self, policies: PolicySet, reader: Reader, catalogue: Catalogue) -> None:
        self._policies = policies.matching(reader)
        self._is_closed_by_default = policies.default == "deny"
        self._reader = reader
        self._dialect = catalogue.dialect
        self._is_anything_kept_away = _restricts(self._policies, policies.default)
        self._seen: dict[str, VisibleTable | None] = {}
        self.names = TableIndex(catalogue)

    @property
    def is_unrestricted(self) -> bool:
        """Whether no rule restricts anything."""
        return not self._is_closed_by_default and not self._is_anything_kept_away

    def table(self, table: Table) -> VisibleTable | None:
        """What the reader may see of the table; None when that is nothing."""
        if table.key not in self._seen:
            self._seen[table.key] = self._visible_table(table)
        return self._seen[table.key]

    def _visible_table(self, table: Table) -> VisibleTable | None:
        named = [(policy, self._named_rules(policy, table)) for policy in self._policies]
        if table.is_view and self._is_anything_kept_away and not any(rules for _, rules in named):
            return None
        rules = [
            (policy, rule.with_defaults_from(policy.tables.get(ANY_TABLE)))
            for policy, own in named
            for rule in own or [TableRule()]
        ]
        if not self._is_granted([rule for _, rule in rules]):
            return None
        filters = self._filters(table, rules)
        denied = {name.casefold() for _, rule in rules for name in rule.deny_columns}
        columns = tuple(each for each in table.columns if each.name.casefold() not in denied)
        if filters is None or not columns:
            return None
        has_column_rules = any(rule.deny_columns or rule.masks for _, rule in rules)
        masks = _masks(columns, [rule for _, rule in rules])
        return VisibleTable(table, columns, masks, filters, has_column_rules)

    def _named_rules(self, policy: Policy, table: Table) -> list[TableRule]:
        return [
            rule
            for name, rule in policy.tables.items()
            if name != ANY_TABLE and table in self.names.tables(name)
        ]

    def _is_granted(self, rules: list[TableRule]) -> bool:
        grants = {rule.is_granted for rule in rules}
        if False in grants:
            return False
        return True in grants or not self._is_closed_by_default

    def _filters(
        self, table: Table, rules: list[tuple[Policy, TableRule]]
    ) -> tuple[BoundFilter, ...] | None:
        bound: dict[str, BoundFilter] = {}
        for policy, rule in rules:
            if rule.row_filter is None or not rule.is_filtered or rule.row_filter in bound:
                continue
            try:
                found = filters.bind_filter(rule.row_filter, table, self._reader, self._dialect)
            except BadInput as error:
                logger.warning(
                    "policy %r closes table %r: %s", policy.name, table.key, error.message
                )
                return None
            bound[rule.row_filter] = found
        return tuple(bound.values())


def _restricts(policies: tuple[Policy, ...], default: Default) -> bool:
    """Whether these policies take anything from those they speak to."""
    if any(rule.is_restrictive for policy in policies for rule in policy.tables.values()):
        return True
    general = [policy.tables.get(ANY_TABLE) for policy in policies]
    return default == "deny" and not any(rule and rule.is_granted for rule in general)


def _masks(columns: tuple[Column, ...], rules: list[TableRule]) -> dict[str, Mask]:
    merged: dict[str, Mask] = {}
    for rule in rules:
        merged = strictest(merged, rule.masks)
    return {
        column.name: merged[column.name.casefold()]
        for column in columns
        if column.name.casefold() in merged
    }
