"""The lean model against a real server on loopback, and beside langchain-openai's."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest
import uvloop
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from pydantic import BaseModel, SecretStr

from dataagent_core.config.models.failures import ContextTooLong
from dataagent_core.config.models.merge import merged
from dataagent_core.config.models.openai_compatible import LeanChatModel
from dataagent_core.errors import DataAgentError, ModelRefused, ModelUnavailable
from tests.requirements import requirement
from tests.standins.openai_server import (
    DONE,
    Drop,
    StandIn,
    Status,
    Stream,
    delta,
    ending,
    event,
    numbered,
    openai_server,
    text,
    tool_calls,
)

KEY = "sk-very-secret-key-123456"


class Weather(BaseModel):
    """What the weather is."""

    city: str
    degrees: int


@tool
def look(path: str) -> str:
    """Look at a path."""
    return path


@asynccontextmanager
async def lean(server: StandIn, **options: Any) -> AsyncGenerator[LeanChatModel]:
    options = {"retry_base_seconds": 0.0, "max_retries": 2, **options}
    model = LeanChatModel(model="any", base_url=server.base_url, api_key=SecretStr(KEY), **options)
    try:
        yield model
    finally:
        await model.aclose()


@requirement("R6.2")
async def test_an_answer_is_streamed_and_added_up() -> None:
    async with openai_server(text("Hel", "lo", reasoning=["hm"])) as server, lean(server) as model:
        answer = await model.ainvoke("hi", temperature=0)
    assert answer.content == "Hello"
    assert answer.additional_kwargs["reasoning_content"] == "hm"
    assert answer.content_blocks[0] == {"type": "reasoning", "reasoning": "hm"}
    asked = server.requests[0]
    assert asked.headers["Authorization"] == f"Bearer {KEY}"
    assert asked.body["messages"] == [{"role": "user", "content": "hi"}]
    assert asked.body["temperature"] == 0
    assert asked.body["stream"] is True


async def test_text_arrives_while_the_server_still_speaks() -> None:
    reply = text("first", "second", holds_after=2)
    async with openai_server(reply) as server, lean(server) as model:
        stream = model.astream("hi")
        assert (await anext(stream)).content == "first"
        assert server.open_requests == 1
        server.release.set()
        assert "".join([str(chunk.content) async for chunk in stream]) == "second"


async def test_connections_are_kept_for_the_next_call() -> None:
    async with openai_server(text("a")) as server, lean(server) as model:
        for _ in range(5):
            await model.ainvoke("hi")
        assert len(server.requests) == 5
        assert server.connections == 1


async def test_many_calls_run_at_once() -> None:
    reply = text("a", holds_after=1)
    async with openai_server(reply) as server, lean(server) as model:
        calls = [asyncio.create_task(model.ainvoke("hi")) for _ in range(150)]
        async with asyncio.timeout(10):
            while server.open_requests < 150:
                await asyncio.sleep(0.001)
        server.release.set()
        assert [answer.content for answer in await asyncio.gather(*calls)] == ["a"] * 150


# -- beside langchain-openai --------------------------------------------------------------------

STREAMS: dict[str, Stream] = {
    "text": text("Hel", "lo ", "wörld ✓"),
    "tools": tool_calls(("look", '{"path": "/a b", "n": [1, 2]}'), ("look", "{}")),
    "text and tools": Stream(
        [delta({"content": "Let me see."}), *tool_calls(("look", '{"path": "/"}')).pieces]
    ),
    "length": Stream([delta({"content": "cut"}), *ending("length")]),
    "no usage": Stream([delta({"content": "x"}), *ending(usage=None)]),
    "comments and CRLF": Stream(
        [b": ping\r\n\r\n"] + [piece.replace(b"\n", b"\r\n") for piece in text("a", "b").pieces]
    ),
    "one write": numbered(40),
}


@pytest.mark.parametrize("name", STREAMS)
async def test_the_lean_model_says_what_langchain_openai_says(name: str) -> None:
    async with openai_server(STREAMS[name]) as server, lean(server) as ours:
        theirs = ChatOpenAI(
            model="any", base_url=server.base_url, api_key=SecretStr(KEY), stream_usage=True
        )
        answers = [await _added_up(ours), await _added_up(theirs)]
        sent = [asked.body for asked in server.requests]
    mine, reference = answers
    assert mine.content == reference.content
    assert mine.tool_calls == reference.tool_calls
    assert mine.invalid_tool_calls == reference.invalid_tool_calls
    assert mine.usage_metadata == reference.usage_metadata
    for field in ("finish_reason", "model_name", "system_fingerprint"):
        assert mine.response_metadata[field] == reference.response_metadata[field]
    assert sent[0] == sent[1]


async def _added_up(model: LeanChatModel | ChatOpenAI) -> AIMessageChunk:
    history = [
        HumanMessage([{"type": "text", "text": "q"}, _image()]),
        AIMessage("", tool_calls=[{"name": "look", "args": {"path": "/é"}, "id": "c"}]),
    ]
    options: Any = {"tool_choice": "look", "parallel_tool_calls": False}
    bound = cast(BaseChatModel, model).bind_tools([look], **options)
    chunks = [chunk async for chunk in bound.astream(history, stop=["END"])]
    total = chunks[0]
    for chunk in chunks[1:]:
        total += chunk
    assert isinstance(total, AIMessageChunk)
    return total


def _image() -> dict[str, Any]:
    return {"type": "image", "base64": "QUJD", "mime_type": "image/png"}


# -- trouble ------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503])
async def test_a_passing_failure_is_tried_again(status: int) -> None:
    busy = Status(status, {"error": {"message": "busy"}}, {"Retry-After": "0"})
    async with openai_server(busy, busy, text("ok")) as server, lean(server) as model:
        assert (await model.ainvoke("hi")).content == "ok"
        assert len(server.requests) == 3


async def test_retries_end() -> None:
    async with openai_server(Status(503, "overloaded")) as server, lean(server) as model:
        with pytest.raises(ModelUnavailable, match=r"503.*overloaded"):
            await model.ainvoke("hi")
        assert len(server.requests) == 3


@pytest.mark.parametrize(
    "headers", [{"Retry-After": "3600"}, {"Retry-After": "Fri, 31 Dec 2199 23:59:59 GMT"}]
)
async def test_a_server_that_wants_a_long_pause_is_not_waited_for(headers: dict[str, str]) -> None:
    async with openai_server(Status(429, {}, headers)) as server, lean(server) as model:
        with pytest.raises(ModelUnavailable, match="limiting"):
            await model.ainvoke("hi")
        assert len(server.requests) == 1


@pytest.mark.parametrize(
    "headers", [{"retry-after-ms": "1"}, {"Retry-After": "Mon, 01 Jan 2001 00:00:00 GMT"}]
)
async def test_the_pause_a_server_asks_for_is_understood(headers: dict[str, str]) -> None:
    async with openai_server(Status(429, {}, headers), text("ok")) as server, lean(server) as model:
        assert (await model.ainvoke("hi")).content == "ok"


@pytest.mark.parametrize(
    ("reply", "error", "says"),
    [
        (Status(401, {"error": {"message": f"Incorrect key: {KEY}"}}), ModelRefused, "key"),
        (Status(404, {"error": {"message": "no model"}}), ModelRefused, "DATAAGENT_MODEL"),
        (Status(400, {"error": {"message": "bad schema"}}), ModelRefused, "bad schema"),
        (Status(400, "plain words"), ModelRefused, "plain words"),
        (
            Status(400, {"error": {"message": "too many", "code": "context_length_exceeded"}}),
            ContextTooLong,
            "too long",
        ),
        (
            Status(429, {"error": {"message": "pay", "code": "insufficient_quota"}}),
            ModelRefused,
            "quota",
        ),
        (Status(307, {}, {"Location": "http://127.0.0.1:9/"}), ModelRefused, "redirects"),
        (Status(200, "<html>hello</html>"), ModelRefused, "base URL"),
    ],
)
async def test_a_refusal_is_final_and_says_why(
    reply: Status, error: type[DataAgentError], says: str
) -> None:
    async with openai_server(reply) as server, lean(server) as model:
        with pytest.raises(error, match=says) as raised:
            await model.ainvoke("hi")
        assert type(raised.value) is error
        assert KEY not in str(raised.value)
        assert len(server.requests) == 1


async def test_a_context_that_is_too_long_is_what_deepagents_waits_for() -> None:
    from langchain_core.exceptions import ContextOverflowError

    too_long = Status(400, {"error": {"message": "x", "code": "context_length_exceeded"}})
    async with openai_server(too_long) as server, lean(server) as model:
        with pytest.raises(ContextOverflowError):
            await merged(model, 0.02).ainvoke("hi")


async def test_a_server_that_is_not_there_is_unavailable() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        model = LeanChatModel(
            model="any",
            base_url=f"http://127.0.0.1:{taken.getsockname()[1]}/v1",
            retry_base_seconds=0.0,
            api_key=SecretStr(KEY),
        )
        try:
            with pytest.raises(ModelUnavailable, match="Cannot reach") as raised:
                await model.ainvoke("hi")
        finally:
            await model.aclose()
    assert KEY not in str(raised.value)


async def test_a_connection_dropped_before_the_answer_is_tried_again() -> None:
    async with openai_server(Drop(), Drop(), text("ok")) as server, lean(server) as model:
        assert (await model.ainvoke("hi")).content == "ok"
        assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("reply", "error", "says"),
    [
        (
            Stream([delta({"content": "half"})], drops=True, holds_after=1),
            ModelUnavailable,
            "mid-answer",
        ),
        (Stream([delta({"content": "half"})]), ModelUnavailable, "before it was complete"),
        (
            Stream([delta({"content": "half"}), event({"error": {"message": "boom"}})]),
            ModelUnavailable,
            "boom",
        ),
    ],
)
async def test_an_answer_that_breaks_is_not_tried_again_and_keeps_what_was_said(
    reply: Stream, error: type[DataAgentError], says: str
) -> None:
    async with openai_server(reply) as server, lean(server) as model:
        said: list[str] = []

        async def listen() -> None:
            async for chunk in model.astream("hi"):
                said.append(str(chunk.content))
                server.release.set()

        with pytest.raises(error, match=says):
            await listen()
        assert said == ["half"]
        assert len(server.requests) == 1
        await server.until_idle()


@pytest.mark.parametrize("sent", [0, 2])
async def test_a_silent_server_is_given_up(sent: int) -> None:
    reply = text("a", "b", holds_after=sent)
    async with openai_server(reply) as server, lean(server, timeout_seconds=0.05) as model:
        with pytest.raises(ModelUnavailable, match=r"sent nothing for 0\.05 seconds"):
            await model.ainvoke("hi")
        await server.until_idle()
        assert len(server.requests) == 1


async def test_a_server_that_ignores_streaming_is_understood() -> None:
    choice = {"index": 0, "finish_reason": "stop", "message": {"content": "whole"}}
    async with (
        openai_server(Status(200, {"object": "chat.completion", "choices": [choice]})) as server,
        lean(server) as model,
    ):
        assert (await model.ainvoke("hi")).content == "whole"


async def test_a_server_that_never_closes_after_done_does_not_hold_the_answer() -> None:
    pieces = [delta({"content": "a"}), *ending()]
    async with (
        openai_server(Stream(pieces, holds_after=len(pieces))) as server,
        lean(server) as model,
        asyncio.timeout(5),
    ):
        assert (await model.ainvoke("hi")).content == "a"
        await server.until_idle()


# -- cancel -------------------------------------------------------------------------------------


async def _ainvoke(model: LeanChatModel) -> None:
    await model.ainvoke("hi")


async def _astream(model: LeanChatModel) -> None:
    async for _ in model.astream("hi"):
        pass


async def _merged_ainvoke(model: LeanChatModel) -> None:
    await merged(model, 0.02).ainvoke("hi")


@requirement("G6")
@pytest.mark.parametrize("call", [_ainvoke, _astream, _merged_ainvoke])
@pytest.mark.parametrize("sent", [0, 2])
async def test_a_cancelled_call_leaves_no_request_open(
    call: Callable[[LeanChatModel], Any], sent: int
) -> None:
    reply = text("a", "b", "c", holds_after=sent)
    async with openai_server(reply) as server, lean(server) as model:
        task = asyncio.create_task(call(model))
        async with asyncio.timeout(5):
            await server.held.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await server.until_idle()


async def test_a_reader_that_leaves_closes_the_request() -> None:
    async with openai_server(text("a", "b", holds_after=2)) as server, lean(server) as model:
        stream = model._astream([HumanMessage("hi")])
        await anext(stream)
        await stream.aclose()  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType] an async generator
        await server.until_idle()


# -- loops, tools, schemas ----------------------------------------------------------------------


async def test_the_model_can_be_called_synchronously() -> None:
    async with openai_server(text("plain")) as server, lean(server) as model:
        answer = await asyncio.to_thread(model.invoke, "hi")
        assert answer.content == "plain"
        again = await asyncio.to_thread(model.invoke, "hi")
        assert again.content == "plain"


def test_one_model_serves_one_loop_after_another() -> None:
    async def twice(model: LeanChatModel | None) -> LeanChatModel:
        async with openai_server(text("a")) as server:
            model = model or LeanChatModel(model="any", base_url=server.base_url)
            answer = await LeanChatModel.model_copy(model).ainvoke("hi")
            assert answer.content == "a"
            await model.aclose()
            return model

    asyncio.run(_discard(twice(None)))
    uvloop.run(_discard(twice(None)))


async def _discard(work: Any) -> None:
    await work


async def test_a_closed_model_opens_new_connections() -> None:
    async with openai_server(text("a")) as server, lean(server) as model:
        await model.ainvoke("hi")
        await model.aclose()
        assert (await model.ainvoke("hi")).content == "a"
        assert server.connections == 2


async def test_bound_tools_are_sent_and_called() -> None:
    async with (
        openai_server(tool_calls(("look", '{"path": "/x"}'))) as server,
        lean(server) as model,
    ):
        answer = await model.bind_tools([look], tool_choice="any").ainvoke("hi")
        assert [(c["name"], c["args"]) for c in answer.tool_calls] == [("look", {"path": "/x"})]
        body = server.requests[0].body
        assert body["tool_choice"] == "required"
        assert body["tools"][0]["function"]["name"] == "look"


@pytest.mark.parametrize("method", ["json_schema", "json_mode"])
async def test_structured_output_as_json(method: Any) -> None:
    reply = text('{"city": "Oslo"', ', "degrees": 3}')
    async with openai_server(reply) as server, lean(server) as model:
        answer = await model.with_structured_output(Weather, method=method).ainvoke("hi")
        assert answer == Weather(city="Oslo", degrees=3)
        asked = server.requests[0].body["response_format"]
    if method == "json_schema":
        assert asked["json_schema"]["name"] == "Weather"
        assert set(asked["json_schema"]["schema"]["properties"]) == {"city", "degrees"}
    else:
        assert asked == {"type": "json_object"}


@pytest.mark.parametrize("schema", [Weather, {"title": "Weather", **Weather.model_json_schema()}])
async def test_structured_output_as_a_tool_call(schema: Any) -> None:
    reply = tool_calls(("Weather", '{"city": "Oslo", "degrees": 3}'))
    async with openai_server(reply) as server, lean(server) as model:
        structured = model.with_structured_output(schema, method="function_calling")
        answer = await structured.ainvoke("hi")
        assert (answer if isinstance(answer, dict) else answer.model_dump()) == {
            "city": "Oslo",
            "degrees": 3,
        }
        chosen = {"type": "function", "function": {"name": "Weather"}}
        assert server.requests[0].body["tool_choice"] == chosen


async def test_structured_output_may_come_with_the_raw_answer() -> None:
    async with openai_server(text("no JSON at all")) as server, lean(server) as model:
        answer = await model.with_structured_output(Weather, include_raw=True).ainvoke("hi")
    assert isinstance(answer, dict)
    assert answer["raw"].content == "no JSON at all"
    assert answer["parsed"] is None
    assert answer["parsing_error"] is not None


async def test_a_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async with openai_server(text("through the proxy")) as server:
        monkeypatch.setenv("http_proxy", server.base_url.removesuffix("/v1"))
        monkeypatch.setenv("no_proxy", "")
        model = LeanChatModel(model="any", base_url="http://model.invalid/v1")
        try:
            assert (await model.ainvoke("hi")).content == "through the proxy"
        finally:
            await model.aclose()
        assert server.requests[0].headers["Host"] == "model.invalid"


async def test_raw_bytes_after_the_end_do_no_harm() -> None:
    reply = Stream([delta({"content": "a"}) + DONE, b"data: {broken\n\n"])
    async with openai_server(reply) as server, lean(server) as model:
        assert (await model.ainvoke("hi")).content == "a"
