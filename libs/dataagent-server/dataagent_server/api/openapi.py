"""Completes the OpenAPI document: security schemes, and an example for every body and response.

Statuses come from `route.py`, shapes from the models. A schema's own example wins, then a field's;
where there is neither, a field's name has one here, so that a thing looks the same in every
response.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from fastapi import FastAPI

from dataagent_server.auth import COOKIE

Json = dict[str, Any]
_SESSION = "7d4e1f7c-92a4-4c0e-9a51-0f6b8f1c2d3e"
_RUN = "run_5f0c2a9be1d84b6f"
_REQUEST = "req_1b2c3d4e"
_TIME = "2026-03-01T09:30:00.000Z"
_SQL = "SELECT Country, COUNT(*) AS customers FROM Customer GROUP BY Country"
_HASH = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
_DONE: Json = {
    "event_type": "done",
    "seq": 9,
    "run_id": _RUN,
    "data": {"cancelled": False, "reason": "completed"},
    "timestamp": 1772357400.0,
}
SAMPLES: Mapping[str, Any] = {
    "action": "set_user_role",
    "address": "192.0.2.7",
    "args": {"file_path": "/files/report.csv", "content": "country,sales\n"},
    "artifact_id": "art_3c9d2e1f",
    "assistant_id": "agent",
    "at": _TIME,
    "attempt": 1,
    "attributes": {"region": "EMEA"},
    "byte_size": 4096,
    "bytes": 120,
    "bytes_used": 1_048_576,
    "checked": 1280,
    "checks": {"database": "ok", "migrations": "ok"},
    "client_message_id": "m-1",
    "columns": ["Country"],
    "comment": None,
    "content": "Sales by country?",
    "content_type": "text/csv",
    "created_at": _TIME,
    "created_by": "dora",
    "invited_by": "dora",
    "tenant_name": "Acme",
    "day": "2026-03-01",
    "deny": ["shell", "write_*"],
    "description": "What the shop sold",
    "details": {"status": 200},
    "dialect": "postgresql",
    "distinct": 24,
    "drift": [],
    "drifted_at": None,
    "duration_ms": 12.5,
    "ended_at": _TIME,
    "error": None,
    "error_code": "not_found",
    "events": [_DONE],
    "executed_at": _TIME,
    "expires_at": "2026-03-02T09:30:00.000Z",
    "features_enabled": {"tool:shell": False},
    "file": "sales.csv",
    "file_id": "file_8a7b6c5d",
    "filename": "sales.csv",
    "files": 3,
    "first_bad": None,
    "folder": "/srv/sales",
    "hash": _HASH,
    "hits": None,
    "id": "usr_2f4e6a8c",
    "input_tokens": 1200,
    "is_from_config": False,
    "is_sample": False,
    "key": "dak_3f9c21ab_kept-by-its-owner-alone",
    "label": "Country",
    "last_active": _TIME,
    "last_seq": 9,
    "last_used": _TIME,
    "left_out": [],
    "max": "Venezuela",
    "max_bytes": 268_435_456,
    "max_mcp_servers": 5,
    "max_rows": 1_000_000,
    "max_sessions_per_user": 200,
    "max_tokens": 200_000,
    "max_users": 50,
    "mean": None,
    "message": "Sales by country?",
    "message_id": "msg_6e5d4c3b",
    "metadata": {},
    "min": "Argentina",
    "name": "sales",
    "next_offset": None,
    "nulls": 0,
    "offset": 0,
    "output_tokens": 300,
    "owner_id": "usr_2f4e6a8c",
    "parent_id": None,
    "path": "notes/company.md",
    "policy": ["no_phone_numbers"],
    "policy_id": "pol_4d3c2b1a",
    "position": 1280,
    "prefix": "dak_3f9c21ab",
    "preview": [["Brazil", 5]],
    "previous_hash": _HASH,
    "primary_key": ["CustomerId"],
    "problem": None,
    "quota": 1_073_741_824,
    "refreshed_at": _TIME,
    "request_id": _REQUEST,
    "row_count": 24,
    "rows": [["Brazil", 5]],
    "rules": {"subjects": "everyone", "tables": {"*": {"grant": True}}},
    "run_id": _RUN,
    "runs": 12,
    "samples": ["Brazil"],
    "schema": None,
    "score": 1.5,
    "server_id": "01JNV3Q4ZC0000000000000000",
    "session_id": _SESSION,
    "size": 4096,
    "source_id": "src_9b8a7c6d",
    "source_name": "sales",
    "spec": None,
    "sql": _SQL,
    "sql_executed": _SQL,
    "sql_seconds": 2.5,
    "started_at": _TIME,
    "status": "completed",
    "subject_id": "",
    "sum": None,
    "table_count": 11,
    "table_key": "Customer",
    "target": "usr_2f4e6a8c",
    "target_columns": ["CustomerId"],
    "target_table": "Customer",
    "tenant_id": "acme",
    "thread_id": "0badcafe",
    "time_zone": "UTC",
    "timeout_seconds": 60.0,
    "title": "Sales by country",
    "token_usage": {"input_tokens": 1200, "output_tokens": 300},
    "tool_calls": 4,
    "total": 1,
    "truncated": False,
    "truncated_by": None,
    "type": "text",
    "updated_at": _TIME,
    "uptime": 3600.0,
    "url": "/api/files/file_8a7b6c5d/download",
    "user_id": "usr_2f4e6a8c",
    "username": "dora",
    "version": "1.0.0",
    "via": "api_key",
    "wall_seconds": 41.0,
    "warnings": [],
    "why": "its name has `customer`",
    "workspace_quota": None,
}
_NONE_YET = object()


def example_of(schema: Json, schemas: Json, name: str = "") -> Any:
    """What a value of the schema looks like; `schemas` are the document's components.

    Raises:
        LookupError: a field of it has no example.
    """
    if "$ref" in schema:
        schema = schemas[schema["$ref"].rpartition("/")[2]]
    given = _fixed_example(schema, name)
    if given is not _NONE_YET:
        return given
    if "anyOf" in schema:
        is_none = name in SAMPLES and SAMPLES[name] is None
        return None if is_none else example_of(schema["anyOf"][0], schemas, name)
    match schema.get("type"):
        case "object":
            return {
                each: example_of(field, schemas, each) for each, field in _shown(schema).items()
            }
        case "array":
            return [example_of(schema["items"], schemas, name)]
        case "boolean":
            return False
        case kind:
            raise LookupError(f"No example for {name!r} ({kind}): add it to api/openapi.py.")


def _shown(schema: Json) -> Json:
    """All fields of an answer; of a body those that have to be there or bring an example."""
    fields: Json = schema.get("properties", {})
    if schema.get("additionalProperties") is not False:
        return fields
    required = schema.get("required", ())
    return {
        name: field for name, field in fields.items() if name in required or "examples" in field
    }


def _fixed_example(schema: Json, name: str) -> Any:
    """The written example, or the only possible value."""
    for own in ("example", "const"):
        if own in schema:
            return schema[own]
    if schema.get("examples"):
        return schema["examples"][0]
    if "enum" in schema:
        return SAMPLES[name] if SAMPLES.get(name) in schema["enum"] else schema["enum"][0]
    is_made_of_models = "properties" in schema or "$ref" in schema.get("items", {})
    is_list = schema.get("type") == "array"
    if "anyOf" in schema or is_made_of_models:
        return _NONE_YET
    if name in SAMPLES and is_list == isinstance(SAMPLES[name], list):
        return SAMPLES[name]
    return _NONE_YET


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
