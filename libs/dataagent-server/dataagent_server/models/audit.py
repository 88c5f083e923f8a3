"""Response models of the audit log, for administrators."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Literal, cast

import orjson
from fastapi import Query
from pydantic import BaseModel, ConfigDict, Field

from dataagent_core.audit import AuditFilter, AuditOutcome, AuditRow, ChainVerdict
from dataagent_server.models.fields import Id, Moment, ResponseModel, SafeText, UtcTime

AuditFormat = Literal["csv", "jsonl"]
Action = Annotated[SafeText, Field(min_length=1, max_length=64)]


class AuditConditions(BaseModel):
    """Which records; all conditions that are given hold."""

    model_config = ConfigDict(extra="forbid")

    user_id: Id | None = None
    action: Action | None = Field(default=None, examples=["login"])
    outcome: Literal["success", "denied", "failed"] | None = None
    run_id: Id | None = None
    since: Moment | None = Field(default=None, alias="from", description="Not before.")
    until: Moment | None = Field(default=None, alias="to", description="Not after.")

    @property
    def wanted(self) -> AuditFilter:
        """The conditions as the core takes them; a time without a zone is UTC."""
        return AuditFilter(
            user_id=self.user_id,
            action=self.action,
            outcome=self.outcome,
            run_id=self.run_id,
            since=_utc(self.since),
            until=_utc(self.until),
        )


class AuditQuery(AuditConditions):
    """A page of the records that fit."""

    limit: int = Field(default=100, ge=1, le=1000)
    offset: int = Field(default=0, ge=0, lt=2**31)


class AuditExport(AuditConditions):
    """All records that fit, as a file."""

    format: AuditFormat = "csv"


AuditSearch = Annotated[AuditQuery, Query()]
AuditWhole = Annotated[AuditExport, Query()]


def _utc(at: datetime | None) -> datetime | None:
    if at is None:
        return None
    try:
        return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except OverflowError:  # the first or last day of all, in another zone
        return at.replace(tzinfo=UTC)


class AuditInfo(ResponseModel):
    """A record: who did what, when, from where, and with what outcome."""

    position: int
    at: UtcTime
    user_id: str | None
    via: str | None
    address: str | None
    action: str
    target: str | None
    outcome: AuditOutcome
    request_id: str | None
    session_id: str | None
    run_id: str | None
    details: dict[str, Any]
    previous_hash: str
    hash: str

    @classmethod
    def of(cls, row: AuditRow) -> AuditInfo:
        """The public form of a row."""
        record = row.record
        return cls(
            position=row.position,
            at=record.at,
            user_id=record.user_id,
            via=record.via,
            address=record.address,
            action=record.action,
            target=record.target,
            outcome=record.outcome,
            request_id=record.request_id,
            session_id=record.session_id,
            run_id=record.run_id,
            details=_details(record.details),
            previous_hash=row.previous_hash,
            hash=row.hash,
        )


def _details(text: str) -> dict[str, Any]:
    """The details; a change made in the database may have left invalid JSON."""
    try:
        found: Any = orjson.loads(text)
    except ValueError:
        found = None
    if isinstance(found, dict):
        return cast("dict[str, Any]", found)  # JSON of any shape
    return {"unreadable": text[:200]}


class AuditVerdict(ResponseModel):
    """Whether the log is intact, and the `hash` of its last intact row."""

    whole: bool
    checked: int
    position: int
    hash: str
    first_bad: int | None
    problem: str | None

    @classmethod
    def of(cls, verdict: ChainVerdict) -> AuditVerdict:
        """The public form of a verdict."""
        return cls(**verdict.to_dict())
