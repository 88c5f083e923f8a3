"""`web_search` and `tavily_search`: the web through Tavily's API.

The first gives excerpts, the second also reads the pages it finds. Both count on the run's limits
and number their results (`research.py`).
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any, Literal, cast

import orjson
from langchain_core.tools import BaseTool
from pydantic import BaseModel, Field, SecretStr

from dataagent_core.documents.reader import DocumentReader
from dataagent_core.errors import DataAgentError, ToolFailed
from dataagent_core.tools.context import ToolContext
from dataagent_core.tools.fetch import fetch_page
from dataagent_core.tools.outbound import OutboundClient, OutboundTool, Request, truncate
from dataagent_core.tools.research import Research

TAVILY_URL = "https://api.tavily.com"
_MAX_PER_RESULT = 2_000
_MAX_PER_PAGE = 10_000
_LIMITS = (
    "A question has 3 searches; one with several aspects has 5, and each names its aspect. No more "
    "for an aspect with 3 relevant sources. Cite what you use by its number, as [1], and list the "
    "sources with their URLs at the end of the answer."
)


def tools(context: ToolContext) -> list[BaseTool]:
    """The tools of this module: both, when there is a key for them."""
    if context.settings.tavily_api_key is None:
        return []
    given: dict[str, Any] = {
        "client": context.client,
        "api_key": context.settings.tavily_api_key,
        "base_url": context.settings.tavily_base_url,
        "research": context.research,
    }
    return [WebSearchTool(**given), TavilySearchTool(**given, documents=context.documents)]


class WebSearchArguments(BaseModel):
    """Arguments of `web_search`."""

    query: str = Field(min_length=1, max_length=400)
    max_results: int = Field(default=5, ge=1, le=20)
    topic: Literal["general", "news", "finance"] = "general"
    aspect: str = Field(
        default="",
        max_length=80,
        description="For a question with several aspects: which of them this search is for.",
    )


class TavilySearchArguments(WebSearchArguments):
    """Arguments of `tavily_search`."""

    max_results: int = Field(default=3, ge=1, le=5)


@dataclass(frozen=True, slots=True)
class _Result:
    """One page in the service's answer."""

    title: str
    url: str
    excerpt: str
    score: float


class WebSearchTool(OutboundTool):
    """Searches and returns titles, addresses and excerpts."""

    name: str = "web_search"
    description: str = (
        f"Search the web. Returns titles, URLs and excerpts; read a page with fetch_url. {_LIMITS}"
    )
    args_schema: Any = WebSearchArguments  # BaseTool's own annotation is as wide
    api_key: SecretStr | None = Field(default=None, exclude=True)
    base_url: str = TAVILY_URL
    research: Research = Field(default_factory=Research, exclude=True)

    async def work(self, client: OutboundClient, **arguments: Any) -> str:
        """Search."""
        wanted = WebSearchArguments.model_validate(arguments)
        results = await self.fetch_results(client, wanted)
        blocks = [
            self.block(wanted, result, truncate(result.excerpt, _MAX_PER_RESULT))
            for result in results
        ]
        return self.report(blocks)

    async def fetch_results(
        self, client: OutboundClient, wanted: WebSearchArguments
    ) -> list[_Result]:
        """The pages that the service finds.

        Raises:
            LimitReached: the run has no search left, or found enough.
            ToolFailed: the service does not answer, or its key is missing.
        """
        if self.api_key is None:
            raise ToolFailed(f"{self.name} needs TAVILY_API_KEY to be set. Answer without it.")
        self.research.take(wanted.aspect)
        headers = {
            "Authorization": f"Bearer {self.api_key.get_secret_value()}",
            "Content-Type": "application/json",
        }
        body = orjson.dumps(wanted.model_dump(exclude={"aspect"}))
        try:
            reply = await client.send(Request(f"{self.base_url}/search", "POST", headers, body))
            if reply.status != 200:
                raise ToolFailed(f"The search service answered with status {reply.status}.")
            return _results(reply.body)[: wanted.max_results]
        except DataAgentError:
            self.research.failed()
            raise

    def block(self, wanted: WebSearchArguments, result: _Result, text: str) -> str:
        """One result with its number."""
        number = self.research.found(wanted.aspect, result.url, result.score)
        return f"[{number}] {result.title}\n{result.url}\n{text}"

    def report(self, blocks: list[str]) -> str:
        """The results as the model reads them."""
        found = "\n\n".join(blocks) or "Nothing was found."
        left = self.research.left()
        return f"{found}\n\n{left}" if left else found


class TavilySearchTool(WebSearchTool):
    """Searches, and reads the pages it finds."""

    name: str = "tavily_search"
    description: str = (
        f"Search the web and read the pages found, as Markdown. Slower than web_search. {_LIMITS}"
    )
    args_schema: Any = TavilySearchArguments  # BaseTool's own annotation is as wide
    documents: DocumentReader = Field(default_factory=DocumentReader, exclude=True)

    async def work(self, client: OutboundClient, **arguments: Any) -> str:
        """Search and read."""
        wanted = TavilySearchArguments.model_validate(arguments)
        documents = self.documents if client is self.client else self.documents.fresh()
        results = await self.fetch_results(client, wanted)
        texts = await asyncio.gather(*(_page(client, documents, result) for result in results))
        blocks = [
            self.block(wanted, result, text) for result, text in zip(results, texts, strict=True)
        ]
        return self.report(blocks)


async def _page(client: OutboundClient, documents: DocumentReader, result: _Result) -> str:
    """The page's text; what the service says of it when it cannot be read."""
    try:
        page = await fetch_page(client, documents, result.url)
    except DataAgentError as error:
        excerpt = truncate(result.excerpt, _MAX_PER_RESULT)
        return f"{excerpt}\n[an excerpt: the page was not read. {error.message}]"
    text = truncate(page.text, _MAX_PER_PAGE)
    return "\n".join([text, *(f"CUT: {cut}" for cut in page.cuts)])


def _results(body: bytes) -> list[_Result]:
    try:
        found = _object(orjson.loads(body)).get("results")
    except ValueError as error:
        raise ToolFailed("The search service answered with something that is no JSON.") from error
    entries = cast("list[Any]", found) if isinstance(found, list) else []
    return [_result(_object(entry)) for entry in entries]


def _result(entry: dict[str, Any]) -> _Result:
    score = entry.get("score", 1.0)
    return _Result(
        title=" ".join(str(entry.get("title", "")).split())[:300],
        url="".join(str(entry.get("url", "")).split())[:2000],
        excerpt=str(entry.get("content", "")),
        score=float(score) if isinstance(score, int | float) else 0.0,
    )


def _object(value: Any) -> dict[str, Any]:
    """A part of the answer that must be a JSON object.

    Raises:
        ToolFailed: it is no object.
    """
    if not isinstance(value, dict):
        raise ToolFailed("The server answered with something unexpected.")
    return value  # pyright: ignore[reportUnknownVariableType] JSON
