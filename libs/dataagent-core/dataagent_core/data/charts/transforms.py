"""What a chart may do with its rows before drawing: aggregate, bin, truncate dates, filter.

Each takes the scope of fields and gives it back changed. A filter is a structured predicate; an
expression in a string is refused, for it is code.
"""

from __future__ import annotations

import re
from typing import Any, cast

from dataagent_core.data.charts import plain
from dataagent_core.data.charts.fields import FieldKind, FieldScope, Spec, refuse, words

COUNTS = frozenset({"count", "distinct", "valid", "missing"})
NUMERIC = words(
    "sum mean average median q1 q3 variance variancep stdev stdevp stderr product ci0 ci1"
)
EXTREMES = frozenset({"min", "max"})
AGGREGATES = COUNTS | NUMERIC | EXTREMES
COMPARISONS = frozenset({"equal", "lt", "lte", "gt", "gte", "range", "oneOf", "valid"})
BIN_KEYS = frozenset({"maxbins", "nice", "extent", "anchor"})
KINDS = ("aggregate", "joinaggregate", "bin", "timeUnit", "filter")
MAX_PREDICATE_DEPTH = 6
_TIME_UNIT = re.compile(
    r"(?:utc)?(?:year|quarter|month|week|dayofyear|day|date|hours|minutes|seconds)+"
)
_NAME = re.compile(r"[^\\\[\]\"'.\x00-\x1f]{1,100}")


def check_transforms(given: object, scope: FieldScope, path: str) -> tuple[list[Spec], FieldScope]:
    """The transforms, each checked in the scope that the one before it leaves."""
    if not isinstance(given, list) or len(cast("list[Any]", given)) > 20:
        refuse(f"{path} must be a list of at most 20.", path=path, reason="bad_value")
    checked: list[Spec] = []
    for at, item in enumerate(cast("list[Any]", given)):
        one, scope = _transform(item, scope, f"{path}[{at}]")
        checked.append(one)
    return checked, scope


def _transform(given: object, scope: FieldScope, path: str) -> tuple[Spec, FieldScope]:
    if not isinstance(given, dict):
        refuse(f"{path} must be an object.", path=path, reason="bad_value")
    spec = cast("Spec", given)
    kind = next((kind for kind in KINDS if kind in spec), None)
    match kind:
        case "filter":
            _only(spec, {"filter"}, path)
            return {"filter": predicate(spec["filter"], scope, f"{path}.filter")}, scope
        case "aggregate" | "joinaggregate":
            return _aggregate(spec, kind, scope, path)
        case "bin" | "timeUnit":
            return _made_from_one(spec, kind, scope, path)
        case _:
            key = next(iter(spec), "")
            plain.refuse_key(f"{path}.{key}", key, KINDS)
            raise AssertionError


def _only(spec: Spec, allowed: set[str], path: str) -> None:
    for key in spec:
        if key not in allowed:
            plain.refuse_key(f"{path}.{key}", key, allowed)


def new_name(name: object, scope: FieldScope, path: str) -> str:
    """A name for what a transform makes: plain, and not that of a column."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        refuse(
            f"{path} must be a name without dots, brackets, quotes or backslashes.",
            path=path,
            reason="bad_value",
        )
    if name in scope.columns:
        refuse(f"{path}: '{name}' is a column already.", path=path, reason="bad_value")
    return name


def _aggregate(spec: Spec, kind: str, scope: FieldScope, path: str) -> tuple[Spec, FieldScope]:
    _only(spec, {kind, "groupby"}, path)
    names = plain_list(spec["groupby"], f"{path}.groupby") if spec.get("groupby") else []
    groups = [scope.find(name, f"{path}.groupby[{at}]") for at, name in enumerate(names)]
    made: dict[str, FieldKind] = {}
    ops: list[Spec] = []
    for at, item in enumerate(plain_list(spec[kind], f"{path}.{kind}")):
        one, made_kind = _operation(item, scope, f"{path}.{kind}[{at}]")
        made[one["as"]] = made_kind
        ops.append(one)
    after = scope.only(groups, made) if kind == "aggregate" else scope.with_fields(made)
    return {kind: ops, "groupby": groups}, after


def _operation(given: object, scope: FieldScope, path: str) -> tuple[Spec, FieldKind]:
    if not isinstance(given, dict):
        refuse(f"{path} must be an object.", path=path, reason="bad_value")
    spec = cast("Spec", given)
    _only(spec, {"op", "field", "as"}, path)
    checked: Spec = {"op": spec.get("op")}
    if spec.get("op") != "count":
        checked["field"] = scope.find(spec.get("field"), f"{path}.field")
    kind = aggregated(spec.get("op"), checked.get("field"), scope, f"{path}.op")
    checked["as"] = new_name(spec.get("as"), scope, f"{path}.as")
    return checked, kind


def aggregated(op: object, name: str | None, scope: FieldScope, path: str) -> FieldKind:
    """The kind of an aggregate's value; refused if it makes no sense for the field."""
    if not isinstance(op, str) or op not in AGGREGATES:
        refuse(
            f"{path}: unknown aggregate. Use: {', '.join(sorted(AGGREGATES))}.",
            path=path,
            reason="not_allowed",
        )
    if op in COUNTS:
        return "number"
    kind = scope.kinds[name] if name is not None else "other"
    if op in EXTREMES:
        return kind
    if kind != "number":
        refuse(
            f"{path}: '{op}' needs a number, and column '{name}' holds {kind}.",
            path=path,
            reason="type_mismatch",
        )
    return "number"


