"""What halves the cost of a turn, applied once when a process starts.

LangSmith's `traceable` hops to a thread twice around every middleware hook even when tracing is
off; those hops also wait behind slow synchronous tools. The garbage collector walks all of
LangChain again and again. Neither is ours to fix upstream.

What deepagents does for each agent it builds, and most conversations never use.

It compiles every sub-agent with the agent it belongs to, which for `general` is most of the time
its graph takes: here they are put together when the first task comes. And it reads what is known of
every installed package, to name in traces whether it was installed from its own sources: we name
its version alone. There is no switch for either, so the functions are replaced for the time of the
build, as in `tuning.py`; a test notices if that stops working.
"""

from __future__ import annotations

import asyncio
import atexit
import contextvars
import ctypes
import dataclasses
import functools
import gc
import importlib
import sys
from collections import OrderedDict
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from time import thread_time
from typing import Any, TypeVar

from deepagents import __version__
from langchain_core.runnables import Runnable, RunnableConfig

from dataagent_core.models.messages import Thread

T = TypeVar("T")
_DEFAULT_THREADS = 64
_TRIM_SECONDS = 60.0
_COLLECTING_SHARE = 0.001
"""Of the time, that looking for garbage everywhere may take: the loop stands still meanwhile."""
_MAX_PROMPTS = 512
_MAX_DECISIONS = 256
_PROMPT_MODULES = ("_utils", "filesystem", "memory", "skills", "subagents", "summarization")
_SWITCH_SECONDS = 0.001
"""How soon a waiting thread gets its turn. A commit gives the interpreter up and takes it back
about ten times; at Python's 5 ms each, a busy loop would hold it up for a twentieth of a second."""


def tune_process() -> None:
    """Apply the switches that belong to the process. Call it after the imports, once.

    A program that switched the collector off while it loaded has nothing to collect yet.
    """
    import langsmith

    langsmith.set_runtime_overrides(aio_to_thread=_inline)
    langsmith.configure(enabled=False)  # what follows a run says so (`telemetry/langsmith.py`)
    skip_thread_scans()
    cache_signatures()
    speed_up_request_overrides()
    cache_prompts()
    cache_decision_schemas()
    if gc.isenabled():
        gc.collect()
    gc.freeze()
    atexit.register(gc.unfreeze)  # else native libraries report what is frozen as leaked
    gc.set_threshold(50_000, 20, 100)
    gc.enable()
    sys.setswitchinterval(_SWITCH_SECONDS)


def tune_loop(loop: asyncio.AbstractEventLoop) -> None:
    """Give the loop a wide default executor: libraries share it, and six threads starve.

    About every minute from then on the process gives back the memory that it has no use for.
    """
    loop.set_default_executor(ThreadPoolExecutor(_DEFAULT_THREADS, thread_name_prefix="default"))
    loop.call_later(_TRIM_SECONDS, _collect_and_trim, loop)


def _collect_and_trim(loop: asyncio.AbstractEventLoop) -> None:
    with suppress(RuntimeError):  # the loop is being closed
        took_seconds = collect_garbage()
        loop.run_in_executor(None, trim_heap)
        loop.call_later(pause_after(took_seconds), _collect_and_trim, loop)


def collect_garbage() -> float:
    """Look for garbage everywhere; how much processor time that took, in seconds.

    The collector, as seldom as it comes by (`tune_process`), looks at what was in use at its last
    visit only after hours: what a run leaves behind in circles would stay until then. Call it in
    the loop's own thread: what is thrown away may belong to the loop.
    """
    started = thread_time()
    gc.collect()
    return thread_time() - started


def pause_after(took_seconds: float) -> float:
    """How long to leave the garbage alone after a look that took so long."""
    return max(_TRIM_SECONDS, took_seconds / _COLLECTING_SHARE)


