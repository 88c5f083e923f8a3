"""A Vega-Lite specification from a model, checked against the result it is to draw.

Everything is allow-listed: marks, channels, transforms, settings. What passes has no data of its
own, loads nothing, links nowhere and runs no expression; its fields are columns of the result,
written exactly as the result names them. `drawing.py` joins it with rows; this module never sees
any. Above: the chart tool and the artefact routes.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, cast

from dataagent_core.data.charts import plain
from dataagent_core.data.charts.encoding import CHANNELS, check_channel, check_encoding
from dataagent_core.data.charts.fields import FieldScope, Spec, refuse, words
from dataagent_core.data.charts.transforms import check_transforms, plain_list
from dataagent_core.data.types import ResultColumn

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
MARKS = ("bar", "line", "area", "point", "arc", "rect", "tick", "boxplot", "text", "rule")
MAX_CHARACTERS = 20_000
MAX_DEPTH = 4
MAX_VIEWS = 12

_MANY = ("layer", "hconcat", "vconcat", "concat")
_VIEW_KEYS = words(
    "mark encoding transform layer hconcat vconcat concat facet spec title width height resolve "
    "columns spacing align center bounds view name description"
)
_TOP_KEYS = _VIEW_KEYS | {"$schema", "data", "background", "padding", "autosize", "config"}
_MARK_KEYS = words(
    "type color fill stroke opacity fillOpacity strokeOpacity strokeWidth strokeDash strokeCap "
    "strokeJoin size filled point line interpolate tension orient align baseline dx dy fontSize "
    "fontWeight fontStyle angle cornerRadius cornerRadiusEnd cornerRadiusTopLeft "
    "cornerRadiusTopRight cornerRadiusBottomLeft cornerRadiusBottomRight innerRadius outerRadius "
    "radius radius2 theta theta2 padAngle radiusOffset thetaOffset tooltip clip width height "
    "binSpacing extent limit shape text x y x2 y2 xOffset yOffset thickness order ticks median box "
    "rule outliers invalid bandSize discreteBandSize continuousBandSize minBandSize"
)
_PART_KEYS = _MARK_KEYS - {"point", "line"}
_MARK_PARTS = {
    **dict.fromkeys(("point", "line", "ticks", "median", "box", "rule", "outliers"), _PART_KEYS),
    "width": frozenset({"band"}),
    "height": frozenset({"band"}),
}
_TITLE_KEYS = words(
    "text subtitle align anchor color fontSize fontWeight subtitleColor subtitleFontSize "
    "subtitleFontWeight offset orient subtitlePadding"
)
_VIEW_STYLE = words("fill stroke strokeWidth opacity cornerRadius fillOpacity")
_CONFIG_STYLE = words(
    "color fill stroke strokeWidth opacity cornerRadius size filled point tooltip grid ticks "
    "domain labels labelFontSize labelColor labelAngle labelLimit labelPadding titleFontSize "
    "titleColor titlePadding titleFontWeight gridColor gridOpacity gridDash domainColor tickColor "
    "tickCount anchor fontSize fontWeight subtitleFontSize subtitleColor orient offset padding "
    "interpolate innerRadius continuousWidth continuousHeight discreteWidth discreteHeight step "
    "labelFontWeight symbolSize columns category diverging heatmap ordinal ramp spacing"
)
_CONFIG_KEYS = words(
    "view axis axisX axisY axisBand axisTemporal axisQuantitative axisDiscrete legend title header "
    "mark bar line area point arc rect tick boxplot text rule range background padding "
    "concat facet scale"
)


def check_spec(spec: Spec, columns: Sequence[ResultColumn]) -> Spec:
    """The specification in normal form: no data, `$schema` set, types filled in.

    `BadChart` says where (`path`) and why (`reason`) it is refused, with the `nearest` columns
    for a field that is not there.
    """
    _check_size(spec)
    for key in spec:
        if key not in _TOP_KEYS:
            plain.refuse_key(f"$.{key}", key, _TOP_KEYS)
    _no_data(spec.get("data"))
    views = _Views()
    result: Spec = {"$schema": SCHEMA, **views.check(spec, FieldScope.of(columns), "$", depth=0)}
    if "config" in spec and spec["config"] is not None:
        result["config"] = plain.options(
            spec["config"],
            "$.config",
            allowed=_CONFIG_KEYS,
            nested=dict.fromkeys(_CONFIG_KEYS, _CONFIG_STYLE),
        )
    for key in ("background", "padding", "autosize"):
        if key in spec:
            nested = {key: words("type contains resize left right top bottom")}
            result |= plain.options({key: spec[key]}, "$", allowed={key}, nested=nested)
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
    if size > MAX_CHARACTERS:
        refuse(
            f"The specification has {size:,} characters; the most is {MAX_CHARACTERS:,}. "
            "Leave data out: the chart draws its result.",
            path="$",
            reason="too_large",
        )


def _no_data(data: object) -> None:
    """A name for the data is harmless and dropped; data itself and addresses are refused."""
    if data is None or (isinstance(data, dict) and not cast("Spec", data).keys() - {"name"}):
        return
    is_url = isinstance(data, dict) and "url" in data
    key = "url" if is_url else "data"
    plain.refuse_key("$.data.url" if is_url else "$.data", key, _TOP_KEYS)


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
        for key in spec:
            if key not in _VIEW_KEYS:
                plain.refuse_key(f"{path}.{key}", key, _VIEW_KEYS)
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
    for key in ("width", "height"):
        if key in spec:
            result |= plain.options(
                {key: spec[key]}, path, allowed={key}, nested={key: frozenset({"step"})}
            )
    for key in ("columns", "align", "center", "bounds", "spacing"):
        if key in spec:
            nested = {key: frozenset({"row", "column"})}
            result |= plain.options({key: spec[key]}, path, allowed={key}, nested=nested)
    if "resolve" in spec:
        result["resolve"] = plain.options(
            spec["resolve"],
            f"{path}.resolve",
            allowed={"scale", "axis", "legend"},
            nested=dict.fromkeys(("scale", "axis", "legend"), CHANNELS),
        )
    if "view" in spec:
        result["view"] = plain.options(spec["view"], f"{path}.view", allowed=_VIEW_STYLE)
    if isinstance(spec.get("description"), str):
        result["description"] = plain.text(spec["description"], f"{path}.description")
    return result


def _title(given: Any, path: str) -> Any:  # Any: JSON
    if not isinstance(given, dict):
        return plain.text(given, path)
    title = cast("Spec", given)
    texts = {
        key: plain.text(title[key], f"{path}.{key}") for key in ("text", "subtitle") if key in title
    }
    return plain.options(title, path, allowed=_TITLE_KEYS) | texts


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
    return plain.options(spec, path, allowed=_MARK_KEYS, nested=_MARK_PARTS)
