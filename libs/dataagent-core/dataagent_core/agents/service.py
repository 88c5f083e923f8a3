"""Lists, creates, binds and deletes agents for people.

The caller checks the user's rights. An agent with a run under way is not changed: that is read from
the runs, so it holds across processes.
"""

from __future__ import annotations

import builtins
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypedDict

from dataagent_core.agents.registry import AgentRegistry
from dataagent_core.agents.store import AgentRow, AgentStore, Tool, not_found_error
from dataagent_core.agents.types import (
    GENERAL,
    GENERAL_ALIAS,
    SUPERVISOR,
    AgentSpec,
    check_name,
    new_agent_id,
)
from dataagent_core.errors import AgentBusy, BadInput, Conflict
from dataagent_core.identity import Principal
from dataagent_core.identity.tenancy import Tenancy
from dataagent_core.identity.tenants import Tenant

AgentStatus = Literal["IDLE", "WORKING", "THINKING"]
"""No run of it; one is executed; runs of it only wait, for a worker or for a person."""

ActiveRuns = Callable[[], Awaitable[Mapping[str, frozenset[str]]]]
"""The statuses of active runs by the assistant they name, in all processes."""


@dataclass(frozen=True, slots=True)
class AgentView:
    """An agent, its status, and the numbers of its tools."""

    spec: AgentSpec
    status: AgentStatus
    tool_ids: tuple[int, ...]
    ignored_tool_ids: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NewAgent:
    """An agent to create."""

    name: str
    description: str = ""
    system_prompt: str | None = None
    model: str | None = None
    icon: str = ""
    show_in_selector: bool = True
    allow_user_tools: bool = True
    tool_ids: Sequence[int] = ()


class AgentChanges(TypedDict, total=False):
    """Fields to change; those left out stay, None restores the shipped value."""

    name: str
    description: str | None
    system_prompt: str | None
    model: str | None
    icon: str | None
    show_in_selector: bool | None
    allow_user_tools: bool
    tool_ids: Sequence[int] | None


