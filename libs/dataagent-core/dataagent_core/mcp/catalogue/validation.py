"""Validates arguments before a call and results after it against a tool's schemas.

References are never fetched, and patterns match in linear time. Before a schema is used its
worst-case cost is computed: parts that refer to one another double the work with each step, and a
recursive schema recurses as deep as the value is nested. A fault says where, which rule and what
was expected, and never shows the value.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NoReturn, cast
from urllib.parse import unquote

import jsonschema_rs

from dataagent_core.mcp.catalogue.definitions import BadDefinition
from dataagent_core.mcp.types import CatalogueTool, JsonObject, RemoteTool, SchemaFault

MOST_LOOKS = 5_000
"""At one place of a value."""
DEEPEST = 64
_MOST_PARTS = 20_000
_ALL = ("allOf", "anyOf", "oneOf")
_ONE = ("not", "if", "then", "else")
_BY_NAME = ("dependentSchemas", "dependencies")
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_ANY_MEMBER = ("additionalProperties", "unevaluatedProperties", "propertyNames")
_ANY_ITEM = ("items", "additionalItems", "contains", "unevaluatedItems")
_OBJECT_WEIGHT = 10
_TRY_WEIGHT = 4
_TWICE = ("unevaluatedProperties", "unevaluatedItems")


@dataclass(frozen=True, slots=True)
class Cost:
    """The most work that validating a value can take."""

    looks: int
    """At one place."""
    deepest: int | None
    """How deep a value may be nested; None: the schema ends before it could matter."""


@dataclass(slots=True)
class _Part:
    """A part of a schema and the parts it leads to."""

    here: list[_Part] = field(default_factory=list["_Part"])
    """Those that look at the same place of a value."""
    members: dict[str, list[_Part]] = field(default_factory=dict[str, list["_Part"]])
    any_member: list[_Part] = field(default_factory=list["_Part"])
    items: list[list[_Part]] = field(default_factory=list[list["_Part"]])
    any_item: list[_Part] = field(default_factory=list["_Part"])
    weight: int = 1
    counted: dict[int, tuple[_Part, int]] | None = None
    is_counting: bool = False
    looks: int = 0


def cost_of(schema: JsonObject) -> Cost:
    """Return the most work that validating a value against the schema can take.

    Raises:
        BadDefinition: more than a server may ask of anyone, or a reference leads nowhere.
    """
    parts = _Reader(schema).read()
    for part in parts:
        part.looks = sum(each.weight * count for each, count in _counted(part).values())
        if part.looks > MOST_LOOKS:
            raise BadDefinition("its schema asks for too much work")
    root = parts[0]
    for depth in range(1, DEEPEST + 1):
        before = [part.looks for part in parts]
        after = [max(part.looks, _below(part)) for part in parts]
        if before == after:
            is_endless = _is_recursive(root)
            return Cost(root.looks, DEEPEST if is_endless else None)
        if after[0] > MOST_LOOKS:
            return Cost(before[0], depth - 1)
        for part, looks in zip(parts, after, strict=True):
            part.looks = min(looks, MOST_LOOKS + 1)
    return Cost(root.looks, DEEPEST)


def _counted(part: _Part) -> dict[int, tuple[_Part, int]]:
    """Return all parts applied to the same place as this one, with how often."""
    if part.counted is not None:
        return part.counted
    if part.is_counting:
        raise BadDefinition("its schema refers to itself without end")
    part.is_counting = True
    found: dict[int, tuple[_Part, int]] = {id(part): (part, 1)}
    for other in part.here:
        try:
            inner = _counted(other)
        except RecursionError:
            raise BadDefinition("its schema has too long a chain of references") from None
        for key, (each, count) in inner.items():
            found[key] = (each, min(count + found.get(key, (each, 0))[1], MOST_LOOKS + 1))
    part.is_counting = False
    part.counted = found
    return found


def _below(part: _Part) -> int:
    """Return how often, at worst, a place directly below this part's is visited."""
    members: dict[str, int] = {}
    any_member = any_item = 0
    items: dict[int, int] = {}
    for each, count in _counted(part).values():
        for name, inner in each.members.items():
            members[name] = members.get(name, 0) + count * _looks(inner)
        for place, inner in enumerate(each.items):
            items[place] = items.get(place, 0) + count * _looks(inner)
        any_member += count * _looks(each.any_member)
        any_item += count * _looks(each.any_item)
    most_member = max(members.values(), default=0) + any_member
    most_item = max(items.values(), default=0) + any_item
    return max(most_member, most_item)


def _looks(parts: list[_Part]) -> int:
    return sum(part.looks for part in parts)


def _is_recursive(root: _Part) -> bool:
    """Whether values of any depth are visited."""
    done: set[int] = set()
    open_: set[int] = set()
    stack: list[tuple[_Part, Iterator[_Part]]] = [(root, _next(root))]
    open_.add(id(root))
    while stack:
        part, others = stack[-1]
        other = next(others, None)
        if other is None:
            stack.pop()
            open_.discard(id(part))
            done.add(id(part))
        elif id(other) in open_:
            return True
        elif id(other) not in done:
            open_.add(id(other))
            stack.append((other, _next(other)))
    return False


def _next(part: _Part) -> Iterator[_Part]:
    yield from part.here
    yield from part.any_member
    yield from part.any_item
    for inner in (*part.members.values(), *part.items):
        yield from inner


