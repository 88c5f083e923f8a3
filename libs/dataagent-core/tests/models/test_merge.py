"""Chunks that arrive together become one, and the answer stays the same."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from typing import Any

import pytest
from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.language_models import BaseChatModel, FakeListChatModel
from langchain_core.language_models.fake_chat_models import ParrotFakeChatModel
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from pydantic import PrivateAttr

from dataagent_core.errors import ModelRefused, ModelUnavailable
from dataagent_core.models.chunks import answer_chunk
from dataagent_core.models.failures import ContextTooLong
from dataagent_core.models.merge import TextWindow, merge_chunks, merge_stream, with_answer_stream
from dataagent_core.models.rule_based import Call, Fail, Say, Think
from dataagent_core.models.scripted import ScriptedChatModel
from tests.waiting import WAIT_SECONDS

LONG = 3600.0


class GatedSource:
    """A source of chunks that is held at each `None`, and knows whether it was closed."""

    def __init__(self, plan: Sequence[str | Exception | None]) -> None:
        self.plan = plan
        self.gate = asyncio.Event()
        self.held = asyncio.Event()
        self.is_closed = False

    async def chunks(self) -> AsyncGenerator[ChatGenerationChunk]:
        try:
            for item in self.plan:
                if isinstance(item, Exception):
                    raise item
                if item is None:
                    self.held.set()
                    await self.gate.wait()
                else:
                    yield answer_chunk(item)
        finally:
            self.is_closed = True


def texts(chunks: Sequence[ChatGenerationChunk]) -> list[str]:
    return [chunk.text for chunk in chunks]


async def collect(stream: AsyncIterator[ChatGenerationChunk]) -> list[ChatGenerationChunk]:
    return [chunk async for chunk in stream]


async def test_chunks_that_arrive_together_are_one() -> None:
    source = GatedSource(["a", "b", "c"])
    assert texts(await collect(merge_stream(source.chunks(), TextWindow(LONG)))) == ["abc"]


async def test_the_first_chunk_is_not_held_back() -> None:
    source = GatedSource(["first", None, "second", "third"])
    async with aclosing(merge_stream(source.chunks(), TextWindow(LONG))) as stream:
        assert (await anext(stream)).text == "first"
        await source.held.wait()
        source.gate.set()
        assert (await anext(stream)).text == "secondthird"


async def test_text_waits_for_a_window_and_no_longer_though_the_model_pauses() -> None:
    source = GatedSource(["first", None, "second", None])
    async with aclosing(merge_stream(source.chunks(), TextWindow(0.01))) as stream:
        await anext(stream)
        source.gate.set()
        await asyncio.sleep(0)
        source.gate.clear()
        async with asyncio.timeout(WAIT_SECONDS):
            assert (await anext(stream)).text == "second"


async def test_the_end_flushes_what_is_left() -> None:
    source = GatedSource(["first", None, "rest"])
    async with (
        asyncio.timeout(WAIT_SECONDS),
        aclosing(merge_stream(source.chunks(), TextWindow(LONG))) as stream,
    ):
        await anext(stream)
        source.gate.set()
        assert texts([chunk async for chunk in stream]) == ["rest"]
    assert source.is_closed


async def test_an_error_comes_after_what_was_said_before_it() -> None:
    source = GatedSource(["so ", "far", ModelUnavailable("gone")])
    seen: list[str] = []

    async def read() -> None:
        async for chunk in merge_stream(source.chunks(), TextWindow(LONG)):
            seen.append(chunk.text)

    with pytest.raises(ModelUnavailable, match="gone"):
        await read()
    assert seen == ["so far"]
    assert source.is_closed


async def test_closing_the_stream_closes_the_source() -> None:
    source = GatedSource(["first", None])
    stream = merge_stream(source.chunks(), TextWindow(LONG))
    await anext(stream)
    await stream.aclose()
    assert source.is_closed


@pytest.mark.parametrize("plan", [["first", None], [None, "never"]])
async def test_cancelling_the_reader_closes_the_source(plan: list[str | None]) -> None:
    source = GatedSource(plan)
    reader = asyncio.create_task(collect(merge_stream(source.chunks(), TextWindow(LONG))))
    await source.held.wait()
    reader.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reader
    assert source.is_closed
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_source_that_was_cancelled_does_not_look_complete() -> None:
    async def cancelled() -> AsyncGenerator[ChatGenerationChunk]:
        yield answer_chunk("half")
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await collect(merge_stream(cancelled(), TextWindow(LONG)))


# -- models -------------------------------------------------------------------------------------


class Tokens(AsyncCallbackHandler):
    """Counts what LangChain's callbacks see."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    async def on_llm_new_token(self, token: Any, **_: Any) -> None:
        self.seen.append(token)


