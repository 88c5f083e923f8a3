"""A source as a row, and a row as a source. Pure functions.

What is searched for or secret is a column; the rest is the JSON in `settings`. Above: `store.py`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from datetime import datetime
from typing import Any

from sqlalchemy import Row

from dataagent_core.data.sources.secrets import has_password, mask_url
from dataagent_core.data.sources.types import Grant, NewSource, Source, SourceChanges
from dataagent_core.data.types import QueryLimits


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
    kept = row.settings
    defined_in = _config_file(kept)
    return Source(
        source_id=row.source_id,
        name=row.name,
        kind=row.kind,
        description=kept["description"],
        dialect=kept["dialect"],
        owner_id=row.owner_id,
        is_sample=kept["is_sample"],
        is_from_config=defined_in is not None and defined_in == config_file,
        default_policy=kept["default_policy"],
        time_zone=kept["time_zone"],
        limits=QueryLimits(**kept["limits"]),
        grants=tuple(sorted(grants, key=lambda grant: (grant.subject_kind, grant.subject_id))),
        has_credentials=kept["has_credentials"],
        address=kept["address"],
        folder=kept["folder"],
        files=tuple(kept["files"]),
        address_changed_at=datetime.fromisoformat(kept["address_changed_at"]),
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
