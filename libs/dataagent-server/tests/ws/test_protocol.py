"""Frames in, commands out; nothing else gets through."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dataagent_core.errors import BadInput, SessionBusy
from dataagent_server.ws import protocol
from dataagent_server.ws.protocol import (
    AuthCommand,
    CancelCommand,
    ChatCommand,
    Command,
    DecisionCommand,
    PingCommand,
    parse,
)
from tests.requirements import requirement
from tests.tiers import examples

LIMIT = 100_000
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def frame(type: str, payload: dict[str, Any]) -> str:  # noqa: A002
    return json.dumps({"type": type, "payload": payload})


@requirement("R17.3", "P26", "R21.6")
@pytest.mark.parametrize(
    ("text", "command"),
    [
        (frame("chat", {"message": "hi"}), ChatCommand(message="hi")),
        (
            frame("chat", {"message": "hi", "assistant_id": "sql", "client_message_id": "m-1"}),
            ChatCommand(message="hi", assistant_id="sql", client_message_id="m-1"),
        ),
        (frame("cancel", {}), CancelCommand()),
        (frame("cancel", {"run_id": "r"}), CancelCommand(run_id="r")),
        (frame("ping", {}), PingCommand()),
        (frame("auth", {"token": "t"}), AuthCommand(token="t")),
        (
            frame("hitl_decision", {"request_id": "q", "type": "reject", "message": "no"}),
            DecisionCommand(request_id="q", type="reject", message="no"),
        ),
    ],
)
def test_a_frame_becomes_its_command(text: str, command: Command) -> None:
    assert parse(text, max_bytes=LIMIT) == command


@requirement("P26", "R17.3", "R21.6")
@settings(max_examples=examples(100))
@given(st.one_of(st.text(), st.binary(), JSON.map(json.dumps)))
@example('{"type": "ping"}')
@example('{"payload": {}}')
def test_anything_else_is_bad_input(text: str | bytes) -> None:
    with pytest.raises(BadInput) as refused:
        parse(text, max_bytes=LIMIT)
    assert len(refused.value.message) < 300


@requirement("P26")
@settings(max_examples=examples(100))
@given(
    st.sampled_from(["chat", "hitl_decision", "cancel", "auth"]),
    st.dictionaries(
        st.sampled_from(["message", "request_id", "type", "run_id", "api_key", "edited_action"]),
        JSON,
    ),
)
def test_a_known_type_with_any_payload_is_a_command_or_bad_input(
    kind: str,
    payload: dict[str, Any],
) -> None:
    try:
        command = parse(frame(kind, payload), max_bytes=LIMIT)
    except BadInput:
        return
    assert command.command == kind
    json.dumps(command.model_dump()).encode()  # what got through can be kept


def test_a_long_number_in_edited_arguments_keeps_its_value() -> None:
    text = (
        '{"type": "hitl_decision", "payload": {"request_id": "q", "type": "edit", "edited_action":'
        ' {"name": "pay", "args": {"account": 123456789012345678901234567890}}}}'
    )
    command = parse(text, max_bytes=LIMIT)
    assert isinstance(command, DecisionCommand)
    assert command.edited_action is not None
    assert command.edited_action.args == {"account": 123456789012345678901234567890}


def test_what_was_sent_is_not_sent_back() -> None:
    with pytest.raises(BadInput) as refused:
        parse(frame("auth", {"api_key": {"hunter2": 1}}), max_bytes=LIMIT)
    assert "hunter2" not in refused.value.message


@requirement("R17.4")
def test_messages_of_the_server_have_a_type_data_and_a_time() -> None:
    frames = [
        protocol.connected_frame("s", 7, None),
        protocol.accepted_frame("r", "m", "c"),
        protocol.error_frame(SessionBusy("busy"), "c"),
        protocol.pong_frame(),
    ]
    messages = [json.loads(each) for each in frames]
    assert all(isinstance(each.pop("timestamp"), float) for each in messages)
    assert messages == [
        {
            "event_type": "connected",
            "data": {"session_id": "s", "last_seq": 7, "active_run": None},
        },
        {
            "event_type": "accepted",
            "data": {"run_id": "r", "message_id": "m", "client_message_id": "c"},
        },
        {
            "event_type": "error",
            "data": {
                "error": "busy",
                "error_code": "session_busy",
                "recoverable": False,
                "client_message_id": "c",
            },
        },
        {"event_type": "pong", "data": {}},
    ]
