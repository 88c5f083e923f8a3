"""Which tools there are to bind: as the engine has them, and as rows with a number.

A tool's number is given when it is first seen and never changes or is given again; MCP tools are
rows of the same catalogue. Above: `store.py` keeps them, `middleware/tool_policy.py` holds agents
to them. Below: nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

from langchain_core.tools import BaseTool

ToolKind = Literal["builtin", "mcp"]

ALWAYS_BOUND = frozenset({"write_todos", "task", "activate_skill", "route"})
"""What every agent works with by itself: its plan, its helpers, its skills. It has no number."""


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """A tool as its makers describe it."""

    name: str
    description: str
    input_schema: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool of the catalogue."""

    tool_id: int
    name: str
    description: str
    kind: ToolKind
    input_schema: dict[str, Any]
    server_id: str | None = None


def definitions(tools: Iterable[BaseTool]) -> list[ToolDefinition]:
    """What there is to bind among some tools, by name; of two with one name the first."""
    found: dict[str, ToolDefinition] = {}
    for tool in tools:
        if tool.name not in ALWAYS_BOUND:
            found.setdefault(tool.name, _definition(tool))
    return [found[name] for name in sorted(found)]


def _definition(tool: BaseTool) -> ToolDefinition:
    schema: Any = tool.tool_call_schema  # a model, or JSON schema as it is
    to_json = getattr(schema, "model_json_schema", None)
    return ToolDefinition(
        tool.name, tool.description.strip(), schema if to_json is None else to_json()
    )
