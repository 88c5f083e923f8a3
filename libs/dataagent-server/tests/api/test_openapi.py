"""The OpenAPI document says everything a client has to know, of every route."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import jsonschema_rs
import pytest
from pydantic import BaseModel

from dataagent_server.api.openapi import example_of
from dataagent_server.config import ServerSettings
from dataagent_server.main import create_app
from dataagent_server.models import chat, common, sessions
from tests.requirements import requirement

Json = dict[str, Any]
READS = {"get", "head"}
OPEN = {
    *("health", "health_live", "health_ready", "log_in", "log_out", "list_agent_choices"),
    "get_info",
}
FOR_ALL = {"503"}
FOR_CALLERS = {"401", "403", "422"}
FOR_WRITES = {"413", "422", "429"}
FOR_CALLERS_WRITES = {"404", "409"}
WITHOUT_EXAMPLE = re.compile(r"\*/\*|image/.*|text/csv.*|application/vnd\..*|application/jsonl")


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> Json:
    home = tmp_path_factory.mktemp("home")
    # pydantic-settings takes it
    settings = ServerSettings(_env_file=None, home=home)  # pyright: ignore[reportCallIssue]
    return create_app(settings).openapi()


def operations(document: Json) -> Iterator[tuple[str, str, Json]]:
    """Method, path and operation of every route."""
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield method, path, operation


def contents(operation: Json) -> Iterator[tuple[str, str, Json]]:
    """What an operation takes and answers: the body or a status, the media type, the rest."""
    body = operation.get("requestBody", {}).get("content", {})
    yield from (("body", media_type, media) for media_type, media in body.items())
    for status, answer in operation["responses"].items():
        for media_type, media in answer.get("content", {}).items():
            yield status, media_type, media


def due(method: str, path: str, operation: Json) -> set[str]:
    """The errors a route of its kind can answer."""
    is_write = method not in READS
    statuses = FOR_ALL | (FOR_WRITES if is_write else set[str]())
    if operation["operationId"] in OPEN:
        return statuses
    named = {"404"} if "{" in path else set[str]()
    return statuses | FOR_CALLERS | named | (FOR_CALLERS_WRITES if is_write else set[str]())


@requirement("R16.2", "R16.4")
def test_every_route_documents_its_errors_in_the_one_shape(document: Json) -> None:
    shape = {"$ref": "#/components/schemas/ErrorResponse"}
    for method, path, operation in operations(document):
        responses: Json = operation["responses"]
        missing = due(method, path, operation) - responses.keys()
        assert not missing, (
            f"{method} {path}: document {missing}; is its route_class from route.py?"
        )
        for status in [each for each in responses if each >= "4"]:
            found = responses[status]["content"]["application/json"]["schema"]
            assert found == shape, (method, path, status)
        assert any(status < "3" for status in responses), (method, path)


def test_a_status_that_cannot_be_is_not_documented(document: Json) -> None:
    for method, path, operation in operations(document):
        if operation["operationId"].startswith("health"):
            assert set(operation["responses"]) == {"200", "503"}
        if method in READS:
            assert not {"409", "413", "429"} & operation["responses"].keys(), path


def test_operation_ids_are_the_names_a_client_gives_its_functions(document: Json) -> None:
    ids = [operation["operationId"] for _, _, operation in operations(document)]
    assert len(ids) == len(set(ids)) >= 70
    assert [each for each in ids if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", each)] == []


def test_every_route_says_what_it_does_and_who_may_ask(document: Json) -> None:
    assert set(document["components"]["securitySchemes"]) == {
        "api_key",
        "login_token",
        "login_cookie",
    }
    for method, path, operation in operations(document):
        assert operation.get("description"), (method, path)
        assert operation["tags"], (method, path)
        is_open = operation["operationId"] in OPEN
        assert is_open == ("security" not in operation), (method, path)


@requirement("R21.1")
def test_every_body_and_answer_has_a_shape_and_an_example_that_fits_it(document: Json) -> None:
    components = {"components": document["components"]}
    for method, path, operation in operations(document):
        for where, media_type, media in contents(operation):
            place = f"{method} {path}, {where} ({media_type})"
            if media_type == "text/event-stream":
                assert media["example"].startswith("id: "), place
                continue
            assert media.get("schema"), f"{place}: give it a model"
            if WITHOUT_EXAMPLE.fullmatch(media_type):
                continue  # files
            if "example" not in media:
                example_of(media["schema"], document["components"]["schemas"])  # says what to add
            problems = jsonschema_rs.iter_errors(
                {**media["schema"], **components}, media["example"]
            )
            assert [(place, str(each)) for each in problems] == []


def test_answers_with_a_body_have_a_model(document: Json) -> None:
    for method, path, operation in operations(document):
        for status, answer in operation["responses"].items():
            assert (status == "204") == ("content" not in answer), (method, path, status)


def test_the_document_has_no_secret(settings_for: Callable[..., ServerSettings]) -> None:
    settings = settings_for(api_keys=["alice:s3cr3t-key"], admin_api_keys=["root:s3cr3t-root"])
    assert "s3cr3t" not in str(create_app(settings).openapi())


@requirement("R21.1", "R21.2", "R21.3", "R21.4", "R21.5", "P33")
@pytest.mark.parametrize(
    ("model", "properties", "needed"),
    [
        ("ChatRequest", {"message", "session_id", "assistant_id"}, {"message"}),
        ("ChatResponse", {"session_id", "events"}, {"session_id", "events"}),
        (
            "SessionInfo",
            {"session_id", "user_id", "assistant_id", "created_at", "last_active"},
            {"session_id", "user_id", "assistant_id", "created_at", "last_active"},
        ),
        ("ErrorResponse", {"error_code", "message", "details"}, {"error_code", "message"}),
    ],
)
def test_a_model_has_the_fields_of_the_requirements(
    document: Json, model: str, properties: set[str], needed: set[str]
) -> None:
    schema = document["components"]["schemas"][model]
    assert properties <= schema["properties"].keys()
    assert needed == properties & set(schema["required"])
    made = [getattr(module, model, None) for module in (chat, common, sessions)]
    assert any(issubclass(each, BaseModel) for each in made if each is not None)
