"""Writes the part of Vega-Lite's own JSON schema that a chart may use: `make chart-schema`.

The schema comes from altair, which the demo installs. Left out are expressions, conditions,
parameters, data, links, fonts and what computes values by steps: what remains describes plain
settings only. `--check` compares with the file in the tree.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from importlib.resources import files
from typing import Any, cast
from urllib.parse import unquote

from scripts.tree import ROOT

Schema = dict[str, Any]  # Any: JSON

FILE = ROOT / "libs/dataagent-core/dataagent_core/data/charts/vega_lite.json"
PARTS = {  # a setting of a chart → where the official schema defines it
    "axis": "Axis",
    "legend": "Legend",
    "header": "Header",
    "scale": "Scale",
    "mark": "MarkDef",
    "title": "TitleParams",
    "view": "ViewBackground",
    "resolve": "Resolve",
    "config": "Config",
    "stack": "PositionFieldDef.stack",
    "impute": "PositionFieldDef.impute",
    "bandPosition": "PositionFieldDef.bandPosition",
    "format": "Axis.format",
    "formatType": "Axis.formatType",
    "width": "TopLevelUnitSpec.width",
    "height": "TopLevelUnitSpec.height",
    "background": "TopLevelUnitSpec.background",
    "padding": "TopLevelUnitSpec.padding",
    "autosize": "TopLevelUnitSpec.autosize",
    "columns": "TopLevelConcatSpec.columns",
    "align": "TopLevelConcatSpec.align",
    "center": "TopLevelConcatSpec.center",
    "bounds": "TopLevelConcatSpec.bounds",
    "spacing": "TopLevelConcatSpec.spacing",
}
LEFT_OUT = re.compile(
    r"expr|\w*Expr|signal|condition|test|param|params|selection|data|datasets|url|href|field"
    r"|font|\w*Font|style|cursor|aria\w*|description|locale|projection|customFormatTypes"
    r"|\w+FormatType|tooltipFormat|interval|bins|keyvals|frame|content|lineBreak|image|geoshape"
)
ANY_OBJECT = {"Dict", "TimeFormatSpecifier"}  # formats that need a function of their own
_REFERENCE = "#/definitions/"
FORMAT_TYPES: Schema = {"enum": ["number", "time"]}  # any other is the name of a function


def chart_schema() -> Schema:
    """The reduced schema: one property for each part, and the definitions they use."""
    resource = files("altair").joinpath("vegalite/v6/schema/vega-lite-schema.json")
    official: Schema = json.loads(resource.read_text(encoding="utf-8"))
    definitions = {_identifier(name): _plain(it) for name, it in official["definitions"].items()}
    mark, box = definitions["MarkDef"]["properties"], definitions["BoxPlotDef"]["properties"]
    mark |= {name: it for name, it in box.items() if name not in mark}
    mark["type"] = {"type": "string"}  # the check has a list of its own
    dead = set(ANY_OBJECT)
    while more := {
        name for name, it in definitions.items() if name not in dead and _is_dead(it, dead)
    }:
        dead |= more
    live = {name: _reduced(it, dead) for name, it in definitions.items() if name not in dead}
    parts: Schema = {}
    for part, place in PARTS.items():
        name, _, key = place.partition(".")
        whole = _reduced(definitions[name], dead)
        parts[part] = whole["properties"][key] if key else {"$ref": _REFERENCE + name}
    used: dict[str, Schema] = {}
    waiting = list(_references(parts))
    while waiting:
        if (name := waiting.pop()) not in used:
            used[name] = live[name]
            waiting.extend(_references(live[name]))
    return {"properties": parts, "definitions": used}


def _identifier(name: str) -> str:
    """A name that can be part of a reference as it is: `RowCol_number_` for `RowCol<number>`."""
    return re.sub(r"\W", "_", unquote(name))


def _plain(schema: Schema) -> Schema:
    """A schema without its texts and without the properties that are left out."""
    result = _mapped(schema, _plain)
    if not isinstance(result.get("description"), dict):
        result.pop("description", None)
    if "$ref" in schema:
        result["$ref"] = _REFERENCE + _identifier(schema["$ref"].rpartition("/")[2])
    if "properties" in result:
        result["properties"] = {
            name: FORMAT_TYPES if name == "formatType" else it
            for name, it in result["properties"].items()
            if not LEFT_OUT.fullmatch(name)
        }
    return result


def _mapped(schema: Schema, change: Callable[[Schema], Schema]) -> Schema:
    """A schema with each schema inside it changed."""
    result = dict(schema)
    for key in ("items", "additionalProperties", "not"):
        if isinstance(schema.get(key), dict):
            result[key] = change(schema[key])
    for key in ("anyOf", "allOf"):
        if key in schema:
            result[key] = [change(it) for it in schema[key]]
    if "properties" in schema:
        result["properties"] = {name: change(it) for name, it in schema["properties"].items()}
    return result


def _is_dead(schema: Schema, dead: set[str]) -> bool:
    """Whether nothing can fit: what it requires, or every alternative, is left out."""
    if "$ref" in schema:
        return schema["$ref"].removeprefix(_REFERENCE) in dead
    if "anyOf" in schema:
        return all(_is_dead(it, dead) for it in schema["anyOf"])
    if isinstance(schema.get("items"), dict):
        return _is_dead(schema["items"], dead)
    properties = schema.get("properties", {})
    return any(
        LEFT_OUT.fullmatch(name) or _is_dead(properties.get(name, {}), dead)
        for name in schema.get("required", ())
    )


def _reduced(schema: Schema, dead: set[str]) -> Schema:
    """A schema without the alternatives and properties that are dead."""
    result = _mapped(schema, lambda it: _reduced(it, dead))
    if "anyOf" in schema:
        result["anyOf"] = [it for it in result["anyOf"] if not _is_dead(it, dead)]
    if "properties" in schema:
        result["properties"] = {
            name: it for name, it in result["properties"].items() if not _is_dead(it, dead)
        }
    return result


def _references(node: object) -> Iterator[str]:
    """The names of the definitions that a part of the schema uses."""
    if isinstance(node, list):
        for item in cast("list[object]", node):
            yield from _references(item)
    elif isinstance(node, dict):
        for key, item in cast("Schema", node).items():
            if key == "$ref":
                yield item.removeprefix(_REFERENCE)
            else:
                yield from _references(item)


def main(arguments: list[str]) -> int:
    """Write the file, or compare it."""
    text = json.dumps(chart_schema(), separators=(",", ":"), sort_keys=True) + "\n"
    if "--check" in arguments:
        is_same = FILE.exists() and FILE.read_text(encoding="utf-8") == text
        if not is_same:
            print(f"{FILE.relative_to(ROOT)} is not what altair says.\nhint: make chart-schema")
        return 0 if is_same else 1
    FILE.write_text(text, encoding="utf-8")
    print(f"wrote {FILE.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
