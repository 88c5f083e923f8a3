"""The only way to call an MCP tool.

A call passes these steps: resolve, authorise, rate limit, validate the arguments, execute within
its time (`attempts.py`), cap the size, mask the server's credentials, validate the result, log.
Every failure is a `CallFailure` in words a model can act on; only cancellation is an exception.
Every call has its row in the call log, a refused one too. Arguments are not logged.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, cast

from dataagent_core.identity.sealing import MASK
from dataagent_core.mcp.catalogue.validation import Validators, without_nulls
from dataagent_core.mcp.connections.connection import ServerConnection
from dataagent_core.mcp.gateway.attempts import CallExecutor, ToolCallRequest
from dataagent_core.mcp.gateway.call_log import CallLog
from dataagent_core.mcp.gateway.call_rows import (
    METHOD,
    CallDetails,
    CallIds,
    call_row,
    span_attributes,
    trace_of,
)
from dataagent_core.mcp.gateway.tool_access import Rights, refusal
from dataagent_core.mcp.types import (
    Caller,
    CallFailed,
    CallFailure,
    CallOutcome,
    CatalogueTool,
    JsonObject,
    OnElicit,
    OnProgress,
    RemoteResult,
    ServerSpec,
)
from dataagent_core.processes.concurrency import KeyedRate
from dataagent_core.telemetry import Traces

_SHORTEST = 6
_CACHED_MASKS = 4_096


class Masks:
    """Masks servers' own credentials in their results: a tool that prints its environment must not
    leak them. Only the exact values are replaced, since results are data. Patterns are compiled
    once per registration.
    """

    def __init__(self) -> None:
        self._cache: OrderedDict[
            tuple[str, str], tuple[tuple[str, ...], re.Pattern[str] | None]
        ] = OrderedDict()

    def text(self, spec: ServerSpec, text: str) -> str:
        """Return the text with the server's secrets masked."""
        pattern = self._pattern(spec)
        return text if pattern is None else pattern.sub(MASK, text)

    def result(self, spec: ServerSpec, result: RemoteResult) -> RemoteResult:
        """Return the result with the server's secrets masked; the same object if it has none."""
        pattern = self._pattern(spec)
        if pattern is None:
            return result
        content = tuple(_mask_value(block, pattern) for block in result.content)
        return replace(result, content=content, structured=_mask_value(result.structured, pattern))

    def _pattern(self, spec: ServerSpec) -> re.Pattern[str] | None:
        if not spec.env and not spec.headers:
            return None
        secrets = _secrets(spec)
        key = (spec.server_id, spec.user_id)
        cached = self._cache.get(key)
        if cached is None or cached[0] != secrets:
            cached = self._cache[key] = (secrets, _compile_pattern(secrets))
            while len(self._cache) > _CACHED_MASKS:
                self._cache.popitem(last=False)
        return cached[1]


def _secrets(spec: ServerSpec) -> tuple[str, ...]:
    """Return values long enough to be secrets, also without a scheme such as `Bearer`."""
    values = [value.get_secret_value() for value in (*spec.env.values(), *spec.headers.values())]
    values += [value.split(" ", 1)[1] for value in values if " " in value]
    return tuple(sorted({value for value in values if len(value) >= _SHORTEST}))


def _compile_pattern(secrets: tuple[str, ...]) -> re.Pattern[str] | None:
    longest_first = sorted(secrets, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, longest_first))) if longest_first else None


def _mask_value(value: Any, pattern: re.Pattern[str]) -> Any:
    """Mask every text in JSON, keys too, because a server may put anything there."""
    match value:
        case str():
            return pattern.sub(MASK, value)
        case dict():
            fields = cast("dict[object, object]", value)  # of whatever JSON holds
            return {pattern.sub(MASK, str(k)): _mask_value(v, pattern) for k, v in fields.items()}
        case list():
            items = cast("list[object]", value)  # of any shape
            return [_mask_value(item, pattern) for item in items]
        case _:
            return value


logger = logging.getLogger(__name__)
MAX_RESULT_BYTES = 16 * 1024 * 1024
_MOST_ERROR_TEXT = 4_000
_MOST_FAULTS = 10


class ToolLookup(Protocol):
    """Finds tools by number: a catalogue, or a part of one."""

    def get(self, tool_id: int) -> CatalogueTool | None:
        """Return the tool with the number."""
        ...


