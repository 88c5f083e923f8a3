"""What a long conversation costs per model call, made nearly constant.

Two of deepagents' middlewares look at every message of the thread before every model call: one
counts tokens, one looks for content the model cannot take. Both are right and slow (a model is
built per message, tool schemas are printed each time). These count and look the same, quicker.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Any

from deepagents.backends.protocol import BackendProtocol
from deepagents.middleware import UnsupportedContentMiddleware
from deepagents.middleware.summarization import create_summarization_middleware
from langchain.agents.middleware import AgentMiddleware
from langchain.agents.middleware.types import ModelRequest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    MessageLikeRepresentation,
    SystemMessage,
)
from langchain_core.messages.utils import count_tokens_approximately
from langchain_core.tools import BaseTool

_CHARS_PER_TOKEN = 4
_PER_MESSAGE = 3
_AI_ROLE = len("assistant")
_ROLE_LENGTH: dict[type[BaseMessage], int] = {
    HumanMessage: len("user"),
    AIMessage: _AI_ROLE,
    SystemMessage: len("system"),
}
_KEPT_TOOL_SETS = 128


class PlainContent(UnsupportedContentMiddleware[Any, Any]):
    """Replaces content a model cannot take; plain text needs no look."""

    @property
    def name(self) -> str:
        """The middleware it stands in for."""
        return "UnsupportedContentMiddleware"

    def _filter_request(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        if all(type(message.content) is str for message in request.messages):  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType] text or blocks
            return request
        return super()._filter_request(request)

    def _filter_message(self, message: AnyMessage, *, model: BaseChatModel) -> AnyMessage:
        content: Any = message.content  # pyright: ignore[reportUnknownMemberType] text or blocks
        return (
            message if isinstance(content, str) else super()._filter_message(message, model=model)
        )


class TokenCounter:
    """`count_tokens_approximately`, with the tools counted once and text counted by its length."""

    def __init__(self) -> None:
        self._tools: OrderedDict[tuple[int, ...], tuple[Sequence[Any], int]] = OrderedDict()

    def __call__(
        self,
        messages: Iterable[MessageLikeRepresentation],
        *,
        tools: list[BaseTool | dict[str, Any]] | None = None,
    ) -> int:
        """About how many tokens the messages and tools take."""
        return self._count_tools(tools or ()) + sum(map(_count, messages))

    def _count_tools(self, tools: Sequence[BaseTool | dict[str, Any]]) -> int:
        key = tuple(map(id, tools))
        kept = self._tools.get(key)
        if kept is None:
            kept = (list(tools), count_tokens_approximately([], tools=list(tools)))
            self._tools[key] = kept  # the tools are kept too: their ids stay theirs
            if len(self._tools) > _KEPT_TOOL_SETS:
                self._tools.popitem(last=False)
        return kept[1]


def _count(message: Any) -> int:
    """One message: by length for plain text, else as LangChain counts."""
    kind: type[Any] = type(message)  # pyright: ignore[reportUnknownVariableType] anything a prompt may hold
    role = _ROLE_LENGTH.get(kind)
    if role is None or type(message.content) is not str:
        return count_tokens_approximately([message])
    if role == _AI_ROLE and message.tool_calls:
        return count_tokens_approximately([message])
    characters = len(message.content) + role + len(message.name or "")
    return -(-characters // _CHARS_PER_TOKEN) + _PER_MESSAGE


def summarization(
    model: BaseChatModel, backend: BackendProtocol, counter: TokenCounter
) -> AgentMiddleware[Any, Any, Any]:
    """Deepagents' summarization with our counter."""
    return create_summarization_middleware(model, backend, token_counter=counter)  # pyright: ignore[reportArgumentType] its protocol leaves out `tools`, its code passes them
