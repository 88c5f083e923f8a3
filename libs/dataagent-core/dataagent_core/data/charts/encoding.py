"""Which column is drawn how: the channels of a chart, checked against the fields in scope.

A channel's field must be in scope and its type must fit what the field holds. A type that was
left out is filled in.
"""

from __future__ import annotations

from typing import Any, cast

from dataagent_core.data.charts import plain
from dataagent_core.data.charts.fields import FieldKind, FieldScope, Spec, refuse, words
from dataagent_core.data.charts.transforms import (
    aggregated,
    check_bin,
    check_time_unit,
    predicate,
)

SECONDARY = frozenset({"x2", "y2", "theta2", "radius2"})
LISTS = frozenset({"tooltip", "detail", "order"})
CHANNELS = SECONDARY | words(
    "x y xOffset yOffset theta radius color fill stroke opacity fillOpacity strokeOpacity "
    "strokeWidth strokeDash size shape angle detail text tooltip order row column facet"
)
TYPES = ("quantitative", "temporal", "ordinal", "nominal")
KEYS = words(
    "field type aggregate bin timeUnit title axis legend scale sort stack header format formatType "
    "value datum condition bandPosition impute spacing align center columns"
)
SORT_OPS = frozenset({"ascending", "descending"})

_LABELS = (
    "labels labelAlign labelAngle labelBaseline labelBound labelColor labelFlush labelFontSize "
    "labelFontWeight labelLimit labelOffset labelOverlap labelPadding labelSeparation labelOpacity "
    "title titleAlign titleAnchor titleAngle titleColor titleFontSize titleFontWeight titleLimit "
    "titlePadding titleOrient format formatType orient offset padding values zindex tickCount"
)
AXIS_KEYS = words(
    f"{_LABELS} domain domainColor domainOpacity domainWidth grid gridColor gridDash gridOpacity "
    "gridWidth ticks tickBand tickColor tickExtra tickMinStep tickOffset tickRound tickSize "
    "tickWidth translate position minExtent maxExtent titleX titleY"
)
LEGEND_KEYS = words(
    f"{_LABELS} columns columnPadding rowPadding direction fillColor strokeColor cornerRadius "
    "gradientLength gradientThickness symbolSize symbolType symbolOpacity symbolLimit type "
    "clipHeight legendX legendY"
)
SCALE_KEYS = words(
    "type domain domainMin domainMax domainMid range rangeMin rangeMax scheme zero nice reverse "
    "padding paddingInner paddingOuter clamp round interpolate base exponent constant align"
)
HEADER_KEYS = words(_LABELS)
_SETTINGS = {"axis": AXIS_KEYS, "legend": LEGEND_KEYS, "scale": SCALE_KEYS, "header": HEADER_KEYS}

_CHOICES: dict[str, tuple[str | bool | None, ...]] = {
    "stack": ("zero", "normalize", "center", None, True, False),
    "formatType": ("number", "time"),
}
_PARTS = {"impute": frozenset({"value", "method"}), "spacing": frozenset({"row", "column"})}


def check_encoding(given: object, scope: FieldScope, path: str) -> Spec:
    """Every channel of an encoding."""
    if not isinstance(given, dict):
        refuse(f"{path} must be an object.", path=path, reason="bad_value")
    result: Spec = {}
    channels = cast("dict[str, object]", given)
    for channel, definition in channels.items():
        here = f"{path}.{channel}"
        if channel not in CHANNELS:
            plain.refuse_key(here, channel, CHANNELS)
        if definition is None:
            result[channel] = None
        elif isinstance(definition, list) and channel in LISTS:
            result[channel] = [
                check_channel(item, channel, scope, f"{here}[{at}]")
                for at, item in enumerate(cast("list[Any]", definition)[: plain.MAX_LIST])
            ]
        else:
            result[channel] = check_channel(cast("object", definition), channel, scope, here)
    return result


def check_channel(given: object, channel: str, scope: FieldScope, path: str) -> Spec:
    """One channel: a field, or a constant."""
    if not isinstance(given, dict):
        refuse(f"{path} must be an object.", path=path, reason="bad_value")
    spec = cast("Spec", given)
    for key in spec:
        if key not in KEYS:
            plain.refuse_key(f"{path}.{key}", key, KEYS)
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
    if channel not in SECONDARY:
        result["type"] = _type(spec.get("type"), kind, result.get("field", "count"), path)
    return result


def _known_type(given: object, path: str) -> str:
    if given not in TYPES:
        refuse(
            f"{path}.type must be one of: {', '.join(TYPES)}.",
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
    if key in _SETTINGS:
        return None if given is None else _options(key, given, path)
    if key in _CHOICES and given not in _CHOICES[key]:
        known = ", ".join(str(choice) for choice in _CHOICES[key])
        refuse(f"{path} must be one of: {known}.", path=path, reason="not_allowed")
    if key == "title":
        return plain.text(given, path)
    if key == "sort":
        return _sort(given, scope, path)
    if key == "condition":
        return _condition(given, scope, path)
    if key in _PARTS and isinstance(given, dict):
        return plain.options(cast("Spec", given), path, allowed=_PARTS[key])
    return plain.value(given, path, key=key)


def _options(key: str, given: object, path: str) -> Spec:
    options = plain.options(given, path, allowed=_SETTINGS[key])
    if key == "scale" and options.get("type") == "utc":  # dates are wall-clock time, without a zone
        options["type"] = "time"
    return options


def _sort(given: Any, scope: FieldScope, path: str) -> Any:  # Any: JSON
    if given is None or isinstance(given, list):
        return plain.value(given, path)
    if isinstance(given, str):
        if given in SORT_OPS or given.removeprefix("-") in CHANNELS:
            return given
        refuse(
            f"{path} must be ascending, descending or a channel such as -y.",
            path=path,
            reason="not_allowed",
        )
    spec = plain.options(given, path, allowed={"field", "op", "order", "encoding"})
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
        plain.refuse_key(f"{path}.condition", "condition", KEYS - {"condition"})
    if "test" not in spec:
        refuse(f"{path} needs a test.", path=path, reason="signal")
    test = predicate(spec.pop("test"), scope, f"{path}.test")
    return {"test": test, **check_channel(spec, "color", scope, path)}
