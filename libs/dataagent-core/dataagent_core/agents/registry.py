"""Lists all agents: built-in ones, packages and those that were created.

A process caches what it read from the database and reads again when the version there has grown:
after its own changes, when another process announces one, and after a check once a second. So
choosing an agent reads nothing.
"""

from __future__ import annotations

import asyncio
import builtins
import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from dataagent_core.agents.builtin import BUILTIN_AGENTS
from dataagent_core.agents.store import (
    AgentRow,
    AgentStore,
    StoredAgents,
    Tool,
    ToolDefinition,
    not_found_error,
)
from dataagent_core.agents.types import (
    GENERAL,
    GENERAL_ALIAS,
    SUPERVISOR,
    AgentSpec,
    is_generated_id,
)
from dataagent_core.storage.background_tasks import ChangePoller

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RegistrySnapshot:
    """All agents and tools at one version."""

    stored: StoredAgents
    specs: tuple[AgentSpec, ...]
    tools: tuple[Tool, ...] = field(repr=False)
    """The built-in ones that this installation has now."""
    mcp_ids: frozenset[int] = frozenset()
    """Numbers of the tools of shared MCP servers, which can be bound too."""

    @property
    def tool_ids(self) -> dict[str, int]:
        """The tools' numbers by name."""
        return {tool.name: tool.tool_id for tool in self.tools}


