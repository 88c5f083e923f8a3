"""What our own database keeps of a source: its catalogue as JSON, without values a policy protects.

Whoever writes a catalogue and whoever changes a policy does it through here, with the source's row
held, so that no order of the two leaves a protected value behind. Units of work over a connection;
the stores call them inside their transactions. Above: `catalogue/store.py`, `sources/policies.py`,
`sources/store.py`. Below: `policy/`, `storage/`.
"""

from __future__ import annotations

import json
import logging
from dataclasses import asdict
from typing import Any

from sqlalchemy import Connection, Row, bindparam, delete, insert, select, update

from dataagent_core.data.policy import CLOSED, PolicySet, policy_from_dict, without_protected_values
from dataagent_core.data.types import Catalogue, Column, ForeignKey, Table
from dataagent_core.errors import DataAgentError, SourceNotFound
from dataagent_core.storage.tables import catalogues, data_policies, data_sources
from dataagent_core.storage.text import storable

logger = logging.getLogger(__name__)

_FORM = 1
_OF_SOURCE = catalogues.c.source_id == bindparam("wanted")
_KEPT = select(catalogues).where(_OF_SOURCE)
_DELETE = delete(catalogues).where(_OF_SOURCE)
_SOURCE = select(data_sources.c.settings).where(data_sources.c.source_id == bindparam("wanted"))
_RULES = (
    select(data_policies.c.rules)
    .where(data_policies.c.source_id == bindparam("wanted"))
    .order_by(data_policies.c.name, data_policies.c.policy_id)
)
_UPDATE = (
    update(catalogues)
    .where(_OF_SOURCE)
    .values(
        hash=bindparam("new_hash"), refreshed_at=bindparam("at"), content=bindparam("new_content")
    )
)


def lock_source(connection: Connection, source_id: str) -> None:
    """Keep others from changing the source, its policies and its catalogue until the end."""
    connection.execute(_SOURCE.with_for_update(), {"wanted": source_id})


def policies_of(connection: Connection, source_id: str) -> PolicySet:
    """The policies of a source; if they cannot be read, such as let nothing be kept.

    Raises:
        SourceNotFound: there is no such source.
    """
    row = connection.execute(_SOURCE, {"wanted": source_id}).first()
    if row is None:
        raise SourceNotFound("The data source of this catalogue is gone.")
    try:
        rules = connection.execute(_RULES, {"wanted": source_id}).scalars()
        policies = tuple(policy_from_dict(dict(one)) for one in rules)
    except (DataAgentError, TypeError, ValueError):
        logger.warning("source %s has a policy that cannot be read: no values are kept", source_id)
        return CLOSED
    return PolicySet(policies, row.settings["default_policy"])


def load_catalogue(connection: Connection, source_id: str) -> Catalogue | None:
    """The catalogue as it was last kept; None if there is none that can be read."""
    row = connection.execute(_KEPT, {"wanted": source_id}).first()
    return None if row is None else _catalogue(row)


def save_catalogue(connection: Connection, catalogue: Catalogue) -> Catalogue:
    """Keep a catalogue in place of the one before, as far as its values may be kept: that one.

    Raises:
        SourceNotFound: the source is gone.
    """
    lock_source(connection, catalogue.source_id)
    held = without_protected_values(catalogue, policies_of(connection, catalogue.source_id))
    values = _values(held)
    if not connection.execute(_UPDATE, values).rowcount:
        row = {
            "source_id": held.source_id,
            "hash": held.hash,
            "refreshed_at": held.refreshed_at,
            "content": values["new_content"],
        }
        connection.execute(insert(catalogues), row)
    return held


def remove_protected_values(connection: Connection, source_id: str) -> bool:
    """Take out of the kept catalogue what may no longer be kept; whether there was any.

    Raises:
        SourceNotFound: there is no such source.
    """
    lock_source(connection, source_id)
    policies = policies_of(connection, source_id)
    kept = load_catalogue(connection, source_id)
    if kept is None:  # one that cannot be read may hold anything, and is of no use
        return bool(connection.execute(_DELETE, {"wanted": source_id}).rowcount)
    cleaned = without_protected_values(kept, policies)
    if cleaned is kept:
        return False
    connection.execute(_UPDATE, _values(cleaned))
    return True


# -- as JSON ----------------------------------------------------------------------------------


def _values(catalogue: Catalogue) -> dict[str, Any]:
    return {
        "wanted": catalogue.source_id,
        "new_hash": catalogue.hash,
        "at": catalogue.refreshed_at,
        "new_content": _json(catalogue),
    }


def _json(catalogue: Catalogue) -> str:
    """The dialect and the tables as text."""
    tables = [asdict(table) for table in catalogue.tables]
    content = {"form": _FORM, "dialect": catalogue.dialect, "tables": tables}
    return storable(json.dumps(content, ensure_ascii=False, separators=(",", ":")))


def _catalogue(row: Row[Any]) -> Catalogue | None:
    try:
        content = json.loads(row.content)
        if content["form"] != _FORM:
            return None
        return Catalogue(
            source_id=row.source_id,
            dialect=content["dialect"],
            tables=tuple(_table(table) for table in content["tables"]),
            hash=row.hash,
            refreshed_at=row.refreshed_at,
        )
    except (KeyError, TypeError, ValueError):
        logger.exception("the kept catalogue of source %s cannot be read", row.source_id)
        return None


def _table(kept: dict[str, Any]) -> Table:
    changed: dict[str, Any] = {
        "columns": tuple(_column(column) for column in kept["columns"]),
        "primary_key": tuple(kept["primary_key"]),
        "foreign_keys": tuple(_foreign_key(key) for key in kept["foreign_keys"]),
    }
    return Table(**{**kept, **changed})


def _column(kept: dict[str, Any]) -> Column:
    samples: Any = tuple(kept["samples"])
    return Column(**{**kept, "samples": samples})


def _foreign_key(kept: dict[str, Any]) -> ForeignKey:
    return ForeignKey(
        columns=tuple(kept["columns"]),
        target_table=kept["target_table"],
        target_columns=tuple(kept["target_columns"]),
    )
