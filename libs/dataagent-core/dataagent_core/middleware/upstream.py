"""Replaces internals of LangChain, LangGraph and deepagents.

`REPLACEMENTS` lists each, with the version it was written against and the processor time of a turn
without it, as a multiple: one that loses less than a tenth is removed. The few private names that
other modules rely on are in the list too. `tests/engine/test_upstream.py` fails when one no longer
applies. Most replacements ask a `Thread`, which knows the facts about its messages, instead of
looking at every message of a conversation.
"""

from __future__ import annotations

import functools
import importlib
from collections import OrderedDict
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, TypeVar, cast

from deepagents._messages_reducer import (  # pyright: ignore[reportMissingTypeStubs]
    _messages_delta_reducer,  # pyright: ignore[reportPrivateUsage]
)
from deepagents.backends.protocol import BackendProtocol
from deepagents.middleware import UnsupportedContentMiddleware
from deepagents.middleware.filesystem import FilesystemMiddleware
from deepagents.middleware.patch_tool_calls import PatchToolCallsMiddleware
from deepagents.middleware.summarization import (
    DEEPAGENTS_DEFAULT_SUMMARY_PROMPT,
    SummarizationEvent,
    SummarizationMiddleware,
    create_summarization_middleware,
)
from langchain.agents.middleware import AgentMiddleware, TodoListMiddleware
from langchain.agents.middleware.types import (
    ExtendedModelResponse,
    ModelRequest,
    ModelResponse,
)
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    MessageLikeRepresentation,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.messages.utils import count_tokens_approximately
from langchain_core.tools import BaseTool
from langgraph.checkpoint.serde.types import _DeltaSnapshot  # pyright: ignore[reportPrivateUsage]
from langgraph.graph.state import (  # pyright: ignore[reportMissingTypeStubs]
    CompiledStateGraph,
)

from dataagent_core.errors import ModelRefused
from dataagent_core.middleware.calls import ModelHandler, append_to_prompt
from dataagent_core.models.messages import Thread, count_tokens

T = TypeVar("T")
G = TypeVar("G", bound=CompiledStateGraph[Any, Any, Any, Any])


@dataclass(frozen=True, slots=True)
class Replacement:
    """A name of a library that is replaced or relied on although it is private."""

    name: str
    package: str
    version: str
    reason: str
    cost_without: str
    """Processor time of a turn without it, as a multiple."""
    where: str = "middleware/upstream.py"


_CORE, _AGENTS, _DEEP = (
    ("langchain-core", "1.7.2"),
    ("langchain", "1.4.7"),
    ("deepagents", "0.7.32"),
)
_NEEDED: Final = "the feature needs it"
_GRAPH: Final = ("langgraph-checkpoint", "4.3.1")
REPLACEMENTS: Final = (
    Replacement(
        "langchain_core.language_models.chat_models._normalize_messages",
        *_CORE,
        "looks at the content of every message at every model call",
        "1.40 in a session of 200 turns",
    ),
    Replacement(
        "langchain.agents.factory._patch_invalid_tool_calls",
        *_AGENTS,
        "looks at the calls of every message at every model call",
        "1.29 in a session of 200 turns",
    ),
    Replacement(
        "langchain.agents.factory.traceable",
        *_AGENTS,
        "prepares a span around every hook even when nothing is traced",
        "1.37",
    ),
    Replacement(
        "deepagents._messages_reducer._messages_delta_reducer",
        *_DEEP,
        "builds an index of the whole thread several times a turn",
        "2.08 in a session of 200 turns",
    ),
    Replacement(
        "langgraph.checkpoint.serde.types._DeltaSnapshot",
        *_GRAPH,
        "the form in which a saver hands over a cached thread",
        "1.81 in a session of 200 turns",
    ),
    Replacement(
        "deepagents.middleware.UnsupportedContentMiddleware._filter_request",
        *_DEEP,
        "looks at the content of every message at every model call",
        "2.28 in a session of 200 turns",
    ),
    Replacement(
        "deepagents.middleware.filesystem.FilesystemMiddleware._check_eviction_needed",
        *_DEEP,
        "looks for messages that were moved to files at every model call",
        "1.14 in a session of 200 turns",
    ),
    Replacement(
        "deepagents.middleware.summarization.SummarizationMiddleware._count_tokens",
        *_DEEP,
        "counts the tokens of every message at every model call",
        "1.48 in a session of 200 turns",
    ),
    Replacement(
        "deepagents.middleware.summarization.SummarizationMiddleware._apply_event_to_messages",
        *_DEEP,
        "makes a list of the whole thread at every model call",
        "1.51 in a session of 200 turns",
    ),
    Replacement(
        "deepagents.middleware.patch_tool_calls.PatchToolCallsMiddleware.before_agent",
        *_DEEP,
        "takes a step of the graph and looks at every message",
        "1.26 in a session of 200 turns",
    ),
    Replacement(
        "langchain.agents.middleware.TodoListMiddleware.after_model",
        *_AGENTS,
        "takes a step of the graph after every model call",
        "1.32",
    ),
    Replacement(
        "deepagents.middleware._parent_notifier._ParentNotifierMiddleware",
        *_DEEP,
        "takes a step of the graph; our agents have no parents on other servers",
        "1.22",
    ),
    Replacement(
        "langchain_core.language_models.BaseChatModel._convert_input",
        *_CORE,
        "makes a list of the whole thread at every model call",
        "1.43 in a session of 200 turns",
        "models/merge.py",
    ),
    Replacement(
        "langchain_core.language_models.BaseChatModel._agenerate_with_cache",
        *_CORE,
        "passes every chunk of text through callbacks and streams; it knows whose call it is",
        "1.31",
        "models/merge.py",
    ),
    Replacement(
        "deepagents.middleware.summarization.SummarizationMiddleware._acreate_summary",
        *_DEEP,
        "makes a summary at the user's request; there is no public function for it",
        _NEEDED,
    ),
    Replacement(
        "langchain_core.language_models.BaseChatModel._get_ls_params",
        *_CORE,
        "names a model and its provider in traces; nothing public has both",
        _NEEDED,
        "middleware/observers.py",
    ),
    Replacement(
        "deepagents.backends.utils._get_backend_read_file_type",
        *_DEEP,
        "read_file decides by it whether a file is text",
        _NEEDED,
        "workspace/backend.py",
    ),
)


