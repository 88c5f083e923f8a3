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
"""A run's context: complete, the fields that differ from the agent's own, or none."""


@dataclass(frozen=True, slots=True)
class RunDefaults:
    """Fields of a run's context that the run itself does not give."""

    user_id: str = DEFAULT_USER
    assistant_id: str = GENERAL_ALIAS
    tenant_id: str | None = None
    auto_approve: bool = False
    sandbox_id: str | None = None
    recursion_limit: int = 1000
    timeout_seconds: float | None = None

    @classmethod
    def of(cls, config: AgentConfig) -> RunDefaults:
        """The defaults in a configuration."""
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
    """A compiled graph with its middleware, in order, and the defaults of its runs."""

    middleware: tuple[AgentMiddleware[Any, Any, Any], ...] = ()
    defaults: RunDefaults = RunDefaults()

    @classmethod
    def of(
        cls,
        graph: Graph,
        middleware: Sequence[AgentMiddleware[Any, Any, Any]],
        defaults: RunDefaults,
    ) -> Agent:
        """A copy of the graph that shares its parts, as LangGraph's own copies do."""
        agent: Any = copy.copy(graph)
        agent.__class__ = cls
        agent.middleware = tuple(middleware)
        agent.defaults = defaults
        return agent

    def copy(self, update: dict[str, Any] | None = None) -> Agent:
        """As LangGraph's, with the same defaults."""
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
        """As LangGraph's; the defaults fill in the fields that the context does not give."""
        full = self._context(input, config, context)
        return super().stream(input, config, context=full, **options)

    # one signature for LangGraph's overloads
    def astream(  # pyright: ignore[reportIncompatibleMethodOverride]
        self,
        input: Any,  # noqa: A002 LangGraph's name
        config: RunnableConfig | None = None,
        *,
        context: Any = None,
        **options: Any,
    ) -> AsyncIterator[Any]:
        """As LangGraph's; the defaults fill in the fields that the context does not give."""
        full = self._context(input, config, context)
        return super().astream(input, config, context=full, **options)

    def _context(self, given: Any, config: RunnableConfig | None, context: Any) -> Any:
        if context is not None and not isinstance(context, Mapping):
            return context
        given_fields = cast("Mapping[str, Any]", context or {})  # as the caller gave it
        defaults = self.defaults
        if saver_of(self) is None and not _is_inside_graph():
            defaults = replace(defaults, auto_approve=True)  # no one could be asked
        configurable: Mapping[str, Any] = (config or {}).get("configurable") or {}
        session_id = str(configurable.get("thread_id") or uuid.uuid4())
        return defaults.context(session_id, given_fields, message=_last_text(given))


def defaults_of(graph: Graph) -> RunDefaults:
    """The defaults of a graph's runs, also of a graph that is not ours."""
    return graph.defaults if isinstance(graph, Agent) else RunDefaults()


def _is_inside_graph() -> bool:
    """Whether another graph is the caller, which may have a saver and ask a person."""
    try:
        get_config()
    except RuntimeError:
        return False
    return True


def _last_text(given: Any) -> str:
    """The text of the last message of a graph's input."""
    messages: Any = (
        cast("Mapping[str, Any]", given).get("messages") if isinstance(given, Mapping) else None
    )
    if not messages:
        return ""
    last = cast("list[Any]", messages)[-1] if isinstance(messages, list) else messages
    # any state
    return str(convert_to_messages([last])[0].text)  # pyright: ignore[reportUnknownArgumentType]
