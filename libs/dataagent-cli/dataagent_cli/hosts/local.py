"""The core in this process as a `Host`, for one user."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import TYPE_CHECKING

from dataagent_cli.hosts.types import (
    AgentSummary,
    AvailableSkills,
    SkillSummary,
    TokenCost,
    ToolSummary,
)
from dataagent_core.app.context_usage import ContextUse, context_use
from dataagent_core.identity import Principal
from dataagent_core.identity.usage import today
from dataagent_core.models.factory import close_model

if TYPE_CHECKING:
    from dataagent_core.app.assembly import Core
    from dataagent_core.hitl import Decision
    from dataagent_core.runs.history import History
    from dataagent_core.runs.types import Entry, Run, RunOptions, StartedRun
    from dataagent_core.session.types import Session
    from dataagent_core.workspace.undo import Change

_LISTING_SESSION = (
    "terminal-tools"  # whose connections to MCP servers are held while tools are listed
)


class LocalHost:
    """An open core, for one user."""

    def __init__(self, core: Core, user_id: str) -> None:
        self._core = core
        self._user_id = user_id

    @property
    def address(self) -> str | None:
        """None: this process answers."""
        return None

    async def open(self, agent: str, session_id: str | None = None) -> Session:
        """As `Host.open`."""
        return await self._core.sessions.get_or_create_session(self._user_id, agent, session_id)

    async def recent(self, *, limit: int) -> list[Session]:
        """As `Host.recent`."""
        found, _ = await self._core.sessions.list(owner=self._user_id, limit=limit, offset=0)
        return found

    async def history(self, session_id: str, *, limit: int) -> History:
        """As `Host.history`."""
        return await self._core.runs.history(session_id, owner=self._user_id, limit=limit)

    async def check(self, message: str, *, agent: str) -> None:
        """As `Host.check`."""
        await self._core.skills.choose(message, owner=self._user_id, agent=agent)

    async def start(
        self, session_id: str, message: str, *, agent: str, options: RunOptions
    ) -> StartedRun:
        """As `Host.start`."""
        return await self._core.runs.start(
            session_id,
            message,
            owner=self._user_id,
            assistant_id=agent,
            options=replace(options, role="admin"),  # as `dataagent sql` reads
        )

    def read(self, run_id: str, *, after: int) -> AsyncIterator[Entry]:
        """As `Host.read`."""
        return self._core.runs.read(run_id, after=after)

    async def cancel(self, run_id: str) -> None:
        """As `Host.cancel`."""
        await self._core.runs.cancel(run_id, owner=self._user_id)

    async def decide(self, run_id: str, request_id: str, decision: Decision) -> None:
        """As `Host.decide`."""
        await self._core.runs.decide(run_id, request_id, decision, owner=self._user_id)

    async def active(self, session_id: str) -> Run | None:
        """As `Host.active`."""
        return await self._core.runs.active_run(session_id)

    async def rename(self, session_id: str, title: str) -> Session:
        """As `Host.rename`."""
        return await self._core.sessions.rename(session_id, title, owner=self._user_id)

    async def compact(self, session_id: str, keep: str, *, options: RunOptions) -> StartedRun:
        """As `Host.compact`."""
        return await self._core.runs.compact(
            session_id, owner=self._user_id, keep=keep, options=options
        )

    async def skills(self, agent: str) -> AvailableSkills:
        """As `Host.skills`."""
        shelf = await self._core.skills.list(owner=self._user_id, agent=agent)
        return AvailableSkills(
            tuple(SkillSummary(each.name, each.description, each.source) for each in shelf),
            tuple(f"{each.path}: {each.reason}" for each in shelf.problems),
        )

    async def agents(self) -> list[AgentSummary]:
        """As `Host.agents`."""
        person = Principal(self._user_id, "user", "terminal")
        found = await self._core.agents.service.list_selectable(person)
        return [AgentSummary(each.name, each.description, each.model) for each in found]

    async def tools(self, agent: str) -> list[ToolSummary]:
        """As `Host.tools`."""
        core = self._core
        bound = core.agents.registry.resolve(agent).tools
        asking = core.factory.gated_tools
        own = [
            ToolSummary(each.name, each.description, asks=each.name in asking)
            for each in await core.agents.service.tools()
            if each.kind == "builtin" and (bound is None or each.name in bound)
        ]
        return [*own, *await self._mcp_tools(agent)]

    async def _mcp_tools(self, agent: str) -> list[ToolSummary]:
        core = self._core
        found = core.mcp.prepare_run_tools(
            user_id=self._user_id, tenant_id=None, session_id=_LISTING_SESSION
        )
        if found is None:
            return []
        try:
            spec = core.agents.registry.resolve(agent)
            names = {key: each.spec.name for key, each in (await found.all_tools()).items()}
            return [
                ToolSummary(
                    each.exposed_name,
                    each.definition.description,
                    server=names[each.exposed_name],
                    asks=each.asks_first,
                )
                for each in await found.visible(spec.agent_id)
            ]
        finally:
            core.mcp.release(_LISTING_SESSION)

    async def model(self) -> str:
        """As `Host.model`."""
        return self._core.settings.default_model

    async def token_cost(self, usage: dict[str, int]) -> TokenCost:
        """As `Host.token_cost`."""
        return self._token_cost(usage.get("input_tokens", 0), usage.get("output_tokens", 0))

    async def token_cost_today(self) -> TokenCost:
        """As `Host.token_cost_today`."""
        amounts = await self._core.limits.usage.of_day(self._user_id, today())
        return self._token_cost(amounts.input_tokens, amounts.output_tokens)

    def _token_cost(self, input_tokens: int, output_tokens: int) -> TokenCost:
        prices = self._core.settings.prices
        cost = None if prices is None else prices.shown(prices.cost(input_tokens, output_tokens))
        return TokenCost(input_tokens, output_tokens, cost)

    async def check_model(self, name: str) -> None:
        """As `Host.check_model`."""
        await close_model(self._core.settings.create_model(name))

    async def context_use(
        self, session_id: str | None, *, agent: str, model: str | None
    ) -> ContextUse:
        """As `Host.context_use`."""
        return await context_use(
            self._core, session_id, owner=self._user_id, agent=agent, model=model
        )

    async def last_changes(self, session_id: str) -> list[Change]:
        """As `Host.last_changes`."""
        return await self._core.undo.last(session_id)

    async def take_back(self, session_id: str) -> list[Change]:
        """As `Host.take_back`."""
        return await self._core.undo.take_back(session_id)
