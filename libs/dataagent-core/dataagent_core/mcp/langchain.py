"""An MCP tool as a LangChain tool: its schema for the model, its call through the gateway.

It always answers with a message. A failure is JSON with a code and what to do next, and status
`denied`, `timeout` or `error`; only being cancelled is an exception. Above: `manager.py`, whose
tools are one user's, and `tools/mcp.py`, whose tools are an agent's in whichever run it is.
"""

from __future__ import annotations

from typing import Any

import orjson
from langchain_core.messages import ToolCall, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langchain_core.tools.base import ArgsSchema
from pydantic import ConfigDict, Field

from dataagent_core.errors import Misconfigured
from dataagent_core.mcp.gateway.call_rows import status_of
from dataagent_core.mcp.gateway.content import result_for_model
from dataagent_core.mcp.gateway.gateway import ToolGateway
from dataagent_core.mcp.types import (
    Caller,
    CallOutcome,
    CallStatus,
    CatalogueTool,
    JsonObject,
    RemoteResult,
)

NOTHING_TO_SHOW = "Done; there is no result to show."
_MOST_STRUCTURED = 64 * 1024
_STATUSES: dict[CallStatus, str] = {"denied": "denied", "timeout": "timeout"}


class McpTool(BaseTool):
    """A tool of an MCP server. It is asynchronous: `ainvoke` calls it."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    name: str = ""
    description: str = ""
    args_schema: ArgsSchema | None = None
    tool: CatalogueTool = Field(exclude=True)
    gateway: ToolGateway = Field(exclude=True)

    @property
    def asks_first(self) -> bool:
        """Whether a person is asked before it is called."""
        return self.tool.asks_first

    async def ainvoke(
        self,
        input: str | dict[str, Any] | ToolCall,  # noqa: A002 as LangChain names it
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> Any:
        """As of any tool: a message for a model's call, its content for plain arguments."""
        answer = await super().ainvoke(input, config, **kwargs)
        if not isinstance(answer, ToolMessage):
            return answer
        if isinstance(input, dict) and input.get("type") == "tool_call":
            return answer.model_copy(update={"tool_call_id": input["id"]})
        return answer.content  # pyright: ignore[reportUnknownMemberType] text, or blocks of JSON

    def _run(self, /, **_arguments: Any) -> ToolMessage:
        raise Misconfigured(f"{self.name} is asynchronous; call it with ainvoke.")


class UserMcpTool(McpTool):
    """A tool that is always called on behalf of the same user."""

    caller: Caller = Field(exclude=True)

    async def _arun(self, /, **arguments: Any) -> ToolMessage:
        outcome = await self.gateway.call(self.tool.tool_id, arguments, self.caller)
        if outcome.result is None:
            return failure_message(outcome, self.name, "")
        found = result_for_model(outcome.result, self.name)
        lines = [found.text] if found.text else []
        lines += [f"[file {each.name}, {len(each.content)} bytes]" for each in found.files]
        artifact = structured_content(outcome.result) or {}
        if found.files:
            artifact["files"] = {each.name: each.content for each in found.files}
        return ToolMessage(
            "\n".join(lines) or NOTHING_TO_SHOW,
            tool_call_id="",  # known to `ainvoke`
            name=self.name,
            artifact=artifact or None,
        )


def tool_fields(tool: CatalogueTool) -> dict[str, Any]:
    """What a model is shown of a tool, as the fields of a LangChain tool."""
    definition = tool.definition
    schema = definition.input_schema
    return {
        "name": tool.exposed_name,
        "description": definition.description or definition.title or tool.name,
        # as models want it: an object with properties
        "args_schema": {**schema, "type": "object", "properties": schema.get("properties") or {}},
    }


def structured_content(result: RemoteResult) -> JsonObject | None:
    """What programs that read the thread get beside the text, while it is small."""
    if result.structured is None or result.byte_size > _MOST_STRUCTURED:
        return None
    return {"structured_content": result.structured}


def failure_message(outcome: CallOutcome, name: str, call_id: str) -> ToolMessage:
    """A call that has no result, as the model reads it."""
    failure = outcome.failure
    if failure is None:
        raise ValueError("the call has a result")
    explained: JsonObject = {
        "code": failure.code,
        "message": failure.message,
        "retryable": failure.retryable,
        "tool": name,
        "call_id": outcome.call_id,
    }
    if outcome.tool is not None:
        explained["server_id"] = outcome.tool.server_id
    if failure.faults:
        explained["errors"] = [
            {"path": fault.path, "rule": fault.rule, "message": fault.message}
            for fault in failure.faults
        ]
    status = _STATUSES.get(status_of(failure), "error")
    return ToolMessage(
        orjson.dumps({"error": explained}, default=str).decode(),
        tool_call_id=call_id,
        name=name,
        status="error",
        additional_kwargs={"status": status},
    )