# -- replaced for the process, or while a graph is built ------------------------------------------


def skip_thread_scans() -> None:
    """Let the libraries' functions that look at every message ask the `Thread` instead.

    Each is replaced by itself with a look at the thread's own answer first; a list is looked at as
    before.
    """
    for module, name in (
        ("langchain_core.language_models.chat_models", "_normalize_messages"),
        ("langchain.agents.factory", "_patch_invalid_tool_calls"),
    ):
        _skip_plain_threads(importlib.import_module(module), name)


def _skip_plain_threads(module: Any, name: str) -> None:
    original = getattr(module, name)
    if hasattr(original, "__wrapped__"):
        return

    @functools.wraps(original)
    def scan(messages: Any) -> Any:
        if isinstance(messages, Thread) and messages.is_plain:
            head = messages.head
            if head is None or original([head])[0] is head:
                return messages
        return original(messages)

    setattr(module, name, scan)


@contextmanager
def untraced_hooks() -> Generator[None]:
    """Build graphs whose middleware hooks carry no LangSmith span, unless tracing is on.

    LangChain wraps every hook in `traceable` while it builds a graph. There is no switch for it, so
    the name is replaced for the time of the build.
    """
    # untyped parameter
    from langsmith.utils import tracing_is_enabled  # pyright: ignore[reportUnknownVariableType]

    if tracing_is_enabled():
        yield
        return
    module: Any = importlib.import_module("langchain.agents.factory")
    traceable = module.traceable
    module.traceable = _plain
    try:
        yield
    finally:
        module.traceable = traceable


def _plain(**_options: Any) -> Callable[[T], T]:
    """`traceable` without the tracing."""
    return lambda hook: hook


# -- threads --------------------------------------------------------------------------------------

DeltaSnapshot = _DeltaSnapshot
"""The whole of a thread's messages, as LangGraph stores it in a checkpoint."""


def use_fast_reducer(graph: G) -> G:
    """The graph, with its message channel appending where appending is enough."""
    channel: Any = cast(Any, graph).channels["messages"]
    if channel.reducer is _messages_delta_reducer:
        channel.reducer = reduce_messages
    return graph


def reduce_messages(state: list[Any] | None, writes: Sequence[Any]) -> Thread:
    """The thread after some writes, as the original reducer would make it."""
    thread = state if isinstance(state, Thread) else Thread(state or ())
    new: list[Any] = []
    for write in writes:
        # anything a node writes
        new += write if isinstance(write, list) else [write]
    fresh = {message.id for message in new if _is_appended(message)}
    if len(fresh) < len(new) or any(thread.has(message_id) for message_id in fresh):
        # its own types are narrower than its code
        return Thread(_messages_delta_reducer(list(thread), list(writes)))
    return thread.with_messages(new)


