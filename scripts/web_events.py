"""The web app's types of a run's events, from the dataclasses of `dataagent_protocol`."""

from __future__ import annotations

import types
from dataclasses import MISSING, Field, fields, is_dataclass
from inspect import getdoc
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from dataagent_protocol import events, hitl

_HEADER = """\
/** Written by `make web-schema` from `dataagent_protocol`. */

export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };
export type JsonObject = Record<string, Json>;
"""
_PLAIN = {str: "string", int: "number", float: "number", bool: "boolean", Any: "Json"}
_ENVELOPE = {"event_type", "timestamp"}
"""Fields of an event that stand beside its data on the wire."""
_CHOICES = {
    value: name
    for module in (hitl, events)
    for name, value in vars(module).items()
    if get_origin(value) is Literal and name in module.__all__ and name != "EventType"
}
"""Names of the fixed sets of strings."""
_STRUCTURES: tuple[type, ...] = (hitl.ActionRequest, hitl.EditedAction, hitl.Decision)


def event_types() -> str:
    """The file as it should be."""
    choices = [f"export type {name} = {_union(value)};\n" for value, name in _CHOICES.items()]
    structures = [_structure(kind) for kind in _STRUCTURES]
    return "\n".join([_HEADER, "".join(choices), *structures, _data_of_events()])


def _structure(kind: type) -> str:
    """A dataclass as an interface; what its JSON form may leave out is optional."""
    hints = get_type_hints(kind)
    sent = _smallest(kind)
    lines = [_comment(kind), f"export interface {kind.__name__} {{\n"]
    lines += [f"  {name}{'' if name in sent else '?'}: {_type(hints[name])};\n" for name in hints]
    # what is derived from the fields and sent with them
    for name in [each for each in sent if each not in hints]:
        getter = getattr(kind, name).fget
        lines.append(f"  {name}?: {_type(get_type_hints(getter)['return'])};\n")
    return "".join([*lines, "}\n"])


def _smallest(kind: type) -> dict[str, Any]:
    """The JSON form of a dataclass of which only what must be there is set."""
    hints = get_type_hints(kind)
    values = {each.name: _empty(hints[each.name]) for each in _fields(kind) if _is_required(each)}
    made: Any = kind(**values)
    return made.to_dict() if hasattr(made, "to_dict") else dict.fromkeys(hints)


def _is_required(each: Field[Any]) -> bool:
    return each.default is MISSING and each.default_factory is MISSING


def _empty(hint: Any) -> Any:
    if get_origin(hint) is Literal:
        return get_args(hint)[0]
    return (get_origin(hint) or hint)()


def _fields(kind: type) -> tuple[Field[Any], ...]:
    return fields(kind) if is_dataclass(kind) else ()


def _data_of_events() -> str:
    lines = ["/** What an event says, by its type. */\n", "export interface EventData {\n"]
    for kind in events.EVENT_CLASSES:
        hints = get_type_hints(kind)
        own = [each.name for each in _fields(kind) if each.name not in _ENVELOPE]
        lines += ["  ", _comment(kind), f"  {kind.event_type}: {{\n"]
        lines += [f"    {name}: {_type(hints[name])};\n" for name in own]
        lines.append("  };\n")
    return "".join([*lines, "}\n"])


def _comment(kind: type) -> str:
    """The first line of a class's docstring."""
    return f"/** {(getdoc(kind) or '').splitlines()[0]} */\n"


def _type(hint: Any) -> str:
    """A Python type in TypeScript.

    Raises:
        TypeError: an event has a field of a type that JSON has no form for.
    """
    origin, arguments = get_origin(hint), get_args(hint)
    if hint in _CHOICES:
        return _CHOICES[hint]
    if hint in _STRUCTURES:
        return hint.__name__
    if hint is types.NoneType:
        return "null"
    if origin is Literal:
        return _union(hint)
    if origin in (Union, types.UnionType):
        return " | ".join(_type(each) for each in arguments)
    if origin in (list, tuple):
        return f"{_type(arguments[0])}[]"
    if origin is dict:
        value = _type(arguments[1])
        return "JsonObject" if value == "Json" else f"Record<string, {value}>"
    if hint in _PLAIN:
        return _PLAIN[hint]
    raise TypeError(f"No TypeScript type for {hint!r}.\nhint: add one to {__name__}")


def _union(hint: Any) -> str:
    return " | ".join(f'"{each}"' for each in get_args(hint))
