"""`fetch_url`: a web page as Markdown."""

from __future__ import annotations

from functools import partial
from typing import Any

from markdownify import MarkdownConverter
from pydantic import BaseModel, Field

from dataagent_core.errors import ToolFailed
from dataagent_core.tools.base import OutboundTool, shortened
from dataagent_core.tools.outbound import OutboundClient, Reply, Request

_MAX_CHARACTERS = 50_000
_TEXTUAL = (
    "text/",
    "application/json",
    "application/xml",
    "application/javascript",
    "+json",
    "+xml",
)


class FetchUrlArguments(BaseModel):
    """What the model passes to `fetch_url`."""

    url: str = Field(description="An http:// or https:// URL of a page to read.")


class FetchUrlTool(OutboundTool):
    """Reads a page."""

    name: str = "fetch_url"
    description: str = "Read a public web page and get its text as Markdown."
    args_schema: Any = FetchUrlArguments  # BaseTool's own annotation is as wide

    async def work(self, client: OutboundClient, **arguments: Any) -> str:
        """Fetch and convert."""
        wanted = FetchUrlArguments.model_validate(arguments)
        reply = await client.send(Request(wanted.url, headers={"Accept": "text/html,*/*;q=0.8"}))
        if reply.status >= 400:
            raise ToolFailed(f"The server answered with status {reply.status}.")
        text = await client.off_loop(partial(to_markdown, reply))
        note = "\n[cut: the page is longer than what was read]" if reply.is_cut else ""
        return f"{reply.url}\n\n{shortened(text, _MAX_CHARACTERS)}{note}"


class _PageConverter(MarkdownConverter):  # pyright: ignore[reportUntypedBaseClass] markdownify has no types
    """Markdown without what a reader does not see."""

    def convert_noscript(self, el: Any, text: str, parent_tags: Any) -> str:
        return ""

    convert_template = convert_svg = convert_iframe = convert_head = convert_noscript


def to_markdown(reply: Reply) -> str:
    """The page's text. Slow for a large page: run it off the event loop.

    Raises:
        ToolFailed: the answer is no text, or cannot be parsed.
    """
    if "html" not in reply.content_type:
        if not any(kind in reply.content_type for kind in _TEXTUAL):
            raise ToolFailed(f"The address is not a page but {reply.content_type}.")
        return reply.text()
    try:
        converter: Any = _PageConverter(heading_style="ATX", bullets="-")
        markdown: str = converter.convert(reply.text())
    except RecursionError as error:
        raise ToolFailed("The page is nested too deeply to be read.") from error
    lines = (line.rstrip() for line in markdown.splitlines())
    return _without_runs_of_blank_lines(list(lines))


def _without_runs_of_blank_lines(lines: list[str]) -> str:
    kept = [line for number, line in enumerate(lines) if line or (number and lines[number - 1])]
    return "\n".join(kept).strip()
