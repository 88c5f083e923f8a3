"""docs/reference/api.md, from the server's OpenAPI document."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from dataagent_server.config import ServerSettings
from dataagent_server.main import create_app
from scripts.reference.tables import code, in_cell, table

_INTRO = """\
# HTTP and WebSocket

Every route of the server. This page is generated from the code: `make docs` writes it. A running
server describes the same in `/openapi.json`, for programs, and at `/docs`, with examples (its
viewer is loaded from a public server, so that page needs the Internet).

Callers bring `X-API-Key`, a login's token (`Authorization: Bearer …`) or its cookie; routes marked
*open* need none of them. A refusal is `{"error_code", "message", "details"?}`; every answer has an
`X-Request-Id`. Lists are `{"items", "total"}`. A field that a request does not know is refused
(422).
"""
_BESIDES = """\
## Besides

| address | what it is |
| --- | --- |
| `WS /ws/chat/{session_id}` | a conversation as a WebSocket ([events](events.md)) |
| `/mcp` | DataAgent as an [MCP server](../guides/mcp-server.md) |
| `GET /metrics` | for Prometheus ([operating](../operating.md)) |
| `GET /login?token=` | what a one-time login link opens; its button is `POST /login` |
| `GET /` | the web app |
| `GET /docs`, `GET /openapi.json` | this page, from a running server, to be tried out |

`?after=SEQ` in a socket's handshake gives what was missed. A socket is closed with 4401 (not
authenticated), 4403 (not yours), 4404 (no such session), 1012 (restarting) or 1013 (full).
"""
_KINDS = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "`true`, `false`",
    "object": "object",
    "array": "list",
    "null": "",
}
_SCHEMA = "#/components/schemas/"
Json = dict[str, Any]  # parts of an OpenAPI document


@cache
def document() -> Json:
    """The OpenAPI document of a server with no settings, independent of the environment."""
    with tempfile.TemporaryDirectory(prefix="dataagent-reference-") as home:
        return create_app(ServerSettings.model_construct(home=Path(home))).openapi()


def operations() -> list[tuple[str, str, Json]]:
    """Every operation: its method, its path, what the document says of it."""
    return [
        (method.upper(), path, operation)
        for path, methods in document()["paths"].items()
        for method, operation in methods.items()
    ]


def page() -> str:
    """The whole page."""
    by_tag: dict[str, list[str]] = {}
    for method, path, operation in operations():
        by_tag.setdefault(operation["tags"][0], []).append(_operation(method, path, operation))
    parts = [_INTRO]
    for tag, texts in by_tag.items():
        parts += [f"## {tag[0].upper()}{tag[1:]}\n", *texts]
    parts += [_BESIDES, "## Shapes\n", *_shapes()]
    return "\n".join(parts)


def _operation(method: str, path: str, operation: Json) -> str:
    lines = [f"### {method} {path}", "", in_cell(operation.get("description", "")), ""]
    if not operation.get("security"):
        lines += ["*Open.*", ""]
    rows = [
        (code(each["name"]), each["in"], _kind(each["schema"]), in_cell(_said(each)))
        for each in operation.get("parameters", [])
        if each["in"] != "header"
    ]
    lines += [*table(["parameter", "in", "kind", ""], rows), ""] if rows else []
    if body := _body(operation):
        lines += [f"Takes {body}.", ""]
    return "\n".join([*lines, f"Answers {_answers(operation)}.", ""])


def _said(parameter: Json) -> str:
    """What a parameter is for, and what holds when it is not given."""
    schema = parameter["schema"]
    words = [parameter.get("description", "")]
    if parameter["required"] and parameter["in"] != "path":
        words.append("Required.")
    elif schema.get("default") is not None:
        words.append(f"`{schema['default']}` if not given.".lower())
    return " ".join(words)


def _body(operation: Json) -> str:
    content: Json = operation.get("requestBody", {}).get("content", {})
    found: list[str] = []
    for media_type, each in content.items():
        note = "" if media_type == "application/json" else f" as `{media_type}`"
        fields: Json = each["schema"].get("properties", {})
        shape = ", ".join(code(name) for name in fields) or _kind(each["schema"])
        found.append(f"{shape}{note}")
    return " or ".join(found)


def _answers(operation: Json) -> str:
    answers: dict[str, Json] = operation["responses"]
    good = [_answer(status, answers[status]) for status in answers if status < "4"]
    refusals = ", ".join(status for status in answers if status >= "4")
    return "; ".join(good) + (f"; refusals {refusals}" if refusals else "")


def _answer(status: str, answer: Json) -> str:
    kinds = [
        _kind(each["schema"]) if each.get("schema") else code(media_type)
        for media_type, each in answer.get("content", {}).items()
    ]
    return (
        f"{status} with {' or '.join(dict.fromkeys(filter(None, kinds)))}" if any(kinds) else status
    )


def _kind(schema: Json) -> str:
    """What fits a schema, as a reader would say it."""
    if reference := schema.get("$ref"):
        name = reference.removeprefix(_SCHEMA)
        return f"[{name}](#shape-{name.lower()})"
    choices: list[Json] = schema.get("anyOf") or schema.get("oneOf") or []
    if choices:
        kinds = [_kind(each) for each in choices]
        return " or ".join(dict.fromkeys(kind for kind in kinds if kind))
    values = schema.get("enum") or ([schema["const"]] if "const" in schema else [])
    if values:
        return ", ".join(code(str(value)) for value in values)
    if schema.get("type") == "array" and _kind(schema.get("items", {})) not in ("", "any JSON"):
        return f"list of {_kind(schema['items'])}"
    return _KINDS.get(schema.get("type", ""), "any JSON")


def _shapes() -> list[str]:
    shapes: dict[str, Json] = document()["components"]["schemas"]
    return [_shape(name, schema) for name, schema in sorted(shapes.items())]


def _shape(name: str, schema: Json) -> str:
    required = schema.get("required", [])
    rows = [
        (
            code(field),
            _kind(each),
            "yes" if field in required else "",
            in_cell(each.get("description", "")),
        )
        for field, each in schema.get("properties", {}).items()
    ]
    lines = [f"### Shape {name}", "", in_cell(schema.get("description", "")), ""]
    if not rows:
        lines += [_kind(schema), ""]
    return "\n".join([*lines, *table(["field", "kind", "required", ""], rows), ""])
