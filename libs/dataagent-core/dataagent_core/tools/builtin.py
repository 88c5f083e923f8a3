"""The tools every installation has, put together from the settings."""

from __future__ import annotations

from langchain_core.tools import BaseTool

from dataagent_core.config import Settings
from dataagent_core.tools.fetch_url import FetchUrlTool
from dataagent_core.tools.http_request import HttpRequestTool
from dataagent_core.tools.outbound import OutboundClient
from dataagent_core.tools.think import ThinkTool
from dataagent_core.tools.web_search import WebSearchTool


def builtin_tools(settings: Settings, client: OutboundClient) -> list[BaseTool]:
    """`http_request`, `fetch_url`, `think_tool`, and `web_search` when there is a key for it."""
    tools: list[BaseTool] = [
        HttpRequestTool(client=client),
        FetchUrlTool(client=client),
        ThinkTool(),
    ]
    if settings.tavily_api_key is not None:
        tools.append(WebSearchTool(client=client, api_key=settings.tavily_api_key))
    return tools
