"""Arguments and results are held to their schemas, and no schema can hurt who holds them to it."""

from __future__ import annotations

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, ClassVar

import pytest

from dataagent_core.mcp.catalogue.definitions import BadDefinition
from dataagent_core.mcp.catalogue.validation import MOST_LOOKS, Validators, compile_check, cost_of
from dataagent_core.mcp.types import SchemaFault
from tests.requirements import requirement

from .stored import catalogued, remote

CANARY = "canary-7f1c-never-anywhere"
ORDER = {
    "type": "object",
    "properties": {
        "orderId": {"type": "string"},
        "lines": {"type": "array", "items": {"type": "integer", "minimum": 1}},
        "state": {"enum": ["open", "paid"]},
    },
    "required": ["orderId"],
    "additionalProperties": False,
}


def faults(schema: dict[str, Any], value: Any) -> tuple[SchemaFault, ...]:
    return Validators().input_faults(catalogued(schema), value)


@requirement("M3.2")
def test_a_missing_order_id_is_named_in_a_structured_fault() -> None:
    """入参缺失导致校验失败: the fault says which field is missing."""
    assert faults(ORDER, {}) == (
        SchemaFault("/orderId", "required", "orderId is a required property.", "orderId"),
    )
    assert faults(ORDER, {"orderId": "4711"}) == ()


def test_every_fault_has_its_place_and_never_the_value() -> None:
    found = faults(ORDER, {"orderId": 5, "lines": [1, CANARY, 0], "state": CANARY, "x/y": 1})

    told = {(fault.path, fault.rule): fault for fault in found}
    assert told.keys() == {
        ("/orderId", "type"),
        ("/lines/1", "type"),
        ("/lines/2", "minimum"),
        ("/state", "enum"),
        ("", "additionalProperties"),
    }
    assert told["/orderId", "type"].expected == ["string"]
    assert told["/state", "enum"].expected == ["open", "paid"]
    assert told["/lines/2", "minimum"].expected == 1
    assert CANARY not in repr(found)


@requirement("M3.1")
def test_f8_a_result_with_many_faults_has_one_reported() -> None:
    rows = {"type": "array", "items": {"type": "object", "required": ["total"]}}
    tool = catalogued({}, rows)
    validators = Validators()

    assert validators.output_faults(tool, [{"total": 1}]) == ()
    (fault,) = validators.output_faults(tool, [{"total": 1}, *[{"secret": CANARY}] * 50_000])
    assert (fault.path, fault.rule, fault.expected) == ("/1/total", "required", "total")
    assert CANARY not in repr(fault)
    (fault,) = validators.output_faults(tool, None)
    assert fault.rule == "type"
    assert validators.output_faults(catalogued({}), {"any": "thing"}) == ()


@pytest.mark.parametrize("value", [{1: 2}, {"a": "\ud800"}, {"a": {1, 2}}])
def test_what_is_not_json_is_a_fault_not_an_error(value: Any) -> None:
    (fault,) = faults({"additionalProperties": {"type": "string", "pattern": "^x"}}, value)
    assert fault.rule in ("json", "type")


def test_of_very_many_faults_some_are_reported() -> None:
    # arguments that are none
    found = faults({"type": "array", "items": {"type": "string"}}, [*range(5_000)])
    assert len(found) == 20


def test_compiled_schemas_are_cached_and_the_oldest_dropped() -> None:
    validators = Validators(most_kept=3)
    for number in range(10):
        tool = catalogued({"minProperties": number})
        assert bool(validators.input_faults(tool, {})) == (number > 0)
    assert len(validators._kept) == 3  # pyright: ignore[reportPrivateUsage] nothing else shows it


# -- F15: hostile schemas -------------------------------------------------------------------------


class _Asked(BaseHTTPRequestHandler):
    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.asked.append(self.path)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 its name above
        """Nothing to stderr."""


def test_f15_nothing_is_fetched_whatever_a_schema_refers_to() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Asked)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        place = f"http://127.0.0.1:{server.server_port}"
        for schema in (
            {"$ref": f"{place}/a"},
            {"$ref": f"{place}/a#/x"},
            {"properties": {"a": {"$ref": f"{place}/b"}}},
            {"$id": f"{place}/c", "$ref": "d"},
            {"$schema": f"{place}/e"},
            {"$dynamicRef": f"{place}/f"},
            {"$ref": "file:///etc/passwd"},
            {"$defs": {"unused": {"$ref": f"{place}/g"}}},
        ):
            try:
                compile_check(remote("x", input_schema=schema))
            except BadDefinition:
                continue
            Validators().input_faults(catalogued(schema), {"a": 1})
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    assert _Asked.asked == []


