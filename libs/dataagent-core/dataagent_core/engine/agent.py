"""A compiled graph with defaults for runs that come without a context.

One graph serves all users, and each run says for whom it is (`RunContext`). A server passes one
with every run. A script says it once, in the `AgentConfig`, and that holds for every run without a
context, through the executor or by the graph's own methods.
"""

# pyright: reportUnknownMemberType=false

from __future__ import annotations

import copy
import uuid
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, cast

from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import convert_to_messages
from langchain_core.runnables import RunnableConfig
from langgraph.config import get_config

from dataagent_core.agents.types import GENERAL_ALIAS
from dataagent_core.engine.config import AgentConfig
from dataagent_core.engine.graph import Graph, saver_of
from dataagent_core.errors import BadInput
from dataagent_core.identity import RunContext

DEFAULT_USER = "default"
Context = RunContext | Mapping[str, Any] | None
"""For whom a run is: all of it, the fields that differ from the agent's own, or nothing."""


@dataclass(frozen=True, slots=True)
class RunDefaults:
    """What holds for a run of an agent where the run itself says nothing."""

    user_id: str = DEFAULT_USER
    assistant_id: str = GENERAL_ALIAS
    tenant_id: str | None = None
    auto_approve: bool = False
    sandbox_id: str | None = None
    recursion_limit: int = 1000
    timeout_seconds: float | None = None

    @classmethod
    def of(cls, config: AgentConfig) -> RunDefaults:
        """What a configuration says about its runs."""
        return cls(
            user_id=config.user_id or DEFAULT_USER,
            assistant_id=config.assistant_id,
            tenant_id=config.tenant_id,
            auto_approve=config.auto_approve,
            sandbox_id=config.sandbox_id,
            recursion_limit=config.recursion_limit,
            timeout_seconds=config.timeout,
        )

    def context(self, session_id: str, given: Context = None, *, message: str = "") -> RunContext:
        """The context of a run in a session.

        Raises:
            BadInput: a field is given that no context has.
        """
        if isinstance(given, RunContext):
            return given
        made = RunContext(
            user_id=self.user_id,
            session_id=session_id,
            run_id=str(uuid.uuid4()),
            assistant_id=self.assistant_id,
            tenant_id=self.tenant_id,
            auto_approve=self.auto_approve,
            sandbox_id=self.sandbox_id,
            message=message,
        )
        if not given:
            return made
        unknown = sorted(given.keys() - _CONTEXT_FIELDS)
        if unknown:
            raise BadInput(
                f"A run's context has no {', '.join(map(repr, unknown))}. "
                f"It may have: {', '.join(sorted(_CONTEXT_FIELDS))}."
            )
        return replace(made, **{name: each for name, each in given.items() if each is not None})


_CONTEXT_FIELDS = frozenset(each.name for each in fields(RunContext)) - {"session_id"}


class Agent(Graph):
    """A compiled graph with what holds for its runs.

    `middleware` are the middlewares it was built with, in order; `defaults` what a run without a
    context is taken to say. All else is LangGraph's.
    """

    middleware: tuple[AgentMiddleware[Any, Any, Any], ...] = ()
    defaults: RunDefaults = RunDefaults()

    @classmethod
    def of(
        cls,
        graph: Graph,
        middleware: Sequence[AgentMiddleware[Any, Any, Any]],
        defaults: RunDefaults,
    ) -> Agent:
        """The graph with these; its parts are shared, as with LangGraph's own copies."""
        agent: Any = copy.copy(graph)
        agent.__class__ = cls
        agent.middleware = tuple(middleware)
        agent.defaults = defaults
        return agent

    def copy(self, update: dict[str, Any] | None = None) -> Agent:
        """As LangGraph's; a copy has the same defaults."""
        made = super().copy(update)
        made.middleware = self.middleware
        made.defaults = self.defaults
        return made

    def stream(
        self,
        input: Any,  # noqa: A002 LangGraph's name
        config: RunnableConfig | None = None,
        *,
        context: Any = None,
        **options: Any,
    ) -> Iterator[Any]:
        """As LangGraph's; without a context, or with some of its fields, it has the defaults."""
        known = self._context(input, config, context)
        return super().stream(input, config, context=known, **options)

    # one signature for LangGraph's overloads
    def astream(  # pyright: ignore[reportIncompatibleMethodOverride]
        self,
        input: Any,  # noqa: A002 LangGraph's name
        config: RunnableConfig | None = None,
        *,
        context: Any = None,
        **options: Any,
    ) -> AsyncIterator[Any]:
        """As LangGraph's; without a context, or with some of its fields, it has the defaults."""
        known = self._context(input, config, context)
        return super().astream(input, config, context=known, **options)

    def _context(self, given: Any, config: RunnableConfig | None, context: Any) -> Any:
        if context is not None and not isinstance(context, Mapping):
            return context
        # as the caller gave it
        said: Mapping[str, Any] = context or {}  # pyright: ignore[reportUnknownVariableType]
        defaults = self.defaults
        if saver_of(self) is None and not _is_inside_graph():
            defaults = replace(defaults, auto_approve=True)  # there is nobody who could be asked
        configurable: Mapping[str, Any] = (config or {}).get("configurable") or {}
        session_id = str(configurable.get("thread_id") or uuid.uuid4())
        return defaults.context(session_id, said, message=_last_text(given))


def defaults_of(graph: Graph) -> RunDefaults:
    """What holds for the runs of a graph; of one that is not ours, what holds for anybody's."""
    return graph.defaults if isinstance(graph, Agent) else RunDefaults()


def _is_inside_graph() -> bool:
    """Whether we are called from inside another graph, which may keep the thread and ask."""
    try:
        get_config()
    except RuntimeError:
        return False
    return True


def _last_text(given: Any) -> str:
    """The text of the last message in what a graph is given."""
    messages: Any = (
        cast("Mapping[str, Any]", given).get("messages") if isinstance(given, Mapping) else None
    )
    if not messages:
        return ""
    last = cast("list[Any]", messages)[-1] if isinstance(messages, list) else messages
    # any state
    return str(convert_to_messages([last])[0].text)  # pyright: ignore[reportUnknownArgumentType]
