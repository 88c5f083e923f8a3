"""Converts a server's elicitation to a card for the user, and the decision to an answer. Pure.

The message and the form come from a third party: control characters are removed, lengths are
capped, and only the fields of flat forms are used, so nothing in a form refers to anything else.
"""

from __future__ import annotations

import unicodedata
from typing import Any, cast

import jsonschema_rs

from dataagent_core.hitl import ActionRequest, Decision, DecisionType
from dataagent_core.mcp.types import Elicitation, ElicitationAnswer, JsonObject

_MOST_TEXT = 2_000
_MOST_LABEL = 200
_MOST_FIELDS = 30
_MOST_CHOICES = 200
_TYPES = frozenset({"string", "number", "integer", "boolean", "array"})
_NUMBERS = ("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems")
_FORMATS = frozenset({"email", "uri", "date", "date-time"})
DECLINED = ElicitationAnswer("decline")


def elicitation_request(
    question: Elicitation, tool_name: str
) -> tuple[ActionRequest, tuple[DecisionType, ...]]:
    """Return the card for the user and the decisions it accepts.

    `edit` answers with the form filled in, `approve` with the values it comes with (if they do),
    `respond` with words where one text is asked for, `reject` declines; the run goes on either way.
    """
    form = flat_form(question.schema)
    given = {n: field["default"] for n, field in form["properties"].items() if "default" in field}
    message = plain_text(question.message, _MOST_TEXT) or "The server asks for input."
    action = ActionRequest(
        name=tool_name,
        args=given,
        description=f"Server {plain_text(question.server_name, _MOST_LABEL)!r} asks: {message}",
        args_schema=form,
    )
    allowed: list[DecisionType] = ["edit", "reject"]
    if _fits(given, form):
        allowed.insert(0, "approve")
    if _only_text(form) is not None:
        allowed.append("respond")
    return action, tuple(allowed)


def elicitation_answer(action: ActionRequest, decision: Decision) -> ElicitationAnswer:
    """Return the answer for the server."""
    form = action.args_schema or flat_form({})
    match decision.type:
        case "reject":
            return DECLINED
        case "approve":
            content = action.args
        case "edit":
            content = {} if decision.edited_action is None else decision.edited_action.args
        case "respond":
            content = {_only_text(form) or "": decision.message or ""}
    return ElicitationAnswer("accept", content) if _fits(content, form) else DECLINED


def flat_form(schema: JsonObject) -> JsonObject:
    """Return a form of plain fields built from a schema; anything else in it is left out."""
    properties = _object(schema.get("properties"))
    fields = {
        plain_text(name, _MOST_LABEL): _field(_object(properties[name]))
        for name in list(properties)[:_MOST_FIELDS]
    }
    required = schema.get("required")
    names = cast("list[object]", required) if isinstance(required, list) else []  # JSON
    named = [each for each in names if each in fields]
    return {"type": "object", "properties": fields, "required": named}


def plain_text(text: object, most: int) -> str:
    """Return the text without invisible characters, cut to a length."""
    shown = "".join(
        each
        for each in str(text)[: most * 2]
        if each in "\n\t" or unicodedata.category(each)[0] != "C"
    )
    return shown[:most]


def _field(schema: JsonObject) -> JsonObject:
    kind = schema.get("type")
    field: JsonObject = {"type": kind if kind in _TYPES else "string"}
    for name in ("title", "description"):
        if isinstance(schema.get(name), str):
            field[name] = plain_text(schema[name], _MOST_LABEL)
    for name in _NUMBERS:
        if isinstance(schema.get(name), int | float) and not isinstance(schema[name], bool):
            field[name] = schema[name]
    if schema.get("format") in _FORMATS:
        field["format"] = schema["format"]
    choices = _choices(_object(schema.get("items")) if field["type"] == "array" else schema)
    if field["type"] == "array":
        field["items"] = {"type": "string", **choices}
    else:
        field |= choices
    if "default" in schema and _fits(schema["default"], field):
        field["default"] = schema["default"]
    return field


def _choices(schema: JsonObject) -> JsonObject:
    """Return the values to choose from, listed plainly or with titles."""
    titled = schema.get("oneOf") or schema.get("anyOf")
    if isinstance(titled, list):
        values = [_object(each).get("const") for each in cast("list[object]", titled)]  # JSON
    else:
        values = schema.get("enum")
    if not isinstance(values, list):
        return {}
    listed = cast("list[object]", values)[:_MOST_CHOICES]  # JSON
    shown = [plain_text(each, _MOST_LABEL) for each in listed if isinstance(each, str)]
    return {"enum": shown} if shown else {}


def _only_text(form: JsonObject) -> str | None:
    """Return the field, if the form is a single free text."""
    fields = form["properties"]
    if len(fields) != 1:
        return None
    name, field = next(iter(fields.items()))
    return name if field["type"] == "string" and "enum" not in field else None


def _fits(value: Any, schema: JsonObject) -> bool:
    try:
        return jsonschema_rs.is_valid(schema, value)
    except ValueError:  # bounds that no value fits, say
        return False


def _object(value: object) -> JsonObject:
    # JSON
    return value if isinstance(value, dict) else {}  # pyright: ignore[reportUnknownVariableType]
