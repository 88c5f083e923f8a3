"""JSON of the server as dataclasses, by their annotations; unknown fields are ignored.

A field is read from the key of its name, or from the one `json_field` names; a field with a default
may be missing. A shape that does not fit is a `ProtocolError`, never an object with holes.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable
from datetime import date, datetime
from functools import cache
from typing import Any, TypeVar, cast

from dataagent_client.errors import ProtocolError

T = TypeVar("T")
JsonDict = dict[str, Any]  # a JSON object of the server
_KEY = "key"
_TIMES = (datetime, date)
_UNIONS = (types.UnionType, typing.Union)


def json_field(key: str) -> Any:  # what `dataclasses.field` gives has the type of the field
    """A field that has another name in the server's JSON."""
    return dataclasses.field(metadata={_KEY: key})


def make_parser(kind: type[T], what: str) -> Callable[[object], T]:
    """A function from JSON to objects of the kind; `what` names it in a `ProtocolError`."""

    def parse(data: object) -> T:
        return apply_parser(lambda given: _build(kind, given), data, what)

    return parse


def apply_parser(parse: Callable[[JsonDict], T], data: object, what: str) -> T:
    """Apply a parser; a shape that does not fit is a `ProtocolError` and nothing else."""
    if not isinstance(data, dict):
        raise ProtocolError(f"The server's {what} is not a JSON object.")
    try:
        return parse(data)  # pyright: ignore[reportUnknownArgumentType] JSON
    except (KeyError, TypeError, ValueError) as error:
        raise ProtocolError(f"The server's {what} cannot be read: {error!r}.") from error


def _build(kind: type[T], data: JsonDict) -> T:
    values: JsonDict = {}
    for name, key, hint, is_optional in _fields(kind):
        if key in data or not is_optional:
            values[name] = _value(data[key], hint)
    return kind(**values)


@cache
def _fields(kind: type[Any]) -> list[tuple[str, str, Any, bool]]:
    """Name, key, annotation of each field, and whether it has a default."""
    hints = typing.get_type_hints(kind)
    missing = dataclasses.MISSING
    return [
        (
            each.name,
            each.metadata.get(_KEY, each.name),
            hints[each.name],
            each.default is not missing or each.default_factory is not missing,
        )
        for each in dataclasses.fields(kind)
    ]


def _value(value: Any, hint: Any) -> Any:
    """The value as the annotation says. Raises `TypeError` or `ValueError` if it is not."""
    origin = typing.get_origin(hint)
    if origin in _UNIONS:
        kinds = [each for each in typing.get_args(hint) if each is not type(None)]
        is_none = value is None and len(kinds) < len(typing.get_args(hint))
        return None if is_none else _value(value, kinds[0] if len(kinds) == 1 else Any)
    if origin is tuple:
        (item, _) = typing.get_args(hint)
        return tuple(_value(each, item) for each in cast("list[Any]", _expect(value, list)))
    if dataclasses.is_dataclass(hint):
        return _build(cast("type[Any]", hint), _expect(value, dict))
    if hint in _TIMES:
        return hint.fromisoformat(value)
    if hint is float:
        return float(_expect(value, int | float))
    return value if hint is Any else _expect(value, origin or hint)


def _expect(value: Any, kind: Any) -> Any:
    if not isinstance(value, kind):
        raise TypeError(f"{type(value).__name__} where {kind} is expected")
    return value
