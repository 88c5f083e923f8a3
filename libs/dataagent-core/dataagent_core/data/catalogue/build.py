"""Builds a source's catalogue: what the engine reports, known comments, a few values, a hash.

Blocking; runs in a worker thread. A table whose values cannot be sampled stays in the catalogue
without them. Columns that look like credentials or hold bytes are never sampled, nor are those that
a policy protects.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from dataagent_core.data.engines.base import Engine
from dataagent_core.data.policy import OPEN, PolicySet, StorableValues
from dataagent_core.data.sources.types import Source, now
from dataagent_core.data.types import Catalogue, Column, Table
from dataagent_core.errors import QueryFailed
from dataagent_core.storage.database import storable

logger = logging.getLogger(__name__)

SAMPLE_LIMIT = 8
_MAX_SAMPLED_TABLES = 500
_MAX_SAMPLE_CHARS = 80
_SECRET = re.compile(
    r"passw|passwd|pwd|secret|token|api_?key|private_?key|credential|_hash$|salt|ssn|cvv|密码|密钥",
    re.IGNORECASE,
)
_NOT_SHOWN = re.compile(
    r"blob|binary|bytea|bytes|json|xml|geometry|geography|vector", re.IGNORECASE
)


Comments = Mapping[str, tuple[str, Mapping[str, str]]]
"""By table: what it is, and what its columns are."""


def build(
    engine: Engine,
    source: Source,
    *,
    comments: Comments | None = None,
    policies: PolicySet = OPEN,
    sample_limit: int = SAMPLE_LIMIT,
) -> Catalogue:
    """The catalogue of a source, now.

    `comments` join what the source says of itself; names may differ in case. `policies` are the
    source's: what they protect is not sampled.

    Raises:
        SourceUnavailable: the engine cannot be reached.
    """
    started = now()
    known = {name.casefold(): said for name, said in (comments or {}).items()}
    tables = sorted(engine.introspect(), key=lambda table: table.key)
    described = Catalogue(
        source_id=source.source_id,
        dialect=engine.dialect,
        tables=tuple(_with_comments(table, known) for table in tables),
        hash=structure_hash(tables),
        refreshed_at=started,
    )
    return _sampled(engine, described, StorableValues(policies, described), sample_limit)


def _sampled(engine: Engine, described: Catalogue, values: StorableValues, limit: int) -> Catalogue:
    first, rest = described.tables[:_MAX_SAMPLED_TABLES], described.tables[_MAX_SAMPLED_TABLES:]
    sampled = [_with_samples(engine, table, values.columns(table), limit) for table in first]
    return replace(described, tables=(*sampled, *rest))


def structure_hash(tables: Sequence[Table]) -> str:
    """The same for the same names, types and keys, whatever rows there are."""
    shape = [_shape(table) for table in sorted(tables, key=lambda table: table.key)]
    text = json.dumps(shape, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _shape(table: Table) -> list[object]:
    keys = sorted([key.target_table, key.columns, key.target_columns] for key in table.foreign_keys)
    columns = [[column.name, column.type, column.is_nullable] for column in table.columns]
    return [table.key, table.is_view, columns, table.primary_key, keys]


def _with_comments(table: Table, known: Comments) -> Table:
    said = known.get(table.key.casefold())
    if said is None:
        return table
    meaning, of_columns = said
    by_name = {name.casefold(): text for name, text in of_columns.items()}
    columns = tuple(
        replace(column, comment=_joined(column.comment, by_name.get(column.name.casefold())))
        for column in table.columns
    )
    return replace(table, columns=columns, comment=_joined(table.comment, meaning))


def _joined(own: str | None, known: str | None) -> str | None:
    if not own or not known or known in own:
        return own or known or None
    return f"{own} · {known}"


def _with_samples(engine: Engine, table: Table, columns: Sequence[Column], limit: int) -> Table:
    wanted = [column.name for column in columns if may_be_sampled(column)]
    if not wanted or limit < 1:
        return table
    try:
        values = engine.sample(table, wanted, limit)
    except QueryFailed as error:
        logger.warning("no samples of table %s: %s", table.key, error.code)
        return table
    filled = tuple(_filled(column, values.get(column.name), limit) for column in table.columns)
    return replace(table, columns=filled)


def may_be_sampled(column: Column) -> bool:
    """Whether values of the column may be shown: no credentials, nothing that is not text."""
    return not _SECRET.search(column.name) and not _NOT_SHOWN.search(column.type)


def _filled(column: Column, sampled: tuple[tuple[str, ...], bool] | None, limit: int) -> Column:
    if sampled is None:
        return column
    values, has_more = sampled
    shown = tuple(_shortened(value) for value in values[:limit])
    return replace(
        column, samples=shown, are_samples_truncated=has_more or len(values) > len(shown)
    )


def _shortened(value: str) -> str:
    text = storable(value)
    return text if len(text) <= _MAX_SAMPLE_CHARS else text[: _MAX_SAMPLE_CHARS - 1] + "…"
