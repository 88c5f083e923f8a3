"""Collects the tools that every installation has: those that the modules of this package offer.

A module offers tools by a function `tools(context)`, which is called once at the start with a
`ToolContext` and returns those that are possible with it. There is no list: a module that is put
here is a tool. A tool that needs an approval has `metadata={"approval": "the text to show"}`.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

from langchain_core.tools import BaseTool

import dataagent_core.tools
from dataagent_core.config import Settings
from dataagent_core.errors import Misconfigured
from dataagent_core.tools.context import ToolContext
from dataagent_core.tools.fetch import FetchUrlTool
from dataagent_core.tools.http import HttpRequestTool
from dataagent_core.tools.outbound import OutboundClient
from dataagent_core.tools.websearch import WebSearchTool

OFFER = "tools"
"""The name of the function."""


def builtin_tools(context: ToolContext) -> list[BaseTool]:
    """All tools that can be had with this context, by file.

    Raises:
        Misconfigured: a file cannot be loaded or gives no tools, or two offer the same name.
    """
    package = dataagent_core.tools
    found: dict[str, tuple[BaseTool, str]] = {}
    for name in sorted(module.name for module in iter_modules(package.__path__)):
        for tool in _offered_tools(_load(f"{package.__name__}.{name}", name), name, context):
            if tool.name in found:
                raise Misconfigured(
                    f"tools/{name}.py and tools/{found[tool.name][1]}.py both offer a tool "
                    f"{tool.name!r}. Rename one."
                )
            found[tool.name] = (tool, name)
    return [tool for tool, _ in found.values()]


def _load(module: str, name: str) -> ModuleType:
    try:
        return import_module(module)
    except Exception as error:
        raise Misconfigured(f"tools/{name}.py cannot be loaded: {error}") from error


def _offered_tools(module: ModuleType, name: str, context: ToolContext) -> list[BaseTool]:
    offer: Callable[[ToolContext], Any] | None = vars(module).get(OFFER)  # Any: checked below
    if offer is None:
        return []
    try:
        tools = list(offer(context))
    except Exception as error:
        raise Misconfigured(f"The tools of tools/{name}.py cannot be made: {error}") from error
    if not all(isinstance(tool, BaseTool) for tool in tools):
        raise Misconfigured(f"tools/{name}.py: tools(context) must return LangChain tools.")
    return tools


def standalone_tool(name: str) -> BaseTool:
    """The tool of that name, with the settings of the environment.

    Raises:
        KeyError: no tool has the name.
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
