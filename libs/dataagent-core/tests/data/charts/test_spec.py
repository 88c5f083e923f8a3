from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from dataagent_core.data.charts import check_spec
from dataagent_core.data.types import ResultColumn
from dataagent_core.errors import BadChart

COLUMNS = [
    ResultColumn("Country", "Country", "string"),
    ResultColumn("Revenue", "Revenue", "decimal128(10, 2)"),
    ResultColumn("Orders", "Orders", "int64"),
    ResultColumn("Day", "Day", "date32[day]"),
    ResultColumn("订单.总额", "订单.总额", "double"),
    ResultColumn("a[0]", "a[0]", "int64"),
]
BAR: dict[str, Any] = {
    "mark": "bar",
    "encoding": {
        "x": {"field": "Country", "type": "nominal"},
        "y": {"field": "Revenue", "type": "quantitative"},
    },
}


def refused(spec: Any) -> dict[str, Any]:
    with pytest.raises(BadChart) as caught:
        check_spec(spec, COLUMNS)
    return {**(caught.value.details or {})}


def test_a_good_chart_comes_back_normalised_without_data() -> None:
    spec = {**BAR, "title": "Revenue", "data": {"name": "table"}, "$schema": "https://x/v5.json"}

    assert check_spec(spec, COLUMNS) == snapshot(
        {
            "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
            "title": "Revenue",
            "encoding": {
                "x": {"field": "Country", "type": "nominal"},
                "y": {"field": "Revenue", "type": "quantitative"},
            },
            "mark": {"type": "bar"},
        }
    )


def test_types_left_out_are_filled_in() -> None:
    encoding = {
        "x": {"field": "Day"},
        "y": {"field": "Orders", "aggregate": "sum"},
        "color": {"field": "Country"},
        "tooltip": [{"aggregate": "count"}],
    }
    checked = check_spec({"mark": "line", "encoding": encoding}, COLUMNS)["encoding"]

    assert [checked[key]["type"] for key in ("x", "y", "color")] == [
        "temporal",
        "quantitative",
        "nominal",
    ]
    assert checked["tooltip"][0]["type"] == "quantitative"


@pytest.mark.parametrize("name", ["订单.总额", "订单\\.总额", "a[0]", "a\\[0\\]"])
def test_a_name_with_dots_or_brackets_is_found_raw_or_escaped(name: str) -> None:
    spec = {"mark": "point", "encoding": {"y": {"field": name, "type": "quantitative"}}}
    checked = check_spec(spec, COLUMNS)

    assert checked["encoding"]["y"]["field"] in ("订单.总额", "a[0]")
    assert check_spec(checked, COLUMNS) == checked


def test_an_unknown_field_is_refused_with_its_place_and_the_nearest_names() -> None:
    spec = json.loads(json.dumps(BAR))
    spec["encoding"]["x"]["field"] = "country"
    assert refused(spec) == snapshot(
        {"path": "$.encoding.x.field", "reason": "unknown_field", "nearest": ["Country"]}
    )
    spec["encoding"]["x"]["field"] = "Revenu"
    assert refused(spec)["nearest"] == ["Revenue"]
    spec["encoding"]["x"]["field"] = "总额"
    assert refused(spec)["nearest"] == ["订单.总额"]


def with_(path: str, value: Any) -> dict[str, Any]:
    spec: dict[str, Any] = json.loads(json.dumps(BAR))
    node = spec
    *parents, last = path.split(".")
    for key in parents:
        node = node.setdefault(key, {})
    node[last] = value
    return spec


