"""Field types and base models of all requests and responses.

Text that no database can store (NUL, half a surrogate pair) is refused here with 422, in any field.
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
    """The object, if its text can be stored and its numbers are finite."""
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
    """The text of a date or time; seconds since 1970, which Pydantic accepts too, are refused."""
    if isinstance(value, str) and not re.match(r"\d{4}-\d{2}-\d{2}", value):
        raise PydanticCustomError("date", "A date is written like 2026-03-01")
    return value


def _utc_text(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


SafeText = Annotated[str, AfterValidator(_checked)]
"""Text that can be stored."""

MessageText = Annotated[SafeText, StringConstraints(min_length=1)]
"""The text of a user's message."""

Id = Annotated[str, StringConstraints(pattern=_ID_PATTERN)]
"""An id: short, and harmless in a path, a query and a log line."""

Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")]
"""The name of an agent or a skill."""

PathId = Annotated[str, Path(pattern=_ID_PATTERN)]
"""An id in a URL."""

Seq = Annotated[int, Query(ge=0, lt=2**53)]
"""The `seq` of the last event a reader has seen; 0 for none."""

Limit = Annotated[int, Query(ge=1, le=1000)]
"""How many items a page has."""

Offset = Annotated[int, Query(ge=0, lt=2**31)]
"""How many items come before the page."""

SafeJson = Annotated[dict[str, Any], AfterValidator(_checked_json)]
"""A JSON object whose text can be stored."""

UtcTime = Annotated[datetime, PlainSerializer(_utc_text, return_type=str)]
"""A moment, written as ISO 8601 UTC with milliseconds."""


Day = Annotated[date, BeforeValidator(_as_written)]
"""A day in a query."""

Moment = Annotated[datetime, BeforeValidator(_as_written)]
"""A moment in a query, as ISO 8601."""


def check_same(name: str, in_address: str, in_body: str | None) -> None:
    """Check that a field of the body, if sent, equals the one in the URL.

    Raises:
        BadInput: they differ.
    """
    if in_body is not None and in_body != in_address:
        raise BadInput(
            f"The URL names {in_address!r} and `{name}` in the body {in_body!r}. Send the same "
            f"or leave `{name}` out; it cannot be changed."
        )


class RequestModel(BaseModel):
    """Base of requests: unknown fields are refused, and types are strict."""

    model_config = ConfigDict(extra="forbid", strict=True)


class ResponseModel(BaseModel):
    """Base of responses."""

    model_config = ConfigDict(frozen=True)


class Page(ResponseModel, Generic[T]):
    """A list, or a page of one, with the total number."""

    items: list[T]
    total: int
