"""A Vega-Lite specification from a model, checked against the result it is to draw.

Views, marks, transforms and channels are walked one by one, with the fields in scope at each place;
their settings go through Vega-Lite's own schema (`settings.py`). What passes has no data of its
own, loads nothing, links nowhere and runs no expression; its fields are columns of the result,
written exactly as the result names them. `drawing.py` joins it with rows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from typing import Any, cast

from dataagent_core.data.charts import settings
from dataagent_core.data.charts.fields import FieldKind, FieldScope, Spec, refuse, words
from dataagent_core.data.charts.settings import check_keys, part, refuse_key
from dataagent_core.data.types import ResultColumn

COUNTING_OPERATIONS = frozenset({"count", "distinct", "valid", "missing"})
NUMERIC_OPERATIONS = words(
    "sum mean average median q1 q3 variance variancep stdev stdevp stderr product ci0 ci1"
)
EXTREME_OPERATIONS = frozenset({"min", "max"})
AGGREGATES = COUNTING_OPERATIONS | NUMERIC_OPERATIONS | EXTREME_OPERATIONS
COMPARISONS = frozenset({"equal", "lt", "lte", "gt", "gte", "range", "oneOf", "valid"})
BIN_KEYS = frozenset({"maxbins", "nice", "extent", "anchor"})
TRANSFORM_KINDS = ("aggregate", "joinaggregate", "bin", "timeUnit", "filter")
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
    kind = next((kind for kind in TRANSFORM_KINDS if kind in spec), None)
    if kind is None:
        key = next(iter(spec), "")
        refuse_key(f"{path}.{key}", key, TRANSFORM_KINDS)
    if kind == "filter":
        check_keys(spec, {"filter"}, path)
        return {"filter": predicate(spec["filter"], scope, f"{path}.filter")}, scope
    if kind in ("aggregate", "joinaggregate"):
        return _aggregate(spec, kind, scope, path)
    return _made_from_one(spec, kind, scope, path)


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
    check_keys(spec, {kind, "groupby"}, path)
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
    check_keys(spec, {"op", "field", "as"}, path)
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
    if op in COUNTING_OPERATIONS:
        return "number"
    kind = scope.kinds[name] if name is not None else "other"
    if op in EXTREME_OPERATIONS:
        return kind
    if kind != "number":
        refuse(
            f"{path}: '{op}' needs a number, and column '{name}' holds {kind}.",
            path=path,
            reason="type_mismatch",
        )
    return "number"


def _made_from_one(spec: Spec, kind: str, scope: FieldScope, path: str) -> tuple[Spec, FieldScope]:
    check_keys(spec, {kind, "field", "as"}, path)
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
    if given is True:
        return True
    if not isinstance(given, dict):
        refuse(f"{path} must be true or an object.", path=path, reason="bad_value")
    spec = cast("Spec", given)
    check_keys(spec, BIN_KEYS, path)
    return {key: settings.value(item, f"{path}.{key}", key=key) for key, item in spec.items()}


def check_time_unit(given: object, kind: FieldKind, path: str) -> str:
    """The part of a date that is left: `yearmonth`, `year`, …

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
            check_keys(spec, {joint}, path)
            parts = plain_list(spec[joint], f"{path}.{joint}")
            return {
                joint: [
                    predicate(part, scope, f"{path}.{joint}[{at}]", depth=depth + 1)
                    for at, part in enumerate(parts)
                ]
            }
    if "not" in spec:
        check_keys(spec, {"not"}, path)
        return {"not": predicate(spec["not"], scope, f"{path}.not", depth=depth + 1)}
    return _comparison(spec, scope, path)


def plain_list(given: object, path: str) -> list[Any]:  # Any: JSON, checked by the caller
    """A list of 1 to 20 items."""
    if not isinstance(given, list) or not 0 < len(cast("list[Any]", given)) <= 20:
        refuse(f"{path} must be a list of 1 to 20 items.", path=path, reason="bad_value")
    return cast("list[Any]", given)


def _comparison(spec: Spec, scope: FieldScope, path: str) -> Spec:
    check_keys(spec, {"field", "timeUnit", *COMPARISONS}, path)
    name = scope.find(spec.get("field"), f"{path}.field")
    used = [key for key in spec if key in COMPARISONS]
    if len(used) != 1:
        refuse(
            f"{path} needs exactly one of: {', '.join(sorted(COMPARISONS))}.",
            path=path,
            reason="bad_value",
        )
    checked: Spec = {"field": name, used[0]: settings.value(spec[used[0]], f"{path}.{used[0]}")}
    if used[0] in ("range", "oneOf") and not isinstance(spec[used[0]], list):
        refuse(f"{path}.{used[0]} must be a list.", path=path, reason="bad_value")
    if "timeUnit" in spec:
        checked["timeUnit"] = check_time_unit(
            spec["timeUnit"], scope.kinds[name], f"{path}.timeUnit"
        )
    return checked


