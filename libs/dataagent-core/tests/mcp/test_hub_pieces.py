"""The small parts of the hub, each with data."""

from __future__ import annotations

import base64

import pytest
from pydantic import SecretStr

from dataagent_core.hitl import Decision, EditedAction
from dataagent_core.mcp.gateway.attempts import (
    MOST_FAILURES,
    OPEN_SECONDS,
    WINDOW_SECONDS,
    CircuitBreaker,
)
from dataagent_core.mcp.gateway.call_rows import CallDetails, call_row
from dataagent_core.mcp.gateway.elicitation import elicitation_answer, elicitation_request
from dataagent_core.mcp.gateway.gateway import Masks
from dataagent_core.mcp.gateway.tool_access import Binding, Rights, refusal
from dataagent_core.mcp.langchain import MOST_SHOWN, result_for_model
from dataagent_core.mcp.types import (
    Caller,
    CallFailure,
    CatalogueTool,
    ConnectionKey,
    Elicitation,
    RemoteResult,
    RemoteTool,
    SchemaFault,
    ServerSpec,
)
from tests.requirements import requirement

KEY = ConnectionKey("srv", "shared")
ANNA = Caller(user_id="anna", agent_id="sql", session_id="s1", run_id="r1")
CANARY = "canary-5f2c81"


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def spec_of(**fields: object) -> ServerSpec:
    named: dict[str, object] = {"server_id": "srv", "scope": "global", "name": "shop"}
    # fields of a test
    return ServerSpec(**{"alias": "shop", **named, **fields})  # type: ignore[arg-type]


def tool_of(**fields: object) -> CatalogueTool:
    given: dict[str, object] = {
        "tool_id": 7,
        "server_id": "srv",
        "name": "search",
        "exposed_name": "shop__search",
        "definition": RemoteTool("search"),
        "definition_hash": "h",
        "schema_version": 3,
        "status": "active",
    }
    return CatalogueTool(**{**given, **fields})  # type: ignore[arg-type] fields of a test


# -- the breaker ----------------------------------------------------------------------------------


def test_breaker_opens_after_failures_in_a_minute_and_lets_one_call_try() -> None:
    clock = Clock()
    breaker = CircuitBreaker(clock)
    for _ in range(MOST_FAILURES):
        assert breaker.allows(KEY)
        breaker.record_failure(KEY)
    assert not breaker.allows(KEY)
    assert breaker.seconds_left(KEY) == OPEN_SECONDS
    clock.now += OPEN_SECONDS
    assert breaker.allows(KEY)
    assert not breaker.allows(KEY)
    breaker.record_success(KEY)
    assert breaker.allows(KEY)


def test_breaker_opens_again_at_once_if_the_try_fails() -> None:
    clock = Clock()
    breaker = CircuitBreaker(clock)
    for _ in range(MOST_FAILURES):
        breaker.record_failure(KEY)
    clock.now += OPEN_SECONDS
    assert breaker.allows(KEY)
    breaker.record_failure(KEY)
    assert not breaker.allows(KEY)


def test_breaker_forgets_failures_that_are_long_ago_and_other_connections() -> None:
    clock = Clock()
    breaker = CircuitBreaker(clock)
    for _ in range(MOST_FAILURES - 1):
        breaker.record_failure(KEY)
    clock.now += WINDOW_SECONDS + 1
    breaker.record_failure(KEY)
    assert breaker.allows(KEY)
    assert breaker.allows(ConnectionKey("srv", "user:bob"))


# -- who may --------------------------------------------------------------------------------------

BOUND = Rights(Binding("sql", "sql", frozenset({7})))
UNBOUND = Rights(Binding("sql", "sql"))


