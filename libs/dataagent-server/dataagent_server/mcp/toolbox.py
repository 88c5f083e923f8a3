"""Tools of the MCP endpoint: their interface, and how a call is run.

A call's arguments are validated, its result is limited in size, and the audit log records who
called which tool with what outcome, never the arguments. A failure is a result in words that a
model can act on, never an exception.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import mcp_types as wire
from mcp import MCPError
from mcp.server.context import ServerRequestContext
from pydantic import BaseModel, ValidationError
from starlette.requests import Request

from dataagent_core.audit import AuditOutcome
from dataagent_core.errors import DataAgentError, Denied
from dataagent_core.identity import Principal
from dataagent_server.api.deps import container_of
from dataagent_server.api.errors import validation_message
from dataagent_server.deps.container import Container

logger = logging.getLogger(__name__)
MOST_RESULT_BYTES = 1024 * 1024
_INTERNAL_ERROR = "Internal error. The server's log has the reason."
Context = ServerRequestContext[Any, Request]
Report = Callable[[str], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class ToolCallContext:
    """One call: its caller, the server it reaches, and how to report progress."""

    container: Container
    caller: Principal
    base_url: str
    report: Report

    def address(self, path: str) -> str:
        """The URL of a path of this server, as a client can fetch it."""
        return self.base_url.rstrip("/") + path


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """A tool's result, as text and as data."""

    text: str
    structured: BaseModel
    links: tuple[wire.ResourceLink, ...] = ()
    is_error: bool = False


class EndpointTool(Protocol):
    """A tool of the endpoint."""

    @property
    def definition(self) -> wire.Tool:
        """The tool as clients see it."""
        ...

    async def run(self, tool_call: ToolCallContext, arguments: dict[str, Any]) -> ToolOutput:
        """Run a call.

        Raises:
            ValidationError: the arguments are invalid.
            DataAgentError: the call failed.
        """
        ...


def schema_of(model: type[BaseModel], *, of_output: bool = False) -> dict[str, Any]:
    """A model's JSON schema, without the titles that pydantic adds."""
    return _bare(model.model_json_schema(mode="serialization" if of_output else "validation"))


def _bare(schema: Any) -> Any:
    if isinstance(schema, list):
        # JSON of any shape
        return [_bare(each) for each in schema]  # pyright: ignore[reportUnknownVariableType]
    if not isinstance(schema, dict):
        return schema
    return {
        str(key): _bare(value)  # pyright: ignore[reportUnknownArgumentType] JSON of any shape
        # JSON of any shape
        for key, value in schema.items()  # pyright: ignore[reportUnknownVariableType]
        if not (key == "title" and isinstance(value, str))
    }


@dataclass(frozen=True, slots=True)
class Toolbox:
    """The endpoint's tools, by name."""

    tools: Sequence[EndpointTool]
    _by_name: dict[str, EndpointTool] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Index the tools by name."""
        named = {tool.definition.name: tool for tool in self.tools}
        object.__setattr__(self, "_by_name", named)

    async def list(
        self, _: Context, __: wire.PaginatedRequestParams | None
    ) -> wire.ListToolsResult:
        """All tools, the same for every caller."""
        return wire.ListToolsResult(tools=[tool.definition for tool in self.tools])

    async def call(
        self, context: Context, request: wire.CallToolRequestParams
    ) -> wire.CallToolResult:
        """Run one call; cancelling it cancels its work.

        Raises:
            MCPError: unknown tool.
        """
        tool = self._by_name.get(request.name)
        if tool is None:
            known = ", ".join(self._by_name)
            message = f"There is no tool {request.name[:80]!r}. Use one of: {known}."
            raise MCPError(wire.INVALID_PARAMS, message)
        tool_call = _tool_call_context(context)
        started = time.perf_counter()
        outcome: AuditOutcome = "failed"
        reason = "cancelled"
        try:
            output = await tool.run(tool_call, request.arguments or {})
            outcome, reason = ("failed", "run") if output.is_error else ("success", "")
            return _result(output)
        except ValidationError as error:
            reason = "bad_input"
            return failure(validation_message(error.errors()), reason)
        except DataAgentError as error:
            outcome, reason = "denied" if isinstance(error, Denied) else "failed", error.code
            return failure(error.message, error.code)
        except asyncio.CancelledError:
            raise
        except Exception:
            reason = "internal_error"
            logger.exception("a tool of /mcp failed")
            return failure(_INTERNAL_ERROR, reason)
        finally:
            _note(tool_call, request.name, outcome, reason, seconds=time.perf_counter() - started)


def failure(message: str, code: str) -> wire.CallToolResult:
    """The result of a failed call, in words a model can act on."""
    return wire.CallToolResult(
        content=[wire.TextContent(text=message)],
        is_error=True,
        _meta={"dataagent/error_code": code},  # pyright: ignore[reportCallIssue] the field's alias
    )


def _result(output: ToolOutput) -> wire.CallToolResult:
    structured = output.structured.model_dump(mode="json", by_alias=True)
    size = len(output.text.encode()) + len(output.structured.model_dump_json().encode())
    if size > 2 * MOST_RESULT_BYTES:  # tools cut rows and text themselves
        return failure(
            f"The result has {size} bytes; at most {MOST_RESULT_BYTES} are sent. Ask for less.",
            "result_too_large",
        )
    return wire.CallToolResult(
        content=[wire.TextContent(text=output.text), *output.links],
        structured_content=structured,
        is_error=output.is_error,
    )


def _tool_call_context(context: Context) -> ToolCallContext:
    request = context.request
    assert request is not None  # noqa: S101 every call comes over HTTP
    reported = 0

    async def report(what: str) -> None:
        nonlocal reported
        reported += 1
        await context.session.report_progress(reported, message=what)

    caller: Principal = request.state.principal
    return ToolCallContext(container_of(request), caller, str(request.base_url), report)


def _note(
    tool_call: ToolCallContext, tool: str, outcome: AuditOutcome, reason: str, *, seconds: float
) -> None:
    details: dict[str, object] = {"milliseconds": round(seconds * 1000, 1)}
    if reason:
        details["reason"] = reason
    tool_call.container.core.observers.audit.note(
        "mcp.call",
        outcome,
        target=tool,
        user_id=tool_call.caller.user_id,
        via=tool_call.caller.via,
        details=details,
    )
