"""The lean model says and sends what langchain-openai's does, for the same stream."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import httpx
import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage
from langchain_core.tools import tool
from pydantic import SecretStr

from dataagent_core.models.openai_compatible import LeanChatModel
from tests.standins.openai_server import (
    Stream,
    delta,
    ending,
    numbered,
    openai_server,
    text,
    tool_calls,
)
from tests.waiting import WAIT_SECONDS

if TYPE_CHECKING:
    from langchain_openai import ChatOpenAI  # takes long; every worker loads this file

Lean: TypeAlias = Callable[..., AbstractAsyncContextManager[LeanChatModel]]
KEY = "sk-very-secret-key-123456"


@tool
def look(path: str) -> str:
    """Look at a path."""
    return path


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
async def test_the_lean_model_says_what_langchain_openai_says(name: str, lean: Lean) -> None:
    from langchain_openai import ChatOpenAI

    async with (
        openai_server(STREAMS[name]) as server,
        lean(server) as ours,
        httpx.AsyncClient(timeout=WAIT_SECONDS) as client,
    ):
        theirs = ChatOpenAI(
            model="any",
            base_url=server.base_url,
            api_key=SecretStr(KEY),
            stream_usage=True,
            http_async_client=client,
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