def _doubling(steps: int) -> dict[str, Any]:
    parts: dict[str, Any] = {
        f"a{i}": {"allOf": [{"$ref": f"#/$defs/a{i + 1}"}, {"$ref": f"#/$defs/a{i + 1}"}]}
        for i in range(steps)
    }
    return {"$defs": {**parts, f"a{steps}": {"type": "object"}}, "$ref": "#/$defs/a0"}


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"},
        {"allOf": [{"anyOf": [{"$ref": "#"}]}]},
        {"$dynamicAnchor": "x", "$dynamicRef": "#x"},
        _doubling(30),
        _doubling(200),
        {
            "$defs": {f"a{i}": {"$ref": f"#/$defs/a{i + 1}"} for i in range(4_000)} | {"a4000": {}},
            "$ref": "#/$defs/a0",
        },
        {"$ref": "#/$defs/none"},
        {"$ref": "#nowhere"},
        {"unevaluatedProperties": False, "allOf": [_doubling(11)["$defs"]["a0"]], **_doubling(11)},
        {"items": {"enum": [{"a": i} for i in range(2_000)]}},
        {"patternProperties": {f"^x{i}$": {"minimum": i} for i in range(2_000)}},
    ],
)
def test_schemas_that_lead_round_in_circles_or_double_are_refused(schema: dict[str, Any]) -> None:
    with pytest.raises(BadDefinition):
        compile_check(remote("x", input_schema=schema))


def test_a_large_value_is_not_held_to_a_costly_schema() -> None:
    options = [{"a": number} for number in range(300)]
    tool = catalogued({}, {"items": {"enum": options}})
    assert Validators().output_faults(tool, options * 2) == ()
    (fault,) = Validators().output_faults(tool, options * 300)
    assert fault.rule == "size"


def test_a_schema_that_doubles_with_depth_is_used_as_deep_as_it_can_be() -> None:
    schema = {
        "$defs": {"n": {"type": "object", "properties": {"a": {"allOf": [
            {"$ref": "#/$defs/n"}, {"$ref": "#/$defs/n"}]}}}},
        "$ref": "#/$defs/n",
    }  # fmt: skip

    def nested(depth: int) -> dict[str, Any]:
        value: dict[str, Any] = {}
        for _ in range(depth):
            value = {"a": value}
        return value

    assert faults(schema, nested(5)) == ()
    assert faults(schema, {"a": {"a": 5}})[0].rule == "type"
    (fault,) = faults(schema, nested(40))  # 2^40 looks would take a day
    assert fault.rule == "size"


@pytest.mark.parametrize("depth", [100, 20_000, 200_000])
def test_a_value_nested_deeper_than_the_stack_is_a_fault(depth: int) -> None:
    """20,000 levels kill the process where the depth is not looked at."""
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    # arguments that are none
    (fault,) = faults({"items": {"$ref": "#"}}, value)  # pyright: ignore[reportArgumentType]
    assert fault.rule == "size"
    # as above
    assert faults({"items": {"type": "array"}}, value) == ()  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("pattern", [r"^(a+)+$", r"^(a|a)*$", r"^(?=(a+)+$)b", r"(x+x+)+y"])
def test_patterns_that_backtrack_for_ever_do_not(pattern: str) -> None:
    schema = {"properties": {"q": {"type": "string", "pattern": pattern}}}
    assert faults(schema, {"q": "a" * 5_000 + "!"})
    assert faults(schema, {"q": "x" * 5_000})


def test_patterns_that_look_around_work() -> None:
    schema = {"properties": {"q": {"pattern": r"^(?!draft-)\w+"}}}
    assert faults(schema, {"q": "final"}) == ()
    assert faults(schema, {"q": "draft-1"})[0].rule == "pattern"


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object"},
        {"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {
            "a": {"type": "string"}}, "properties": {"x": {"$ref": "#/definitions/a"}}},
        {"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object"},
        {"$defs": {"tree": {"properties": {"left": {"$ref": "#/$defs/tree"},
                                           "right": {"$ref": "#/$defs/tree"}}}},
         "$ref": "#/$defs/tree"},
        {"$defs": {"f": {"anyOf": [
            {"properties": {"op": {"const": "and"}, "of": {"items": {"$ref": "#/$defs/f"}}}},
            {"properties": {"op": {"const": "not"}, "of": {"$ref": "#/$defs/f"}}},
            {"properties": {"op": {"const": "eq"}, "field": {"type": "string"}}}]}},
         "properties": {"where": {"$ref": "#/$defs/f"}}},
        {"properties": {f"p{i}": {"type": "string"} for i in range(300)}},
        {"anyOf": [{"properties": {"kind": {"const": i}}} for i in range(200)]},
    ],
)  # fmt: skip
def test_schemas_as_real_servers_have_them_are_used(schema: dict[str, Any]) -> None:
    assert cost_of(schema).looks <= MOST_LOOKS
    assert faults(schema, {}) == ()


def test_filters_nested_as_people_nest_them_are_checked() -> None:
    schema = {
        "$defs": {"f": {"anyOf": [
            {"type": "object", "properties": {"and": {"type": "array", "items": {
                "$ref": "#/$defs/f"}}}, "required": ["and"]},
            {"type": "object", "properties": {"or": {"type": "array", "items": {
                "$ref": "#/$defs/f"}}}, "required": ["or"]},
            {"type": "object", "properties": {"field": {"type": "string"}},
             "required": ["field"]}]}},
        "type": "object", "properties": {"where": {"$ref": "#/$defs/f"}},
    }  # fmt: skip
    value: dict[str, Any] = {"field": "a"}
    for depth in range(12):
        value = {("and", "or")[depth % 2]: [value, {"field": "b"}]}

    assert faults(schema, {"where": value}) == ()
    assert faults(schema, {"where": {"and": [{"fields": 1}]}})
