"""Defines the policies of a data source as data: who may see which tables, rows and values.

A `PolicySet` belongs to one source: a list of policies and what holds where none speaks
(`default`). `rights.py` derives what one reader may see, `compiling.py` applies it to a query. How
several policies combine:

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

Policies from YAML (a file beside the source) and from JSON (the administration API), and back.

    default: deny                      # allow when left out
    policies:
      - name: eu-analysts
        subjects: {roles: [analyst], users: [ana], tenants: [acme]}     # or: everyone
        tables:
          Customer:
            grant: true
            row_filter: region = :user.region AND plan IN :user.plans
            deny_columns: [Phone]
            masks: {Email: partial, Notes: null, Name: hash, City: "(hidden)"}
          "*": {grant: false}

Nothing is guessed and nothing is skipped: an unknown key, a key given twice or a value of the wrong
kind is an error that names its place. Whether tables, columns and filters fit a source is
checked by `checking.check_policy`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast

import yaml

from dataagent_core.data.types import Reader
from dataagent_core.errors import BadInput, Misconfigured

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
        """Whether it hides rows; `TRUE` only lifts the filter of `*`."""
        return self.row_filter is not None and self.row_filter.strip().casefold() != "true"

    @property
    def is_restrictive(self) -> bool:
        """Whether it restricts anything."""
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


_SUBJECT_KINDS = ("users", "roles", "tenants")
_RULE_KEYS = ("grant", "row_filter", "deny_columns", "masks")
_WORDS: dict[str, Mask] = {
    "null": Mask("null"),
    "hash": Mask("hash"),
    "partial": Mask("partial"),
    "last4": Mask("partial"),
}


def policies_from_yaml(text: str) -> PolicySet:
    """The policies of a file's text.

    Raises:
        Misconfigured: the text is no YAML or no policies; the message names the place.
    """
    try:
        # a SafeLoader
        return policies_from_dict(yaml.load(text, Loader=_StrictLoader) or {})  # noqa: S506
    except yaml.YAMLError as error:
        raise Misconfigured(f"The policies are not valid YAML: {error}") from error
    except BadInput as error:
        raise Misconfigured(error.message) from error


def policies_from_dict(data: object) -> PolicySet:
    """The policies of a source, as `policies_to_dict` gives them.

    Raises:
        BadInput: something is missing, unknown or of the wrong kind; the message names the place.
    """
    fields = _mapping(data, "policies", allowed=("default", "policies"))
    default = fields.get("default", "allow")
    if default not in ("allow", "deny"):
        raise BadInput(f"default: must be allow or deny, not {default!r}.")
    policies = tuple(
        policy_from_dict(each, place=f"policies[{index}]")
        for index, each in enumerate(_list(fields.get("policies"), "policies"))
    )
    names = [policy.name for policy in policies]
    for name in names:
        if names.count(name) > 1:
            raise BadInput(f"policies: the name {name!r} is given twice. Names must differ.")
    return PolicySet(policies=policies, default=default)


def policy_from_dict(data: object, *, place: str = "policy") -> Policy:
    """One policy, as `policy_to_dict` gives it.

    Raises:
        BadInput: as `policies_from_dict`.
    """
    fields = _mapping(data, place, allowed=("name", "subjects", "tables"))
    name = _text(fields.get("name"), f"{place}.name")
    place = f"policy {name!r}"
    tables = _mapping(fields.get("tables"), f"{place}, tables")
    if not tables:
        raise BadInput(f"{place}, tables: names no table. Name one, or '*' for all.")
    return Policy(
        name=name,
        subjects=_subjects(fields.get("subjects"), f"{place}, subjects"),
        tables={table: _rule(rule, f"{place}, table {table!r}") for table, rule in tables.items()},
    )


def policies_to_dict(policies: PolicySet) -> dict[str, Any]:
    """The policies as JSON values."""
    return {
        "default": policies.default,
        "policies": [policy_to_dict(policy) for policy in policies.policies],
    }


def policy_to_dict(policy: Policy) -> dict[str, Any]:
    """The policy as JSON values; what a rule leaves open is left out."""
    return {
        "name": policy.name,
        "subjects": _subjects_to_data(policy.subjects),
        "tables": {table: _rule_to_dict(rule) for table, rule in policy.tables.items()},
    }


def _subjects_to_data(subjects: Subjects) -> str | dict[str, list[str]]:
    if subjects.is_everyone:
        return "everyone"
    kinds = {"users": subjects.users, "roles": subjects.roles, "tenants": subjects.tenants}
    return {kind: sorted(names) for kind, names in kinds.items() if names}


def _rule_to_dict(rule: TableRule) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    if rule.is_granted is not None:
        fields["grant"] = rule.is_granted
    if rule.row_filter is not None:
        fields["row_filter"] = rule.row_filter
    if rule.deny_columns:
        fields["deny_columns"] = list(rule.deny_columns)
    if rule.masks:
        fields["masks"] = {column: _mask_to_data(mask) for column, mask in rule.masks.items()}
    return fields


def _mask_to_data(mask: Mask) -> str | dict[str, str]:
    return {"constant": mask.text or ""} if mask.kind == "constant" else mask.kind


def _subjects(data: object, place: str) -> Subjects:
    if data == "everyone":
        return Subjects(is_everyone=True)
    if not isinstance(data, Mapping):
        raise BadInput(f"{place}: must be everyone, or some of users, roles and tenants.")
    fields = _mapping(cast("object", data), place, allowed=_SUBJECT_KINDS)
    users, roles, tenants = (
        frozenset(_texts(fields.get(kind), f"{place}.{kind}")) for kind in _SUBJECT_KINDS
    )
    if not (users or roles or tenants):
        raise BadInput(f"{place}: names nobody. Write everyone, or some users, roles or tenants.")
    return Subjects(users=users, roles=roles, tenants=tenants)


def _rule(data: object, place: str) -> TableRule:
    fields = _mapping(data, place, allowed=_RULE_KEYS)
    grant = fields.get("grant")
    if grant is not None and not isinstance(grant, bool):
        raise BadInput(f"{place}, grant: must be true or false, not {grant!r}.")
    row_filter = fields.get("row_filter")
    masks = _mapping(fields.get("masks"), f"{place}, masks")
    return TableRule(
        is_granted=grant,
        row_filter=None if row_filter is None else _text(row_filter, f"{place}, row_filter"),
        deny_columns=tuple(_texts(fields.get("deny_columns"), f"{place}, deny_columns")),
        masks={column: _mask(mask, f"{place}, masks.{column}") for column, mask in masks.items()},
    )


def _mask(data: object, place: str) -> Mask:
    if data is None:  # YAML's own null
        return Mask("null")
    if isinstance(data, str):
        return _WORDS.get(data) or Mask("constant", data)
    fields = _mapping(data, place, allowed=("constant",))
    return Mask("constant", _text(fields.get("constant"), f"{place}.constant", is_empty_fine=True))


def _mapping(data: object, place: str, *, allowed: Sequence[str] = ()) -> dict[str, object]:
    if data is None:
        return {}
    if not isinstance(data, Mapping):
        raise BadInput(f"{place}: must be a mapping, not {type(data).__name__}.")
    fields = cast("Mapping[object, object]", data)  # any mapping is one of objects
    for key in fields:
        if not isinstance(key, str) or not key:
            raise BadInput(f"{place}: the key {key!r} must be text. Put it in quotes.")
        if allowed and key not in allowed:
            raise BadInput(f"{place}: {key!r} is not known here. Use: {', '.join(allowed)}.")
    return {str(key): value for key, value in fields.items()}


def _list(data: object, place: str) -> list[object]:
    if data is None:
        return []
    if not isinstance(data, list | tuple):
        raise BadInput(f"{place}: must be a list, not {type(data).__name__}.")
    return list(cast("Sequence[object]", data))  # any list is one of objects


def _texts(data: object, place: str) -> list[str]:
    return [_text(each, f"{place}[{index}]") for index, each in enumerate(_list(data, place))]


def _text(data: object, place: str, *, is_empty_fine: bool = False) -> str:
    if not isinstance(data, str) or not (data.strip() or is_empty_fine):
        raise BadInput(f"{place}: must be a text, not {data!r}.")
    return data


class _StrictLoader(yaml.SafeLoader):
    """YAML's safe subset; a key given twice is an error instead of the last one winning."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """As SafeLoader's."""
        seen: set[object] = set()
        for key_node, _ in node.value:
            key: object = cast(Any, self).construct_object(key_node, deep=True)  # untyped in PyYAML
            if key in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key!r} is given twice", key_node.start_mark
                )
            seen.add(key)
        return super().construct_mapping(node, deep=deep)
