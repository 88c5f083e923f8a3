"""`http_request`: any HTTP call, for APIs."""

from __future__ import annotations

from typing import Any, Literal

import orjson
from langchain_core.tools import BaseTool
from pydantic import BaseModel, Field

from dataagent_core.errors import ToolFailed
from dataagent_core.tools.context import ToolContext
from dataagent_core.tools.outbound import (
    OutboundClient,
    OutboundTool,
    Reply,
    Request,
    redirect_policy,
    truncate,
)

_MAX_CHARACTERS = 50_000
_SHOWN_HEADERS = frozenset(
    {"content-type", "content-length", "location", "retry-after", "date", "etag", "link"}
)


def tools(context: ToolContext) -> list[BaseTool]:
    """The tools of this module."""
    return [HttpRequestTool(client=context.client)]


class HttpRequestArguments(BaseModel):
    """Arguments of `http_request`."""

    url: str = Field(description="An http:// or https:// URL.")
    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"] = "GET"
    headers: dict[str, str] = Field(default_factory=dict)
    body: str | dict[str, Any] | list[Any] | None = Field(
        default=None, description="Text, or JSON (then Content-Type is set)."
    )


class HttpRequestTool(OutboundTool):
    """Sends a request and returns status, headers and body as JSON text."""

    name: str = "http_request"
    description: str = (
        "Send an HTTP request to a public server and get status, headers and body. "
        "For reading a web page use fetch_url."
    )
    args_schema: Any = HttpRequestArguments  # BaseTool's own annotation is as wide

    async def work(self, client: OutboundClient, **arguments: Any) -> str:
        """Send it."""
        wanted = HttpRequestArguments.model_validate(arguments)
        body, headers = _encode(wanted)
        request = Request(wanted.url, wanted.method, headers, body)
        reply = await client.send(request, redirect_policy(self.name))
        return _report(reply)


def _encode(wanted: HttpRequestArguments) -> tuple[bytes | None, dict[str, str]]:
    if wanted.body is None or isinstance(wanted.body, str):
        return (wanted.body.encode() if wanted.body else None), wanted.headers
    names = {name.lower() for name in wanted.headers}
    kind = {} if "content-type" in names else {"Content-Type": "application/json"}
    try:
        return orjson.dumps(wanted.body), {**wanted.headers, **kind}
    except orjson.JSONEncodeError as error:
        raise ToolFailed("The body cannot be written as JSON.") from error


def _report(reply: Reply) -> str:
    shown = {
        name: value.encode(errors="replace").decode()  # a server may send any bytes
        for name, value in reply.headers.items()
        if name.lower() in _SHOWN_HEADERS
    }
    answer: dict[str, Any] = {"status": reply.status, "url": reply.url, "headers": shown}
    text = reply.text()
    if reply.is_cut:
        answer["note"] = f"The body is longer; the first {len(reply.body)} bytes were read."
    elif "json" in reply.content_type and len(text) <= _MAX_CHARACTERS:
        try:
            orjson.loads(text)  # to see that it is; written anew, long numbers would be others
            return orjson.dumps({**answer, "json": orjson.Fragment(text)}).decode()
        except ValueError:
            answer["note"] = "The body says it is JSON and is not."
    answer["text"] = truncate(text, _MAX_CHARACTERS)
    return orjson.dumps(answer).decode()
