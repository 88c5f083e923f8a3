"""`think_tool`: a place for the model to think aloud between calls. It does nothing else."""

from __future__ import annotations

from typing import Any

from langchain_core.tools import BaseTool
from pydantic import BaseModel, Field

from dataagent_core.tools.context import ToolContext


def tools(_context: ToolContext) -> list[BaseTool]:
    """The tools of this module."""
    return [ThinkTool()]


class ThinkArguments(BaseModel):
    """Arguments of `think_tool`."""

    reflection: str = Field(description="What was found, what is missing, what to do next.")


class ThinkTool(BaseTool):
    """Notes a reflection; it is shown to the user as thinking."""

    name: str = "think_tool"
    description: str = (
        "Think before the next step: what did the last result show, what is still missing, what "
        "comes next? Use it between searches and before an answer. It has no other effect."
    )
    args_schema: Any = ThinkArguments  # BaseTool's own annotation is as wide

    def _run(self, reflection: str) -> str:
        return f"Noted: {reflection}"

    async def _arun(self, reflection: str) -> str:
        return self._run(reflection)
