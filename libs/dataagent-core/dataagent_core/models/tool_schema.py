"""Tools as a model's request describes them.

Turning a tool into its JSON schema is slow, and an agent binds the same tools again for each model
call; so a description is made once for each tool object. Used by the models beside it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias, cast

from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool

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