@requirement("R30.4", "P49")
@pytest.mark.parametrize(
    ("tool", "spec", "rights", "code"),
    [
        (tool_of(), spec_of(), BOUND, None),
        (tool_of(), spec_of(), UNBOUND, "MCP_TOOL_FORBIDDEN"),
        (tool_of(), spec_of(), Rights(None), "MCP_TOOL_FORBIDDEN"),
        (tool_of(), spec_of(scope="tenant", tenant_id="t"), UNBOUND, "MCP_TOOL_FORBIDDEN"),
        (tool_of(), spec_of(scope="user", user_id="anna"), UNBOUND, None),
        (tool_of(), spec_of(scope="user", user_id="bob"), BOUND, "MCP_TOOL_NOT_FOUND"),
        (tool_of(), spec_of(scope="file"), UNBOUND, None),
        (
            tool_of(),
            spec_of(scope="user", user_id="anna"),
            Rights(Binding("sql", "sql", allow_user_tools=False)),
            "MCP_TOOL_FORBIDDEN",
        ),
        (tool_of(), spec_of(), Rights(BOUND.binding, has_feature=False), "MCP_TOOL_FORBIDDEN"),
        (tool_of(), spec_of(), Rights(BOUND.binding, key_tools=frozenset()), "MCP_TOOL_FORBIDDEN"),
        (tool_of(), spec_of(), Rights(BOUND.binding, key_tools=frozenset({7})), None),
        (tool_of(enabled=False), spec_of(), BOUND, "MCP_TOOL_FORBIDDEN"),
        (tool_of(), spec_of(disabled=True), BOUND, "MCP_TOOL_FORBIDDEN"),
        (tool_of(status="removed"), spec_of(), BOUND, "MCP_TOOL_NOT_FOUND"),
        (tool_of(status="quarantined"), spec_of(), BOUND, "MCP_DEFINITION_CHANGED"),
    ],
)
def test_a_tool_may_be_called_by_who_is_bound_or_owns_it(
    tool: CatalogueTool, spec: ServerSpec, rights: Rights, code: str | None
) -> None:
    refused = refusal(tool, spec, ANNA, rights)
    assert (None if refused is None else refused.code) == code


# -- secrets --------------------------------------------------------------------------------------


def test_only_a_servers_own_secrets_are_masked_in_its_results() -> None:
    masks = Masks()
    spec = spec_of(
        headers={"Authorization": SecretStr(f"Bearer {CANARY}")}, env={"X": SecretStr("abc")}
    )
    result = RemoteResult(
        content=({"type": "text", "text": f"token {CANARY} abc"},),
        structured={"a": [CANARY, 1, None], CANARY: True},
    )
    masked = masks.result(spec, result)
    assert CANARY not in repr(masked)
    assert "abc" in masked.content[0]["text"]
    assert masked.structured["a"][1:] == [1, None]
    assert masks.result(spec_of(), result) is result
    assert masks.text(spec, f"x{CANARY}y") == "x••••y"


def test_a_row_of_the_call_log_says_what_went_wrong_in_our_words_only() -> None:
    faults = (
        SchemaFault("", "required", '"orderId" is a required property'),
        SchemaFault("/text", "type", f"{CANARY} is not an integer"),
    )
    details = CallDetails(
        tool=tool_of(),
        failure=CallFailure("MCP_INVALID_ARGUMENT", f"no {CANARY}", faults=faults),
        input_valid=False,
    )
    row = call_row("c1", ANNA, {"text": CANARY}, details)
    assert CANARY not in repr(row)
    assert row.error_message is not None
    assert "orderId" in row.error_message
    assert (row.status, row.error_code) == ("invalid", "MCP_INVALID_ARGUMENT")


def test_a_row_of_the_call_log_says_what_kind_of_arguments_there_were() -> None:
    """Under the schema's own names: any other may be anything."""
    schema = {"properties": {name: {"title": "any"} for name in "abcdef"}}
    tool = tool_of(definition=RemoteTool("search", input_schema=schema))
    given = {"a": CANARY, "b": 7.5, "c": [CANARY], "d": {CANARY: 1}, "e": None, "f": True}
    row = call_row("c1", ANNA, {**given, CANARY: 1, "x": 2}, CallDetails(tool=tool))
    assert CANARY not in repr(row)
    assert row.args_redacted == {
        "a": f"string ({len(CANARY)})",
        "b": "number",
        "c": "array (1)",
        "d": "object (1)",
        "e": "null",
        "f": "boolean",
        "…": "2 more",
    }
    assert call_row("c2", ANNA, {}, CallDetails()).args_redacted == {}


# -- questions ------------------------------------------------------------------------------------

FORM = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "n": {"type": "integer", "default": 3}},
    "required": ["name"],
}


