"""MCP tools as LangChain tools, and their results as messages and files.

A tool always answers with a message: a failure is JSON with a code and what to do next, with status
`denied`, `timeout` or `error`; only cancellation is an exception. Text stays text; images, audio
and other bytes become files, and so does a result too long for a model, which gets its beginning.
"""

from __future__ import annotations

import base64
import binascii
import json
import mimetypes
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import urlsplit

import orjson
from langchain_core.messages import ToolCall, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langchain_core.tools.base import ArgsSchema
from pydantic import ConfigDict, Field

from dataagent_core.errors import Misconfigured
from dataagent_core.mcp.gateway.call_rows import status_of
from dataagent_core.mcp.gateway.gateway import ToolGateway
from dataagent_core.mcp.types import (
    Caller,
    CallOutcome,
    CallStatus,
    CatalogueTool,
    JsonObject,
    RemoteResult,
)

MOST_SHOWN = 1024 * 1024
"""Bytes of text for the model; a longer text becomes a file."""
_PREVIEW_CHARACTERS = 4_000
_MOST_FILES = 20
_EXTENSIONS = {
    "image/jpeg": ".jpg",
    "audio/mpeg": ".mp3",
    "audio/wav": ".wav",
    "text/plain": ".txt",
}


@dataclass(frozen=True, slots=True)
class ResultFile:
    """A file contained in a result."""

    name: str
    content: bytes


@dataclass(frozen=True, slots=True)
class ModelResult:
    """A result as text for the model and files."""

    text: str
    files: tuple[ResultFile, ...] = ()


def result_for_model(result: RemoteResult, tool_name: str) -> ModelResult:
    """Return a result's text for the model and its files."""
    lines: list[str] = []
    files: list[ResultFile] = []
    left_out = 0
    for block in result.content:
        file = _file_in(block, tool_name, len(files) + 1)
        if file is None:
            lines.append(_line(block))
        elif len(files) < _MOST_FILES:
            files.append(file)
        else:
            left_out += 1
    text = "\n".join(line for line in lines if line)
    if not text and result.structured is not None:
        text = _json(result.structured)
    if left_out:
        note = f"[{left_out} more files were left out: at most {_MOST_FILES} of a result are kept]"
        text = f"{text}\n{note}".lstrip()
    if len(text) * 4 > MOST_SHOWN and len(text.encode(errors="replace")) > MOST_SHOWN:
        whole = ResultFile(f"{tool_name}.txt", text.encode(errors="replace"))
        text = (
            f"The result has {len(whole.content)} bytes, too many to read here; the whole of it is "
            f"in the file {whole.name}. It begins:\n{text[:_PREVIEW_CHARACTERS]}"
        )
        files.append(whole)
    return ModelResult(text, tuple(files))


def _json(value: JsonObject) -> str:
    """Serialise to text, with integers of any size."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


def _file_in(block: JsonObject, tool_name: str, number: int) -> ResultFile | None:
    """Return the file in a block; None if it is text."""
    match block.get("type"):
        case "image" | "audio":
            return _decode_file(block.get("data"), f"{tool_name}-{number}", block.get("mimeType"))
        case "resource":
            resource: Any = block.get("resource") or {}
            if "blob" not in resource:
                return None
            name = _file_name(str(resource.get("uri", ""))) or f"{tool_name}-{number}"
            return _decode_file(resource["blob"], name, resource.get("mimeType"))
        case _:
            return None


def _decode_file(data: Any, name: str, mime_type: Any) -> ResultFile | None:
    try:
        content = base64.b64decode(str(data), validate=True)
    except (binascii.Error, ValueError):
        return None
    if not PurePosixPath(name).suffix:
        kind = str(mime_type or "").split(";")[0].strip().lower()
        name += _EXTENSIONS.get(kind) or mimetypes.guess_extension(kind) or ".bin"
    return ResultFile(name, content)


def _file_name(uri: str) -> str:
    try:
        return PurePosixPath(urlsplit(uri).path).name
    except ValueError:
        return ""


def _line(block: JsonObject) -> str:
    """Return a block as text."""
    match block.get("type"):
        case "text":
            return str(block.get("text", ""))
        case "resource":
            resource: Any = block.get("resource") or {}
            return f"{resource.get('uri', '')}:\n{resource.get('text', '')}"
        case "resource_link":
            return " ".join(_link_parts(block))
        case other:
            return f"[a part of kind {str(other)[:40]!r} that cannot be shown]"


def _link_parts(block: JsonObject) -> Iterator[str]:
    yield f"[{block.get('title') or block.get('name') or 'resource'}]"
    yield str(block.get("uri", ""))
    if block.get("description"):
        yield f"- {block['description']}"


NOTHING_TO_SHOW = "Done; there is no result to show."
_MOST_STRUCTURED = 64 * 1024
_STATUSES: dict[CallStatus, str] = {"denied": "denied", "timeout": "timeout"}


class McpTool(BaseTool):
    """A tool of an MCP server. It is asynchronous: call `ainvoke`."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    name: str = ""
    description: str = ""
    args_schema: ArgsSchema | None = None
    tool: CatalogueTool = Field(exclude=True)
    gateway: ToolGateway = Field(exclude=True)

    @property
    def asks_first(self) -> bool:
        """Whether a call needs approval."""
        return self.tool.asks_first

    async def ainvoke(
        self,
        input: str | dict[str, Any] | ToolCall,  # noqa: A002 as LangChain names it
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> Any:
        """Return a message for a model's call, or the content for plain arguments."""
        answer = await super().ainvoke(input, config, **kwargs)
        if not isinstance(answer, ToolMessage):
            return answer
        if isinstance(input, dict) and input.get("type") == "tool_call":
            return answer.model_copy(update={"tool_call_id": input["id"]})
        return answer.content  # pyright: ignore[reportUnknownMemberType] text, or blocks of JSON

    def _run(self, /, **_arguments: Any) -> ToolMessage:
        raise Misconfigured(f"{self.name} is asynchronous; call it with ainvoke.")


class UserMcpTool(McpTool):
    """A tool that is always called for the same user."""

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
    """Return the fields of a LangChain tool: name, description and schema for the model."""
    definition = tool.definition
    schema = definition.input_schema
    return {
        "name": tool.exposed_name,
        "description": definition.description or definition.title or tool.name,
        # as models want it: an object with properties
        "args_schema": {**schema, "type": "object", "properties": schema.get("properties") or {}},
    }


def structured_content(result: RemoteResult) -> JsonObject | None:
    """Return the structured content for programs that read the thread, if it is small."""
    if result.structured is None or result.byte_size > _MOST_STRUCTURED:
        return None
    return {"structured_content": result.structured}


def failure_message(outcome: CallOutcome, name: str, call_id: str) -> ToolMessage:
    """Return a failed call's message for the model."""
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