async def test_callbacks_see_merged_chunks_and_the_answer_is_whole() -> None:
    script = [[Think("hm hm "), Say([f"w{number} " for number in range(200)]), Call("ls", {})]]
    plain, wrapped = ScriptedChatModel(script), merge_chunks(ScriptedChatModel(script), LONG)
    counted, expected = Tokens(), [c async for c in plain.astream("go")]
    seen = [c async for c in wrapped.astream("go", config={"callbacks": [counted]})]
    assert len(counted.seen) == len(seen) < 10 < len(expected)
    whole, should = seen[0] + seen[1:], expected[0] + expected[1:]
    assert whole.content == should.content
    assert whole.additional_kwargs == should.additional_kwargs
    assert whole.usage_metadata == should.usage_metadata
    assert [c["name"] for c in whole.tool_calls] == ["ls"]


async def test_a_merged_model_is_still_of_its_class() -> None:
    model = ScriptedChatModel(["hi"], model_name="x")
    wrapped = merge_chunks(model, 0.02)
    assert isinstance(wrapped, ScriptedChatModel)
    assert type(wrapped).__name__ == "ScriptedChatModel"
    assert type(wrapped) is type(merge_chunks(ScriptedChatModel(["other"]), 0.5))
    assert wrapped.model_name == "x"
    assert wrapped.profile == model.profile
    assert wrapped._get_ls_params() == model._get_ls_params()
    assert type(model) is ScriptedChatModel
    assert (await wrapped.ainvoke("go")).content == "hi"
    assert (await wrapped.bind(stop=["x"]).ainvoke("go")).content == "hi"
    assert (await wrapped.model_copy(update={"turns": ["ho"]}).ainvoke("go")).content == "ho"
    assert repr(wrapped) == repr(model)


@pytest.mark.slow
async def test_provider_classes_can_be_merged() -> None:
    from langchain_anthropic import ChatAnthropic
    from langchain_openai import ChatOpenAI
    from pydantic import SecretStr

    openai = merge_chunks(ChatOpenAI(model="gpt-4o", api_key=SecretStr("x")), 0.02)
    anthropic = merge_chunks(
        ChatAnthropic(model_name="claude-sonnet-4-5", timeout=1, stop=None, api_key=SecretStr("x")),
        0.02,
    )
    assert isinstance(openai, ChatOpenAI)
    assert isinstance(anthropic, ChatAnthropic)
    assert openai.model_name == "gpt-4o"
    assert anthropic._get_ls_params().get("ls_provider") == "anthropic"


async def test_the_window_may_be_a_function_and_zero_merges_nothing() -> None:
    window = LONG
    model = merge_chunks(ScriptedChatModel([Say(["a", "b", "c"])]), lambda: window)
    assert len([c async for c in model.astream("go") if c.content]) == 1
    window = 0.0
    assert len([c async for c in model.astream("go") if c.content]) == 3


async def test_merging_twice_keeps_the_last_window() -> None:
    once = merge_chunks(ScriptedChatModel([Say(["a", "b", "c"])]), LONG)
    twice = merge_chunks(once, 0.0)
    assert type(twice) is type(once)
    assert len([c async for c in twice.astream("go") if c.content]) == 3


