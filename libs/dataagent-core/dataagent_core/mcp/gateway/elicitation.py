"""What a server asks in the middle of a call → a card for its user, and the answer back. Pure.

A question is text and a form from a stranger: control characters go, lengths are capped, and of the
form only what flat forms consist of is kept, so nothing in it refers to anything else. Above:
`tools/mcp.py`. Below: `hitl/`, the shape of cards and decisions.
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
    """What the user is shown, and which answers it takes.

    `edit` answers with the form filled in, `approve` with the values it comes with (if they do),
    `respond` with words where one text is asked for, `reject` declines; the run goes on either way.
    """
    form = flat_form(question.schema)
    given = {n: field["default"] for n, field in form["properties"].items() if "default" in field}
    asked = plain_text(question.message, _MOST_TEXT) or "The server asks for input."
    action = ActionRequest(
        name=tool_name,
        args=given,
        description=f"Server {plain_text(question.server_name, _MOST_LABEL)!r} asks: {asked}",
        args_schema=form,
    )
    allowed: list[DecisionType] = ["edit", "reject"]
    if _fits(given, form):
        allowed.insert(0, "approve")
    if _only_text(form) is not None:
        allowed.append("respond")
    return action, tuple(allowed)


def elicitation_answer(action: ActionRequest, decision: Decision) -> ElicitationAnswer:
    """What the server is told."""
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
    """A form of plain fields, made of what a schema says; whatever else it says is left out."""
    asked = _object(schema.get("properties"))
    fields = {
        plain_text(name, _MOST_LABEL): _field(_object(asked[name]))
        for name in list(asked)[:_MOST_FIELDS]
    }
    required = schema.get("required")
    names = cast("list[object]", required) if isinstance(required, list) else []  # JSON
    named = [each for each in names if each in fields]
    return {"type": "object", "properties": fields, "required": named}


def plain_text(text: object, most: int) -> str:
    """Text without characters that are not seen, at most so long."""
    shown = "".join(
        each
        for each in str(text)[: most * 2]
        if each in "\n\t" or unicodedata.category(each)[0] != "C"
    )
    return shown[:most]


def _field(asked: JsonObject) -> JsonObject:
    kind = asked.get("type")
    field: JsonObject = {"type": kind if kind in _TYPES else "string"}
    for name in ("title", "description"):
        if isinstance(asked.get(name), str):
            field[name] = plain_text(asked[name], _MOST_LABEL)
    for name in _NUMBERS:
        if isinstance(asked.get(name), int | float) and not isinstance(asked[name], bool):
            field[name] = asked[name]
    if asked.get("format") in _FORMATS:
        field["format"] = asked["format"]
    choices = _choices(_object(asked.get("items")) if field["type"] == "array" else asked)
    if field["type"] == "array":
        field["items"] = {"type": "string", **choices}
    else:
        field |= choices
    if "default" in asked and _fits(asked["default"], field):
        field["default"] = asked["default"]
    return field


def _choices(asked: JsonObject) -> JsonObject:
    """The values to choose from, listed plainly or with titles."""
    titled = asked.get("oneOf") or asked.get("anyOf")
    if isinstance(titled, list):
        values = [_object(each).get("const") for each in cast("list[object]", titled)]  # JSON
    else:
        values = asked.get("enum")
    if not isinstance(values, list):
        return {}
    listed = cast("list[object]", values)[:_MOST_CHOICES]  # JSON
    kept = [plain_text(each, _MOST_LABEL) for each in listed if isinstance(each, str)]
    return {"enum": kept} if kept else {}


def _only_text(form: JsonObject) -> str | None:
    """The field, if the form is a single free text."""
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
