"""The record of one question and its answer, for grading and reports."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

End = Literal["answered", "cancelled", "timeout", "error"]
"""How it ended. `cancelled` is a run that was cut short without an error, by a rejected call or a
budget. `error` is a run that failed or a server that was not reached: no answer to grade."""


@dataclass(frozen=True, slots=True)
class FetchedTable:
    """A table the run made, fetched when the question expects rows."""

    artifact_id: str
    columns: tuple[str, ...]
    rows: list[list[Any]]  # JSON cells


@dataclass(frozen=True, slots=True)
class Transcript:
    """One question and its answer. Seconds count from the moment the question was due."""

    end: End
    answer: str = ""
    session_id: str | None = None
    run_id: str | None = None
    tools: tuple[str, ...] = ()
    failed_tools: tuple[str, ...] = ()  # those denied, and those that failed
    table_ids: tuple[str, ...] = ()
    shown_rows: int = 0  # of all its tables
    first_token_seconds: float | None = None
    seconds: float = 0.0
    waited_seconds: float = 0.0  # of those, until it was asked
    asked_at: float = 0.0  # seconds since 1970
    losses: int = 0  # times the connection was lost
    is_interrupted: bool = False  # the server's process ended while it was answered
    tokens: dict[str, int] = field(default_factory=dict[str, int])
    detail: str = ""
    events: tuple[dict[str, Any], ...] = ()  # the flat form of each event, with its `seq`

    @property
    def is_affected(self) -> bool:
        """Whether the server was unavailable for a while; there may be an answer all the same."""
        return self.losses > 0 or self.is_interrupted

    def to_dict(self) -> dict[str, Any]:
        """JSON form."""
        return asdict(self)