async def test_a_model_that_cannot_stream_is_left_alone() -> None:
    model = ParrotFakeChatModel()
    assert merge_chunks(model, 0.02) is model


async def test_a_model_that_streams_synchronously_is_merged() -> None:
    model = merge_chunks(FakeListChatModel(responses=["hello"]), LONG)
    assert "".join([str(c.content) async for c in model.astream("go")]) == "hello"


async def test_cancelling_a_merged_call_leaves_no_task_behind() -> None:
    model = merge_chunks(ScriptedChatModel(), 0.001)
    first = asyncio.Event()

    async def read() -> None:
        async for _ in model.astream("!slow 100000 1"):
            first.set()

    reader = asyncio.create_task(read())
    await first.wait()
    reader.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reader
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == {asyncio.current_task()}


class BrokenModel(BaseChatModel):
    """Raises a provider's error, streaming or not."""

    error: Any

    async def _astream(
        self, messages: list[BaseMessage], *_: Any, **__: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        yield answer_chunk("so far")
        raise self.error

    async def _agenerate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        raise self.error

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        raise self.error

    @property
    def _llm_type(self) -> str:
        return "broken"


class ProviderError(Exception):
    """As SDKs raise it."""

    def __init__(self, status_code: int, message: str) -> None:
        super().__init__(message)
        self.status_code = status_code


@pytest.mark.parametrize(
    ("error", "ours"),
    [
        (ProviderError(503, "overloaded"), ModelUnavailable),
        (ProviderError(429, "slow down"), ModelUnavailable),
        (ProviderError(429, "insufficient_quota"), ModelRefused),
        (ProviderError(401, "bad key sk-secret123456"), ModelRefused),
        (ProviderError(400, "prompt is too long"), ContextTooLong),
        (ValueError("our bug"), ValueError),
        (ModelRefused("ours already"), ModelRefused),
    ],
)
async def test_errors_of_a_provider_become_ours(error: Exception, ours: type[Exception]) -> None:
    model = merge_chunks(BrokenModel(error=error), LONG)
    with pytest.raises(ours) as streamed:
        _ = [chunk async for chunk in model.astream("go")]
    with pytest.raises(ours) as called:
        await model.ainvoke("go")
    for raised in (streamed, called):
        assert type(raised.value) is ours
        assert "secret" not in str(raised.value)


async def test_a_scripted_failure_passes_through_a_merged_model() -> None:
    model = merge_chunks(ScriptedChatModel([[Say("a"), Fail(ModelUnavailable("gone"))]]), LONG)
    with pytest.raises(ModelUnavailable, match="gone"):
        await model.ainvoke("go")


async def test_the_window_widens_while_many_answers_stream_and_narrows_after() -> None:
    window = TextWindow(0.02, seconds_per_stream=0.001, most_seconds=0.05)
    assert window() == 0.02
    window.streams = 30
    assert window() == 0.03
    window.streams = 500
    assert window() == 0.05
    model = merge_chunks(ScriptedChatModel([Say(["a", "b"])]), window)
    window.streams = 0
    stream = model.astream("hi")
    await anext(stream)
    assert window.streams == 1
    assert [chunk async for chunk in stream] == []
    assert window.streams == 0
    assert TextWindow(0)() == 0.0


class _Counting(ScriptedChatModel):
    _calls: int = PrivateAttr(default=0)


def test_audible_model_is_the_one_it_was_made_of() -> None:
    model = _Counting(turns=["hi"])
    heard = with_answer_stream(model)
    assert isinstance(heard, _Counting)
    model.model_name = "renamed"
    assert heard.model_name == "renamed"
    heard._calls += 1
    assert model._calls == 1
    assert with_answer_stream(heard) is heard
    cannot_stream = ParrotFakeChatModel()
    assert with_answer_stream(cannot_stream) is cannot_stream
