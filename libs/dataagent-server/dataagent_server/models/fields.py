"""Pieces every request and response is made of.

Text from outside is checked here: what no database can keep (NUL, half a surrogate pair) is refused
at the door with 422, whichever field it came in.

What belongs to no one resource: an error, and a message on a socket.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, date, datetime
from typing import Annotated, Any, Generic, TypeVar

from fastapi import Path, Query
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    PlainSerializer,
    StringConstraints,
)
from pydantic_core import PydanticCustomError

from dataagent_core.errors import BadInput
from dataagent_core.storage.database import is_storable

T = TypeVar("T")
_ID_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9_.:@-]{0,127}$"


def _checked(text: str) -> str:
    if not is_storable(text):
        raise PydanticCustomError("text", "Text cannot contain NUL or half a surrogate pair")
    return text


def _checked_json(value: dict[str, Any]) -> dict[str, Any]:
    """The object, if all its text can be kept and all its numbers are numbers."""
    _check_json(value)
    return value


def _check_json(value: Any) -> None:
    match value:
        case str():
            _checked(value)
        case float():
            if not math.isfinite(value):
                raise PydanticCustomError("number", "A number must be finite")
        case dict():
            # JSON of unknown shape
            for key, item in value.items():  # pyright: ignore[reportUnknownVariableType]
                _check_json(key)
                _check_json(item)
        case list():
            for item in value:  # pyright: ignore[reportUnknownVariableType] JSON of unknown shape
                _check_json(item)
        case _:
            pass


def _as_written(value: Any) -> Any:
    """The text of a date or a moment; seconds since 1970, which Pydantic takes too, are refused."""
    if isinstance(value, str) and not re.match(r"\d{4}-\d{2}-\d{2}", value):
        raise PydanticCustomError("date", "A date is written like 2026-03-01")
    return value


def _utc_text(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


SafeText = Annotated[str, AfterValidator(_checked)]
"""Text that can be kept."""

MessageText = Annotated[SafeText, StringConstraints(min_length=1)]
"""What a user says."""

Id = Annotated[str, StringConstraints(pattern=_ID_PATTERN)]
"""An id as it can be kept: short, and harmless in a path, a query and a log line."""

Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")]
"""The name of an agent or a skill."""

PathId = Annotated[str, Path(pattern=_ID_PATTERN)]
"""An id in an address."""

Seq = Annotated[int, Query(ge=0, lt=2**53)]
"""The `seq` of the last event a reader has seen; 0 for none."""

Limit = Annotated[int, Query(ge=1, le=1000)]
"""How many items a page has."""

Offset = Annotated[int, Query(ge=0, lt=2**31)]
"""How many items come before the page."""

SafeJson = Annotated[dict[str, Any], AfterValidator(_checked_json)]
"""A JSON object whose text can be kept."""

UtcTime = Annotated[datetime, PlainSerializer(_utc_text, return_type=str)]
"""A moment, written as ISO 8601 UTC with milliseconds."""


Day = Annotated[date, BeforeValidator(_as_written)]
"""A day in a query."""

Moment = Annotated[datetime, BeforeValidator(_as_written)]
"""A moment in a query, as ISO 8601."""


def check_same(name: str, in_address: str, in_body: str | None) -> None:
    """Let a body name what it is about, if it names what its address does.

    Raises:
        BadInput: it names another.
    """
    if in_body is not None and in_body != in_address:
        raise BadInput(
            f"The address names {in_address!r} and `{name}` in the body {in_body!r}. Send the same "
            f"or leave `{name}` out; it cannot be changed."
        )


class RequestModel(BaseModel):
    """Base of what comes in: unknown fields are refused, nothing is guessed into another type."""

    model_config = ConfigDict(extra="forbid", strict=True)


class ResponseModel(BaseModel):
    """Base of what goes out."""

    model_config = ConfigDict(frozen=True)


class Page(ResponseModel, Generic[T]):
    """A list, or a page of one, with how many there are."""

    items: list[T]
    total: int


class ErrorResponse(ResponseModel):
    """Every error, whatever its status."""

    error_code: str
    message: str
    details: dict[str, Any] | None = None


class WebSocketMessage(RequestModel):
    """What a client says on a socket; which payload belongs to a `type` is `ws/protocol.py`'s."""

    type: str
    payload: dict[str, Any]
