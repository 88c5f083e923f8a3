"""The tools that go out, each by itself, for agents that nothing of ours wraps.

What goes wrong is their result, for the model to read: in an agent of an `AgentFactory` a
middleware sees to that.
"""

from __future__ import annotations

from langchain_core.tools import BaseTool

from dataagent_core.config import Settings
from dataagent_core.tools.fetch import FetchUrlTool
from dataagent_core.tools.http import HttpRequestTool
from dataagent_core.tools.outbound import OutboundClient
from dataagent_core.tools.websearch import WebSearchTool


def standalone_tool(name: str) -> BaseTool:
    """The tool of that name, with the settings of the environment.

    Raises:
        KeyError: there is none.
    """
    settings = Settings()
    client = OutboundClient(allow_private_hosts=settings.allow_private_hosts)
    match name:
        case "http_request":
            return HttpRequestTool(client=client, is_standalone=True)
        case "fetch_url":
            hosts = tuple(settings.fetch_hosts)
            return FetchUrlTool(client=client, is_standalone=True, allowed_hosts=hosts)
        case "web_search":
            return WebSearchTool(
                client=client,
                is_standalone=True,
                api_key=settings.tavily_api_key,
                base_url=settings.tavily_base_url,
            )
        case _:
            raise KeyError(name)
