"""What came of asking one question: everything a grader, a report or a later look needs."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

End = Literal["answered", "cancelled", "timeout", "error"]
"""How the asking ended. `cancelled` is a run that was cut short with no error: by a rejected call
or a budget. `error` is a run that failed, or a server that was not reached: no answer to grade."""


@dataclass(frozen=True, slots=True)
class FetchedTable:
    """A table the run made, fetched when the question expects rows."""

    artifact_id: str
    columns: tuple[str, ...]
    rows: list[list[Any]]  # JSON cells


@dataclass(frozen=True, slots=True)
class Transcript:
    """One question and its answer. Seconds count from the moment it was due to be asked."""

    end: End
    answer: str = ""
    session_id: str | None = None
    run_id: str | None = None
    tools: tuple[str, ...] = ()
    failed_tools: tuple[str, ...] = ()  # whose call was denied, or failed
    table_ids: tuple[str, ...] = ()
    shown_rows: int = 0  # of all its tables together
    first_token_seconds: float | None = None
    seconds: float = 0.0
    waited_seconds: float = 0.0  # of those: until it was asked
    asked_at: float = 0.0  # seconds since 1970
    losses: int = 0  # how often the connection was lost meanwhile
    is_interrupted: bool = False  # the server's process ended while it was answered
    tokens: dict[str, int] = field(default_factory=dict[str, int])
    detail: str = ""
    events: tuple[dict[str, Any], ...] = ()  # the wire form of each event

    @property
    def is_affected(self) -> bool:
        """Whether the server was gone for a while; it may have been answered all the same."""
        return self.losses > 0 or self.is_interrupted

    def to_dict(self) -> dict[str, Any]:
        """JSON form."""
        return asdict(self)