class AgentService:
    """The agents of an installation, for people."""

    def __init__(
        self, registry: AgentRegistry, store: AgentStore, tenancy: Tenancy, active: ActiveRuns
    ) -> None:
        self._registry = registry
        self._store = store
        self._tenancy = tenancy
        self._active = active

    # -- reading --------------------------------------------------------------------------------

    async def list_for(self, caller: Principal) -> builtins.list[AgentView]:
        """The agents the caller may choose, `general` last; administrators see all."""
        specs = await self._registry.list()
        tenant = await self._tenant_of(caller)
        statuses = await self._statuses()
        return [self._view(spec, statuses) for spec in specs if is_enabled(spec, tenant)]

    async def get_for(self, agent_id: str, caller: Principal) -> AgentView:
        """An agent the caller may choose, by id or name.

        Raises:
            AgentNotFound: no such agent, or the caller's tenant has it off.
        """
        spec = await self._registry.get(agent_id)
        if not is_enabled(spec, await self._tenant_of(caller)):
            raise not_found_error(agent_id)
        return self._view(spec, await self._statuses())

    async def list_selectable(self, caller: Principal | None) -> builtins.list[AgentSpec]:
        """The agents of a selector; without a caller, only built-in ones and packages."""
        specs = [spec for spec in await self._registry.list() if spec.show_in_selector]
        if caller is None:
            return [spec for spec in specs if spec.kind != "custom"]
        tenant = await self._tenancy.tenant_of(caller.user_id)
        return [spec for spec in specs if is_enabled(spec, tenant)]

    async def tools(self) -> builtins.list[Tool]:
        """The built-in tools that can be bound, by number."""
        await self._registry.refresh()
        return [*self._registry.now.tools]

    # -- changing -------------------------------------------------------------------------------

    async def create(self, new: NewAgent) -> AgentView:
        """Add an agent with its tools.

        Raises:
            BadInput: the name is not allowed.
            Conflict: another agent has that name.
        """
        await self._registry.refresh()
        bound, ignored = self._split_known(new.tool_ids)
        row = AgentRow(
            agent_id=new_agent_id(),
            name=check_name(new.name),
            kind="custom",
            description=new.description,
            system_prompt=new.system_prompt,
            model=new.model,
            icon=new.icon,
            show_in_selector=new.show_in_selector,
            allow_user_tools=new.allow_user_tools,
            bindings="listed",
            tool_ids=bound,
        )
        await self._store.create(row)
        return await self._reload_view(row.agent_id, ignored)

    async def update(self, agent_id: str, changes: AgentChanges) -> AgentView:
        """Change an agent; `tool_ids` replace all it had.

        Raises:
            AgentNotFound: no such agent.
            AgentBusy: a run of it is active.
            BadInput: the name is not allowed.
            Conflict: the name is another's, or a built-in's or package's, which keeps it.
        """
        spec = await self._registry.get(agent_id)
        await self._check_idle(spec)
        named = changes.get("name", spec.name)
        if named != spec.name:
            _check_rename(spec, named)
        wanted = changes.get("tool_ids")
        bound, ignored = self._split_known(wanted or ())
        shipped = self._registry.shipped(spec)

        def changed(row: AgentRow) -> AgentRow:
            new = replace(_with(row, changes, shipped), name=named)
            return new if "tool_ids" not in changes else self._with_bindings(new, wanted, bound)

        await self._store.change(spec.agent_id, changed, named=agent_id)
        return await self._reload_view(spec.agent_id, ignored)

    async def set_mcp_tools(self, agent_id: str, tool_ids: Iterable[int]) -> AgentView:
        """Replace its tools of shared MCP servers; built-in ones stay.

        Raises:
            AgentNotFound: no such agent.
            AgentBusy: a run of it is active.
        """
        spec = await self._registry.get(agent_id)
        await self._check_idle(spec)
        wanted = tuple(tool_ids)
        bindable = self._registry.now.mcp_ids
        mcp = frozenset(wanted) & bindable

        def changed(row: AgentRow) -> AgentRow:
            return replace(row, tool_ids=(row.tool_ids - spec.mcp_tools) | mcp)

        await self._store.change(spec.agent_id, changed, named=agent_id)
        ignored = tuple(dict.fromkeys(each for each in wanted if each not in bindable))
        return await self._reload_view(spec.agent_id, ignored)

    async def delete(self, agent_id: str) -> None:
        """Remove an agent that was created.

        Raises:
            AgentNotFound: no such agent.
            AgentBusy: a run of it is active.
            Conflict: it is built in or a package's.
        """
        spec = await self._registry.get(agent_id)
        if spec.kind != "custom":
            raise Conflict(_STAYS[spec.kind].format(name=spec.name))
        await self._check_idle(spec)
        await self._store.delete(spec.agent_id, named=agent_id)
        await self._registry.changed()

    async def _reload_view(self, agent_id: str, ignored: tuple[int, ...]) -> AgentView:
        await self._registry.changed()
        spec = self._registry.find(agent_id)
        if spec is None:  # it has just been deleted
            raise not_found_error(agent_id)
        return replace(self._view(spec, await self._statuses()), ignored_tool_ids=ignored)

    def _split_known(self, tool_ids: Sequence[int]) -> tuple[frozenset[int], tuple[int, ...]]:
        """The numbers of tools, each once, and the unknown numbers, in order."""
        known = {*self._registry.now.tool_ids.values(), *self._registry.now.mcp_ids}
        unknown = dict.fromkeys(each for each in tool_ids if each not in known)
        return frozenset(tool_ids) & known, tuple(unknown)

    def _with_bindings(
        self, row: AgentRow, wanted: Sequence[int] | None, bound: frozenset[int]
    ) -> AgentRow:
        if wanted is None and row.kind != "custom":
            return replace(row, bindings="shipped", tool_ids=frozenset())
        every = frozenset(self._registry.now.tool_ids.values())
        if row.name == GENERAL and bound >= every:  # then those to come, too
            return replace(row, bindings="all", tool_ids=bound - every)
        return replace(row, bindings="listed", tool_ids=bound)

    # -- status ---------------------------------------------------------------------------------

    async def _statuses(self) -> dict[str, AgentStatus]:
        """The status of each agent with active runs, by id."""
        found: dict[str, AgentStatus] = {}
        for assistant_id, statuses in (await self._active()).items():
            if assistant_id == SUPERVISOR:
                continue
            spec = self._registry.find(assistant_id) or self._registry.find(GENERAL)
            if spec is None or found.get(spec.agent_id) == "WORKING":
                continue
            found[spec.agent_id] = "WORKING" if "running" in statuses else "THINKING"
        return found

    async def _check_idle(self, spec: AgentSpec) -> None:
        status = (await self._statuses()).get(spec.agent_id, "IDLE")
        if status != "IDLE":
            raise AgentBusy(
                f"Agent {spec.name!r} has an active run. Wait for its end or cancel it, then try "
                "again.",
                details={"status": status},
            )

    def _view(self, spec: AgentSpec, statuses: Mapping[str, AgentStatus]) -> AgentView:
        numbers = self._registry.now.tool_ids
        names = numbers.keys() if spec.tools is None else spec.tools
        bound = {numbers[name] for name in names if name in numbers} | spec.mcp_tools
        return AgentView(spec, statuses.get(spec.agent_id, "IDLE"), tuple(sorted(bound)))

    async def _tenant_of(self, caller: Principal) -> Tenant | None:
        """The tenant whose switches apply; none for administrators, who manage all agents."""
        return None if caller.is_admin else await self._tenancy.tenant_of(caller.user_id)