SECONDARY_CHANNELS = frozenset({"x2", "y2", "theta2", "radius2"})
LIST_CHANNELS = frozenset({"tooltip", "detail", "order"})
CHANNELS = SECONDARY_CHANNELS | words(
    "x y xOffset yOffset theta radius color fill stroke opacity fillOpacity strokeOpacity "
    "strokeWidth strokeDash size shape angle detail text tooltip order row column facet"
)
FIELD_TYPES = ("quantitative", "temporal", "ordinal", "nominal")
CHANNEL_KEYS = words(
    "field type aggregate bin timeUnit title axis legend scale sort stack header format formatType "
    "value datum condition bandPosition impute spacing align center columns"
)
SORT_OPS = frozenset({"ascending", "descending"})


def check_encoding(given: object, scope: FieldScope, path: str) -> Spec:
    """Every channel of an encoding."""
    if not isinstance(given, dict):
        refuse(f"{path} must be an object.", path=path, reason="bad_value")
    result: Spec = {}
    channels = cast("dict[str, object]", given)
    for channel, definition in channels.items():
        here = f"{path}.{channel}"
        if channel not in CHANNELS:
            refuse_key(here, channel, CHANNELS)
        if definition is None:
            result[channel] = None
        elif isinstance(definition, list) and channel in LIST_CHANNELS:
            result[channel] = [
                check_channel(item, channel, scope, f"{here}[{at}]")
                for at, item in enumerate(cast("list[Any]", definition)[: settings.MAX_LIST])
            ]
        else:
            result[channel] = check_channel(cast("object", definition), channel, scope, here)
    return result


def check_channel(given: object, channel: str, scope: FieldScope, path: str) -> Spec:
    """One channel: a field, or a constant."""
    if not isinstance(given, dict):
        refuse(f"{path} must be an object.", path=path, reason="bad_value")
    spec = cast("Spec", given)
    check_keys(spec, CHANNEL_KEYS, path)
    result = _field(spec, channel, scope, path)
    for key in spec:
        if key not in _FIELD_KEYS:
            result[key] = _setting(key, spec[key], scope, f"{path}.{key}")
    return result


_FIELD_KEYS = frozenset({"field", "type", "aggregate", "bin", "timeUnit"})


def _field(spec: Spec, channel: str, scope: FieldScope, path: str) -> Spec:
    """The part of a channel that says which field and how it is read."""
    result: Spec = {}
    kind: FieldKind = "other"
    if "field" in spec:
        result["field"] = scope.find(spec["field"], f"{path}.field")
        kind = scope.kinds[result["field"]]
    aggregate = spec.get("aggregate")
    if aggregate is not None:
        if "field" not in result and aggregate != "count":
            refuse(f"{path}.aggregate needs a field.", path=path, reason="bad_field")
        kind = aggregated(aggregate, result.get("field"), scope, f"{path}.aggregate")
        result["aggregate"] = aggregate
    elif "field" not in result:
        return {"type": _known_type(spec["type"], path)} if "type" in spec else {}
    if "bin" in spec and spec["bin"] != "binned":
        result["bin"] = check_bin(spec["bin"], kind, f"{path}.bin")
    if spec.get("timeUnit") is not None:
        result["timeUnit"] = check_time_unit(spec["timeUnit"], kind, f"{path}.timeUnit")
        kind = "temporal"
    if channel not in SECONDARY_CHANNELS:
        result["type"] = _type(spec.get("type"), kind, result.get("field", "count"), path)
    return result


def _known_type(given: object, path: str) -> str:
    if given not in FIELD_TYPES:
        refuse(
            f"{path}.type must be one of: {', '.join(FIELD_TYPES)}.",
            path=f"{path}.type",
            reason="not_allowed",
        )
    return str(given)


def _type(given: object, kind: FieldKind, name: str, path: str) -> str:
    if given is None:
        return {"number": "quantitative", "temporal": "temporal"}.get(kind, "nominal")
    chosen = _known_type(given, path)
    fits = {"quantitative": ("number",), "temporal": ("temporal", "text")}.get(chosen)
    if fits is not None and kind not in fits:
        other = "ordinal" if kind == "number" else "temporal" if kind == "temporal" else "nominal"
        refuse(
            f"{path}.type: column '{name}' holds {kind}, so it cannot be {chosen}. Use {other}.",
            path=f"{path}.type",
            reason="type_mismatch",
        )
    return chosen


