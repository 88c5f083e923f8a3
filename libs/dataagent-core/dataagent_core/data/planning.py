"""What of a source a reader may see, and which statement would run for that reader.

The one place where guard and policy meet. Views are remembered while catalogue, policies and reader
stay the same. Above: `service.py`. Below: `guard/`, `policy/`.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dataagent_core.data import policy
from dataagent_core.data.policy import PolicySet
from dataagent_core.data.results import catalogue_of
from dataagent_core.data.sources import PolicyStore, Source, StoredPolicy
from dataagent_core.data.types import Artifact, Catalogue, Reader, TruncatedBy
from dataagent_core.errors import DataDenied, UnknownName

if TYPE_CHECKING:
    from dataagent_core.data import guard
else:  # sqlglot, which only a statement needs
    from dataagent_core.config.libraries import Library

    guard = Library("dataagent_core.data.guard")

_KEPT_VIEWS = 256
_KEPT_RESULTS = "earlier results"


@dataclass(frozen=True, slots=True)
class View:
    """A source through one reader's eyes: all of it, what is seen of it, and why.

    Neither has values that a policy keeps from anyone: those are not even searched.
    """

    full: Catalogue
    seen: Catalogue
    policies: PolicySet


@dataclass(frozen=True, slots=True)
class Plan:
    """A statement that passed every check, ready for the driver."""

    source_id: str
    source_name: str
    dialect: str
    sql: str
    sql_executed: str
    policy: tuple[str, ...]
    truncated_by: TruncatedBy | None = None  # what it reads was cut already, and by which limit


class Planner:
    """Plans statements for readers."""

    def __init__(self, policies: PolicyStore) -> None:
        self._policies = policies
        self._views: OrderedDict[Any, tuple[Catalogue, View]] = OrderedDict()  # Any: several parts

    async def view(self, source: Source, catalogue: Catalogue, reader: Reader) -> View:
        """What the reader sees of a source with this catalogue."""
        stored = await self._policies.list(source.source_id)
        if not stored and source.default_policy == "allow":
            return View(catalogue, catalogue, policy.OPEN)
        key = (id(catalogue), source.default_policy, _versions(stored), _identity(reader))
        found = self._views.get(key)
        if found is None or found[0] is not catalogue:
            found = self._views[key] = catalogue, _looked(source, catalogue, stored, reader)
            while len(self._views) > _KEPT_VIEWS:
                self._views.popitem(last=False)
        self._views.move_to_end(key)
        return found[1]

    async def plan(self, source: Source, catalogue: Catalogue, sql: str, reader: Reader) -> Plan:
        """What would run.

        Raises:
            QueryRefused, UnknownName, DataDenied: why nothing would.
        """
        view = await self.view(source, catalogue, reader)
        return await asyncio.to_thread(_plan, source, view, sql, reader)


def _plan(source: Source, view: View, sql: str, reader: Reader) -> Plan:
    """Pure and bounded, but a long statement takes its time: not on the event loop."""
    dialect = view.full.dialect
    tree = guard.parse(sql, dialect)
    try:
        resolved = guard.resolve(tree, dialect, view.seen)
    except UnknownName as error:
        raise _told(error, view) from None
    compiled = policy.compile_in(resolved, view.policies, reader, view.full, dialect)
    executed = guard.render(compiled.tree, dialect)
    return Plan(source.source_id, source.name, dialect, sql, executed, compiled.sentences)


def plan_over_results(sql: str, tables: Mapping[str, Artifact]) -> Plan:
    """What would run over kept results, by the names they have in the statement.

    What applied to the results still does: their policies' sentences go along, and what is read
    from a result that was cut is no more whole than that.
    """
    catalogue = catalogue_of(tables)
    dialect = catalogue.dialect
    tree = guard.resolve(guard.parse(sql, dialect), dialect, catalogue)
    said = [s for one in tables.values() if one.receipt for s in one.receipt.policy]
    sentences = tuple(dict.fromkeys(said))
    executed = guard.render(tree, dialect)
    cut = _cut([tables[node.name] for node in guard.tables_of(tree)])
    return Plan(catalogue.source_id, _KEPT_RESULTS, dialect, sql, executed, sentences, cut)


def _cut(read: Sequence[Artifact]) -> TruncatedBy | None:
    """The limit that cut one of the results, if one did."""
    for one in read:
        if one.receipt is not None and one.receipt.truncated_by is not None:
            return one.receipt.truncated_by
    return None


def _looked(
    source: Source, catalogue: Catalogue, stored: Sequence[StoredPolicy], reader: Reader
) -> View:
    policies = PolicySet(
        tuple(policy.policy_from_dict(dict(one.rules)) for one in stored), source.default_policy
    )
    full = policy.with_open_values(catalogue, policies)
    return View(full, policy.visible(full, policies, reader), policies)


def _told(error: UnknownName, view: View) -> UnknownName | DataDenied:
    """Under a policy, what is hidden and what is not there get the same answer: denied."""
    if view.seen is view.full:
        return error
    return DataDenied(
        f"{error.message} Either it is not there, or a policy keeps it from you.",
        details=error.details,
    )


def _versions(stored: Sequence[StoredPolicy]) -> tuple[tuple[str, str], ...]:
    return tuple((one.policy_id, repr(one.rules)) for one in stored)


def _identity(reader: Reader) -> tuple[Any, ...]:  # Any: attributes' values
    attributes = tuple(sorted((name, repr(value)) for name, value in reader.attributes.items()))
    return (reader.user_id, reader.role, reader.tenant_id, reader.agent_id, attributes)
