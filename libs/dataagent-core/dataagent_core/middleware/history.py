"""What a long conversation costs per model call, made nearly constant.

Three of deepagents' middlewares look at every message of the thread before every model call: one
counts tokens, one looks for content the model cannot take, one for what it has moved to files. They
are right and slow. These ask the `Thread`, which knows, and leave the rest to the originals, whose
names they take so that deepagents puts them in their places.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any

from deepagents.backends.protocol import BackendProtocol
from deepagents.middleware import UnsupportedContentMiddleware
from deepagents.middleware.filesystem import FilesystemMiddleware
from deepagents.middleware.summarization import (
    DEEPAGENTS_DEFAULT_SUMMARY_PROMPT,
    SummarizationEvent,
    SummarizationMiddleware,
    create_summarization_middleware,
)
from langchain.agents.middleware.types import (
    ExtendedModelResponse,
    ModelRequest,
    ModelResponse,
)
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import (
    AnyMessage,
    HumanMessage,
    MessageLikeRepresentation,
    SystemMessage,
)
from langchain_core.messages.utils import count_tokens_approximately
from langchain_core.tools import BaseTool

from dataagent_core.errors import ModelRefused
from dataagent_core.models.messages import Thread, count_tokens

_KEPT_TOOL_SETS = 128
_WISH = "<wish>\nThe user asks that this is kept above all: {keep}\n</wish>\n\n<messages>"
Tools = list[BaseTool | dict[str, Any]]


class PlainContent(UnsupportedContentMiddleware[Any, Any]):
    """Replaces content a model cannot take; plain text needs no look.

    It stands next to the model, so it also puts the system message before the thread: the model
    then gets the thread, not a list made of it.
    """

    @property
    def name(self) -> str:
        """The middleware it stands in for."""
        return "UnsupportedContentMiddleware"

    def _filter_request(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        thread = request.messages
        if not isinstance(thread, Thread):
            # text or blocks
            is_plain = all(type(message.content) is str for message in thread)
            return request if is_plain else super()._filter_request(request)
        system = request.system_message
        if not thread.is_plain or system is None:
            return super()._filter_request(request)
        return request.override(messages=thread.with_system_message(system), system_message=None)

    def _filter_message(self, message: AnyMessage, *, model: BaseChatModel) -> AnyMessage:
        content: Any = message.content  # pyright: ignore[reportUnknownMemberType] text or blocks
        return (
            message if isinstance(content, str) else super()._filter_message(message, model=model)
        )


class FileToolsMiddleware(FilesystemMiddleware[Any, Any]):
    """The file tools; a thread in which nothing was moved to a file needs no look."""

    @property
    def name(self) -> str:
        """The middleware it stands in for."""
        return "FilesystemMiddleware"

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
        """Add the tools' instructions; move a message to a file only if it may be too long."""
        if self._is_untouched(request.messages):
            return await handler(self._filter_unsupported_tools_and_apply_prompt(request))
        return await super().awrap_model_call(request, handler)

    def _is_untouched(self, messages: Sequence[AnyMessage]) -> bool:
        return (
            isinstance(messages, Thread)
            and messages.is_plain
            and messages.is_unmarked
            and not self._offload_binary_content
            and not any(self._check_eviction_needed(list(messages[-1:])))
        )


