"""Checks arguments before a call and results after it against a tool's schemas.

Nothing is fetched, whatever a schema refers to; patterns are matched in time that grows with the
text; how much work a schema can make is counted before it is used (`schema_cost.py`). A fault says
where, which rule and what was expected, and never shows the value. Above: `gateway.py`,
`catalogue.py`. Below: `jsonschema-rs`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NoReturn, cast

import jsonschema_rs

from dataagent_core.mcp.catalogue.definitions import BadDefinition
from dataagent_core.mcp.catalogue.schema_cost import cost_of
from dataagent_core.mcp.types import CatalogueTool, JsonObject, RemoteTool, SchemaFault

_MOST_FAULTS = 20
_MOST_KEPT = 2_000
_MOST_BACKTRACKS = 10_000
_MOST_WORK = 5_000_000
_FEW_LOOKS = 32
_MAX_MESSAGE = 300
_MASK = "the value"


@dataclass(frozen=True, slots=True)
class _Compiled:
    validator: jsonschema_rs.Validator
    looks: int
    deepest: int | None


class Validators:
    """Compiled schemas, the latest used kept. For use from one thread."""

    def __init__(self, *, most_kept: int = _MOST_KEPT) -> None:
        self._most = most_kept
        self._kept: OrderedDict[tuple[str, bool], _Compiled | None] = OrderedDict()

    def input_faults(self, tool: CatalogueTool, arguments: JsonObject) -> tuple[SchemaFault, ...]:
        """What is wrong with arguments; nothing: they fit."""
        return self._faults(tool, arguments, is_input=True)

    def output_faults(self, tool: CatalogueTool, structured: Any) -> tuple[SchemaFault, ...]:
        """The first thing that is wrong with a structured result; nothing: it fits.

        A tool without an output schema promises nothing.
        """
        if tool.definition.output_schema is None:
            return ()
        return self._faults(tool, structured, is_input=False)

    def _faults(
        self, tool: CatalogueTool, value: Any, *, is_input: bool
    ) -> tuple[SchemaFault, ...]:
        compiled = self._compiled(tool, is_input=is_input)
        if compiled is None:
            return (SchemaFault("", "schema", "The tool's schema cannot be used."),)
        if fault := _check_cost(compiled, value):
            return (fault,)
        try:
            if compiled.validator.is_valid(value):
                return ()
            if is_input:
                found = list(islice(compiled.validator.iter_errors(value), _MOST_FAULTS))
                return tuple(_fault(error) for error in found)
            return _first(compiled.validator, value)
        except (ValueError, TypeError):  # what JSON does not know: a key that is no text, …
            return (SchemaFault("", "json", "The value is not JSON."),)

    def _compiled(self, tool: CatalogueTool, *, is_input: bool) -> _Compiled | None:
        key = (tool.definition_hash, is_input)
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key]
        schema = tool.definition.input_schema if is_input else tool.definition.output_schema
        try:
            compiled = _compile(schema or {})
        except BadDefinition:  # it was usable when it was listed; be sure
            compiled = None
        self._kept[key] = compiled
        if len(self._kept) > self._most:
            self._kept.popitem(last=False)
        return compiled


def without_nulls(tool: RemoteTool, arguments: JsonObject) -> JsonObject:
    """The arguments without those that are null where the tool neither takes nor needs that.

    Models fill in every field there is; by null they mean what others leave out.
    """
    if None not in arguments.values():
        return arguments
    fields, required = tool.input_schema.get("properties"), tool.input_schema.get("required", ())
    if not isinstance(fields, dict) or not isinstance(required, list | tuple):
        return arguments
    known = cast("dict[str, Any]", fields)  # a schema is JSON of any shape
    return {
        name: value
        for name, value in arguments.items()
        if value is not None or name in required or _is_nullable(known.get(name))
    }


def _is_nullable(field: Any) -> bool:
    """Whether null may be meant; only a plain `type` without it says that it may not."""
    kinds = cast("dict[str, Any]", field).get("type") if isinstance(field, dict) else None
    if isinstance(kinds, str):
        return kinds == "null"
    return not isinstance(kinds, list) or "null" in kinds


def compile_check(tool: RemoteTool) -> None:
    """Whether a tool's schemas can be used.

    Raises:
        BadDefinition: one cannot.
    """
    _compile(tool.input_schema)
    if tool.output_schema is not None:
        _compile(tool.output_schema)


def _compile(schema: JsonObject) -> _Compiled:
    cost = cost_of(schema)
    try:
        validator = _build_validator(schema, jsonschema_rs.RegexOptions())
    except (jsonschema_rs.ValidationError, ValueError):  # perhaps a pattern that looks around
        options = jsonschema_rs.FancyRegexOptions(backtrack_limit=_MOST_BACKTRACKS)
        try:
            validator = _build_validator(schema, options)
        except (jsonschema_rs.ValidationError, ValueError) as error:
            raise BadDefinition("its schema is not a JSON schema that can be used") from error
    return _Compiled(validator, cost.looks, cost.deepest)


def _build_validator(
    schema: JsonObject, options: jsonschema_rs.RegexOptions | jsonschema_rs.FancyRegexOptions
) -> jsonschema_rs.Validator:
    return jsonschema_rs.validator_for(schema, retriever=_deny, pattern_options=options, mask=_MASK)


def _deny(uri: str) -> NoReturn:
    raise ValueError("nothing is fetched")


# -- faults ---------------------------------------------------------------------------------------


def _first(validator: jsonschema_rs.Validator, value: Any) -> tuple[SchemaFault, ...]:
    """Only the first: a large result may have as many faults as rows."""
    try:
        validator.validate(value)
    except jsonschema_rs.ValidationError as error:
        return (_fault(error),)
    return ()


def _fault(error: jsonschema_rs.ValidationError) -> SchemaFault:
    rule = error.kind.name
    path, message, expected = list(error.instance_path), error.message, _expected(error)
    if rule == "required":  # the place of what is missing, not of where it is missing
        path.append(str(expected))
        message = f"{expected} is a required property."
    return SchemaFault(_pointer(path), rule, message[:_MAX_MESSAGE], expected)


def _expected(error: jsonschema_rs.ValidationError) -> Any:
    """What the rule asks for, where that is short."""
    told = error.kind.as_dict()
    for name in ("property", "types", "options", "expected_value", "limit", "pattern", "format"):
        if name in told:
            value = told[name]
            return value if len(str(value)) <= _MAX_MESSAGE else None
    return None


def _pointer(path: Sequence[str | int]) -> str:
    """Where in the value, as a JSON pointer."""
    return "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in path)[:200]


def _check_cost(compiled: _Compiled, value: Any) -> SchemaFault | None:
    """Whether checking the value would take too long, or more stack than there is."""
    if compiled.deepest is None and compiled.looks <= _FEW_LOOKS:
        return None
    most_places = _MOST_WORK // max(compiled.looks, 1)
    if _is_within(value, compiled.deepest, most_places):
        return None
    return SchemaFault("", "size", "The value is too large or nested too deep to be checked.")


def _is_within(value: Any, deepest: int | None, most_places: int) -> bool:
    stack: list[tuple[Any, int]] = [(value, 0)]
    places = 0
    while stack:
        each, depth = stack.pop()
        places += 1
        if places > most_places or (deepest is not None and depth > deepest):
            return False
        stack.extend((inner, depth + 1) for inner in _inside(each))
    return True


def _inside(value: Any) -> Iterable[Any]:
    match value:
        case dict():
            return cast("dict[str, Any]", value).values()  # JSON of any shape
        case list() | tuple():
            return cast("Sequence[Any]", value)  # JSON of any shape
        case _:
            return ()
