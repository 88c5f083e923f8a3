"""Encodes a LangChain conversation and its tools as a `chat/completions` request, without I/O.

Turning a tool into its JSON schema is slow, and an agent binds the same tools again for each model
call, so a description is made once for each tool object.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias, cast

import orjson
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    HumanMessage,
    InvalidToolCall,
    SystemMessage,
    ToolCall,
    ToolMessage,
    is_data_content_block,
)
from langchain_core.messages.block_translators.openai import convert_to_openai_data_block
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool

from dataagent_core.errors import BadInput
from dataagent_core.models.chunks import REASONING

ToolLike: TypeAlias = dict[str, Any] | type | Callable[..., Any] | BaseTool
Described: TypeAlias = dict[str, Any]

_MOST: Final = 1024


class ToolSchemas:
    """Descriptions by tool object; the least used are forgotten."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[int, bool | None], tuple[ToolLike, str, Described]] = (
            OrderedDict()
        )

    def describe(self, tools: Sequence[ToolLike], *, strict: bool | None) -> list[Described]:
        """One description a tool, in OpenAI's form."""
        return [self._describe(tool, strict) for tool in tools]

    def _describe(self, tool: ToolLike, strict: bool | None) -> Described:
        if isinstance(tool, dict):
            given = cast(Described, tool)  # the only dictionary among the kinds of tools
            return given if _is_described(given) else convert_to_openai_tool(given, strict=strict)
        key = (id(tool), strict)
        kept = self._kept.get(key)
        says = _says(tool)
        if kept is not None and kept[0] is tool and kept[1] == says:
            self._kept.move_to_end(key)
            return kept[2]
        described = convert_to_openai_tool(tool, strict=strict)
        self._kept[key] = (tool, says, described)
        if len(self._kept) > _MOST:
            self._kept.popitem(last=False)
        return described


def _is_described(tool: Described) -> bool:
    """Whether a dictionary is a tool of the wire format and not a bare JSON schema."""
    return tool.get("type", "object") != "object"


def _says(tool: ToolLike) -> str:
    """What may change on a tool that stays the same object."""
    return f"{tool.name}\n{tool.description}" if isinstance(tool, BaseTool) else ""


def choice_of(tool_choice: str | bool | dict[str, Any] | None, tools: Sequence[Described]) -> Any:
    """LangChain's `tool_choice` in OpenAI's words; None if it is left to the model."""
    if not tool_choice:
        return None
    if tool_choice is True or tool_choice == "any":
        return "required"
    names = {tool.get("function", tool).get("name") for tool in tools}
    if isinstance(tool_choice, str) and tool_choice in names:
        return {"type": "function", "function": {"name": tool_choice}}
    return tool_choice


_NOT_SENT: Final = frozenset(
    {
        "thinking",
        "redacted_thinking",
        "reasoning",
        "reasoning_content",
        "tool_use",
        "tool_call",
        "invalid_tool_call",
        "tool_call_chunk",
        "input_json_delta",
        "function_call",
    }
)
"""Blocks of other providers' answers that have no place in a request of this kind."""

Json = dict[str, Any]
"""An object of the wire format; it is made here and goes straight into the request."""


def encode_messages(
    messages: Sequence[BaseMessage], *, sends_reasoning: bool = False
) -> list[Json]:
    """The conversation, one object a message.

    Raises:
        BadInput: a kind of message or content that the format has no place for.
    """
    return [_encode(message, sends_reasoning) for message in messages]


def encode_body(body: Json) -> bytes:
    """The body as bytes. Half a surrogate pair, which is no text, is sent as `?`."""
    try:
        return orjson.dumps(body)
    except TypeError:
        return json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")


def _encode(message: BaseMessage, sends_reasoning: bool) -> Json:
    match message:
        case AIMessage():
            return _assistant(message, sends_reasoning)
        case ToolMessage():
            return {
                "role": "tool",
                "content": _content(message.content),
                "tool_call_id": message.tool_call_id,
            }
        case SystemMessage():
            return {"role": "system", "content": _content(message.content)}
        case HumanMessage():
            encoded: Json = {"role": "user", "content": _content(message.content)}
        case ChatMessage():
            encoded = {"role": message.role, "content": _content(message.content)}
        case _:
            raise BadInput(f"A message of type {message.type!r} cannot be sent to this model.")
    if message.name:
        encoded["name"] = message.name
    return encoded


def _assistant(message: AIMessage, sends_reasoning: bool) -> Json:
    encoded: Json = {"role": "assistant", "content": _content(message.content)}
    calls = [_call(call) for call in message.tool_calls]
    calls += [_broken_call(call) for call in message.invalid_tool_calls]
    if calls:
        encoded["tool_calls"] = calls
        encoded["content"] = encoded["content"] or None
    if sends_reasoning and (reasoning := message.additional_kwargs.get(REASONING)):
        encoded[REASONING] = reasoning
    return encoded


def _call(call: ToolCall) -> Json:
    arguments = json.dumps(call["args"], ensure_ascii=False)
    return _function(call["id"], call["name"], arguments)


def _broken_call(call: InvalidToolCall) -> Json:
    return _function(call["id"], call["name"], call["args"] or "")


def _function(call_id: str | None, name: str | None, arguments: str) -> Json:
    return {
        "id": call_id,
        "type": "function",
        "function": {"name": name, "arguments": arguments},
    }


def _content(content: str | list[str | dict[Any, Any]]) -> str | list[Json]:
    if isinstance(content, str):
        return content
    blocks = [_block(cast("str | Json", block)) for block in content]  # blocks have string keys
    return [block for block in blocks if block is not None]


def _block(block: str | Json) -> Json | None:
    if isinstance(block, str):
        return {"type": "text", "text": block}
    kind = block.get("type")
    if kind in _NOT_SENT:
        return None
    if kind == "text":
        return {"type": "text", "text": block.get("text", "")}
    if kind == "image" and isinstance(block.get("source"), dict):
        return _image_of_source(block["source"])
    if is_data_content_block(block):
        try:
            return convert_to_openai_data_block(block)
        except (ValueError, KeyError) as error:
            raise BadInput(f"A block of type {kind!r} cannot be sent: {error}") from error
    return block


def _image_of_source(source: Json) -> Json:
    """An image as Anthropic's format writes it."""
    if source.get("type") == "base64":
        url = f"data:{source.get('media_type')};base64,{source.get('data')}"
    else:
        url = str(source.get("url"))
    return {"type": "image_url", "image_url": {"url": url}}
