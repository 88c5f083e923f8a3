"""The lean model against servers that refuse, break, hang and lie."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import TypeAlias

import pytest
from pydantic import SecretStr

from dataagent_core.errors import DataAgentError, ModelRefused, ModelUnavailable
from dataagent_core.models.failures import ContextTooLong
from dataagent_core.models.merge import merge_chunks
from dataagent_core.models.openai_compatible import LeanChatModel
from tests.standins.openai_server import (
    Drop,
    Status,
    Stream,
    delta,
    ending,
    event,
    openai_server,
    text,
)
from tests.waiting import WAIT_SECONDS

Lean: TypeAlias = Callable[..., AbstractAsyncContextManager[LeanChatModel]]
KEY = "sk-very-secret-key-123456"


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503])
async def test_a_passing_failure_is_tried_again(status: int, lean: Lean) -> None:
    busy = Status(status, {"error": {"message": "busy"}}, {"Retry-After": "0"})
    async with openai_server(busy, busy, text("ok")) as server, lean(server) as model:
        assert (await model.ainvoke("hi")).content == "ok"
        assert len(server.requests) == 3


async def test_retries_end(lean: Lean) -> None:
    async with openai_server(Status(503, "overloaded")) as server, lean(server) as model:
        with pytest.raises(ModelUnavailable, match=r"503.*overloaded"):
            await model.ainvoke("hi")
        assert len(server.requests) == 3


@pytest.mark.parametrize(
    "headers", [{"Retry-After": "3600"}, {"Retry-After": "Fri, 31 Dec 2199 23:59:59 GMT"}]
)
async def test_a_server_that_wants_a_long_pause_is_not_waited_for(
    headers: dict[str, str], lean: Lean
) -> None:
    async with openai_server(Status(429, {}, headers)) as server, lean(server) as model:
        with pytest.raises(ModelUnavailable, match="limiting"):
            await model.ainvoke("hi")
        assert len(server.requests) == 1


@pytest.mark.parametrize(
    "headers", [{"retry-after-ms": "1"}, {"Retry-After": "Mon, 01 Jan 2001 00:00:00 GMT"}]
)
async def test_the_pause_a_server_asks_for_is_understood(
    headers: dict[str, str], lean: Lean
) -> None:
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
    reply: Status, error: type[DataAgentError], says: str, lean: Lean
) -> None:
    async with openai_server(reply) as server, lean(server) as model:
        with pytest.raises(error, match=says) as raised:
            await model.ainvoke("hi")
        assert type(raised.value) is error
        assert KEY not in str(raised.value)
        assert len(server.requests) == 1


async def test_a_context_that_is_too_long_is_what_deepagents_waits_for(lean: Lean) -> None:
    from langchain_core.exceptions import ContextOverflowError

    too_long = Status(400, {"error": {"message": "x", "code": "context_length_exceeded"}})
    async with openai_server(too_long) as server, lean(server) as model:
        with pytest.raises(ContextOverflowError):
            await merge_chunks(model, 0.02).ainvoke("hi")


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


async def test_a_connection_dropped_before_the_answer_is_tried_again(lean: Lean) -> None:
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
    reply: Stream, error: type[DataAgentError], says: str, lean: Lean
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
async def test_a_silent_server_is_given_up(sent: int, lean: Lean) -> None:
    reply = text("a", "b", holds_after=sent)
    async with openai_server(reply) as server, lean(server, timeout_seconds=0.05) as model:
        with pytest.raises(ModelUnavailable, match=r"sent nothing for 0\.05 seconds"):
            await model.ainvoke("hi")
        await server.until_idle()
        assert len(server.requests) == 1


async def test_a_server_that_ignores_streaming_is_understood(lean: Lean) -> None:
    choice = {"index": 0, "finish_reason": "stop", "message": {"content": "whole"}}
    async with (
        openai_server(Status(200, {"object": "chat.completion", "choices": [choice]})) as server,
        lean(server) as model,
    ):
        assert (await model.ainvoke("hi")).content == "whole"


async def test_a_server_that_never_closes_after_done_does_not_hold_the_answer(lean: Lean) -> None:
    pieces = [delta({"content": "a"}), *ending()]
    async with (
        openai_server(Stream(pieces, holds_after=len(pieces))) as server,
        lean(server) as model,
        asyncio.timeout(WAIT_SECONDS),
    ):
        assert (await model.ainvoke("hi")).content == "a"
        await server.until_idle()
