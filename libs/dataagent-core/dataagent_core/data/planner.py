"""What of a source a reader may see, and which statement would run for that reader.

Views are cached while catalogue, policies and reader stay the same. Statements are checked in
worker processes, so that one user's statement cannot block another's.
"""

from __future__ import annotations

import pickle
import uuid
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from dataagent_core.data import policy
from dataagent_core.data.policy import PolicySet
from dataagent_core.data.query_check import CheckedQuery, SourceView, check
from dataagent_core.data.results import catalogue_of
from dataagent_core.data.sources import Source, SourceStore, StoredPolicy
from dataagent_core.data.types import Artifact, Catalogue, Reader, TruncatedBy
from dataagent_core.errors import QueryRefused
from dataagent_core.processes import CallTimedOut, ProcessPool, WorkerEnded

_KEPT_VIEWS = 256
_MAX_MESSAGE = 2_000
_QUOTED = 12  # characters that a message and a statement do not share by chance
_KEPT_RESULTS = "earlier results"


@dataclass(frozen=True, slots=True)
class QueryPlan:
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

    @property
    def has_policy(self) -> bool:
        """Whether a policy put something into the statement."""
        return self.sql_sent != self.sql_executed

    def without_policy(self, message: str) -> str:
        """An engine's message up to where it quotes what a policy put into the statement."""
        if not self.has_policy:
            return message
        message = message[:_MAX_MESSAGE]
        for at in range(len(message) - _QUOTED + 1):
            part = message[at : at + _QUOTED]
            if part in self.sql_sent and part not in self.sql_executed:
                return f"{message[:at]}…"
        return message


@dataclass(frozen=True, slots=True)
class _PickledView:
    """A view, and how it is sent to a process that does not know its key."""

    view: SourceView
    key: str
    data: bytes


class Planner:
    """Plans statements for readers."""

    def __init__(self, sources: SourceStore, processes: ProcessPool) -> None:
        self._sources = sources
        self._processes = processes
        self._views: OrderedDict[Any, tuple[Catalogue, _PickledView]] = (
            OrderedDict()
        )  # Any: its parts

    async def view(self, source: Source, catalogue: Catalogue, reader: Reader) -> SourceView:
        """What the reader sees of a source with this catalogue."""
        return (await self._packed(source, catalogue, reader)).view

    async def plan(
        self, source: Source, catalogue: Catalogue, sql: str, reader: Reader
    ) -> QueryPlan:
        """What would run.

        Raises:
            QueryRefused, UnknownName, DataDenied: why nothing would.
            UserLimit: too many statements of the reader wait to be checked.
        """
        packed = await self._packed(source, catalogue, reader)
        checked = await self._checked(packed, sql, reader)
        return QueryPlan(
            source_id=source.source_id,
            source_name=source.name,
            dialect=catalogue.dialect,
            sql=sql,
            sql_sent=checked.sql_sent,
            sql_executed=checked.sql_executed,
            policy=checked.policy,
            notes=checked.notes,
        )

    async def plan_over_results(
        self, sql: str, tables: Mapping[str, Artifact], reader: Reader
    ) -> QueryPlan:
        """What would run over stored results, by the names they have in the statement.

        What applied to the results still does: their policies' sentences go along, and what is
        read from a result that was cut is no more whole than that.

        Raises:
            QueryRefused, UnknownName, UserLimit: as `plan`.
        """
        catalogue = catalogue_of(tables)
        packed = _packed(SourceView(catalogue, catalogue, policy.OPEN))
        checked = await self._checked(packed, sql, reader)
        policies = [s for one in tables.values() if one.receipt for s in one.receipt.policy]
        return QueryPlan(
            source_id=catalogue.source_id,
            source_name=_KEPT_RESULTS,
            dialect=catalogue.dialect,
            sql=sql,
            sql_sent=checked.sql_sent,
            sql_executed=checked.sql_executed,
            policy=tuple(dict.fromkeys(policies)),
            truncated_by=_cut([tables[name] for name in checked.tables]),
        )

    async def _checked(self, packed: _PickledView, sql: str, reader: Reader) -> CheckedQuery:
        run = partial(self._processes.run, reader.user_id, check, packed.key)
        try:
            checked = await run(None, sql, reader)
            if checked is None:  # this process has not seen the view yet
                checked = await run(packed.data, sql, reader)
        except CallTimedOut:
            raise _check_failed("time") from None
        except WorkerEnded:
            raise _check_failed("memory") from None
        assert checked is not None  # noqa: S101  # the view was sent
        return checked

    async def _packed(self, source: Source, catalogue: Catalogue, reader: Reader) -> _PickledView:
        stored = await self._sources.policies.list(source.source_id)
        is_open = not stored and source.default_policy == "allow"
        key = (
            (id(catalogue),)
            if is_open
            else (id(catalogue), source.default_policy, _versions(stored), _identity(reader))
        )
        found = self._views.get(key)
        if found is None or found[0] is not catalogue:
            if is_open:
                view = SourceView(catalogue, catalogue, policy.OPEN)
            else:
                mask_key = await self._sources.mask_key(source.source_id)
                view = _view_of(source, catalogue, stored, reader, mask_key)
            found = self._views[key] = catalogue, _packed(view)
            self._processes.prepare("dataagent_core.data.sql")
            while len(self._views) > _KEPT_VIEWS:
                self._views.popitem(last=False)
        self._views.move_to_end(key)
        return found[1]


def _check_failed(what: str) -> QueryRefused:
    hint = "Make it shorter or simpler."
    message = f"This statement takes too much {what} to check. {hint}"
    return QueryRefused(message, details={"reason": "too_large", "hint": hint})


def _packed(view: SourceView) -> _PickledView:
    return _PickledView(view, uuid.uuid4().hex, pickle.dumps(view))


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
) -> SourceView:
    parsed = tuple(policy.policy_from_dict(dict(one.rules)) for one in stored)
    policies = PolicySet(parsed, source.default_policy, mask_key)
    full = policy.without_protected_values(catalogue, policies)
    return SourceView(full, policy.visible_catalogue(full, policies, reader), policies)


def _versions(stored: Sequence[StoredPolicy]) -> tuple[tuple[str, str], ...]:
    return tuple((one.policy_id, repr(one.rules)) for one in stored)


def _identity(reader: Reader) -> tuple[Any, ...]:  # Any: attributes' values
    attributes = tuple(sorted((name, repr(value)) for name, value in reader.attributes.items()))
    return (reader.user_id, reader.role, reader.tenant_id, reader.agent_id, attributes)