def _is_appended(message: Any) -> bool:
    return (
        isinstance(message, BaseMessage)
        and not isinstance(message, RemoveMessage)
        and message.id is not None
    )


# -- middleware that takes the place of the libraries', by their names ----------------------------

_MAX_TOOL_SETS = 128
_WISH = "<wish>\nThe user asks that this is kept above all: {keep}\n</wish>\n\n<messages>"
Tools = list[BaseTool | dict[str, Any]]


class PlainContent(UnsupportedContentMiddleware[Any, Any]):
    """Replaces content a model cannot take; plain text is not searched.

    It is next to the model, so it also puts the system message before the thread: the model
    then gets the thread, not a list made of it.
    """

    @property
    def name(self) -> str:
        """The name of the middleware that it replaces."""
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
    """The file tools; a thread in which nothing was moved to a file is not searched."""

    @property
    def name(self) -> str:
        """The name of the middleware that it replaces."""
        return "FilesystemMiddleware"

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: ModelHandler,
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
    """Deepagents' summarization, with the thread's own count of tokens; also on request."""

    @property
    def name(self) -> str:
        """The name of the middleware that it replaces."""
        return "SummarizationMiddleware"

    def visible_messages(
        self, messages: Sequence[AnyMessage], event: SummarizationEvent | None
    ) -> list[AnyMessage]:
        """The messages that a model sees: the summary of the older part, then the rest."""
        return self._apply_event_to_messages(list(messages), event)

    async def summarise(
        self, messages: Sequence[AnyMessage], event: SummarizationEvent | None
    ) -> SummarizationEvent | None:
        """Summarise all before the thread's last turn; None if nothing is before it.

        Raises:
            ModelRefused: the model gave no summary.
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
        counted = self._tools.get(key)
        if counted is None:
            counted = (list(tools), count_tokens_approximately([], tools=list(tools)))
            self._tools[key] = counted  # with the tools, so that their ids stay theirs
            if len(self._tools) > _MAX_TOOL_SETS:
                self._tools.popitem(last=False)
        return counted[1]


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
    """The index at which the last turn begins; the end if there is only one, with tool calls."""
    last = max((i for i, each in enumerate(messages) if isinstance(each, HumanMessage)), default=0)
    if last:
        return last
    return len(messages) if len(messages) > 2 else 0


class NoParentNotifier(AgentMiddleware[Any, Any, Any]):
    """Does nothing: our agents are not started by agents of other servers."""

    @property
    def name(self) -> str:
        """The name of the middleware that it replaces."""
        return "_ParentNotifierMiddleware"


class PatchToolCalls(PatchToolCallsMiddleware):
    """Adds results to open or malformed calls in the request to the model.

    `engine/thread.py` repairs threads; this covers what a provider sends malformed.
    """

    # the graph gets no step for it
    before_agent = AgentMiddleware.before_agent  # pyright: ignore[reportAssignmentType]

    @property
    def name(self) -> str:
        """The name of the middleware that it replaces."""
        return "PatchToolCallsMiddleware"

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: ModelHandler,
    ) -> ModelResponse[Any]:
        """Patch the request, not the thread."""
        if _is_whole(request.messages):
            return await handler(request)
        state: Any = {"messages": request.messages}
        runtime: Any = request.runtime
        patch = PatchToolCallsMiddleware.before_agent(self, state, runtime)
        if patch is not None:
            request = request.override(messages=patch["messages"][1:])  # the first removes all
        return await handler(request)


class TodoList(TodoListMiddleware[Any, Any]):
    """The plan tool; the guard refuses parallel calls of it."""

    # the graph gets no step for it
    after_model = AgentMiddleware.after_model  # pyright: ignore[reportAssignmentType]
    # the graph gets no step for it
    aafter_model = AgentMiddleware.aafter_model  # pyright: ignore[reportAssignmentType]

    @property
    def name(self) -> str:
        """The name of the middleware that it replaces."""
        return "TodoListMiddleware"

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: ModelHandler,
    ) -> ModelResponse[Any]:
        """Add the instructions for the plan to the prompt."""
        added = append_to_prompt(request.system_message, self.system_prompt)
        return await handler(request.override(system_message=added))


def _is_whole(messages: Sequence[BaseMessage]) -> bool:
    """Whether every call has its result."""
    if isinstance(messages, Thread):
        return messages.is_plain and not messages.open_calls
    open_calls: set[str | None] = set()
    for message in messages:
        if isinstance(message, AIMessage):
            if message.invalid_tool_calls:
                return False
            open_calls.update(call["id"] for call in message.tool_calls)
        elif isinstance(message, ToolMessage):
            open_calls.discard(message.tool_call_id)
    return not open_calls