def _setting(key: str, given: Any, scope: FieldScope, path: str) -> Any:  # Any: JSON
    match key:
        case "axis" | "legend" | "header" | "scale":
            checked = None if given is None else part(key, given, path)
            if key == "scale" and checked and checked.get("type") == "utc":
                checked["type"] = "time"  # dates are wall-clock time, without a zone
            return checked
        case "stack" | "format" | "formatType" | "bandPosition" | "impute":
            return part(key, given, path)
        case "spacing" | "align" | "center" | "columns":  # of a facet
            return part(key, given, path)
        case "title":
            return settings.text(given, path)
        case "sort":
            return _sort(given, scope, path)
        case "condition":
            return _condition(given, scope, path)
        case _:  # value, datum
            return settings.value(given, path, key=key)


def _sort(given: Any, scope: FieldScope, path: str) -> Any:  # Any: JSON
    if given is None or isinstance(given, list):
        return settings.value(given, path)
    if isinstance(given, str):
        if given in SORT_OPS or given.removeprefix("-") in CHANNELS:
            return given
        refuse(
            f"{path} must be ascending, descending or a channel such as -y.",
            path=path,
            reason="not_allowed",
        )
    if not isinstance(given, dict):
        refuse(f"{path} must be an object.", path=path, reason="bad_value")
    spec = dict(cast("Spec", given))
    check_keys(spec, {"field", "op", "order", "encoding"}, path)
    if "field" in spec:
        spec["field"] = scope.find(spec["field"], f"{path}.field")
    if spec.get("op") is not None:
        aggregated(spec["op"], spec.get("field"), scope, f"{path}.op")
    if spec.get("order") not in (*SORT_OPS, None) or (
        "encoding" in spec and spec["encoding"] not in CHANNELS
    ):
        refuse(f"{path} is not a known order.", path=path, reason="not_allowed")
    return spec


def _condition(given: Any, scope: FieldScope, path: str) -> Any:  # Any: JSON
    if isinstance(given, list):
        return [
            _condition(item, scope, f"{path}[{at}]")
            for at, item in enumerate(cast("list[Any]", given)[:20])
        ]
    if not isinstance(given, dict):
        refuse(f"{path} must be an object.", path=path, reason="bad_value")
    spec = dict(cast("Spec", given))
    if "condition" in spec:
        refuse_key(f"{path}.condition", "condition", CHANNEL_KEYS - {"condition"})
    if "test" not in spec:
        refuse(f"{path} needs a test.", path=path, reason="signal")
    test = predicate(spec.pop("test"), scope, f"{path}.test")
    return {"test": test, **check_channel(spec, "color", scope, path)}


SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
MARKS = ("bar", "line", "area", "point", "arc", "rect", "tick", "boxplot", "text", "rule")
MAX_CHARACTERS = 20_000
MAX_DEPTH = 4
MAX_NESTING = 50  # of objects and lists in each other
MAX_VIEWS = 12

_MANY = ("layer", "hconcat", "vconcat", "concat")
_VIEW_KEYS = words(
    "mark encoding transform layer hconcat vconcat concat facet spec title width height resolve "
    "columns spacing align center bounds view name description"
)
_FRAME = ("width", "height", "columns", "align", "center", "bounds", "spacing", "resolve", "view")
_TOP_KEYS = _VIEW_KEYS | {"$schema", "data", "background", "padding", "autosize", "config"}


def check_spec(spec: Spec, columns: Sequence[ResultColumn]) -> Spec:
    """The specification in normal form: no data, `$schema` set, types filled in.

    `BadChart` says where (`path`) and why (`reason`) it is refused, with the `nearest` columns
    for a field that is not there.
    """
    _check_size(spec)
    check_keys(spec, _TOP_KEYS, "$")
    _no_data(spec.get("data"))
    views = _Views()
    result: Spec = {"$schema": SCHEMA, **views.check(spec, FieldScope.of(columns), "$", depth=0)}
    for key in ("config", "background", "padding", "autosize"):
        if spec.get(key) is not None:
            result[key] = part(key, spec[key], f"$.{key}")
    return result


