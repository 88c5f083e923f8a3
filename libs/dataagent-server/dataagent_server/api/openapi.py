"""The OpenAPI document, completed: who may ask, and an example for every body and answer.

Statuses come from `route.py`, shapes from the models; nothing about a single route is said here.
Above: `main.py` installs it. Below: `examples.py`.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from fastapi import FastAPI

from dataagent_server.api.examples import Json, example_of
from dataagent_server.auth import COOKIE

_SCHEMES: Json = {
    "api_key": {
        "type": "apiKey",
        "in": "header",
        "name": "X-API-Key",
        "description": "A deployment's key or a user's own.",
    },
    "login_token": {"type": "http", "scheme": "bearer", "description": "A login's token."},
    "login_cookie": {
        "type": "apiKey",
        "in": "cookie",
        "name": COOKIE,
        "description": "What logging in sets in a browser; for this server's own pages.",
    },
}
_WITH_EXAMPLES = ("application/json", "multipart/form-data")


def install_document(app: FastAPI) -> None:
    """Let the app's document be the complete one."""
    make = app.openapi

    def document() -> Json:
        if app.openapi_schema is None:
            complete(make())
        assert app.openapi_schema is not None  # noqa: S101 FastAPI keeps what it made
        return app.openapi_schema

    app.openapi = document  # pyright: ignore[reportAttributeAccessIssue] FastAPI's way to extend it


def complete(document: Json) -> None:
    """Add what FastAPI does not know, in place."""
    components = document.setdefault("components", {})
    components["securitySchemes"] = _SCHEMES
    schemas: Json = components.get("schemas", {})
    for methods in document["paths"].values():
        for operation in methods.values():
            for content in _contents(operation):
                _add_example(content, schemas)


def _contents(operation: Json) -> list[Json]:
    """What an operation takes and what it answers, by media type."""
    answers: dict[str, Any] = operation["responses"]
    return [
        operation.get("requestBody", {}).get("content", {}),
        *(answer.get("content", {}) for answer in answers.values()),
    ]


def _add_example(content: Json, schemas: Json) -> None:
    for media_type in _WITH_EXAMPLES:
        media: Json = content.get(media_type, {})
        if media.get("schema") and not media.keys() & {"example", "examples"}:
            with suppress(LookupError):  # a document without an example is still one; a test looks
                media["example"] = example_of(media["schema"], schemas)
