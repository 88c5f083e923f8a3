"""What the tools that go out have in common: a client, an async side and a blocking twin."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from langchain_core.tools import BaseTool
from pydantic import ConfigDict, Field

from dataagent_core.errors import DataAgentError, Misconfigured
from dataagent_core.network.sites import is_on, is_same_site
from dataagent_core.tools.outbound import MayFollow, OutboundClient
from dataagent_core.workspace import run_context
from dataagent_core.workspace.blocking import run_blocking


class OutboundTool(BaseTool):
    """A tool over the outbound client; subclasses say what they do in `work`."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    client: OutboundClient = Field(exclude=True)
    is_standalone: bool = False
    """Whether what goes wrong is its result, because nothing around it says so."""

    @abstractmethod
    async def work(self, client: OutboundClient, **arguments: Any) -> str:
        """Do it with this client."""

    async def _arun(self, **arguments: Any) -> str:
        return await self._run_with(self.client, arguments)

    async def _run_with(self, client: OutboundClient, arguments: dict[str, Any]) -> str:
        try:
            return await self.work(client, **arguments)
        except DataAgentError as error:
            if self.is_standalone:
                return f"Error: {error.message}"
            raise

    def _run(self, **arguments: Any) -> str:
        return run_blocking(self._run_standalone(arguments))

    async def _run_standalone(self, arguments: dict[str, Any]) -> str:
        async with self.client.fresh() as client:
            return await self._run_with(client, arguments)


def redirect_policy(tool_name: str, allowed_hosts: Sequence[str] = ()) -> MayFollow | None:
    """Which redirects a tool follows in this run; None: all of them.

    What a person approved is one server's. So another one is reached only if it is an allowed host,
    or if the run asks nobody about the tool.
    """
    try:
        context = run_context()
    except Misconfigured:  # outside of any run nobody is asked either
        return None
    if context.auto_approve or context.rules.allows(tool_name):
        return None
    return lambda here, there: is_same_site(here, there) or is_on(there, allowed_hosts)


def truncate(text: str, limit: int) -> str:
    """The text, or its beginning and how much is missing."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]}\n[cut: {limit} of {len(text)} characters shown]"
