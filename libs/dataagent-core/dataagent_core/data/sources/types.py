"""A data source: where data is, who may read it, and how far a read may go.

A `Source` carries no credential: its URL is stored encrypted and only `SourceStore.url_of` returns
it, as a `SecretStr`. `address` is for display and has no password.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Any, Literal

from pydantic import SecretStr

from dataagent_core.data.types import QueryLimits, SourceKind

SubjectKind = Literal["everyone", "user", "tenant", "agent"]
DefaultPolicy = Literal["allow", "deny"]
_OF_ONE_FILE = re.compile(r"(?P<file_id>[0-9a-f]{32})-[0-9a-f]{12}-[0-9a-f]{8}")


def now() -> datetime:
    """The present moment in UTC, to the millisecond, as every database keeps it."""
    moment = datetime.now(UTC)
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


@dataclass(frozen=True, slots=True)
class Grant:
    """Who may read a source. `subject_id` is empty for everyone."""

    subject_kind: SubjectKind
    subject_id: str = ""


EVERYONE = Grant("everyone")


@dataclass(frozen=True, slots=True)
class NewSource:
    """A source as someone describes it. Exactly one of `url`, `folder` and `files` is given."""

    name: str
    url: SecretStr | None = None  # SQLAlchemy's form, with its password
    folder: str | None = None
    files: tuple[str, ...] = ()
    description: str = ""
    default_policy: DefaultPolicy = "allow"  # for tables that no policy names
    time_zone: str = "UTC"
    limits: QueryLimits = field(default_factory=QueryLimits)
    grants: tuple[Grant, ...] = ()


@dataclass(frozen=True, slots=True)
class SourceChanges:
    """What to change in a source; None leaves a thing as it is, so the URL need not be resent."""

    name: str | None = None
    url: SecretStr | None = None
    folder: str | None = None
    files: tuple[str, ...] | None = None
    description: str | None = None
    default_policy: DefaultPolicy | None = None
    time_zone: str | None = None
    limits: QueryLimits | None = None
    grants: tuple[Grant, ...] | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """A registered source."""

    source_id: str
    name: str
    kind: SourceKind
    description: str
    dialect: str | None  # sqlglot's name; None until the source was first opened
    owner_id: str | None  # None: the installation's own
    is_sample: bool
    is_from_config: bool  # defined in this process' configuration file, and changed only there
    default_policy: DefaultPolicy
    time_zone: str
    limits: QueryLimits
    grants: tuple[Grant, ...]
    has_credentials: bool
    address: str  # for display, without password
    folder: str | None
    files: tuple[str, ...]
    address_changed_at: datetime  # an engine opened or a catalogue built before is outdated
    created_at: datetime
    updated_at: datetime
    is_temporary: bool = False  # of this process alone, not stored
    config_file: str | None = None  # the file that defined it; "" if it was not recorded

    @property
    def upload_id(self) -> str | None:
        """The id of the upload it was made of on the way (`uploaded.py`); None for all others."""
        if not self.files or self.owner_id is None:
            return None
        found = _OF_ONE_FILE.fullmatch(PurePosixPath(self.files[0]).parent.name)
        return found["file_id"] if found else None


@dataclass(frozen=True, slots=True)
class StoredPolicy:
    """A policy as it is stored. `policy/rules.py` says what `rules` mean."""

    policy_id: str
    source_id: str
    name: str
    rules: Mapping[str, Any]
    is_from_config: bool
    created_at: datetime
    updated_at: datetime
