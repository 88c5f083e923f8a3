"""Who may see what of a data source, as data. No SQL is compiled here.

A `PolicySet` belongs to one source: a list of policies and what holds where none speaks
(`default`). Above: `parsing.py` reads it from YAML and JSON, `rights.py` says what it comes to for
one reader, `compiling.py` puts it into a query. What several policies come to:

- A policy speaks to a reader when one of its subjects is the reader (everyone, a user id, a role or
  a tenant: any of them is enough). Administrators are bound like everyone else.
- Within one policy the rule of a named table inherits from the rule `*`: a grant or a row filter it
  does not give itself is that of `*`; denied columns and masks add up. So a filter on `*` is never
  lost by adding a mask to one table; `row_filter: "TRUE"` lifts it on purpose.
- **Tables.** `default: allow`: a table is open unless a matching policy denies it.
  `default: deny`: it needs one matching grant and no denial. A rule that only masks or filters is
  no grant.
- **Rows.** The row filters of all matching policies hold together (AND). A filter that cannot be
  built for this reader (an attribute is missing, an empty list, a value that does not fit the
  column's type) lets no row through. A filter that cannot be built for the table (its column is not
  there, as may happen with `*`, or its text is no plain condition) closes the table.
- **Columns.** Denied by one is denied. Of several masks the strictest holds:
  denied > null > constant > hash > partial. Of two constants, the first policy's.
- **Views.** A catalogue does not say what a view reads. Once anything is filtered, masked or denied
  for a reader, a view is readable only when a matching policy names it (`*` does not name it). What
  its rule then says is all that holds: the rules of the tables behind it do not reach through.
- Names of tables and columns match whatever their case, unless a table of exactly that name exists
  beside another that differs in case only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from dataagent_core.data.types import Reader

ANY_TABLE = "*"
MaskKind = Literal["null", "constant", "hash", "partial"]
Default = Literal["allow", "deny"]
STRICTNESS: tuple[MaskKind, ...] = ("partial", "hash", "constant", "null")


@dataclass(frozen=True, slots=True)
class Mask:
    """What stands in a column's place.

    `null`: nothing. `constant`: `text`, for every row. `hash`: a SHA-256 of the value, so that
    equal values stay equal (a pseudonym: who can guess a value can confirm it; an engine without
    the function gives null). `partial`: the last four characters of values of eight or more.
    """

    kind: MaskKind
    text: str | None = None


@dataclass(frozen=True, slots=True)
class TableRule:
    """What a policy says of one table, or of all (`*`). None: it says nothing of that."""

    is_granted: bool | None = None
    row_filter: str | None = None  # a condition over the table's columns; `:user.NAME` allowed
    deny_columns: tuple[str, ...] = ()
    masks: Mapping[str, Mask] = field(default_factory=dict[str, Mask])

    @property
    def is_filtered(self) -> bool:
        """Whether it keeps rows away; `TRUE` only lifts the filter of `*`."""
        return self.row_filter is not None and self.row_filter.strip().casefold() != "true"

    @property
    def is_restrictive(self) -> bool:
        """Whether it takes something away."""
        return self.is_granted is False or self.is_filtered or bool(self.deny_columns or self.masks)

    def with_defaults_from(self, general: TableRule | None) -> TableRule:
        """The rule, with what it leaves open taken from a more general one."""
        if general is None:
            return self
        return TableRule(
            is_granted=general.is_granted if self.is_granted is None else self.is_granted,
            row_filter=general.row_filter if self.row_filter is None else self.row_filter,
            deny_columns=(*general.deny_columns, *self.deny_columns),
            masks=strictest(general.masks, self.masks),
        )


@dataclass(frozen=True, slots=True)
class Subjects:
    """To whom a policy speaks: any of these."""

    is_everyone: bool = False
    users: frozenset[str] = frozenset()
    roles: frozenset[str] = frozenset()
    tenants: frozenset[str] = frozenset()

    def includes(self, reader: Reader) -> bool:
        """Whether the reader is among them."""
        return (
            self.is_everyone
            or reader.user_id in self.users
            or reader.role in self.roles
            or reader.tenant_id in self.tenants
        )


@dataclass(frozen=True, slots=True)
class Policy:
    """One policy of a source. `tables` is by `Table.key`, or `*` for all."""

    name: str
    subjects: Subjects
    tables: Mapping[str, TableRule]


@dataclass(frozen=True, slots=True)
class PolicySet:
    """All policies of one source, and what holds where none of them speaks."""

    policies: tuple[Policy, ...] = ()
    default: Default = "allow"
    mask_key: bytes | None = field(default=None, repr=False)
    """The source's secret for `hash` masks; without one they show nothing."""

    def matching(self, reader: Reader) -> tuple[Policy, ...]:
        """The policies that speak to the reader, in their order."""
        return tuple(policy for policy in self.policies if policy.subjects.includes(reader))


def strictest(one: Mapping[str, Mask], other: Mapping[str, Mask]) -> dict[str, Mask]:
    """Both sets of masks, by column in lower case; of two for a column, the stricter."""
    merged: dict[str, Mask] = {}
    for column, mask in (*one.items(), *other.items()):
        held = merged.get(column.casefold())
        if held is None or STRICTNESS.index(mask.kind) > STRICTNESS.index(held.kind):
            merged[column.casefold()] = mask
    return merged