def is_enabled(spec: AgentSpec, tenant: Tenant | None) -> bool:
    """Whether a tenant has an agent on, by each of its names."""
    return tenant is None or all(tenant.has(f"agent:{name}") for name in names_of(spec))


def names_of(spec: AgentSpec) -> tuple[str, ...]:
    """All names an agent is known by."""
    also = (GENERAL_ALIAS,) if spec.name == GENERAL else ()
    return tuple(dict.fromkeys((spec.name, spec.agent_id, *also)))


def _check_rename(spec: AgentSpec, name: str) -> None:
    if spec.kind != "custom":
        raise Conflict(f"Agent {spec.name!r} is {_KINDS[spec.kind]} and keeps its name.")
    check_name(name)


def _with(row: AgentRow, changes: AgentChanges, shipped: AgentSpec | None) -> AgentRow:
    """The row with other values; one that equals the shipped value is stored as None.

    Raises:
        BadInput: a created agent would be without a description or a place in the selector.
    """
    row = replace(row, allow_user_tools=changes.get("allow_user_tools", row.allow_user_tools))
    values = {name: value for name, value in changes.items() if name in _VALUES}
    if shipped is not None:
        values = {n: None if v == getattr(shipped, n) else v for n, v in values.items()}
    else:
        empty = [name for name in _NEVER_NONE if name in values and values[name] is None]
        if empty:
            raise BadInput(f"A created agent has its own {', '.join(empty)}: null is not one.")
    return replace(row, **values)


_VALUES = ("description", "system_prompt", "model", "icon", "show_in_selector")
_NEVER_NONE = ("description", "icon", "show_in_selector")
_KINDS = {"builtin": "built in", "package": "a package's"}
_STAYS = {
    "builtin": "Agent {name!r} is built in and cannot be deleted. Hide it with "
    "show_in_selector=false, or switch it off for a tenant with agent:{name}.",
    "package": "Agent {name!r} comes from a package and cannot be deleted here. Remove its folder "
    "and restart.",
}