class _Reader:
    """Parses a schema into parts."""

    def __init__(self, schema: JsonObject) -> None:
        self._schema = schema
        self._parts: dict[int, _Part] = {}
        self._todo: list[tuple[JsonObject, _Part]] = []
        self._anchors: dict[str, list[JsonObject]] = {}

    def read(self) -> list[_Part]:
        """Return all parts that can be reached, the whole schema first."""
        self._find_anchors(self._schema)
        self._part(self._schema)
        while self._todo:
            schema, part = self._todo.pop()
            self._fill(schema, part)
        return list(self._parts.values())

    def _part(self, schema: JsonObject) -> _Part:
        part = self._parts.get(id(schema))
        if part is None:
            if len(self._parts) >= _MOST_PARTS:
                raise BadDefinition("its schema has too many parts")
            part = self._parts[id(schema)] = _Part()
            self._todo.append((schema, part))
        return part

    def _fill(self, schema: JsonObject, part: _Part) -> None:
        part.weight = _weight(schema)
        times = 2 if any(name in schema for name in _TWICE) else 1
        part.here = self._here(schema) * times
        part.members = {
            name: self._schemas(inner) for name, inner in _mapping(schema.get("properties")).items()
        }
        by_pattern = _mapping(schema.get("patternProperties")).values()
        part.any_member = [
            *(each for name in _ANY_MEMBER for each in self._schemas(schema.get(name))),
            *(each for inner in by_pattern for each in self._schemas(inner)),
        ]
        placed = _list(schema.get("prefixItems", schema.get("items")))
        part.items = [self._schemas(inner) for inner in placed]
        part.any_item = [each for name in _ANY_ITEM for each in self._schemas(schema.get(name))]

    def _here(self, schema: JsonObject) -> list[_Part]:
        found = [part for name in _ONE for part in self._schemas(schema.get(name))]
        inner = [each for name in _ALL for each in _list(schema.get(name))]
        inner += [each for name in _BY_NAME for each in _mapping(schema.get(name)).values()]
        found += [part for each in inner for part in self._schemas(each)]
        for name in _REFERENCES:
            reference = schema.get(name)
            if isinstance(reference, str):
                found += [self._part(target) for target in self._targets(reference)]
        return found

    def _schemas(self, value: Any) -> list[_Part]:
        return [self._part(cast("JsonObject", value))] if isinstance(value, dict) else []  # JSON

    # -- references -----------------------------------------------------------------------------

    def _targets(self, reference: str) -> list[JsonObject]:
        if not reference.startswith("#"):
            raise BadDefinition("its schema refers to something outside itself")
        place = unquote(reference[1:])
        if place and not place.startswith("/"):
            if place not in self._anchors:
                raise BadDefinition("a reference in its schema leads nowhere")
            return self._anchors[place]
        target: Any = self._schema
        for step in place.split("/")[1:]:
            target = _resolve_step(target, step.replace("~1", "/").replace("~0", "~"))
        return [cast("JsonObject", target)] if isinstance(target, dict) else []  # JSON

    def _find_anchors(self, value: Any) -> None:
        stack = [value]
        while stack:
            each = stack.pop()
            members = _mapping(each)
            for name in ("$anchor", "$dynamicAnchor"):
                anchor = members.get(name)
                if isinstance(anchor, str):
                    self._anchors.setdefault(anchor, []).append(members)
            stack.extend((*members.values(), *_list(each)))


def _weight(schema: JsonObject) -> int:
    """Return a part's own cost: `enum` objects and patterns are tried one by one."""
    objects: list[Any] = [o for o in _list(schema.get("enum")) if isinstance(o, dict | list)]
    compared = sum(_OBJECT_WEIGHT + len(str(each)) // 8 for each in objects)
    return 1 + compared + _TRY_WEIGHT * len(_mapping(schema.get("patternProperties")))


def _resolve_step(target: Any, step: str) -> Any:
    members, items = _mapping(target), _list(target)
    if step in members:
        return members[step]
    if step.isdecimal() and int(step) < len(items):
        return items[int(step)]
    raise BadDefinition("a reference in its schema leads nowhere")


def _mapping(value: Any) -> dict[str, Any]:
    """Return the value if it is an object, else an empty one."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}  # JSON of any shape


def _list(value: Any) -> list[Any]:
    """Return the value if it is a list, else an empty one."""
    return cast("list[Any]", value) if isinstance(value, list) else []  # JSON of any shape


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
    """Compiled schemas, of which the most recently used are cached. For use from one thread."""

    def __init__(self, *, most_kept: int = _MOST_KEPT) -> None:
        self._most = most_kept
        self._kept: OrderedDict[tuple[str, bool], _Compiled | None] = OrderedDict()

    def input_faults(self, tool: CatalogueTool, arguments: JsonObject) -> tuple[SchemaFault, ...]:
        """Validate arguments; empty if they fit."""
        return self._faults(tool, arguments, is_input=True)

    def output_faults(self, tool: CatalogueTool, structured: Any) -> tuple[SchemaFault, ...]:
        """Validate a structured result and return the first fault; empty if it fits.

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
    """Drop arguments that are null where the tool neither accepts nor requires null.

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
    """Whether null may be meant: only a plain `type` without null excludes it."""
    kinds = cast("dict[str, Any]", field).get("type") if isinstance(field, dict) else None
    if isinstance(kinds, str):
        return kinds == "null"
    return not isinstance(kinds, list) or "null" in kinds


def compile_check(tool: RemoteTool) -> None:
    """Check that a tool's schemas can be used.

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
    """Return only the first fault: a large result may have as many as rows."""
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
    """Return what the rule expects, where that is short."""
    details = error.kind.as_dict()
    for name in ("property", "types", "options", "expected_value", "limit", "pattern", "format"):
        if name in details:
            value = details[name]
            return value if len(str(value)) <= _MAX_MESSAGE else None
    return None


def _pointer(path: Sequence[str | int]) -> str:
    """Return the place in the value as a JSON pointer."""
    return "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in path)[:200]


def _check_cost(compiled: _Compiled, value: Any) -> SchemaFault | None:
    """Refuse a value whose validation would take too long or too much stack."""
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