def trim_heap() -> None:
    """Let the system have the memory that is free.

    The C library keeps what lies between blocks in use: under load a process would grow for hours,
    by some megabytes a minute, with nothing in it. Others than glibc do not offer this.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def skip_thread_scans() -> None:
    """Let the libraries' functions that look at every message ask the `Thread` instead.

    Each is replaced by itself with a look at the thread's own answer first; a list is looked at as
    before. A test notices if one of the names goes.
    """
    models: Any = importlib.import_module("langchain_core.language_models.chat_models")
    agents: Any = importlib.import_module("langchain.agents.factory")
    for module, name in (
        (models, "_format_for_tracing"),
        (models, "_normalize_messages"),
        (agents, "_patch_invalid_tool_calls"),
    ):
        _skip_plain_threads(module, name)


def cache_signatures() -> None:
    """Let LangGraph look only once at how a kind of saver wants its writes, not at every run."""
    loop: Any = importlib.import_module("langgraph.pregel._loop")
    look = loop.put_writes_accepts_task_path
    if hasattr(look, "__wrapped__"):
        return
    known: dict[Any, bool] = {}

    @functools.wraps(look)
    def accepts(put_writes: Any) -> bool:
        function = getattr(put_writes, "__func__", None)
        if function is None:
            return look(put_writes)
        if function not in known:
            known[function] = look(put_writes)
        return known[function]

    loop.put_writes_accepts_task_path = accepts


def speed_up_request_overrides() -> None:
    """Let a middleware's changed copy of a request be a copy.

    LangChain's sets each of its nine fields with a warning that it first switches off, in the
    process's own list of filters, a dozen times for each call of a model.
    """
    kind: Any = importlib.import_module("langchain.agents.middleware.types").ModelRequest
    made_anew = kind.override
    if hasattr(made_anew, "__wrapped__"):
        return
    names = frozenset(field.name for field in dataclasses.fields(kind))
    never_none = ("tools", "state", "model_settings")

    @functools.wraps(made_anew)
    def override(request: Any, **changes: Any) -> Any:
        is_open = any(changes.get(name, request) is None for name in never_none)
        if is_open or not changes.keys() <= names:
            return made_anew(request, **changes)
        copy = object.__new__(kind)
        object.__setattr__(copy, "__dict__", {**vars(request), **changes})
        return copy

    kind.override = override


def cache_prompts() -> None:
    """Let a section be added to a system message once, not at each call of a model.

    Half a dozen middlewares add theirs in turn, and what they add to is mostly what it was the last
    time: the very object, so it is known by that. Nobody changes a system message in place.
    """
    known: OrderedDict[tuple[int, str], tuple[Any, Any]] = OrderedDict()
    for name in _PROMPT_MODULES:
        module: Any = importlib.import_module(f"deepagents.middleware.{name}")
        if not hasattr(module.append_to_system_message, "__wrapped__"):
            module.append_to_system_message = _cached(module.append_to_system_message, known)


def _cached(add: Any, known: OrderedDict[tuple[int, str], tuple[Any, Any]]) -> Any:
    @functools.wraps(add)
    def added(message: Any, text: str) -> Any:
        key = (id(message), text)
        found = known.get(key)
        if found is None:
            found = known[key] = (message, add(message, text))  # kept: its id stays its own
            if len(known) > _MAX_PROMPTS:
                known.popitem(last=False)
        return found[1]

    return added


def cache_decision_schemas() -> None:
    """Let what a person may decide about a tool be written down once, not at each approval.

    LangChain makes classes of it, each time anew, and most of them are never freed: about 35 KB an
    approval, for as long as the process lives.
    """
    module: Any = importlib.import_module("langchain.agents.middleware.human_in_the_loop")
    make = module._decision_schema
    if hasattr(make, "__wrapped__"):
        return
    known: OrderedDict[tuple[Any, ...], tuple[Any, Any]] = OrderedDict()

    @functools.wraps(make)
    def schema(allowed: Any, name: str, tool: Any = None) -> Any:
        key = (*allowed, name, id(tool))
        found = known.get(key)
        if found is None:
            found = known[key] = (tool, make(allowed, name, tool))  # kept: its id stays its own
            if len(known) > _MAX_DECISIONS:
                known.popitem(last=False)
        return found[1]

    module._decision_schema = schema


def _skip_plain_threads(module: Any, name: str) -> None:
    original = getattr(module, name)
    if hasattr(original, "__wrapped__"):
        return

    @functools.wraps(original)
    def plain_as_it_is(messages: Any) -> Any:
        if isinstance(messages, Thread) and messages.is_plain:
            head = messages.head
            if head is None or original([head])[0] is head:
                return messages
        return original(messages)

    setattr(module, name, plain_as_it_is)


@contextmanager
def untraced_hooks() -> Generator[None]:
    """Build graphs whose middleware hooks carry no LangSmith span, unless tracing is on.

    LangChain wraps every hook in `traceable` while it builds a graph; the wrapper prepares a span
    for each call even when nothing is traced, about a twelfth of a text turn. There is no switch
    for it, so the name is replaced for the time of the build; a test notices if that stops working.
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


async def _inline(
    _default: Any,
    context: contextvars.Context,
    function: Callable[..., T],
    /,
    *args: Any,
    **kw: Any,
) -> T:
    """Run the function here instead of in a thread: it only prepares a span that is not sent."""
    return context.run(function, *args, **kw)


Compiled = Runnable[Any, Any]


class LazyAgent(Runnable[Any, Any]):
    """An agent that is compiled when it is first called."""

    def __init__(self, build: Callable[[], Compiled]) -> None:
        self._build = build
        self._agent: Compiled | None = None

    @property
    def agent(self) -> Compiled:
        """The agent itself."""
        if self._agent is None:
            with untraced_hooks():
                self._agent = self._build()
        return self._agent

    def invoke(
        self,
        input: Any,  # noqa: A002 LangChain's name
        config: RunnableConfig | None = None,
        **more: Any,
    ) -> Any:
        """Call the agent."""
        return self.agent.invoke(input, config, **more)

    async def ainvoke(
        self,
        input: Any,  # noqa: A002 LangChain's name
        config: RunnableConfig | None = None,
        **more: Any,
    ) -> Any:
        """Call the agent."""
        return await self.agent.ainvoke(input, config, **more)


@contextmanager
def without_version_lookup() -> Generator[None]:
    """Build graphs that name deepagents by its version, without looking how it was installed."""
    module: Any = importlib.import_module("deepagents.graph")
    looked_up = module._lc_version
    module._lc_version = lambda: __version__
    try:
        yield
    finally:
        module._lc_version = looked_up


@contextmanager
def lazy_subagents() -> Generator[None]:
    """Build graphs whose sub-agents are compiled when they are first called."""
    module: Any = importlib.import_module("deepagents.middleware.subagents")
    compile_now = module.create_sub_agent

    def compile_late(*args: Any, **kwargs: Any) -> Compiled:
        return LazyAgent(lambda: compile_now(*args, **kwargs))

    module.create_sub_agent = compile_late
    try:
        yield
    finally:
        module.create_sub_agent = compile_now
