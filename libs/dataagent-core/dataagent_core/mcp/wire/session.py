"""A session of the SDK as `McpSession`: lists, calls and probes in our types and errors.

The SDK checks results against the protocol; its own validation of output schemas, which takes 95 ms
for a thousand rows, is avoided by sending the request directly. A server's question goes to the
caller of the call it belongs to, and to no one else: streamable HTTP delivers it in the context of
its call; the other transports do not say, and it is then put only if a single call is running,
since calls of a shared session belong to different people. Questions by link are declined.
"""

from __future__ import annotations

import asyncio
from contextvars import ContextVar, Token
from typing import Any, cast

import orjson
from mcp.client.client import Client
from mcp.client.session import ClientRequestContext
from mcp.shared.dispatcher import ProgressFnT
from mcp.shared.exceptions import MCPError
from mcp_types import (
    HEADER_MISMATCH,
    METHOD_NOT_FOUND,
    CallToolRequest,
    CallToolRequestParams,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitRequestParams,
    ElicitResult,
    ErrorData,
    InputRequiredResult,
    InputResponses,
    PaginatedRequestParams,
    Tool,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import TypeAdapter, ValidationError

from dataagent_core.mcp.types import (
    Elicitation,
    JsonObject,
    OnElicit,
    OnProgress,
    Progress,
    RemoteResult,
    RemoteTool,
)
from dataagent_core.mcp.wire.failures import call_failed, failed, is_suspicious
from dataagent_core.mcp.wire.interface import SessionSignals, WireLimits

_MOST_TEXT = 4_000

_asker: ContextVar[OnElicit | None] = ContextVar("dataagent_mcp_asker", default=None)


class ElicitationRouter:
    """Routes a session's questions to callers."""

    def __init__(self, server_name: str) -> None:
        self._server_name = server_name
        self._open: list[OnElicit | None] = []

    def begin(self, on_elicit: OnElicit | None) -> Token[OnElicit | None]:
        """Register a running call's callback; pass the result to `end`."""
        self._open.append(on_elicit)
        return _asker.set(on_elicit)

    def end(self, on_elicit: OnElicit | None, begun: Token[OnElicit | None]) -> None:
        """Unregister a call."""
        self._open.remove(on_elicit)
        _asker.reset(begun)

    async def answer(
        self, context: ClientRequestContext, params: ElicitRequestParams
    ) -> ElicitResult | ErrorData:
        """Answer the SDK's callback by asking the caller."""
        del context
        return await self.ask(params, _asker.get() or self._only())

    async def ask(self, params: ElicitRequestParams, on_elicit: OnElicit | None) -> ElicitResult:
        """Ask a caller; without one, decline."""
        if on_elicit is None or not isinstance(params, ElicitRequestFormParams):
            return ElicitResult(action="decline")
        answer = await on_elicit(
            Elicitation(params.message[:_MOST_TEXT], params.requested_schema, self._server_name)
        )
        content = answer.content if answer.action == "accept" else None
        return ElicitResult(action=answer.action, content=content)

    def _only(self) -> OnElicit | None:
        return self._open[0] if len(self._open) == 1 else None


_Raw: TypeAdapter[dict[str, Any]] = TypeAdapter(dict[str, Any])
_STATE_ONLY_SECONDS = 0.1


class SdkSession:
    """A live session of the SDK."""

    def __init__(
        self,
        client: Client,
        questions: ElicitationRouter,
        signals: SessionSignals,
        limits: WireLimits,
    ) -> None:
        self._client = client
        self._session = client.session
        self._questions = questions
        self._signals = signals
        self._limits = limits
        self.protocol_version = client.protocol_version
        self.is_modern = client.protocol_version in MODERN_PROTOCOL_VERSIONS
        info = client.server_info
        self.server_info: JsonObject | None = (
            {"name": info.name[:200], "version": info.version[:100]} if info else None
        )

    async def list_tools(self) -> tuple[RemoteTool, ...]:
        """Return all tools, reading page by page."""
        try:
            async with asyncio.timeout(self._limits.list_seconds):
                return await self._all_pages()
        except TimeoutError as error:
            raise failed("MCP_TIMEOUT", "Listing the tools takes too long.") from error
        except (MCPError, ValidationError) as error:
            raise self._report_failure(error) from error

    async def _all_pages(self) -> tuple[RemoteTool, ...]:
        tools: list[RemoteTool] = []
        size = 0
        cursor: str | None = None
        for _ in range(self._limits.max_pages):
            page = await self._session.list_tools(params=PaginatedRequestParams(cursor=cursor))
            for tool in page.tools:
                remote = _remote(tool)
                size += len(orjson.dumps(remote, default=str))
                tools.append(remote)
            if len(tools) > self._limits.max_tools or size > self._limits.max_list_bytes:
                raise failed("MCP_RESULT_TOO_LARGE", "The server lists more than allowed.")
            cursor = page.next_cursor
            if cursor is None:
                return tuple(tools)
        raise failed("MCP_RESULT_TOO_LARGE", "The server's list of tools has too many pages.")

    async def call(
        self,
        name: str,
        arguments: JsonObject,
        *,
        on_progress: OnProgress | None = None,
        on_elicit: OnElicit | None = None,
        trace_id: str = "",
    ) -> RemoteResult:
        """Call a tool."""
        begun = self._questions.begin(on_elicit)
        try:
            return _result(await self._call(name, arguments, trace_id, on_progress, on_elicit))
        except (MCPError, ValidationError) as error:
            raise self._report_failure(error) from error
        finally:
            self._questions.end(on_elicit, begun)

    async def _call(
        self,
        name: str,
        arguments: JsonObject,
        trace_id: str,
        on_progress: OnProgress | None,
        on_elicit: OnElicit | None,
    ) -> dict[str, Any]:
        """Return the final result, after as many questions as the server asks on the way."""
        meta: Any = {"trace_id": trace_id} if trace_id else None
        params = CallToolRequestParams(name=name, arguments=arguments, _meta=meta)
        for _ in range(self._limits.max_questions + 1):
            raw = await self._send_with_retry(params, on_progress)
            if raw.get("resultType") != "input_required":
                return raw
            asked = InputRequiredResult.model_validate(raw, by_name=False)
            params = CallToolRequestParams(
                name=name,
                arguments=arguments,
                _meta=meta,
                input_responses=await self._responses(asked, on_elicit),
                request_state=asked.request_state,
            )
        raise failed("MCP_TOOL_ERROR", "The server asks without end.")

    async def _responses(
        self, asked: InputRequiredResult, on_elicit: OnElicit | None
    ) -> InputResponses | None:
        if not asked.input_requests:
            await asyncio.sleep(_STATE_ONLY_SECONDS)
            return None
        answers: InputResponses = {}
        for key, request in asked.input_requests.items():
            if not isinstance(request, ElicitRequest):
                raise failed("MCP_TOOL_ERROR", "The server asks for what only a model could give.")
            answer: ElicitResult = await self._questions.ask(request.params, on_elicit)
            answers[key] = answer
        return answers

    async def _send_with_retry(
        self, params: CallToolRequestParams, on_progress: OnProgress | None
    ) -> dict[str, Any]:
        """Send a request; again only if the server says that its headers were out of date."""
        try:
            return await self._send(params, on_progress)
        except MCPError as error:
            if error.code != HEADER_MISMATCH or not self.is_modern:
                raise
            self._signals.note_new_tools()
            await self._all_pages()
            return await self._send(params, on_progress)

    async def _send(
        self, params: CallToolRequestParams, on_progress: OnProgress | None
    ) -> dict[str, Any]:
        request = CallToolRequest(params=params)
        return cast(  # the library's overload knows models only
            dict[str, Any],
            await self._session.send_request(
                request,
                cast(Any, _Raw),  # Any: an adapter of a plain mapping is taken just the same
                progress_callback=None if on_progress is None else _reporting(on_progress),
            ),
        )

    async def probe(self) -> None:
        """Check that the server responds, by the means of the protocol version."""
        try:
            if self.is_modern:
                await self._session.send_discover(self.protocol_version)
                return
            try:
                await self._session.send_ping()
            except MCPError as error:
                if error.code != METHOD_NOT_FOUND:
                    raise
                await self._session.list_tools()
        except (MCPError, ValidationError) as error:
            raise self._report_failure(error) from error

    def _report_failure(self, error: MCPError | ValidationError) -> Exception:
        """Return the failure, and signal it if the session should be probed."""
        if isinstance(error, MCPError) and is_suspicious(error):
            self._signals.note_suspect()
        return call_failed(error)


def _reporting(on_progress: OnProgress) -> ProgressFnT:
    async def report(progress: float, total: float | None, message: str | None) -> None:
        on_progress(Progress(progress, total, message))

    return report


def _remote(tool: Tool) -> RemoteTool:
    hints = tool.annotations
    return RemoteTool(
        name=tool.name,
        title=tool.title,
        description=tool.description or "",
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        annotations=hints.model_dump(by_alias=True, exclude_none=True) if hints else {},
    )


def _result(raw: dict[str, Any]) -> RemoteResult:
    return RemoteResult(
        content=tuple(raw.get("content") or ()),
        structured=raw.get("structuredContent"),
        is_error=bool(raw.get("isError")),
        byte_size=len(orjson.dumps(raw, default=str)),
    )
