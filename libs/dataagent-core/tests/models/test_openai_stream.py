"""What OpenAI-compatible servers send, well or badly, becomes the same chunks."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessageChunk

from dataagent_core.errors import ModelRefused, ModelUnavailable
from dataagent_core.models.chunks import answer_chunk
from dataagent_core.models.failures import ContextTooLong
from dataagent_core.models.openai_stream import AnswerDecoder, EventParser, read_usage
from tests.standins.openai_server import DONE, delta, ending, event, text, tool_calls, usage_event


def read(*pieces: bytes) -> list[AIMessageChunk]:
    """Every chunk of an answer that arrives in these pieces."""
    decoder = AnswerDecoder()
    said = [found for piece in pieces if (found := decoder.feed(piece))]
    chunks = [answer_chunk(one) if isinstance(one, str) else one for one in said + decoder.end()]
    messages = [chunk.message for chunk in chunks]
    return [message for message in messages if isinstance(message, AIMessageChunk)]


def whole(*pieces: bytes) -> AIMessageChunk:
    chunks = read(*pieces)
    total = chunks[0] + chunks[1:]
    assert isinstance(total, AIMessageChunk)
    return total


def call(index: int | None, call_id: str | None, name: str | None, arguments: Any) -> bytes:
    fields: dict[str, Any] = {"function": {"name": name, "arguments": arguments}}
    if index is not None:
        fields["index"] = index
    if call_id is not None:
        fields["id"] = call_id
    return delta({"tool_calls": [fields]})


def cut(stream: bytes, sizes: list[int]) -> Iterator[bytes]:
    """The stream in pieces of these sizes, over and over."""
    for size in cycle(sizes):
        if not stream:
            return
        yield stream[:size]
        stream = stream[size:]


sizes_of_pieces = st.lists(st.integers(1, 60), min_size=1, max_size=8)


@given(
    st.lists(st.binary(max_size=20), max_size=8),
    st.sampled_from([b"\n", b"\r\n"]),
    sizes_of_pieces,
)
def test_payloads_do_not_depend_on_how_the_bytes_are_cut(
    payloads: list[bytes], newline: bytes, sizes: list[int]
) -> None:
    clean = [p.replace(b"\n", b"").replace(b"\r", b"") for p in payloads]
    stream = b"".join(
        b": comment" + newline + b"event: x" + newline + b"data: " + p + newline * 2 for p in clean
    )
    parser = EventParser()
    read: list[bytes] = []
    for piece in cut(stream, sizes):
        read += parser.feed(piece)
    assert read == clean


@given(st.lists(st.text(max_size=5), min_size=1, max_size=6), sizes_of_pieces)
def test_text_does_not_depend_on_how_the_bytes_are_cut(texts: list[str], sizes: list[int]) -> None:
    answer = whole(*cut(b"".join(text(*texts).pieces), sizes))
    assert answer.content == "".join(texts)
    assert answer.response_metadata["finish_reason"] == "stop"


def test_all_that_comes_in_one_read_is_one_chunk() -> None:
    chunks = read(b"".join(text("a", "b", "c", reasoning=["x", "y"]).pieces))
    assert [chunk.content for chunk in chunks] == ["abc", ""]
    assert chunks[0].additional_kwargs == {"reasoning_content": "xy"}
    assert chunks[1].chunk_position == "last"
    assert chunks[1].response_metadata == {
        "id": "chatcmpl-1",
        "model_name": "stand-in-1",
        "system_fingerprint": "fp_1",
        "finish_reason": "stop",
    }
    assert chunks[1].usage_metadata == {
        "input_tokens": 11,
        "output_tokens": 7,
        "total_tokens": 18,
        "input_token_details": {"audio": 0, "cache_read": 3},
        "output_token_details": {"audio": 0, "reasoning": 2},
    }


def test_parallel_tool_calls_are_put_together_by_index() -> None:
    answer = whole(*tool_calls(("ls", '{"path": "/"}'), ("glob", '{"n": [1, 2]}')).pieces)
    assert [(c["id"], c["name"], c["args"]) for c in answer.tool_calls] == [
        ("call_0", "ls", {"path": "/"}),
        ("call_1", "glob", {"n": [1, 2]}),
    ]
    assert answer.invalid_tool_calls == []


@pytest.mark.parametrize(
    "pieces",
    [
        # the index is the same for every call
        [call(0, "a", "ls", '{"x":'), call(0, None, None, "1}"), call(0, "b", "rm", "{}")],
        # there is no index
        [call(None, "a", "ls", '{"x":'), call(None, None, None, "1}"), call(None, "b", "rm", "{}")],
        # id and name are repeated in each delta
        [call(0, "a", "ls", '{"x":'), call(0, "a", "ls", "1}"), call(1, "b", "rm", "{}")],
        # the arguments are an object, or missing
        [call(0, "a", "ls", {"x": 1}), call(1, "b", "rm", None)],
        # the id comes late
        [call(0, "", "ls", '{"x":'), call(0, "a", "", "1}"), call(1, "b", "rm", "")],
    ],
)
@pytest.mark.parametrize("together", [True, False])
def test_servers_that_number_calls_badly_are_understood(
    pieces: list[bytes], together: bool
) -> None:
    stream = [*pieces, *ending("tool_calls")]
    answer = whole(b"".join(stream)) if together else whole(*stream)
    assert [(c["id"], c["name"], c["args"]) for c in answer.tool_calls] == [
        ("a", "ls", {"x": 1}),
        ("b", "rm", {}),
    ]


def test_usage_sent_with_every_event_is_counted_once() -> None:
    running = {"prompt_tokens": 5, "completion_tokens": 1}
    final = {"prompt_tokens": 5, "completion_tokens": 2}
    answer = whole(
        delta({"content": "a"}, usage=running),
        delta({"content": "b"}, finish_reason="stop", usage=final),
        DONE,
    )
    assert answer.usage_metadata is not None
    assert answer.usage_metadata["output_tokens"] == 2
    assert answer.usage_metadata["total_tokens"] == 7


def test_missing_usage_is_none() -> None:
    assert whole(delta({"content": "a"}), *ending(usage=None)).usage_metadata is None


def test_cache_hits_of_deepseek_are_counted() -> None:
    usage = read_usage({"prompt_tokens": 5, "completion_tokens": 0, "prompt_cache_hit_tokens": 4})
    assert usage.get("input_token_details") == {"cache_read": 4}


def test_the_reason_length_is_reported() -> None:
    answer = whole(delta({"content": "a"}), *ending("length"))
    assert answer.response_metadata["finish_reason"] == "length"


def test_other_shapes_of_content_are_read() -> None:
    blocks = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "so"}]
    answer = whole(
        delta({"content": blocks}),
        delta({"reasoning": " well"}),
        delta({"refusal": "no"}),
        event({"choices": [{"index": 1, "delta": {"content": "another choice"}}]}),
        event({"choices": []}),
        *ending(),
    )
    assert answer.content == "so"
    assert answer.additional_kwargs == {"reasoning_content": "hm well", "refusal": "no"}


def test_a_stream_may_end_without_done_or_without_the_last_empty_line() -> None:
    assert whole(delta({"content": "a"}, finish_reason="stop")).content == "a"
    assert whole(delta({"content": "a"}), b"data: [DONE]").content == "a"
    lines = b"".join(delta({"content": c}).replace(b"\n\n", b"\n") for c in "ab")
    assert whole(lines + b"data: [DONE]\n").content == "ab"


def test_what_comes_after_done_is_not_read() -> None:
    assert whole(delta({"content": "a"}) + DONE + delta({"content": "b"})).content == "a"


@pytest.mark.parametrize("pieces", [[], [b": ping\n\n"], [delta({"content": "half"})]])
def test_an_answer_that_is_cut_is_an_error(pieces: list[bytes]) -> None:
    with pytest.raises(ModelUnavailable, match="before it was complete"):
        read(*pieces)


@pytest.mark.parametrize("payload", [b"{oh no", b"null", b'"ping"', b"[1]", b"{}\ndata: 7"])
def test_damaged_json_is_an_error(payload: bytes) -> None:
    with pytest.raises(ModelUnavailable, match="damaged"):
        read(b"data: " + payload + b"\n\n")


def test_a_document_may_come_after_empty_lines() -> None:
    document = b'{"choices": [{"message": {"content": "a"}, "finish_reason": "stop"}]}'
    assert whole(b"\n", b"\r\n", document).content == "a"


@pytest.mark.parametrize(
    ("error", "ours"),
    [
        ({"message": "boom", "type": "server_error"}, ModelUnavailable),
        ({"message": "boom", "code": 503}, ModelUnavailable),
        ({"message": "boom", "code": "429"}, ModelUnavailable),
        ("boom", ModelUnavailable),
        ({"message": "boom", "type": "invalid_request_error"}, ModelRefused),
        ({"message": "boom", "code": "context_length_exceeded"}, ContextTooLong),
    ],
)
def test_an_error_in_the_stream_is_raised_as_ours(error: Any, ours: type[Exception]) -> None:
    decoder = AnswerDecoder()
    said = decoder.feed(delta({"content": "so far"}) + event({"error": error}))
    assert said == "so far"
    assert decoder.is_done
    with pytest.raises(ours, match="boom"):
        decoder.end()


def test_a_document_instead_of_a_stream_is_read_whole() -> None:
    function = {"name": "ls", "arguments": '{"a": 1}'}
    message = {
        "role": "assistant",
        "content": "hello",
        "reasoning_content": "hm",
        "tool_calls": [{"id": "c1", "type": "function", "function": function}],
    }
    document = orjson.dumps(
        {
            "id": "x",
            "object": "chat.completion",
            "model": "m",
            "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3},
        }
    )
    answer = whole(document[:30], document[30:])
    assert answer.content == "hello"
    assert answer.additional_kwargs == {"reasoning_content": "hm"}
    assert [(c["name"], c["args"], c["id"]) for c in answer.tool_calls] == [("ls", {"a": 1}, "c1")]
    assert answer.response_metadata["finish_reason"] == "tool_calls"
    assert answer.usage_metadata is not None
    assert answer.usage_metadata["total_tokens"] == 3


@pytest.mark.parametrize("body", [b"<html>not here</html>", b'{"detail": "Not Found"}', b"{"])
def test_an_address_that_is_no_model_is_refused(body: bytes) -> None:
    with pytest.raises(ModelRefused):
        read(body)


def test_an_error_document_with_a_good_status_is_raised() -> None:
    with pytest.raises(ModelRefused, match="no such model"):
        read(b'{"error": {"message": "no such model", "type": "invalid_request_error"}}')
    with pytest.raises(ModelUnavailable, match="busy"):
        read(b'{"object": "error", "message": "busy", "code": 503}')


def test_the_usage_event_alone_says_nothing() -> None:
    assert [c.content for c in read(usage_event(), DONE)] == [""]