EXPR = {"expr": "1"}


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        (with_("data", {"values": [{"a": 1}]}), "inline_data"),
        (with_("data", {"url": "http://evil/x.json"}), "url"),
        (with_("data", {"sequence": {"start": 0, "stop": 1e9}}), "inline_data"),
        (with_("datasets", {"a": []}), "inline_data"),
        (with_("mark", "image"), "mark_not_allowed"),
        (with_("mark", "geoshape"), "mark_not_allowed"),
        (with_("mark", {"type": "bar", "href": "javascript:alert(1)"}), "url"),
        (with_("mark", {"type": "bar", "color": EXPR}), "expression"),
        (with_("mark", {"type": "bar", "color": {"signal": "x"}}), "expression"),
        (with_("mark", {"type": "bar", "fill": "url(http://evil/a)"}), "url"),
        (with_("encoding.href", {"field": "Country"}), "url"),
        (with_("encoding.url", {"field": "Country"}), "url"),
        (with_("encoding.x.axis", {"labelExpr": "datum.label"}), "expression"),
        (with_("encoding.x.axis", {"values": EXPR}), "expression"),
        (with_("encoding.x.axis", {"tickCount": 1e9}), "too_large"),
        (with_("encoding.x.axis", {"format": '"+alert(1)+"'}), "bad_value"),
        (with_("encoding.x.scale", {"domain": EXPR}), "expression"),
        (with_("encoding.x.scale", {"domain": {"param": "p"}}), "signal"),
        (with_("encoding.x.scale", {"range": {"field": "Country"}}), "bad_value"),
        (with_("encoding.y.scale", {"bins": {"start": 0, "stop": 1e9, "step": 1}}), "not_allowed"),
        (with_("encoding.x.axis", {"tickCount": {"interval": "day", "step": 1e-9}}), "bad_value"),
        (with_("encoding.x.axis", {"labelColor": {"condition": {"test": "1"}}}), "bad_value"),
        (with_("encoding.x.axis", {"formatType": "alert"}), "bad_value"),
        (with_("encoding.x.axis", {"format": {"signal": "1"}}), "expression"),
        (with_("encoding.x.axis", {"labelFont": "x;src:url (http://evil/a)"}), "url"),
        (with_("encoding.x.axis", {"style": "guide"}), "not_allowed"),
        (with_("encoding.y.impute", {"keyvals": {"start": 0, "stop": 1e9}}), "not_allowed"),
        (with_("encoding.y.stack", "sideways"), "bad_value"),
        (with_("mark", {"type": "bar", "tooltip": {"content": "data"}}), "bad_value"),
        (with_("config", {"customFormatTypes": True}), "not_allowed"),
        (with_("config", {"numberFormatType": "alert"}), "not_allowed"),
        (with_("config", {"locale": {"number": {}}}), "not_allowed"),
        (with_("config", {"mark": {"href": "javascript:alert(1)"}}), "url"),
        (with_("config", {"axis": {"labelColor": {"expr": "1"}}}), "expression"),
        (with_("resolve", {"scale": {"y": "mine"}}), "bad_value"),
        (with_("encoding.x.bin", {"step": 1e-9}), "type_mismatch"),
        (with_("encoding.y.bin", {"step": 1e-9}), "not_allowed"),
        (with_("encoding.y.bin", {"maxbins": 1e9}), "too_large"),
        (with_("encoding.color", {"condition": {"test": "1", "value": "red"}}), "expression"),
        (with_("encoding.color", {"condition": {"param": "p", "value": "red"}}), "signal"),
        (with_("encoding.y.aggregate", "argmax"), "not_allowed"),
        (with_("encoding.x.aggregate", "sum"), "type_mismatch"),
        (with_("encoding.x.type", "quantitative"), "type_mismatch"),
        (with_("encoding.y.type", "temporal"), "type_mismatch"),
        (with_("encoding.y.type", "geojson"), "not_allowed"),
        (with_("encoding.longitude", {"field": "Orders"}), "not_allowed"),
        (with_("transform", [{"calculate": "1+1", "as": "b"}]), "expression"),
        (with_("transform", [{"filter": "datum.a > 1"}]), "expression"),
        (with_("transform", [{"filter": {"field": "Orders", "gt": EXPR}}]), "expression"),
        (with_("transform", [{"filter": {"param": "p"}}]), "signal"),
        (with_("transform", [{"lookup": "a", "from": {}}]), "not_allowed"),
        (with_("transform", [{"bin": True, "field": "Orders", "as": "a.b"}]), "bad_value"),
        (with_("params", [{"name": "p", "expr": "1"}]), "signal"),
        (with_("usermeta", {"embedOptions": {"loader": {}}}), "not_allowed"),
        (with_("config", {"params": []}), "signal"),
        (with_("config", {"axis": {"labelExpr": "1"}}), "expression"),
        (with_("width", 100_000), "too_large"),
        (with_("title", "x" * 600), "too_large"),
        (with_("title", {"text": EXPR}), "bad_value"),
        (with_("padding", "x" * 30_000), "too_large"),
        ({"layer": [BAR] * 13}, "too_large"),
        ({"repeat": ["a"], "spec": BAR}, "not_allowed"),
        ({"mark": "bar", "layer": [BAR]}, "bad_value"),
        ({}, "bad_value"),
        ([], "bad_value"),
        ({"mark": "bar", "width": float("nan")}, "bad_value"),
    ],
)
def test_what_loads_links_or_runs_is_refused_with_a_reason(spec: Any, reason: str) -> None:
    details = refused(spec)

    assert details["reason"] == reason
    assert str(details["path"]).startswith("$")


def test_a_setting_that_vega_lite_does_not_have_is_refused_with_its_place() -> None:
    with pytest.raises(BadChart, match="'labelAngel' was unexpected") as caught:
        check_spec(with_("encoding.x.axis", {"labelAngel": -40}), COLUMNS)
    assert (caught.value.details or {})["path"] == "$.encoding.x.axis"
    with pytest.raises(BadChart, match='"steep" is not of type "number"') as caught:
        check_spec(with_("encoding.x.axis", {"labelAngle": "steep"}), COLUMNS)
    assert (caught.value.details or {})["path"] == "$.encoding.x.axis.labelAngle"


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("mark", {"type": "boxplot", "extent": "min-max", "tooltip": True, "median": {"size": 3}}),
        ("mark", {"type": "line", "point": {"filled": True, "size": 40}, "interpolate": "step"}),
        ("mark", {"type": "bar", "cornerRadiusEnd": 4, "width": {"band": 0.7}, "fill": "#4c78a8"}),
        ("encoding.x.axis", {"labelAngle": -40, "grid": False, "title": None, "values": ["DE"]}),
        ("encoding.y.axis", {"format": ",.0f", "formatType": "number", "tickCount": 5}),
        ("encoding.y.scale", {"domain": [0, 10], "zero": False, "nice": True, "scheme": "blues"}),
        ("encoding.y.stack", "normalize"),
        ("title", {"text": ["Revenue", "by country"], "subtitle": "2024", "anchor": "start"}),
        ("config", {"view": {"stroke": None}, "range": {"category": ["#fff"]}, "bar": {"size": 4}}),
        ("width", "container"),
        ("padding", {"left": 5, "right": 5}),
        ("autosize", {"type": "fit", "contains": "padding"}),
    ],
)
def test_settings_of_vega_lite_are_allowed(path: str, value: dict[str, Any]) -> None:
    spec = with_(path, value)
    checked: Any = check_spec(spec, COLUMNS)
    for key in path.split("."):
        checked = checked[key]
    assert checked == value


