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
from dataagent_core.data.sources import Source, SourceStore, StoredPolicy
from dataagent_core.data.types import Artifact, Catalogue, Reader, TruncatedBy
from dataagent_core.errors import DataDenied, UnknownName

if TYPE_CHECKING:
    from dataagent_core.data import guard
else:  # sqlglot, which only a statement needs
    from dataagent_core.config.libraries import Library

    guard = Library("dataagent_core.data.guard")

_KEPT_VIEWS = 256
_MAX_MESSAGE = 2_000
_QUOTED = 12  # characters that a message and a statement do not share by chance
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
    sql_sent: str  # to the driver, policy and all; shown to no one
    sql_executed: str  # the same without what a policy put in
    policy: tuple[str, ...]
    notes: tuple[str, ...] = ()  # how names were read, where that may surprise
    truncated_by: TruncatedBy | None = None  # what it reads was cut already, and by which limit

    def without_policy(self, message: str) -> str:
        """An engine's message up to where it quotes what a policy put into the statement."""
        if self.sql_sent == self.sql_executed:
            return message
        message = message[:_MAX_MESSAGE]
        for at in range(len(message) - _QUOTED + 1):
            part = message[at : at + _QUOTED]
            if part in self.sql_sent and part not in self.sql_executed:
                return f"{message[:at]}…"
        return message


class Planner:
    """Plans statements for readers."""

    def __init__(self, sources: SourceStore) -> None:
        self._sources = sources
        self._views: OrderedDict[Any, tuple[Catalogue, View]] = OrderedDict()  # Any: several parts

    async def view(self, source: Source, catalogue: Catalogue, reader: Reader) -> View:
        """What the reader sees of a source with this catalogue."""
        stored = await self._sources.policies.list(source.source_id)
        if not stored and source.default_policy == "allow":
            return View(catalogue, catalogue, policy.OPEN)
        key = (id(catalogue), source.default_policy, _versions(stored), _identity(reader))
        found = self._views.get(key)
        if found is None or found[0] is not catalogue:
            mask_key = await self._sources.mask_key(source.source_id)
            view = _view_of(source, catalogue, stored, reader, mask_key)
            found = self._views[key] = catalogue, view
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
    statement = guard.parse(sql, dialect)
    try:
        statement = guard.resolve(statement, view.seen)
    except UnknownName as error:
        raise _told(error, view) from None
    compiled = policy.compile_in(statement, view.policies, reader, view.full)
    return Plan(
        source_id=source.source_id,
        source_name=source.name,
        dialect=dialect,
        sql=sql,
        sql_sent=guard.render(compiled.statement),
        sql_executed=guard.render(statement),
        policy=compiled.sentences,
        notes=statement.notes,
    )


def plan_over_results(sql: str, tables: Mapping[str, Artifact]) -> Plan:
    """What would run over kept results, by the names they have in the statement.

    What applied to the results still does: their policies' sentences go along, and what is read
    from a result that was cut is no more whole than that.
    """
    catalogue = catalogue_of(tables)
    dialect = catalogue.dialect
    statement = guard.resolve(guard.parse(sql, dialect), catalogue)
    said = [s for one in tables.values() if one.receipt for s in one.receipt.policy]
    sentences = tuple(dict.fromkeys(said))
    executed = guard.render(statement)
    cut = _cut([tables[node.name] for node in guard.tables_of(statement.tree)])
    return Plan(
        source_id=catalogue.source_id,
        source_name=_KEPT_RESULTS,
        dialect=dialect,
        sql=sql,
        sql_sent=executed,
        sql_executed=executed,
        policy=sentences,
        truncated_by=cut,
    )


def _cut(read: Sequence[Artifact]) -> TruncatedBy | None:
    """The limit that cut one of the results, if one did."""
    for one in read:
        if one.receipt is not None and one.receipt.truncated_by is not None:
            return one.receipt.truncated_by
    return None


def _view_of(
    source: Source,
    catalogue: Catalogue,
    stored: Sequence[StoredPolicy],
    reader: Reader,
    mask_key: bytes,
) -> View:
    parsed = tuple(policy.policy_from_dict(dict(one.rules)) for one in stored)
    policies = PolicySet(parsed, source.default_policy, mask_key)
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