def _made_from_one(spec: Spec, kind: str, scope: FieldScope, path: str) -> tuple[Spec, FieldScope]:
    _only(spec, {kind, "field", "as"}, path)
    name = scope.find(spec.get("field"), f"{path}.field")
    made = new_name(spec.get("as"), scope, f"{path}.as")
    check = check_bin if kind == "bin" else check_time_unit
    setting = check(spec[kind], scope.kinds[name], f"{path}.{kind}")
    result: FieldKind = "number" if kind == "bin" else "temporal"
    return {kind: setting, "field": name, "as": made}, scope.with_fields({made: result})


def check_bin(given: object, kind: FieldKind, path: str) -> bool | Spec:
    """Whether and how a number is put in bins."""
    if given is None or given is False:
        return False
    if kind != "number":
        refuse(f"{path}: only numbers can be binned.", path=path, reason="type_mismatch")
    return True if given is True else plain.options(given, path, allowed=BIN_KEYS)


def check_time_unit(given: object, kind: FieldKind, path: str) -> str:
    """The part of a date that is kept: `yearmonth`, `year`, …

    Dates are drawn as wall-clock time; `utc`, which would move them by a zone, is dropped.
    """
    if not isinstance(given, str) or not _TIME_UNIT.fullmatch(given):
        refuse(f"{path} must be a time unit, such as yearmonth.", path=path, reason="bad_value")
    if kind not in ("temporal", "text"):
        refuse(f"{path}: only dates have time units.", path=path, reason="type_mismatch")
    return given.removeprefix("utc")


def predicate(given: object, scope: FieldScope, path: str, *, depth: int = 0) -> Spec:
    """A condition on rows, as a structure: comparisons joined by and, or, not."""
    if isinstance(given, str):
        refuse(
            f"{path}: write the condition as an object, such as "
            '{"field": "Country", "equal": "Germany"}; expressions are not allowed.',
            path=path,
            reason="expression",
        )
    if not isinstance(given, dict) or depth > MAX_PREDICATE_DEPTH:
        refuse(f"{path} is not a condition.", path=path, reason="bad_value")
    spec = cast("Spec", given)
    for joint in ("and", "or"):
        if joint in spec:
            _only(spec, {joint}, path)
            parts = plain_list(spec[joint], f"{path}.{joint}")
            return {
                joint: [
                    predicate(part, scope, f"{path}.{joint}[{at}]", depth=depth + 1)
                    for at, part in enumerate(parts)
                ]
            }
    if "not" in spec:
        _only(spec, {"not"}, path)
        return {"not": predicate(spec["not"], scope, f"{path}.not", depth=depth + 1)}
    return _comparison(spec, scope, path)


def plain_list(given: object, path: str) -> list[Any]:  # Any: JSON, checked by the caller
    """A list of 1 to 20 items."""
    if not isinstance(given, list) or not 0 < len(cast("list[Any]", given)) <= 20:
        refuse(f"{path} must be a list of 1 to 20 items.", path=path, reason="bad_value")
    return cast("list[Any]", given)


def _comparison(spec: Spec, scope: FieldScope, path: str) -> Spec:
    _only(spec, {"field", "timeUnit", *COMPARISONS}, path)
    name = scope.find(spec.get("field"), f"{path}.field")
    used = [key for key in spec if key in COMPARISONS]
    if len(used) != 1:
        refuse(
            f"{path} needs exactly one of: {', '.join(sorted(COMPARISONS))}.",
            path=path,
            reason="bad_value",
        )
    checked: Spec = {"field": name, used[0]: plain.value(spec[used[0]], f"{path}.{used[0]}")}
    if used[0] in ("range", "oneOf") and not isinstance(spec[used[0]], list):
        refuse(f"{path}.{used[0]} must be a list.", path=path, reason="bad_value")
    if "timeUnit" in spec:
        checked["timeUnit"] = check_time_unit(
            spec["timeUnit"], scope.kinds[name], f"{path}.timeUnit"
        )
    return checked