def test_views_nested_too_deep_are_refused() -> None:
    spec: dict[str, Any] = BAR
    for _ in range(6):
        spec = {"vconcat": [spec]}
    assert refused(spec)["reason"] == "too_large"

    for levels in (100, 800, 5_000):
        deep: Any = "x"
        for _ in range(levels):
            deep = [deep]
        assert refused({"mark": "bar", "title": deep})["reason"] == "bad_value"
        assert refused(with_("encoding.x", {"axis": {"values": deep}}))["reason"] == "bad_value"


def test_compositions_and_transforms_are_allowed() -> None:
    spec = {
        "transform": [
            {
                "filter": {
                    "and": [{"field": "Orders", "gt": 5}, {"not": {"field": "Day", "valid": False}}]
                }
            },
            {
                "aggregate": [{"op": "sum", "field": "Revenue", "as": "total"}],
                "groupby": ["Country"],
            },
        ],
        "layer": [
            {"mark": "bar", "encoding": {"x": {"field": "Country"}, "y": {"field": "total"}}},
            {"mark": {"type": "rule", "color": "red"}, "encoding": {"y": {"datum": 100}}},
        ],
        "resolve": {"scale": {"y": "shared"}},
        "config": {"view": {"stroke": None}},
    }
    checked = check_spec(spec, COLUMNS)

    assert checked["layer"][0]["encoding"]["y"] == {"field": "total", "type": "quantitative"}
    facet = {"facet": {"row": {"field": "Country"}}, "spec": BAR}
    assert check_spec(facet, COLUMNS)["facet"]["row"]["type"] == "nominal"


def test_a_chart_reads_dates_as_the_table_shows_them() -> None:
    """They go out without a zone; `utc` would move them by the zone of whoever looks."""
    day = {"year": 2024, "month": 1, "utc": True}
    spec = {
        "mark": "line",
        "transform": [
            {"filter": {"field": "Day", "gte": day}},
            {"timeUnit": "utcyear", "field": "Day", "as": "Year"},
        ],
        "encoding": {
            "x": {"field": "Day", "timeUnit": "utcyearmonth", "scale": {"type": "utc"}},
            "y": {"field": "Revenue", "aggregate": "sum"},
        },
    }
    checked = check_spec(spec, COLUMNS)

    assert checked["encoding"]["x"] == snapshot(
        {"field": "Day", "timeUnit": "yearmonth", "type": "temporal", "scale": {"type": "time"}}
    )
    assert checked["transform"][0]["filter"]["gte"] == {"year": 2024, "month": 1}
    assert checked["transform"][1]["timeUnit"] == "year"


def test_a_field_that_an_aggregate_dropped_is_out_of_reach() -> None:
    transform = [{"aggregate": [{"op": "count", "as": "n"}], "groupby": ["Country"]}]
    spec = {"transform": transform, "mark": "bar", "encoding": {"y": {"field": "Revenue"}}}

    assert refused(spec)["reason"] == "unknown_field"


def test_titles_cannot_break_out_of_the_expressions_vega_writes() -> None:
    spec = with_("encoding.y.title", 'a\\"+alert(1)+"\n\u2028b')
    title = check_spec(spec, COLUMNS)["encoding"]["y"]["title"]

    assert "\\" not in title
    assert "\n" not in title
    assert "\u2028" not in title


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                [
                    *(
                        "mark",
                        "encoding",
                        "x",
                        "y",
                        "field",
                        "type",
                        "layer",
                        "transform",
                        "filter",
                    ),
                    "facet",
                    "spec",
                    "title",
                    "axis",
                    "sort",
                    "condition",
                    "test",
                    "aggregate",
                    "bin",
                ]
            )
            | st.text(max_size=5),
            inner,
            max_size=5,
        )
    ),
    max_leaves=20,
)


@given(JSON)
def test_anything_is_checked_or_refused_and_what_passes_passes_again(spec: Any) -> None:
    details: dict[str, object] | None = None
    checked: dict[str, Any] | None = None
    try:
        checked = check_spec(spec, COLUMNS)
    except BadChart as refusal:
        details = refusal.details
    if checked is not None:
        assert check_spec(checked, COLUMNS) == checked
    else:
        assert details is not None
        assert details["reason"]