class CallerContext(Protocol):
    """Answers the gateway's questions about a caller."""

    async def spec_for(self, server_id: str, caller: Caller) -> ServerSpec | None:
        """Return the server as the caller has it; None if they do not have it."""
        ...

    async def rights_of(self, caller: Caller) -> Rights:
        """Return the caller's current rights."""
        ...

    def connection(self, spec: ServerSpec, caller: Caller) -> ServerConnection | None:
        """Return the connection for the caller's calls, if there is one."""
        ...


@dataclass(slots=True)
class _Call:
    """A running call and its details."""

    call_id: str
    caller: Caller
    arguments: JsonObject
    details: CallDetails = field(default_factory=CallDetails)


class ToolGateway:
    """Calls tools on behalf of callers."""

    def __init__(
        self,
        tools: ToolLookup,
        caller_context: CallerContext,
        validators: Validators,
        calls: CallLog | None = None,
        *,
        execution: CallExecutor | None = None,
        rate: KeyedRate | None = None,
        traces: Traces | None = None,
    ) -> None:
        self._tools = tools
        self._caller_context = caller_context
        self._validators = validators
        self._calls = calls
        self._execution = execution or CallExecutor()
        self._rate = rate or KeyedRate(0)
        self._traces = traces or Traces()
        self._masks = Masks()
        self._ids = CallIds()

    async def call(
        self,
        tool_id: int,
        arguments: JsonObject,
        caller: Caller,
        *,
        on_progress: OnProgress | None = None,
        on_elicit: OnElicit | None = None,
    ) -> CallOutcome:
        """Call a tool and return the outcome. Raises nothing but cancellation."""

        async def work(call: _Call) -> RemoteResult:
            tool, spec = await self._authorise(tool_id, call)
            given = without_nulls(tool.definition, arguments)
            trace_id = trace_of(call.call_id, caller, call.details)
            request = ToolCallRequest(tool, spec, given, on_progress, on_elicit, trace_id)
            return await self._execute(request, call)

        return await self._log_call(_Call(self._ids.new(), caller, arguments), work)

    async def refused(
        self, tool_id: int, arguments: JsonObject, caller: Caller
    ) -> CallOutcome | None:
        """Return the outcome of a call that is not allowed; None if it is."""
        call = _Call(self._ids.new(), caller, arguments)
        try:
            await self._authorise(tool_id, call)
        except CallFailed as error:
            refused = error
        else:
            return None

        async def work(_: _Call) -> RemoteResult:
            raise refused

        return await self._log_call(call, work)

    # -- before it is sent ----------------------------------------------------------------------

    async def _authorise(self, tool_id: int, call: _Call) -> tuple[CatalogueTool, ServerSpec]:
        tool = call.details.tool = self._tools.get(tool_id)
        if tool is None:
            raise _failed("MCP_TOOL_NOT_FOUND", "There is no such tool any more.")
        spec = await self._caller_context.spec_for(tool.server_id, call.caller)
        if spec is None:
            raise _failed("MCP_TOOL_NOT_FOUND", f"There is no tool {tool.exposed_name!r} any more.")
        call.details.spec = spec
        rights = await self._caller_context.rights_of(call.caller)
        if rights.binding is not None:
            call.details.agent_id = rights.binding.agent_id
        refused = refusal(tool, spec, call.caller, rights)
        if refused is not None:
            raise CallFailed(refused, was_sent=False)
        return tool, spec

    def _check_input(self, request: ToolCallRequest, call: _Call) -> None:
        faults = self._validators.input_faults(request.tool, request.arguments)
        call.details.input_valid = not faults
        if faults:
            shown = "; ".join(f"{fault.path or '/'}: {fault.message}" for fault in faults[:3])
            failure = CallFailure(
                "MCP_INVALID_ARGUMENT",
                f"The arguments do not fit {request.tool.exposed_name}: {shown}. Correct them; ask "
                "the user for what is missing.",
                faults=faults[:_MOST_FAULTS],
            )
            raise CallFailed(failure, was_sent=False)

    # -- sending it -----------------------------------------------------------------------------

    async def _execute(self, request: ToolCallRequest, call: _Call) -> RemoteResult:
        if self._rate.take((call.caller.user_id, request.spec.server_id)):
            raise _failed(
                "MCP_RATE_LIMITED",
                f"Too many calls of server {request.spec.name!r} in the last minute. Wait, or go "
                "on without it.",
                is_retryable=True,
            )
        self._check_input(request, call)
        connection = self._caller_context.connection(request.spec, call.caller)
        try:
            result = await self._execution.run(request, connection, call.details.attempts)
        except CallFailed as error:
            raise self._mask_error(error, request.spec) from None
        return self._check_result(request, self._masks.result(request.spec, result), call)

    def _mask_error(self, error: CallFailed, spec: ServerSpec) -> CallFailed:
        failure = error.failure
        message = self._masks.text(spec, failure.message)
        masked = CallFailure(failure.code, message, failure.retryable, failure.faults)
        return CallFailed(masked, was_sent=error.was_sent)

    # -- when it is back ------------------------------------------------------------------------

    def _check_result(
        self, request: ToolCallRequest, result: RemoteResult, call: _Call
    ) -> RemoteResult:
        tool = request.tool
        call.details.result_bytes = result.byte_size
        if result.byte_size > MAX_RESULT_BYTES:
            raise _failed(
                "MCP_RESULT_TOO_LARGE",
                f"The result of {tool.exposed_name} has {result.byte_size} bytes; at most "
                f"{MAX_RESULT_BYTES} are taken. Ask for less.",
            )
        if result.is_error:
            raise _failed("MCP_TOOL_ERROR", _error_text(tool, result))
        if tool.definition.output_schema is not None:
            self._check_output(tool, result, call)
        return result

    def _check_output(self, tool: CatalogueTool, result: RemoteResult, call: _Call) -> None:
        faults = self._validators.output_faults(tool, result.structured)
        call.details.output_valid = not faults
        if faults:
            rules = ", ".join(f"{fault.path or '/'} ({fault.rule})" for fault in faults[:3])
            failure = CallFailure(
                "MCP_INVALID_OUTPUT",
                f"The result of {tool.exposed_name} does not follow its own schema: {rules}. It is "
                "not to be relied on; try other arguments or another tool.",
                faults=faults[:_MOST_FAULTS],
            )
            raise CallFailed(failure)

    # -- writing it down ------------------------------------------------------------------------

    async def _log_call(
        self, call: _Call, work: Callable[[_Call], Awaitable[RemoteResult]]
    ) -> CallOutcome:
        """Do the work in a span, and log the call however it ends."""
        started = time.perf_counter()
        details = call.details
        try:
            result = await self._trace_call(call, work)
            return self._outcome(call, started, result=result)
        except CallFailed as error:
            details.failure = error.failure
            return self._outcome(call, started, failure=error.failure)
        except asyncio.CancelledError:
            details.failure = CallFailure("MCP_CANCELLED", "The call was cancelled.")
            raise
        except Exception:
            logger.exception("a call of an MCP tool failed inside the hub")
            details.failure = CallFailure(
                "MCP_SERVER_UNAVAILABLE", "The call failed with an internal error.", retryable=True
            )
            return self._outcome(call, started, failure=details.failure)
        finally:
            details.duration_ms = (time.perf_counter() - started) * 1000
            if self._calls is not None:
                self._calls.note(call_row(call.call_id, call.caller, call.arguments, details))

    async def _trace_call(
        self, call: _Call, work: Callable[[_Call], Awaitable[RemoteResult]]
    ) -> RemoteResult:
        """Do the work in a span, which the SDK passes to the server (`_meta.traceparent`)."""
        details = call.details
        if not self._traces.is_on:
            return await work(call)
        named = span_attributes(call.call_id, call.caller)
        with self._traces.span(METHOD, named, kind="client", passing=(CallFailed,)) as span:
            details.note_span(span)
            try:
                return await work(call)
            except CallFailed as error:
                self._traces.failed(span, error.failure.code)
                raise
            finally:
                details.describe(span)

    def _outcome(self, call: _Call, started: float, **how: Any) -> CallOutcome:
        milliseconds = (time.perf_counter() - started) * 1000
        return CallOutcome(call.call_id, call.details.tool, duration_ms=milliseconds, **how)


def _failed(code: Any, message: str, *, is_retryable: bool = False) -> CallFailed:
    return CallFailed(CallFailure(code, message, is_retryable))


def _error_text(tool: CatalogueTool, result: RemoteResult) -> str:
    """Return the server's error message, which is data for the model, cut to a readable size."""
    said = "\n".join(str(block["text"]) for block in result.content if "text" in block).strip()
    return said[:_MOST_ERROR_TEXT] or f"{tool.exposed_name} reported an error without a word."
