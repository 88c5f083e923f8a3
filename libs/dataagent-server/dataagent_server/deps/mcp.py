"""The MCP services as the server's doors need them: users' servers, and the administration.

Allow-lists of agents are the agents room's; here the two rooms meet. Above: `container.py`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass

from dataagent_core.app.assembly import Core
from dataagent_core.errors import DataAgentError
from dataagent_core.identity.users import UserStore
from dataagent_core.mcp.gateway.call_log import CallLog
from dataagent_core.mcp.servers.administration import McpAdministration
from dataagent_core.mcp.servers.service import McpService
from dataagent_core.mcp.servers.templates import TemplateStore

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class McpServices:
    """What the routes about MCP call."""

    service: McpService
    administration: McpAdministration
    calls: CallLog
    templates: TemplateStore


def make_mcp_services(core: Core) -> McpServices:
    """The services of an open core."""
    hub, agents = core.mcp, core.agents

    async def bound(agent_id: str) -> frozenset[int]:
        return (await agents.registry.get(agent_id)).mcp_tools

    async def bind(agent_id: str, tool_ids: Iterable[int]) -> None:
        await agents.service.set_mcp_tools(agent_id, tool_ids)

    most, timeout = core.settings.mcp_max_servers, core.settings.mcp_timeout
    return McpServices(
        service=McpService(hub, core.limits.tenancy, most_servers=most, timeout_seconds=timeout),
        administration=McpAdministration(hub, bound=bound, bind=bind, timeout_seconds=timeout),
        calls=hub.calls,
        templates=hub.templates,
    )


def delete_mcp_with_account(users: UserStore, service: McpService) -> None:
    """Let the servers and credentials of an account go with it."""

    async def forget(user_id: str) -> None:
        try:
            if await users.get(user_id) is None:
                await service.forget(user_id)
        except DataAgentError as error:  # the account is gone all the same
            logger.warning("MCP servers of a deleted user stay: %s", error.message)

    users.listen(forget)
