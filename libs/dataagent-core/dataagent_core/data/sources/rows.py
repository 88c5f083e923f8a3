"""A source as a row of our database, and its catalogue as JSON without protected values.

What is searched for or secret is a column; the rest is the JSON in `settings`. Every change of a
catalogue or a policy goes through here with the source's row locked, so that no order of the two
leaves a protected value stored. The functions take a connection inside the caller's transaction.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable
from dataclasses import asdict
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, bindparam, delete, insert, select, update

from dataagent_core.data.policy import CLOSED, PolicySet, policy_from_dict, without_protected_values
from dataagent_core.data.sources.secrets import has_password, mask_url
from dataagent_core.data.sources.types import Grant, NewSource, Source, SourceChanges
from dataagent_core.data.types import Catalogue, Column, ForeignKey, QueryLimits, Table
from dataagent_core.errors import DataAgentError, SourceNotFound
from dataagent_core.storage.database import storable
from dataagent_core.storage.tables import catalogues, data_policies, data_sources


def settings_of(new: NewSource, *, at: datetime, is_sample: bool, config_file: str | None) -> Any:
    """The `settings` of a new source."""
    return {
        **_description(new),
        **location_settings(new, at=at),
        "is_sample": is_sample,
        "config_file": config_file,
    }


def changed_settings(settings: Any, new: NewSource, *, at: datetime, changes_address: bool) -> Any:
    """The `settings` of a source that is now described so."""
    return {
        **settings,
        **_description(new),
        **(location_settings(new, at=at) if changes_address else {}),
    }


def _description(new: NewSource) -> dict[str, Any]:
    return {
        "description": new.description,
        "default_policy": new.default_policy,
        "time_zone": new.time_zone,
        "limits": asdict(new.limits),
    }


def location_settings(new: NewSource, *, at: datetime) -> dict[str, Any]:
    """The part of `settings` that says where the data is; the dialect is found out again."""
    return {
        "address": display_address(new),
        "has_credentials": new.url is not None and has_password(new.url),
        "folder": new.folder,
        "files": list(new.files),
        "dialect": None,
        "address_changed_at": at.isoformat(),
    }


def display_address(new: NewSource) -> str:
    """Where the data is, for display."""
    if new.url is not None:
        return mask_url(new.url)
    return new.folder or ", ".join(new.files)


def source_from(row: Row[Any], grants: Iterable[Grant], config_file: str | None) -> Source:
    """The source a row stands for, to a process with this configuration file."""
    stored = row.settings
    defined_in = _config_file(stored)
    return Source(
        source_id=row.source_id,
        name=row.name,
        kind=row.kind,
        description=stored["description"],
        dialect=stored["dialect"],
        owner_id=row.owner_id,
        is_sample=stored["is_sample"],
        is_from_config=defined_in is not None and defined_in == config_file,
        default_policy=stored["default_policy"],
        time_zone=stored["time_zone"],
        limits=QueryLimits(**stored["limits"]),
        grants=tuple(sorted(grants, key=lambda grant: (grant.subject_kind, grant.subject_id))),
        has_credentials=stored["has_credentials"],
        address=stored["address"],
        folder=stored["folder"],
        files=tuple(stored["files"]),
        address_changed_at=datetime.fromisoformat(stored["address_changed_at"]),
        created_at=row.created_at,
        updated_at=row.updated_at,
        config_file=defined_in,
    )


def _config_file(settings: Any) -> str | None:
    """The file that defined a source; rows written before it was recorded say only that one did."""
    return settings.get("config_file", "" if settings.get("is_from_config") else None)


def with_changes(source: Source, changes: SourceChanges) -> NewSource:
    """The source as it would be described now; no place is given where none is changed."""
    return NewSource(
        name=source.name if changes.name is None else changes.name,
        url=changes.url,
        folder=changes.folder,
        files=changes.files or (),
        description=source.description if changes.description is None else changes.description,
        default_policy=changes.default_policy or source.default_policy,
        time_zone=source.time_zone if changes.time_zone is None else changes.time_zone,
        limits=changes.limits or source.limits,
        grants=source.grants if changes.grants is None else changes.grants,
    )


def changes_address(changes: SourceChanges) -> bool:
    """Whether the changes say anew where the data is."""
    return (changes.url, changes.folder, changes.files) != (None, None, None)


logger = logging.getLogger(__name__)

_FORMAT_VERSION = 1
_OF_SOURCE = catalogues.c.source_id == bindparam("wanted")
_SELECT_CATALOGUE = select(catalogues).where(_OF_SOURCE)
_DELETE_CATALOGUE = delete(catalogues).where(_OF_SOURCE)
_SELECT_SETTINGS = select(data_sources.c.settings).where(
    data_sources.c.source_id == bindparam("wanted")
)
_SELECT_RULES = (
    select(data_policies.c.rules)
    .where(data_policies.c.source_id == bindparam("wanted"))
    .order_by(data_policies.c.name, data_policies.c.policy_id)
)
_UPDATE_CATALOGUE = (
    update(catalogues)
    .where(_OF_SOURCE)
    .values(
        hash=bindparam("new_hash"), refreshed_at=bindparam("at"), content=bindparam("new_content")
    )
)


def lock_source(connection: Connection, source_id: str) -> None:
    """Lock the source, its policies and its catalogue until the transaction ends."""
    connection.execute(_SELECT_SETTINGS.with_for_update(), {"wanted": source_id})


def policies_of(connection: Connection, source_id: str) -> PolicySet:
    """The policies of a source; `CLOSED` if they cannot be read.

    Raises:
        SourceNotFound: it does not exist.
    """
    row = connection.execute(_SELECT_SETTINGS, {"wanted": source_id}).first()
    if row is None:
        raise SourceNotFound("The data source of this catalogue is gone.")
    try:
        rules = connection.execute(_SELECT_RULES, {"wanted": source_id}).scalars()
        policies = tuple(policy_from_dict(dict(one)) for one in rules)
    except (DataAgentError, TypeError, ValueError):
        logger.warning(
            "source %s has a policy that cannot be read: no values are stored", source_id
        )
        return CLOSED
    return PolicySet(policies, row.settings["default_policy"])


def load_catalogue(connection: Connection, source_id: str) -> Catalogue | None:
    """The stored catalogue; None if none can be read."""
    row = connection.execute(_SELECT_CATALOGUE, {"wanted": source_id}).first()
    return None if row is None else _catalogue(row)


def save_catalogue(connection: Connection, catalogue: Catalogue) -> Catalogue:
    """Store a catalogue without protected values, and return it.

    Raises:
        SourceNotFound: the source was deleted.
    """
    lock_source(connection, catalogue.source_id)
    held = without_protected_values(catalogue, policies_of(connection, catalogue.source_id))
    values = _values(held)
    if not connection.execute(_UPDATE_CATALOGUE, values).rowcount:
        row = {
            "source_id": held.source_id,
            "hash": held.hash,
            "refreshed_at": held.refreshed_at,
            "content": values["new_content"],
        }
        connection.execute(insert(catalogues), row)
    return held


def remove_protected_values(connection: Connection, source_id: str) -> bool:
    """Remove protected values from the stored catalogue; return whether it had any.

    Raises:
        SourceNotFound: it does not exist.
    """
    lock_source(connection, source_id)
    policies = policies_of(connection, source_id)
    stored = load_catalogue(connection, source_id)
    if stored is None:  # one that cannot be read may hold anything, and is of no use
        return bool(connection.execute(_DELETE_CATALOGUE, {"wanted": source_id}).rowcount)
    cleaned = without_protected_values(stored, policies)
    if cleaned is stored:
        return False
    connection.execute(_UPDATE_CATALOGUE, _values(cleaned))
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
    content = {"form": _FORMAT_VERSION, "dialect": catalogue.dialect, "tables": tables}
    return storable(json.dumps(content, ensure_ascii=False, separators=(",", ":")))


def _catalogue(row: Row[Any]) -> Catalogue | None:
    try:
        content = json.loads(row.content)
        if content["form"] != _FORMAT_VERSION:
            return None
        return Catalogue(
            source_id=row.source_id,
            dialect=content["dialect"],
            tables=tuple(_table(table) for table in content["tables"]),
            hash=row.hash,
            refreshed_at=row.refreshed_at,
        )
    except (KeyError, TypeError, ValueError):
        logger.exception("the stored catalogue of source %s cannot be read", row.source_id)
        return None


def _table(stored: dict[str, Any]) -> Table:
    changed: dict[str, Any] = {
        "columns": tuple(_column(column) for column in stored["columns"]),
        "primary_key": tuple(stored["primary_key"]),
        "foreign_keys": tuple(_foreign_key(key) for key in stored["foreign_keys"]),
    }
    return Table(**{**stored, **changed})


def _column(stored: dict[str, Any]) -> Column:
    samples: Any = tuple(stored["samples"])
    return Column(**{**stored, "samples": samples})


def _foreign_key(stored: dict[str, Any]) -> ForeignKey:
    return ForeignKey(
        columns=tuple(stored["columns"]),
        target_table=stored["target_table"],
        target_columns=tuple(stored["target_columns"]),
    )
