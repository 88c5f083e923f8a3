"""The nouns of the audit log. Plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

AuditOutcome = Literal["success", "denied", "failed"]


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """Something that happened, fit to be kept: scrubbed, and no longer than its columns."""

    at: datetime
    action: str  # login, create_user, tool.call, sql.query, approval.decide, …
    outcome: AuditOutcome
    user_id: str | None
    via: str | None
    address: str | None
    target: str | None
    request_id: str | None
    session_id: str | None
    run_id: str | None
    details: str  # canonical JSON


@dataclass(frozen=True, slots=True)
class AuditRow:
    """A record in its place in the chain."""

    position: int
    record: AuditRecord
    previous_hash: str
    hash: str


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """Which rows somebody wants to see. None: whichever."""

    user_id: str | None = None
    action: str | None = None
    outcome: str | None = None
    run_id: str | None = None
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Head:
    """Where the log ends."""

    position: int
    hash: str


@dataclass(frozen=True, slots=True)
class ChainVerdict:
    """What a walk along the chain found."""

    checked: int  # rows that are as they were written
    head: Head
    first_bad: int | None = None  # the first position that is not
    problem: str | None = None

    @property
    def is_whole(self) -> bool:
        """Whether nothing was changed, removed, inserted or reordered."""
        return self.first_bad is None

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "whole": self.is_whole,
            "checked": self.checked,
            "position": self.head.position,
            "hash": self.head.hash,
            "first_bad": self.first_bad,
            "problem": self.problem,
        }


Details = Mapping[str, Any]  # Any: what an action has to say differs by action
