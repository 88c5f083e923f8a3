"""`web_search`: the web through Tavily's API."""

from __future__ import annotations

from typing import Any, Literal

import orjson
from pydantic import BaseModel, Field, SecretStr

from dataagent_core.errors import ToolFailed
from dataagent_core.tools.base import OutboundTool, shortened
from dataagent_core.tools.outbound import OutboundClient, Request

TAVILY_URL = "https://api.tavily.com"
_MAX_PER_RESULT = 2_000


class WebSearchArguments(BaseModel):
    """What the model passes to `web_search`."""

    query: str = Field(min_length=1, max_length=400)
    max_results: int = Field(default=5, ge=1, le=20)
    topic: Literal["general", "news", "finance"] = "general"


class WebSearchTool(OutboundTool):
    """Searches and returns titles, addresses and excerpts."""

    name: str = "web_search"
    description: str = (
        "Search the web. Returns titles, URLs and excerpts; read a page with fetch_url. "
        "Name the URLs you used in your answer."
    )
    args_schema: Any = WebSearchArguments  # BaseTool's own annotation is as wide
    api_key: SecretStr | None = Field(default=None, exclude=True)
    base_url: str = TAVILY_URL

    async def work(self, client: OutboundClient, **arguments: Any) -> str:
        """Search."""
        wanted = WebSearchArguments.model_validate(arguments)
        if self.api_key is None:
            raise ToolFailed("web_search needs TAVILY_API_KEY to be set. Answer without it.")
        headers = {
            "Authorization": f"Bearer {self.api_key.get_secret_value()}",
            "Content-Type": "application/json",
        }
        body = orjson.dumps(wanted.model_dump())
        reply = await client.send(Request(f"{self.base_url}/search", "POST", headers, body))
        if reply.status != 200:
            raise ToolFailed(f"The search service answered with status {reply.status}.")
        return _results(reply.body)


def _results(body: bytes) -> str:
    try:
        found = _object(orjson.loads(body)).get("results")
    except ValueError as error:
        raise ToolFailed("The search service answered with something that is no JSON.") from error
    entries: list[Any] = found if isinstance(found, list) else []  # pyright: ignore[reportUnknownVariableType] JSON
    blocks = [_block(_object(entry)) for entry in entries]
    return "\n\n".join(blocks) or "Nothing was found."


def _block(entry: dict[str, Any]) -> str:
    excerpt = shortened(str(entry.get("content", "")), _MAX_PER_RESULT)
    return f"## {entry.get('title', '')}\n{entry.get('url', '')}\n{excerpt}"


def _object(value: Any) -> dict[str, Any]:
    """A part of the answer that must be a JSON object.

    Raises:
        ToolFailed: it is no object.
    """
    if not isinstance(value, dict):
        raise ToolFailed("The server answered with something unexpected.")
    return value  # pyright: ignore[reportUnknownVariableType] JSON
