"""What an agent can use: built-in tools, the client they go out with, and the file tracker."""

from dataagent_core.tools.builtin import builtin_tools
from dataagent_core.tools.context import ToolContext
from dataagent_core.tools.fetch_url import FetchUrlTool
from dataagent_core.tools.file_ops import FileOpRecord, FileOpTracker
from dataagent_core.tools.http_request import HttpRequestTool
from dataagent_core.tools.outbound import OutboundClient
from dataagent_core.tools.think import ThinkTool
from dataagent_core.tools.web_search import WebSearchTool

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
]