class Summarization(SummarizationMiddleware):
    """Deepagents' summarization, which counts a thread by what it knows, and can be asked for."""

    @property
    def name(self) -> str:
        """The middleware it stands in for."""
        return "SummarizationMiddleware"

    def visible_messages(
        self, messages: Sequence[AnyMessage], event: SummarizationEvent | None
    ) -> list[AnyMessage]:
        """What a model sees of a thread: the summary of its older part, then the rest."""
        return self._apply_event_to_messages(list(messages), event)

    async def summarise(
        self, messages: Sequence[AnyMessage], event: SummarizationEvent | None
    ) -> SummarizationEvent | None:
        """The thread's older part in short, all before its last turn; None if that is nothing.

        Raises:
            ModelRefused: the model has nothing to say.
        """
        visible_messages = self.visible_messages(messages, event)
        cutoff = _before_last_turn(visible_messages)
        if not any(not self._is_summary_message(message) for message in visible_messages[:cutoff]):
            return None
        summary = await self._acreate_summary(visible_messages[:cutoff])
        if not summary:
            raise ModelRefused("The model gave no summary; the conversation is as it was.")
        made = HumanMessage(
            f"Here is a summary of the conversation to date:\n\n{summary}",
            additional_kwargs={"lc_source": "summarization"},
        )
        return {
            "cutoff_index": self._compute_state_cutoff(event, cutoff),
            "summary_message": made,
            "file_path": None,
            "created_at_index": len(messages),
        }

    @staticmethod
    def _apply_event_to_messages(messages: list[AnyMessage], event: Any) -> list[AnyMessage]:
        if event is None and isinstance(messages, Thread):
            return messages
        return SummarizationMiddleware._apply_event_to_messages(messages, event)

    def _truncate_args(
        self, messages: list[AnyMessage], total_tokens: int
    ) -> tuple[list[AnyMessage], bool]:
        if isinstance(messages, Thread) and messages.longest_argument <= self._max_arg_length:
            return messages, False
        return super()._truncate_args(messages, total_tokens)

    def _count_tokens(
        self, messages: list[AnyMessage], system_message: SystemMessage | None, tools: Tools | None
    ) -> int:
        if not isinstance(messages, Thread):
            return super()._count_tokens(messages, system_message, tools)
        first = [] if system_message is None else [system_message]
        count: Any = self.token_counter  # its protocol leaves out `tools`, its code passes them
        return messages.tokens + count(first, tools=tools)


class TokenCounter:
    """`count_tokens_approximately`, with the tools counted once and text counted by its length."""

    def __init__(self) -> None:
        self._tools: OrderedDict[tuple[int, ...], tuple[Sequence[Any], int]] = OrderedDict()

    def __call__(
        self, messages: Iterable[MessageLikeRepresentation], *, tools: Tools | None = None
    ) -> int:
        """About how many tokens the messages and tools take."""
        return self._count_tools(tools or ()) + sum(map(count_tokens, messages))

    def _count_tools(self, tools: Sequence[BaseTool | dict[str, Any]]) -> int:
        key = tuple(map(id, tools))
        kept = self._tools.get(key)
        if kept is None:
            kept = (list(tools), count_tokens_approximately([], tools=list(tools)))
            self._tools[key] = kept  # the tools are kept too: their ids stay theirs
            if len(self._tools) > _KEPT_TOOL_SETS:
                self._tools.popitem(last=False)
        return kept[1]


def summarization(
    model: BaseChatModel, backend: BackendProtocol, counter: TokenCounter, *, keep: str = ""
) -> Summarization:
    """Deepagents' summarization with its defaults for the model and our counter.

    `keep` says what a summary should not leave out.
    """
    prompt = DEEPAGENTS_DEFAULT_SUMMARY_PROMPT
    if keep:
        wish = _WISH.format(keep=keep).replace("{", "{{").replace("}", "}}")
        prompt = prompt.replace("<messages>", wish)
    made: Any = create_summarization_middleware(
        model,
        backend,
        # its protocol leaves out `tools`, its code passes them
        token_counter=counter,  # pyright: ignore[reportArgumentType]
        summary_prompt=prompt,
    )
    made.__class__ = Summarization
    return made


def _before_last_turn(messages: Sequence[AnyMessage]) -> int:
    """Where the last turn begins; the end if there is only one, with work in it."""
    last = max((i for i, each in enumerate(messages) if isinstance(each, HumanMessage)), default=0)
    if last:
        return last
    return len(messages) if len(messages) > 2 else 0
