"""`fetch_url`: a web page as Markdown, or a document on the web as text.

Pages and documents are read in a process with limits (`documents/`), because a page may be made to
be slow.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

from langchain_core.tools import BaseTool
from pydantic import BaseModel, Field

from dataagent_core.documents import Document
from dataagent_core.documents.reader import DocumentReader, DocumentSource
from dataagent_core.errors import BadFile, LimitReached, Misconfigured, ToolFailed
from dataagent_core.tools.context import ToolContext
from dataagent_core.tools.outbound import (
    MayFollow,
    OutboundClient,
    OutboundTool,
    Reply,
    Request,
    redirect_policy,
    truncate,
)
from dataagent_core.tools.research import Research
from dataagent_core.workspace import run_context

_MAX_CHARACTERS = 50_000
_TEXTUAL = (
    "text/",
    "application/json",
    "application/xml",
    "application/javascript",
    "+json",
    "+xml",
)
_DOCUMENTS = {
    "application/pdf": ".pdf",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": ".pptx",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": ".xlsx",
}


def tools(context: ToolContext) -> list[BaseTool]:
    """The tools of this module."""
    return [
        FetchUrlTool(
            client=context.client,
            documents=context.documents,
            research=context.research,
            allowed_hosts=tuple(context.settings.fetch_hosts),
        )
    ]


class FetchUrlArguments(BaseModel):
    """Arguments of `fetch_url`."""

    url: str = Field(description="An http:// or https:// URL of a page to read.")
    start: int = Field(
        default=1, ge=1, le=10_000_000, description="The line or page to begin with, after a cut."
    )


@dataclass(frozen=True, slots=True)
class WebPage:
    """A page as read. `address` is where it was in the end, after redirects."""

    address: str
    title: str
    text: str
    cuts: tuple[str, ...]


class FetchUrlTool(OutboundTool):
    """Reads a page."""

    name: str = "fetch_url"
    description: str = (
        "Read a public web page, or a PDF or Office document on the web, and get its text as "
        "Markdown. Cite it by the number it comes with."
    )
    args_schema: Any = FetchUrlArguments  # BaseTool's own annotation is as wide
    documents: DocumentReader = Field(default_factory=DocumentReader, exclude=True)
    research: Research = Field(default_factory=Research, exclude=True)
    allowed_hosts: tuple[str, ...] = ()

    async def work(self, client: OutboundClient, **arguments: Any) -> str:
        """Fetch and convert."""
        wanted = FetchUrlArguments.model_validate(arguments)
        documents = self.documents if client is self.client else self.documents.fresh()
        may_follow = redirect_policy(self.name, self.allowed_hosts)
        page = await fetch_page(
            client, documents, wanted.url, start=wanted.start, may_follow=may_follow
        )
        lines = [f"[{self.research.number(page.address)}] {page.title}", page.address]
        lines += [f"CUT: {cut}" for cut in page.cuts]
        return "\n".join([*lines, "", page.text])


async def fetch_page(
    client: OutboundClient,
    documents: DocumentReader,
    url: str,
    *,
    start: int = 1,
    may_follow: MayFollow | None = None,
) -> WebPage:
    """A page of the web as text.

    Raises:
        HostNotAllowed: as `OutboundClient.send`.
        ToolFailed: the server does not answer, or its answer cannot be read.
    """
    request = Request(url, headers={"Accept": "text/html,*/*;q=0.8"})
    reply = await client.send(request, may_follow)
    if reply.status >= 400:
        raise ToolFailed(f"The server answered with status {reply.status}.")
    cuts = ("The page is longer than what was read of it.",) if reply.is_cut else ()
    source = _source(reply)
    if source is None:
        return WebPage(reply.url, "Text", truncate(reply.text(), _MAX_CHARACTERS), cuts)
    try:
        read = await documents.read(source, user_id=_user_id(), start=start)
    except (BadFile, LimitReached) as error:
        raise ToolFailed(error.message) from error
    return WebPage(reply.url, _title(read), read.text.strip(), (*cuts, *read.cuts, *read.notes))


def _source(reply: Reply) -> DocumentSource | None:
    """The document to read; None for plain text.

    Raises:
        ToolFailed: it cannot be read.
    """
    if "html" in reply.content_type:
        return DocumentSource(
            reply.url, reply.body, is_page=True, base_url=reply.url, charset=reply.charset
        )
    name = PurePosixPath(unquote(urlsplit(reply.url).path)).name or "document"
    extension = _DOCUMENTS.get(reply.content_type)
    if extension is not None:
        if reply.is_cut:
            raise ToolFailed(f"The document has more than {len(reply.body):,} bytes; not read.")
        is_named = name.lower().endswith(extension)
        return DocumentSource(name if is_named else f"{name}{extension}", reply.body)
    if not any(kind in reply.content_type for kind in _TEXTUAL):
        raise ToolFailed(f"The address is not a page but {reply.content_type}.")
    return None


def _title(document: Document) -> str:
    return document.what.removeprefix("Web page: ")


def _user_id() -> str:
    try:
        return run_context().user_id
    except Misconfigured:
        return ""
