"""A conversation in OpenAI's wire format."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson
import pytest
from inline_snapshot import snapshot
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.tools import tool

from dataagent_core.errors import BadInput
from dataagent_core.models.openai_compatible import LeanChatModel
from dataagent_core.models.openai_request import (
    ToolSchemas,
    choice_of,
    encode_body,
    encode_messages,
)


@tool
def look(path: str) -> str:
    """Look at a path."""
    return path


CONVERSATION: Sequence[BaseMessage] = [
    SystemMessage("be brief"),
    HumanMessage("hello", name="ada"),
    AIMessage(
        "",
        tool_calls=[{"name": "look", "args": {"path": "/ü"}, "id": "c1", "type": "tool_call"}],
        invalid_tool_calls=[
            {
                "name": "look",
                "args": "{",
                "id": "c2",
                "error": "not JSON",
                "type": "invalid_tool_call",
            }
        ],
        additional_kwargs={"reasoning_content": "hm"},
    ),
    ToolMessage("found", tool_call_id="c1", name="look"),
    ToolMessage("broken", tool_call_id="c2"),
    AIMessage([{"type": "thinking", "thinking": "secret"}, {"type": "text", "text": "done"}]),
    ChatMessage(content="note", role="developer"),
]


def test_each_kind_of_message_has_its_place() -> None:
    assert encode_messages(CONVERSATION) == snapshot(
        [
            {"role": "system", "content": "be brief"},
            {"role": "user", "content": "hello", "name": "ada"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {
                        "id": "c1",
                        "type": "function",
                        "function": {"name": "look", "arguments": '{"path": "/ü"}'},
                    },
                    {
                        "id": "c2",
                        "type": "function",
                        "function": {"name": "look", "arguments": "{"},
                    },
                ],
            },
            {"role": "tool", "content": "found", "tool_call_id": "c1"},
            {"role": "tool", "content": "broken", "tool_call_id": "c2"},
            {"role": "assistant", "content": [{"type": "text", "text": "done"}]},
            {"role": "developer", "content": "note"},
        ]
    )


def test_reasoning_goes_back_only_where_it_is_wanted() -> None:
    assert encode_messages(CONVERSATION, sends_reasoning=True)[2]["reasoning_content"] == "hm"


@pytest.mark.parametrize(
    ("block", "sent"),
    [
        ("words", {"type": "text", "text": "words"}),
        (
            {"type": "image_url", "image_url": {"url": "https://x/y.png", "detail": "low"}},
            {"type": "image_url", "image_url": {"url": "https://x/y.png", "detail": "low"}},
        ),
        (
            {"type": "image", "base64": "QUJD", "mime_type": "image/png"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}},
        ),
        (
            {"type": "image", "url": "https://x/y.png"},
            {"type": "image_url", "image_url": {"url": "https://x/y.png"}},
        ),
        (
            {"type": "image", "source_type": "base64", "data": "QUJD", "mime_type": "image/png"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}},
        ),
        (
            {
                "type": "image",
                "source": {"type": "base64", "media_type": "image/png", "data": "QUJD"},
            },
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}},
        ),
        (
            {"type": "file", "base64": "QUJD", "mime_type": "application/pdf", "filename": "a.pdf"},
            {
                "type": "file",
                "file": {"file_data": "data:application/pdf;base64,QUJD", "filename": "a.pdf"},
            },
        ),
    ],
)
def test_images_and_files_are_sent_in_openais_form(
    block: str | dict[str, Any], sent: dict[str, Any]
) -> None:
    (message,) = encode_messages([HumanMessage([block])])
    assert message["content"] == [sent]


def test_what_has_no_place_is_bad_input() -> None:
    with pytest.raises(BadInput, match="function"):
        encode_messages([FunctionMessage(content="x", name="f")])
    with pytest.raises(BadInput, match="file"):
        encode_messages([HumanMessage([{"type": "file", "url": "https://x/a.pdf"}])])


def test_half_a_surrogate_pair_does_not_break_the_request() -> None:
    assert orjson.loads(encode_body({"content": "a\ud800b"})) == {"content": "a?b"}


def test_options_of_a_call_win_over_the_models_own() -> None:
    model = LeanChatModel(
        model="m",
        base_url="http://localhost:1/v1",
        temperature=0.5,
        max_tokens=10,
        stop=["x"],
        extra_body={"top_k": 3},
    )
    body = model.request_body([HumanMessage("q")], stop=["y"], temperature=0.1, seed=1)
    assert body == {
        "model": "m",
        "messages": [{"role": "user", "content": "q"}],
        "temperature": 0.1,
        "stop": ["y"],
        "max_tokens": 10,
        "stream_options": {"include_usage": True},
        "top_k": 3,
        "seed": 1,
        "stream": True,
    }


def test_openai_itself_gets_the_new_name_for_the_limit() -> None:
    body = LeanChatModel(model="gpt-5", max_tokens=10).request_body([HumanMessage("q")])
    assert body["max_completion_tokens"] == 10
    assert "max_tokens" not in body


def test_a_tool_is_described_once_and_again_when_it_changes() -> None:
    schemas = ToolSchemas()
    changing = look.model_copy()
    (first,) = schemas.describe([changing], strict=None)
    (second,) = schemas.describe([changing], strict=None)
    assert first is second
    assert first["function"]["name"] == "look"
    changing.description = "Something else."
    (third,) = schemas.describe([changing], strict=None)
    assert third["function"]["description"] == "Something else."
    (strict,) = schemas.describe([changing], strict=True)
    assert strict["function"]["strict"] is True
    native = {"type": "web_search"}
    assert schemas.describe([native], strict=None) == [native]


def test_forgotten_tools_make_room() -> None:
    schemas = ToolSchemas()
    copies = [look.model_copy(update={"name": f"look{number}"}) for number in range(1100)]
    assert len(schemas.describe(copies, strict=None)) == 1100
    assert schemas.describe(copies[:1], strict=None)[0]["function"]["name"] == "look0"


@pytest.mark.parametrize(
    ("asked", "sent"),
    [
        (None, None),
        ("", None),
        ("auto", "auto"),
        ("none", "none"),
        ("any", "required"),
        ("required", "required"),
        (True, "required"),
        ("look", {"type": "function", "function": {"name": "look"}}),
        ({"type": "function", "function": {"name": "x"}},) * 2,
    ],
)
def test_the_choice_of_a_tool_is_said_in_openais_words(asked: Any, sent: Any) -> None:
    assert choice_of(asked, ToolSchemas().describe([look], strict=None)) == sent


def test_the_key_is_shown_nowhere() -> None:
    from langchain_core.load import dumps
    from pydantic import SecretStr

    model = LeanChatModel(model="m", api_key=SecretStr("sk-very-secret"))
    model_with_header = LeanChatModel(model="m", extra_headers={"X-Key": "sk-very-secret"})
    for each in (model, model_with_header):
        shown = f"{each!r} {each} {dumps(each)} {each._identifying_params} {each.asdict()}"
        assert "very-secret" not in shown
        assert "very-secret" not in repr(each._transport._endpoint)


def test_a_profile_is_known_by_the_name() -> None:
    def input_tokens(model: str) -> Any:
        profile = LeanChatModel(model=model).profile
        return profile and profile.get("max_input_tokens")

    assert input_tokens("gpt-4.1-mini") == 1_047_576
    assert input_tokens("Qwen/Qwen3-32B") == 131_072
    assert input_tokens("someone/unheard-of") == 128_000
    own = LeanChatModel(model="x", profile={"max_input_tokens": 4096}).profile
    assert own == {"max_input_tokens": 4096}


def test_deepagents_recognises_the_model() -> None:
    from deepagents._models import get_model_identifier, get_model_provider

    model = LeanChatModel(model="gpt-5-mini")
    assert get_model_identifier(model) == "gpt-5-mini"
    assert get_model_provider(model) == "openai"
