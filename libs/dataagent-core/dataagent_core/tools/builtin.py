"""The tools every installation has, put together from the settings."""

from __future__ import annotations

from langchain_core.tools import BaseTool

from dataagent_core.config import Settings
from dataagent_core.documents.reader import DocumentReader
from dataagent_core.tools.fetch_url import FetchUrlTool
from dataagent_core.tools.http_request import HttpRequestTool
from dataagent_core.tools.outbound import OutboundClient
from dataagent_core.tools.research import Research
from dataagent_core.tools.think import ThinkTool
from dataagent_core.tools.web_search import TavilySearchTool, WebSearchTool


def builtin_tools(
    settings: Settings, client: OutboundClient, documents: DocumentReader | None = None
) -> list[BaseTool]:
    """`http_request`, `fetch_url`, `think_tool`, and the searches when there is a key for them."""
    documents, research = documents or DocumentReader(), Research()
    tools: list[BaseTool] = [
        HttpRequestTool(client=client),
        FetchUrlTool(client=client, documents=documents, research=research),
        ThinkTool(),
    ]
    key = settings.tavily_api_key
    if key is not None:
        url = settings.tavily_base_url
        tools += [
            WebSearchTool(client=client, api_key=key, base_url=url, research=research),
            TavilySearchTool(
                client=client, api_key=key, base_url=url, research=research, documents=documents
            ),
        ]
    return tools
