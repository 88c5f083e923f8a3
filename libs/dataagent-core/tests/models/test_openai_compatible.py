"""The lean model against a real server on loopback."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeAlias

import pytest
import uvloop
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from pydantic import BaseModel

from dataagent_core.models.merge import merge_chunks
from dataagent_core.models.openai_compatible import LeanChatModel
from tests.requirements import requirement
from tests.standins.openai_server import (
    DONE,
    Stream,
    delta,
    openai_server,
    text,
    tool_calls,
)
from tests.waiting import WAIT_SECONDS

Lean: TypeAlias = Callable[..., AbstractAsyncContextManager[LeanChatModel]]
KEY = "sk-very-secret-key-123456"


class Weather(BaseModel):
    """What the weather is."""

    city: str
    degrees: int


@tool
def look(path: str) -> str:
    """Look at a path."""
    return path


@requirement("R6.2")
async def test_an_answer_is_streamed_and_added_up(lean: Lean) -> None:
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


async def test_text_arrives_while_the_server_still_speaks(lean: Lean) -> None:
    reply = text("first", "second", holds_after=2)
    async with openai_server(reply) as server, lean(server) as model:
        stream = model.astream("hi")
        assert (await anext(stream)).content == "first"
        assert server.open_requests == 1
        server.release.set()
        assert "".join([str(chunk.content) async for chunk in stream]) == "second"


async def test_connections_are_kept_for_the_next_call(lean: Lean) -> None:
    async with openai_server(text("a")) as server, lean(server) as model:
        for _ in range(5):
            await model.ainvoke("hi")
        assert len(server.requests) == 5
        assert server.connections == 1


@pytest.mark.slow
async def test_many_calls_run_at_once(lean: Lean) -> None:
    reply = text("a", holds_after=1)
    async with openai_server(reply) as server, lean(server) as model:
        calls = [asyncio.create_task(model.ainvoke("hi")) for _ in range(150)]
        async with asyncio.timeout(WAIT_SECONDS):
            while server.open_requests < 150:
                await asyncio.sleep(0.001)
        server.release.set()
        assert [answer.content for answer in await asyncio.gather(*calls)] == ["a"] * 150


# -- cancel -------------------------------------------------------------------------------------


async def _ainvoke(model: LeanChatModel) -> None:
    await model.ainvoke("hi")


async def _astream(model: LeanChatModel) -> None:
    async for _ in model.astream("hi"):
        pass


async def _merged_ainvoke(model: LeanChatModel) -> None:
    await merge_chunks(model, 0.02).ainvoke("hi")


@requirement("G6")
@pytest.mark.parametrize("call", [_ainvoke, _astream, _merged_ainvoke])
@pytest.mark.parametrize("sent", [0, 2])
async def test_a_cancelled_call_leaves_no_request_open(
    call: Callable[[LeanChatModel], Any], sent: int, lean: Lean
) -> None:
    reply = text("a", "b", "c", holds_after=sent)
    async with openai_server(reply) as server, lean(server) as model:
        task = asyncio.create_task(call(model))
        async with asyncio.timeout(WAIT_SECONDS):
            await server.held.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await server.until_idle()


async def test_a_reader_that_leaves_closes_the_request(lean: Lean) -> None:
    async with openai_server(text("a", "b", holds_after=2)) as server, lean(server) as model:
        stream: Any = model._astream([HumanMessage("hi")])  # an async generator
        await anext(stream)
        await stream.aclose()
        await server.until_idle()


# -- loops, tools, schemas ----------------------------------------------------------------------


async def test_the_model_can_be_called_synchronously(lean: Lean) -> None:
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


async def test_a_closed_model_opens_new_connections(lean: Lean) -> None:
    async with openai_server(text("a")) as server, lean(server) as model:
        await model.ainvoke("hi")
        await model.aclose()
        assert (await model.ainvoke("hi")).content == "a"
        assert server.connections == 2


async def test_bound_tools_are_sent_and_called(lean: Lean) -> None:
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
async def test_structured_output_as_json(method: Any, lean: Lean) -> None:
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
async def test_structured_output_as_a_tool_call(schema: Any, lean: Lean) -> None:
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


async def test_structured_output_may_come_with_the_raw_answer(lean: Lean) -> None:
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


async def test_raw_bytes_after_the_end_do_no_harm(lean: Lean) -> None:
    reply = Stream([delta({"content": "a"}) + DONE, b"data: {broken\n\n"])
    async with openai_server(reply) as server, lean(server) as model:
        assert (await model.ainvoke("hi")).content == "a"
