"""Tools of agents: built-in ones, their HTTP client, and the file tracker.

`http_request`, `fetch_url` and `web_search` are LangChain tools for any agent. They are made when
they are first imported, with the settings of the environment. Agents of an `AgentFactory` have
their own.
"""

from typing import TYPE_CHECKING

from dataagent_core.tools.builtin import builtin_tools, standalone_tool
from dataagent_core.tools.context import ToolContext
from dataagent_core.tools.fetch import FetchUrlTool
from dataagent_core.tools.file_ops import FileOpRecord, FileOpTracker
from dataagent_core.tools.http import HttpRequestTool
from dataagent_core.tools.outbound import OutboundClient
from dataagent_core.tools.think import ThinkTool
from dataagent_core.tools.websearch import WebSearchTool

if TYPE_CHECKING:
    http_request: HttpRequestTool
    fetch_url: FetchUrlTool
    web_search: WebSearchTool

__all__ = [
    "FetchUrlTool",
    "FileOpRecord",
    "FileOpTracker",
    "HttpRequestTool",
    "OutboundClient",
    "ThinkTool",
    "ToolContext",
    "WebSearchTool",
    "builtin_tools",
    "fetch_url",
    "http_request",
    "web_search",
]


def __getattr__(name: str) -> object:
    if name not in ("fetch_url", "http_request", "web_search"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    made = globals()[name] = standalone_tool(name)
    return made