def test_a_question_becomes_a_card_with_a_plain_form() -> None:
    hostile = {
        "properties": {
            "name": {"$ref": "http://127.0.0.1:1/x", "type": "string", "title": "a\x1b[31m\u202eb"},
            "kind": {"type": "string", "oneOf": [{"const": "a", "title": "A"}, {"const": "b"}]},
        },
        "required": ["name", "nobody"],
        "allOf": [{"$ref": "file:///etc/passwd"}],
    }
    action, allowed = elicitation_request(
        Elicitation("Who?\x00\u200b", hostile, "shop"), "shop__ask"
    )
    assert action.args_schema == {
        "type": "object",
        "properties": {
            "name": {"type": "string", "title": "a[31mb"},
            "kind": {"type": "string", "enum": ["a", "b"]},
        },
        "required": ["name"],
    }
    assert action.description == "Server 'shop' asks: Who?"
    assert allowed == ("edit", "reject")


def test_answers_to_a_question_fit_its_form_or_decline_it() -> None:
    action, allowed = elicitation_request(Elicitation("Who?", FORM, "shop"), "shop__ask")
    assert allowed == ("edit", "reject")

    def given(args: dict[str, object]) -> tuple[str, object]:
        decided = elicitation_answer(
            action, Decision("edit", None, EditedAction("shop__ask", args))
        )
        return decided.action, decided.content

    assert given({"name": "x", "n": 4}) == ("accept", {"name": "x", "n": 4})
    assert given({"n": 4}) == ("decline", None)
    assert elicitation_answer(action, Decision("reject")).action == "decline"


def test_a_single_text_can_be_answered_in_words_and_defaults_can_be_approved() -> None:
    text = {"properties": {"colour": {"type": "string"}}, "required": ["colour"]}
    action, allowed = elicitation_request(Elicitation("Which?", text), "t")
    assert allowed == ("edit", "reject", "respond")
    assert elicitation_answer(action, Decision("respond", "red")).content == {"colour": "red"}
    sure = {"properties": {"sure": {"type": "boolean", "default": True}}}
    action, allowed = elicitation_request(Elicitation("Sure?", sure), "t")
    assert allowed == ("approve", "edit", "reject")
    assert elicitation_answer(action, Decision("approve")).content == {"sure": True}


# -- results --------------------------------------------------------------------------------------


def test_a_result_is_text_and_its_bytes_are_files() -> None:
    data = base64.b64encode(b"abc").decode()
    blob = {"uri": "file:///reports/q3.pdf", "blob": data}
    found = result_for_model(
        RemoteResult(
            content=(
                {"type": "text", "text": "Here."},
                {"type": "image", "data": data, "mimeType": "image/png"},
                {"type": "resource", "resource": blob},
                {"type": "resource", "resource": {"uri": "a://b", "text": "inside"}},
                {"type": "resource_link", "uri": "https://x/y", "name": "y"},
                {"type": "image", "data": "not base64!", "mimeType": "image/png"},
            )
        ),
        "shop__picture",
    )
    assert [(piece.name, piece.content) for piece in found.files] == [
        ("shop__picture-1.png", b"abc"),
        ("q3.pdf", b"abc"),
    ]
    assert found.text.splitlines() == [
        "Here.",
        "a://b:",
        "inside",
        "[y] https://x/y",
        "[a part of kind 'image' that cannot be shown]",
    ]


def test_a_result_too_long_for_a_model_is_a_file_and_its_beginning() -> None:
    whole = "é" * (MOST_SHOWN // 2 + 1)
    found = result_for_model(RemoteResult(content=({"type": "text", "text": whole},)), "shop__long")
    assert [piece.name for piece in found.files] == ["shop__long.txt"]
    assert found.files[0].content.decode() == whole
    assert len(found.text) < 5_000
    just = "é" * (MOST_SHOWN // 2)
    assert (
        result_for_model(RemoteResult(content=({"type": "text", "text": just},)), "t").text == just
    )


def test_structured_content_alone_is_shown_as_json() -> None:
    found = result_for_model(RemoteResult(structured={"total": 10}), "t")
    assert found.text == '{"total":10}'


def test_integers_of_structured_content_keep_all_their_digits() -> None:
    found = result_for_model(RemoteResult(structured={"total": 10**30, "city": "Zürich"}), "t")
    assert found.text == f'{{"total":{10**30},"city":"Zürich"}}'


def test_files_beyond_the_limit_are_counted() -> None:
    picture = {"type": "image", "data": base64.b64encode(b"abc").decode(), "mimeType": "image/png"}
    found = result_for_model(RemoteResult(content=(picture,) * 23, structured={"total": 10}), "t")
    assert len(found.files) == 20
    assert found.text.splitlines() == [
        '{"total":10}',
        "[3 more files were left out: at most 20 of a result are kept]",
    ]
