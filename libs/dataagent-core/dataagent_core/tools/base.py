"""What the tools that go out have in common: a client, an async side and a blocking twin."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from langchain_core.tools import BaseTool
from pydantic import ConfigDict, Field

from dataagent_core.tools.outbound import OutboundClient
from dataagent_core.workspace.blocking import run_blocking


class OutboundTool(BaseTool):
    """A tool over the outbound client; subclasses say what they do in `work`."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    client: OutboundClient = Field(exclude=True)

    @abstractmethod
    async def work(self, client: OutboundClient, **arguments: Any) -> str:
        """Do it with this client."""

    async def _arun(self, **arguments: Any) -> str:
        return await self.work(self.client, **arguments)

    def _run(self, **arguments: Any) -> str:
        return run_blocking(self._alone(arguments))

    async def _alone(self, arguments: dict[str, Any]) -> str:
        async with self.client.fresh() as client:
            return await self.work(client, **arguments)


def shortened(text: str, limit: int) -> str:
    """The text, or its beginning and how much is missing."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]}\n[cut: {limit} of {len(text)} characters shown]"