class AgentRegistry:
    """The agents of an installation. Used from the event loop only."""

    def __init__(
        self,
        store: AgentStore,
        *,
        packages: Iterable[AgentSpec] = (),
        tools: Sequence[ToolDefinition] = (),
        takes_any_name: bool = True,
    ) -> None:
        """`tools` are those of this process. Call `open` before anything else.

        With `takes_any_name`, `general` answers for an assistant of a name that no agent has.
        """
        self._store = store
        self._shipped = {spec.name: spec for spec in (*packages, *BUILTIN_AGENTS)}
        self._tools = tools
        self._takes_any_name = takes_any_name
        self._named: dict[str, AgentSpec] = {}
        self._builtin_ids: frozenset[int] = frozenset()
        self._now = RegistrySnapshot(StoredAgents(), (), ())
        self._reading = asyncio.Lock()
        self._poller = ChangePoller("agents", self.refresh)
        self._tell: Callable[[], None] | None = None

    async def open(self) -> None:
        """Write the rows of this process's agents and tools, read all, and begin to poll.

        Raises:
            StorageUnavailable: the database does not answer.
        """
        await self._store.seed(self._shipped.values(), self._tools)
        await self._read()
        self._poller.start()

    async def aclose(self) -> None:
        """Stop polling."""
        await self._poller.aclose()

    def tell(self, others: Callable[[], None]) -> None:
        """Call `others` after changes made here, to announce them to other processes."""
        self._tell = others

    async def changed(self) -> None:
        """Read again after a change made here, and announce it."""
        await self._read()
        if self._tell is not None:
            self._tell()

    async def refresh(self) -> None:
        """Read again if anything was changed elsewhere.

        Raises:
            StorageUnavailable: the database does not answer.
        """
        if await self._store.version() != self._now.stored.version:
            await self._read()

    def check_for_changes(self) -> None:
        """Poll now: another process announced a change."""
        self._poller.tell()

    async def _read(self) -> None:
        async with self._reading:
            stored = await self._store.load()
            if stored.version < self._now.stored.version:  # an answer that came late
                return
            self._now = self._snapshot(stored)
            self._named = {spec.agent_id: spec for spec in self._now.specs}
            self._named |= {spec.name: spec for spec in self._now.specs}
            self._named[GENERAL_ALIAS] = self._named[GENERAL]

    def _snapshot(self, stored: StoredAgents) -> RegistrySnapshot:
        here = {definition.name for definition in self._tools}
        own = [tool for tool in stored.tools if tool.kind == "builtin"]
        tools = tuple(tool for tool in own if tool.name in here)
        self._builtin_ids = frozenset(tool.tool_id for tool in own)
        specs = [spec for row in stored.rows if (spec := self._spec(row, tools)) is not None]
        specs.sort(key=lambda spec: (spec.name == GENERAL, _ORDER[spec.kind], spec.name))
        mcp_ids = frozenset(tool.tool_id for tool in stored.tools if tool.kind == "mcp")
        return RegistrySnapshot(stored, tuple(specs), tools, mcp_ids)

    def _spec(self, row: AgentRow, tools: Sequence[Tool]) -> AgentSpec | None:
        """The agent of a row; None if its package is missing."""
        if row.kind == "custom":
            if self._shipped.pop(row.name, None) is not None:
                logger.warning("package %r is left out: an agent of that name exists", row.name)
            shipped = AgentSpec(row.agent_id, row.name, "", "custom", tools=frozenset())
        elif row.name in self._shipped:
            shipped = self._shipped[row.name]
        else:
            return None
        given = {name: getattr(row, name) for name in _GIVEN if getattr(row, name) is not None}
        return replace(
            shipped,
            **given,
            tools=_bound(row, shipped, tools),
            mcp_tools=row.tool_ids - self._builtin_ids,
            allow_user_tools=row.allow_user_tools,
        )

    # -- reading --------------------------------------------------------------------------------

    async def get(self, assistant_id: str) -> AgentSpec:
        """The agent of that id or name, as it is now; `agent` is `general`.

        Raises:
            AgentNotFound: no such agent.
            StorageUnavailable: the database does not answer.
        """
        await self.refresh()
        found = self.find(assistant_id)
        if found is None:
            raise not_found_error(assistant_id)
        return found

    async def list(self) -> builtins.list[AgentSpec]:
        """All agents as they are now, `general` last."""
        await self.refresh()
        return self.known()

    def find(self, assistant_id: str) -> AgentSpec | None:
        """As `get` without asking the database; None if there is no such agent."""
        return self._named.get(assistant_id)

    def known(self) -> builtins.list[AgentSpec]:
        """As `list` without asking the database."""
        return [*self._now.specs]

    def resolve(self, assistant_id: str) -> AgentSpec:
        """The agent that answers for an assistant: the one of that id or name.

        Where any name is taken, one that no agent has is a place for memories of its own, which
        `general` serves.

        Raises:
            AgentNotFound: no such agent, or it is the id of a deleted one.
        """
        found = self.find(assistant_id)
        if found is None and (not self._takes_any_name or is_generated_id(assistant_id)):
            raise not_found_error(assistant_id)
        return found or self._named[GENERAL]

    def assistant_id_of(self, assistant_id: str) -> str:
        """The id that sessions and runs store: a created agent's own, so that it may be renamed.

        Raises:
            AgentNotFound: as `resolve`.
        """
        if assistant_id == SUPERVISOR:
            return assistant_id
        spec = self.resolve(assistant_id)
        return spec.agent_id if spec.kind == "custom" else assistant_id

    def shipped(self, spec: AgentSpec) -> AgentSpec | None:
        """A built-in or package agent as it was shipped; None for one that was created."""
        return None if spec.kind == "custom" else self._shipped.get(spec.name)

    def version(self) -> int:
        """Grows when anything changed."""
        return self._now.stored.version

    @property
    def now(self) -> RegistrySnapshot:
        """The current snapshot."""
        return self._now


_ORDER = {"builtin": 0, "package": 1, "custom": 2}
_GIVEN = ("description", "system_prompt", "model", "icon", "show_in_selector")


def _bound(row: AgentRow, shipped: AgentSpec, tools: Sequence[Tool]) -> frozenset[str] | None:
    """The names of the bound tools that exist; None for all."""
    if row.bindings == "listed":
        return frozenset(tool.name for tool in tools if tool.tool_id in row.tool_ids)
    if row.bindings == "all" or shipped.tools is None:
        return None
    return shipped.tools & frozenset(tool.name for tool in tools)
