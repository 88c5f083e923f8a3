"""Registers agents that programs bring along as compiled LangGraphs.

A module registers its agent when it is imported, and is imported because `DATAAGENT_AGENT_MODULES`
names it, or because a package names it among its entry points (`dataagent.agents`). The graph has
its own model, tools and approvals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass, field
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, Final

from langchain_core.tools import BaseTool, tool

from dataagent_core.agents.types import AgentSpec, check_name
from dataagent_core.errors import Misconfigured

ENTRY_POINTS: Final = "dataagent.agents"


@dataclass(frozen=True, slots=True)
class AgentEntry:
    """An agent that was registered."""

    name: str
    """1 to 64 of a-z, 0-9, `-` and `_`; unique."""
    description: str
    """Its abilities, for people and for routing."""
    graph: Any
    """A compiled LangGraph whose state has `messages`."""
    tools: list[Any] = field(default_factory=list[Any])
    """The tools it has: LangChain tools or functions. `general` has them too."""
    icon: str = ""
    show_in_selector: bool = True

    @property
    def spec(self) -> AgentSpec:
        """The agent as data."""
        return AgentSpec(
            agent_id=self.name,
            name=self.name,
            description=self.description,
            kind="package",
            icon=self.icon,
            show_in_selector=self.show_in_selector,
            tools=frozenset(_as_tool(each).name for each in self.tools),
            allow_user_tools=False,
            graph=self.graph,
        )


_ENTRIES: dict[str, AgentEntry] = {}


def _as_tool(made: Any) -> BaseTool:
    if isinstance(made, BaseTool):
        return made
    function: Callable[..., Any] = made
    return tool(function)


def register_agent(
    name: str,
    description: str,
    graph: Any,
    tools: Sequence[Any] = (),
    icon: str = "",
    show_in_selector: bool = True,
) -> AgentEntry:
    """Make a compiled graph an agent of this process; one of the same name is replaced.

    Processes that started before do not learn of it.

    Args:
        name: 1 to 64 of a-z, 0-9, `-` and `_`.
        description: what it can do, for routing and for people.
        graph: a compiled LangGraph whose state has `messages`, of `create_deep_agent` say.
        tools: the tools it has, LangChain tools or functions; `general` has them too.
        icon: what a selector shows.
        show_in_selector: whether a selector offers it.

    Raises:
        BadInput: the name cannot be an agent's.
    """
    entry = AgentEntry(check_name(name), description, graph, [*tools], icon, show_in_selector)
    _ENTRIES[entry.name] = entry
    return entry


def load_registered_agents(modules: Iterable[str] = ()) -> list[AgentSpec]:
    """The agents that were registered, by these modules and by installed packages too.

    Raises:
        Misconfigured: a module cannot be imported; says which and why.
    """
    for module in modules:
        try:
            import_module(module)
        except Exception as error:
            raise Misconfigured(
                f"DATAAGENT_AGENT_MODULES names {module!r}, which cannot be imported: {error}"
            ) from error
    for package in entry_points(group=ENTRY_POINTS):
        try:
            package.load()
        except Exception as error:
            raise Misconfigured(
                f"The agent {package.name!r} ({package.value}) cannot be loaded: {error}"
            ) from error
    return [entry.spec for entry in _ENTRIES.values()]


def get_all_tools(modules: Iterable[str] = (), *, taken: Set[str] = frozenset()) -> list[BaseTool]:
    """The tools of registered agents, which `general` has too; a name that is taken is left out.

    Raises:
        Misconfigured: as `load_registered_agents`.
    """
    load_registered_agents(modules)
    found: dict[str, BaseTool] = {}
    for entry in _ENTRIES.values():
        for each in entry.tools:
            made = _as_tool(each)
            if made.name not in taken:
                found.setdefault(made.name, made)
    return [*found.values()]


def unregister_agent(name: str) -> None:
    """Take a registered agent away again; it is gone from processes that start later."""
    _ENTRIES.pop(name, None)