def _check_size(spec: object) -> None:
    """Refuse what is not JSON of a reasonable size, before anything walks into it."""
    if not isinstance(spec, dict) or not all(
        isinstance(key, str) for key in cast("dict[object, object]", spec)
    ):
        refuse("A chart's specification must be an object.", path="$", reason="bad_value")
    try:
        size = len(json.dumps(spec, ensure_ascii=False, allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        refuse("The specification is not plain JSON.", path="$", reason="bad_value")
    level: list[object] = [cast("object", spec)]
    depth = 0
    while level := [child for node in level for child in _children(node)]:
        depth += 1
        if depth > MAX_NESTING:
            refuse("The specification is nested too deep.", path="$", reason="bad_value")
    if size > MAX_CHARACTERS:
        refuse(
            f"The specification has {size:,} characters; the most is {MAX_CHARACTERS:,}. "
            "Leave data out: the chart draws its result.",
            path="$",
            reason="too_large",
        )


def _children(node: object) -> Collection[object]:
    if isinstance(node, dict):
        return cast("dict[str, object]", node).values()
    return cast("list[object]", node) if isinstance(node, list) else ()


def _no_data(data: object) -> None:
    """A name for the data is harmless and dropped; data itself and addresses are refused."""
    if data is None or (isinstance(data, dict) and not cast("Spec", data).keys() - {"name"}):
        return
    is_url = isinstance(data, dict) and "url" in data
    key = "url" if is_url else "data"
    refuse_key("$.data.url" if is_url else "$.data", key, _TOP_KEYS)


class _Views:
    """Walks into views within views, counting them."""

    def __init__(self) -> None:
        self._count = 0

    def check(self, spec: Spec, scope: FieldScope, path: str, *, depth: int) -> Spec:
        """One view: a mark with its encoding, or a composition of views."""
        self._count += 1
        if depth > MAX_DEPTH or self._count > MAX_VIEWS:
            refuse(
                f"{path}: at most {MAX_VIEWS} views, {MAX_DEPTH} deep.",
                path=path,
                reason="too_large",
            )
        result = _frame(spec, path)
        if "transform" in spec:
            result["transform"], scope = check_transforms(
                spec["transform"], scope, f"{path}.transform"
            )
        if "encoding" in spec:
            result["encoding"] = check_encoding(spec["encoding"], scope, f"{path}.encoding")
        return result | self._content(spec, scope, path, depth)

    def _content(self, spec: Spec, scope: FieldScope, path: str, depth: int) -> Spec:
        kinds = [key for key in ("mark", *_MANY, "facet") if key in spec]
        if len(kinds) != 1:
            refuse(
                f"{path} needs exactly one of: mark, {', '.join(_MANY)}, facet.",
                path=path,
                reason="bad_value",
            )
        kind = kinds[0]
        if kind == "mark":
            return {"mark": _mark(spec["mark"], f"{path}.mark")}
        if kind == "facet":
            return self._facet(spec, scope, path, depth)
        return {
            kind: [
                self._inner(view, scope, f"{path}.{kind}[{at}]", depth)
                for at, view in enumerate(plain_list(spec[kind], f"{path}.{kind}"))
            ]
        }

    def _inner(self, view: object, scope: FieldScope, path: str, depth: int) -> Spec:
        if not isinstance(view, dict):
            refuse(f"{path} must be an object.", path=path, reason="bad_value")
        spec = cast("Spec", view)
        check_keys(spec, _VIEW_KEYS, path)
        return self.check(spec, scope, path, depth=depth + 1)

    def _facet(self, spec: Spec, scope: FieldScope, path: str, depth: int) -> Spec:
        given, here = spec["facet"], f"{path}.facet"
        if not isinstance(given, dict):
            refuse(f"{here} must be an object.", path=here, reason="bad_value")
        by = cast("Spec", given)
        if by.keys() <= {"row", "column"}:
            facet = {
                key: check_channel(item, key, scope, f"{here}.{key}") for key, item in by.items()
            }
        else:
            facet = check_channel(by, "facet", scope, here)
        return {
            "facet": facet,
            "spec": self._inner(spec.get("spec"), scope, f"{path}.spec", depth),
        }


def _frame(spec: Spec, path: str) -> Spec:
    """What surrounds a view: title, size, how parts share scales."""
    result: Spec = {}
    if spec.get("title") is not None:
        result["title"] = _title(spec["title"], f"{path}.title")
    for key in _FRAME:
        if key in spec:
            result[key] = part(key, spec[key], f"{path}.{key}")
    if isinstance(spec.get("description"), str):
        result["description"] = settings.text(spec["description"], f"{path}.description")
    return result


def _title(given: Any, path: str) -> Any:  # Any: JSON
    if not isinstance(given, dict):
        return settings.text(given, path)
    title = dict(cast("Spec", given))
    for key in ("text", "subtitle"):
        if key in title:
            title[key] = settings.text(title[key], f"{path}.{key}")
    return part("title", title, path)


def _mark(given: Any, path: str) -> Spec:  # Any: JSON
    spec = cast("Spec", given) if isinstance(given, dict) else {"type": given}
    if spec.get("type") in ("circle", "square"):
        spec = {"shape": spec["type"], **spec, "type": "point", "filled": True}
    kind = spec.get("type")
    if kind not in MARKS:
        refuse(
            f"{path}: mark '{str(spec.get('type'))[:40]}' is not allowed. "
            f"Use one of: {', '.join(MARKS)}.",
            path=f"{path}.type" if isinstance(given, dict) else path,
            reason="mark_not_allowed",
        )
    return part("mark", spec, path)
