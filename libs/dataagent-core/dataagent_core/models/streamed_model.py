"""The base of our own chat models: a model yields the pieces of its answer, the rest follows.

Most pieces are plain text, and there are many. `merge.py` takes the pieces as they are and joins
their text before it makes the chunks that LangChain expects, which cost more.
"""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from typing import Any, TypeVar

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.chat_models import agenerate_from_stream
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult

from dataagent_core.models.chunks import Piece, answer_chunk

T = TypeVar("T")


def run_sync(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run an async call from code that is not async, on a loop of its own.

    LangChain requires a synchronous `_generate` of each model. If a loop runs already, the call
    gets a thread.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work())
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="model") as thread:
        return thread.submit(asyncio.run, work()).result()


class StreamedChatModel(BaseChatModel):
    """A chat model that is defined by its `pieces`."""

    @abstractmethod
    def pieces(
        self, messages: list[BaseMessage], stop: list[str] | None = None, **kwargs: Any
    ) -> AsyncGenerator[Piece]:
        """The answer in pieces. Chunks carry no id: LangChain gives the message one."""

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        async with aclosing(self.pieces(messages, stop, **kwargs)) as pieces:
            async for piece in pieces:
                yield answer_chunk(piece) if isinstance(piece, str) else piece

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return await agenerate_from_stream(self._astream(messages, stop, run_manager, **kwargs))

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return run_sync(lambda: self._agenerate(messages, stop, **kwargs))
