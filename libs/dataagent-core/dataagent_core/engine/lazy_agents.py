"""What deepagents does for each agent it builds, and most conversations never use.

It compiles every sub-agent with the agent it belongs to, which for `general` is most of the time
its graph takes: here they are put together when the first task comes. And it reads what is known of
every installed package, to name in traces whether it was installed from its own sources: we name
its version alone. There is no switch for either, so the functions are replaced for the time of the
build, as in `tuning.py`; a test notices if that stops working.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from deepagents import __version__
from langchain_core.runnables import Runnable, RunnableConfig

from dataagent_core.engine.tuning import untraced_hooks

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
