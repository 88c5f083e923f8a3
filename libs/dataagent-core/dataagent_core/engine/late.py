"""Agents that others reach with `task`, put together when the first task comes.

Deepagents compiles every sub-agent with the agent it belongs to, which for `general` is most of the
time its graph takes; most conversations use none of them. There is no switch for it, so the
function that compiles is replaced for the time of the build, as in `tuning.py`; a test notices if
that stops working.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from langchain_core.runnables import Runnable, RunnableConfig

from dataagent_core.engine.tuning import untraced_hooks

Compiled = Runnable[Any, Any]


class LateAgent(Runnable[Any, Any]):
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

    def invoke(self, input: Any, config: RunnableConfig | None = None, **more: Any) -> Any:  # noqa: A002 LangChain's name
        """Call the agent."""
        return self.agent.invoke(input, config, **more)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **more: Any) -> Any:  # noqa: A002 LangChain's name
        """Call the agent."""
        return await self.agent.ainvoke(input, config, **more)


@contextmanager
def late_subagents() -> Generator[None]:
    """Build graphs whose sub-agents are compiled when they are first called."""
    module: Any = importlib.import_module("deepagents.middleware.subagents")
    compile_now = module.create_sub_agent

    def compile_late(*args: Any, **kwargs: Any) -> Compiled:
        return LateAgent(lambda: compile_now(*args, **kwargs))

    module.create_sub_agent = compile_late
    try:
        yield
    finally:
        module.create_sub_agent = compile_now
