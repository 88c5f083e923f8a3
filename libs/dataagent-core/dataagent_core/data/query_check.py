"""Checks a statement for a reader: guard and policy, from the written text to what would run.

Called in a worker process: a text may be written to take all the time and memory there is.
"""

from __future__ import annotations

import pickle
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dataagent_core.data import policy
from dataagent_core.data.policy import PolicySet
from dataagent_core.data.types import Catalogue, Reader
from dataagent_core.errors import DataDenied, UnknownName

if TYPE_CHECKING:
    from dataagent_core.data import sql as guard
else:  # sqlglot, which only a worker process needs
    from dataagent_core.config.lazy_modules import LazyModule

    guard = LazyModule("dataagent_core.data.sql")

_KEPT_VIEWS = 32


@dataclass(frozen=True, slots=True)
class SourceView:
    """A source through one reader's eyes: all of it, what is seen of it, and why.

    Neither has values that a policy keeps from anyone: those are not even searched.
    """

    full: Catalogue
    seen: Catalogue
    policies: PolicySet


@dataclass(frozen=True, slots=True)
class CheckedQuery:
    """A statement that passed every check."""

    sql_sent: str  # to the driver, policy and all; shown to no one
    sql_executed: str  # the same without what a policy put in
    tables: tuple[str, ...]  # their names in the statement
    policy: tuple[str, ...]  # one sentence each rule that applied
    notes: tuple[str, ...]  # how names were read, where that may surprise


_views: OrderedDict[str, SourceView] = OrderedDict()


def check(key: str, packed: bytes | None, sql: str, reader: Reader) -> CheckedQuery | None:
    """Check a statement against a view, which has a key of its own and is sent packed once.

    None means: this process does not know the view, send it.

    Raises:
        QueryRefused, UnknownName, DataDenied: why the statement would not run.
    """
    if packed is not None:
        _views[key] = pickle.loads(packed)  # noqa: S301  # our parent packed it
        while len(_views) > _KEPT_VIEWS:
            _views.popitem(last=False)
    view = _views.get(key)
    if view is None:
        return None
    _views.move_to_end(key)
    return check_against(view, sql, reader)


def check_against(view: SourceView, sql: str, reader: Reader) -> CheckedQuery:
    """Check a statement.

    Raises:
        QueryRefused, UnknownName, DataDenied: why it would not run.
    """
    statement = guard.parse(sql, view.full.dialect)
    try:
        statement = guard.resolve(statement, view.seen)
    except UnknownName as error:
        raise _hide_existence(error, view) from None
    compiled = policy.compile_in(statement, view.policies, reader, view.full)
    return CheckedQuery(
        sql_sent=guard.render(compiled.statement),
        sql_executed=guard.render(statement),
        tables=tuple(node.name for node in guard.tables_of(statement.tree)),
        policy=compiled.sentences,
        notes=statement.notes,
    )


def _hide_existence(error: UnknownName, view: SourceView) -> UnknownName | DataDenied:
    """Under a policy, what is hidden and what is not there get the same answer: denied."""
    if view.seen is view.full:
        return error
    return DataDenied(
        f"{error.message} Either it is not there, or a policy keeps it from you.",
        details=error.details,
    )
