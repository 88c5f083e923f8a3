"""Request and response models of agents, tools and skills.

Tools have numbers, and the field that binds them is `toolIds`, as the requirement spells it. An
agent's prompt is for administrators.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Self

from fastapi import Path
from pydantic import ConfigDict, Field, StringConstraints

from dataagent_core.agents import AgentKind, AgentSpec, AgentView
from dataagent_core.agents.service import AgentChanges, AgentStatus, NewAgent
from dataagent_core.agents.store import Tool, ToolKind
from dataagent_core.agents.types import NAME_PATTERN
from dataagent_core.identity import Principal
from dataagent_core.mcp.types import CatalogueTool
from dataagent_core.skills import (
    MAX_SKILL_BYTES,
    SkillEntry,
    SkillProblem,
    SkillSet,
    SkillSource,
    SkillText,
)
from dataagent_server.models.fields import RequestModel, ResponseModel, SafeText

AgentName = Annotated[str, StringConstraints(pattern=f"^{NAME_PATTERN}$")]
Description = Annotated[SafeText, StringConstraints(max_length=4000)]
Prompt = Annotated[SafeText, StringConstraints(min_length=1, max_length=100_000)]
ModelName = Annotated[SafeText, StringConstraints(min_length=1, max_length=200)]
Icon = Annotated[SafeText, StringConstraints(max_length=64)]
ToolIds = Annotated[list[int], Field(max_length=10_000)]
_TOOL_IDS = "All tools of the agent. Unknown numbers are left out and returned in `ignoredToolIds`."


class AgentCreate(RequestModel):
    """An agent to create; without `toolIds` it has no tools."""

    name: AgentName = Field(examples=["controller"])
    description: Description = Field(
        default="",
        description="Shown to users and used for routing.",
        examples=["Checks the books."],
    )
    system_prompt: Prompt | None = Field(default=None, description="Null: the default prompt.")
    model: ModelName | None = Field(default=None, description="Null: the installation's model.")
    icon: Icon = ""
    show_in_selector: bool = True
    tool_ids: ToolIds = Field(
        default_factory=list[int], alias="toolIds", description=_TOOL_IDS, examples=[[1, 2]]
    )

    @property
    def new(self) -> NewAgent:
        """As the core has it."""
        return NewAgent(**self.model_dump())


class AgentUpdate(RequestModel):
    """What to change in an agent; what is left out stays. `toolIds` replace all it had.

    Null is what a built-in or package agent came with; for a created one it is no prompt or model
    of its own, and no tools.
    """

    model_config = ConfigDict(json_schema_extra={"example": {"toolIds": [1, 2, 3]}})

    id: str | None = Field(default=None, description="If sent, must match the URL.")
    name: AgentName | None = Field(default=None, description="For created agents. Null stays.")
    description: Description | None = None
    system_prompt: Prompt | None = None
    model: ModelName | None = None
    icon: Icon | None = None
    show_in_selector: bool | None = None
    tool_ids: ToolIds | None = Field(default=None, alias="toolIds", description=_TOOL_IDS)

    @property
    def changes(self) -> AgentChanges:
        """As the core has them: the fields that were sent."""
        sent = self.model_dump(exclude_unset=True, exclude={"id"})
        if sent.get("name", "") is None:
            del sent["name"]
        return AgentChanges(**sent)


class AgentInfo(ResponseModel):
    """An agent. `toolIds` of one that has all tools are all there are."""

    model_config = ConfigDict(populate_by_name=True)

    id: str = Field(examples=["sql"])
    name: str = Field(examples=["sql"])
    description: str = Field(examples=["Answers questions about your data with SQL you can see."])
    system_prompt: str | None = Field(
        description="For administrators; null for others and for the general prompt.",
        examples=[None],
    )
    model: str | None = Field(examples=[None])
    icon: str = Field(examples=["database"])
    show_in_selector: bool = Field(examples=[True])
    kind: AgentKind
    status: AgentStatus = Field(
        description="WORKING: it executes a run. THINKING: its runs wait for a worker or approval."
    )
    tool_ids: list[int] = Field(alias="toolIds", examples=[[1, 2, 3]])

    @classmethod
    def of(cls, view: AgentView, *, has_prompt: bool) -> Self:
        """The public form of an agent."""
        return cls(**_fields(view, has_prompt=has_prompt))


class AgentChanged(AgentInfo):
    """An agent after a change, and the unknown tool numbers of the request."""

    ignored_tool_ids: list[int] = Field(alias="ignoredToolIds", examples=[[99]])

    @classmethod
    def of(cls, view: AgentView, *, has_prompt: bool = True) -> Self:
        """The public form of an agent that an administrator changed."""
        ignored = list(view.ignored_tool_ids)
        return cls(**_fields(view, has_prompt=has_prompt), ignoredToolIds=ignored)


def _fields(view: AgentView, *, has_prompt: bool) -> dict[str, Any]:
    spec = view.spec
    return {
        "id": spec.agent_id,
        "name": spec.name,
        "description": spec.description,
        "system_prompt": spec.system_prompt if has_prompt else None,
        "model": spec.model,
        "icon": spec.icon,
        "show_in_selector": spec.show_in_selector,
        "kind": spec.kind,
        "status": view.status,
        "tool_ids": list(view.tool_ids),
    }


class AgentChoice(ResponseModel):
    """An agent in a selector."""

    id: str = Field(examples=["sql"])
    name: str = Field(examples=["sql"])
    description: str = Field(examples=["Answers questions about your data with SQL you can see."])
    icon: str = Field(examples=["database"])
    kind: AgentKind

    @classmethod
    def of(cls, spec: AgentSpec) -> Self:
        """The form for anyone."""
        return cls(
            id=spec.agent_id,
            name=spec.name,
            description=spec.description,
            icon=spec.icon,
            kind=spec.kind,
        )


class ToolInfo(ResponseModel):
    """A tool that can be bound. Its number never changes."""

    id: int = Field(examples=[3])
    name: str = Field(examples=["sql_db_query"])
    description: str = Field(examples=["Run one read-only SELECT."])
    kind: ToolKind
    server_id: str | None = Field(description="The MCP server it comes from.", examples=[None])
    input_schema: dict[str, Any] = Field(
        examples=[{"type": "object", "properties": {"query": {"type": "string"}}}]
    )

    @classmethod
    def of(cls, tool: Tool) -> Self:
        """The public form of a tool."""
        return cls(
            id=tool.tool_id,
            name=tool.name,
            description=tool.description,
            kind=tool.kind,
            server_id=tool.server_id,
            input_schema=tool.input_schema,
        )

    @classmethod
    def of_mcp(cls, tool: CatalogueTool) -> Self:
        """The public form of an MCP tool, under the name agents call it by."""
        return cls(
            id=tool.tool_id,
            name=tool.exposed_name,
            description=tool.definition.description,
            kind="mcp",
            server_id=tool.server_id,
            input_schema=tool.definition.input_schema,
        )


SkillName = Annotated[
    str, Path(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=64, description="The skill's name.")
]
_INFO: dict[str, Any] = {
    "name": "monthly-report",
    "description": "How our monthly report is made. Use it for the report.",
    "source": "own",
}
_DETAIL: dict[str, Any] = {
    **_INFO,
    "content": "# Monthly report\n\n1. Begin with revenue by country …",
    "files": ["scripts/table.py"],
    "tools": ["sql_db_query"],
    "text": "---\nname: monthly-report\ndescription: How our report is made.\n---\n# Monthly …",
}
_WARNING: dict[str, Any] = {
    "source": "custom",
    "path": "notes/SKILL.md",
    "reason": "its front matter has no name",
}
_EXAMPLE = "---\nname: monthly-report\ndescription: How our report is made.\n---\nBegin with …\n"


class SkillInfo(ResponseModel):
    """A skill to choose, and its origin."""

    model_config = ConfigDict(frozen=True, json_schema_extra={"example": _INFO})

    name: str
    description: str
    source: SkillSource

    @classmethod
    def of(cls, entry: SkillEntry) -> Self:
        """The public form of a skill."""
        return cls(name=entry.name, description=entry.description, source=entry.source)


class SkillDetail(SkillInfo):
    """A skill with its whole instructions, its other files, and the tools it recommends.

    `text` is the whole SKILL.md, for editing.
    """

    model_config = ConfigDict(frozen=True, json_schema_extra={"example": _DETAIL})

    content: str
    files: list[str]
    tools: list[str]
    text: str

    @classmethod
    def full(cls, skill: SkillText) -> Self:
        """The public form of a skill with all it says."""
        entry = skill.entry
        return cls(
            name=entry.name,
            description=entry.description,
            source=entry.source,
            content=skill.instructions,
            files=list(skill.files),
            tools=list(entry.tools),
            text=skill.text,
        )


class SkillWarning(ResponseModel):
    """A SKILL.md that was left out, and why."""

    model_config = ConfigDict(frozen=True, json_schema_extra={"example": _WARNING})

    source: SkillSource
    path: str
    reason: str


class SkillList(ResponseModel):
    """The skills a user can choose with an agent.

    `warnings` names what was left out: of the caller's own, and for administrators of everyone's.
    """

    items: list[SkillInfo]
    total: int
    warnings: list[SkillWarning]

    @classmethod
    def of(cls, shelf: SkillSet, caller: Principal) -> Self:
        """The public form of a shelf, for this caller."""
        return cls(
            items=[SkillInfo.of(entry) for entry in shelf],
            total=len(shelf),
            warnings=_warnings(shelf.problems, caller),
        )


class SkillBody(RequestModel):
    """A whole SKILL.md: front matter with name and description, then the instructions."""

    model_config = ConfigDict(json_schema_extra={"example": {"content": _EXAMPLE}})

    content: Annotated[SafeText, StringConstraints(max_length=MAX_SKILL_BYTES)]


def _warnings(problems: Iterable[SkillProblem], caller: Principal) -> list[SkillWarning]:
    return [
        SkillWarning(source=each.source, path=each.path, reason=each.reason)
        for each in problems
        if each.source == "own" or caller.is_admin
    ]
