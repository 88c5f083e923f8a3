"""Templates of stdio servers, as they go over the wire.

An administrator fixes the command; users fill in parameters. What is started is for administrators
to see.
"""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, StringConstraints

from dataagent_core.mcp.servers.templates import NewTemplate, Parameter, Template
from dataagent_server.models.fields import Name, RequestModel, ResponseModel, SafeText
from dataagent_server.models.mcp import ParameterName, VariableName, Word

Text = Annotated[SafeText, StringConstraints(max_length=4000)]
Pattern = Annotated[SafeText, StringConstraints(min_length=1, max_length=200)]


class ParameterBody(RequestModel):
    """What a user fills in: `{name}` in an argument or a variable of the template."""

    name: ParameterName = Field(examples=["folder"])
    description: Text = ""
    is_secret: bool = False
    is_required: bool = True
    pattern: Pattern | None = Field(default=None, description="What a value has to match, whole.")

    @property
    def parameter(self) -> Parameter:
        """As the core has it."""
        return Parameter(**self.model_dump())


class TemplateBody(RequestModel):
    """A stdio server that users may have: a fixed command with places for parameters."""

    name: Name = Field(examples=["files"])
    description: Text = Field(default="", examples=["Reads a folder."])
    command: Word = Field(examples=["mcp-server-filesystem"])
    args: list[Word] = Field(default_factory=list[str], max_length=200, examples=[["{folder}"]])
    env: dict[VariableName, Word] = Field(default_factory=dict[str, str], max_length=100)
    parameters: list[ParameterBody] = Field(
        default_factory=list[ParameterBody],
        max_length=50,
        examples=[[{"name": "folder", "pattern": "/srv/shared/[a-z]+"}]],
    )

    @property
    def new(self) -> NewTemplate:
        """As the core has it."""
        return NewTemplate(
            name=self.name,
            description=self.description,
            command=self.command,
            args=tuple(self.args),
            env=self.env,
            parameters=tuple(each.parameter for each in self.parameters),
        )


class TemplateUpdate(TemplateBody):
    """What a template shall be from now on."""

    template_id: str | None = Field(default=None, description="Its own id, if it is sent.")


class ParameterInfo(ResponseModel):
    """What a user fills in."""

    name: str = Field(examples=["folder"])
    description: str = Field(examples=["Which folder it may read."])
    is_secret: bool
    is_required: bool = Field(examples=[True])
    pattern: str | None = Field(examples=["/srv/shared/[a-z]+"])


class TemplateInfo(ResponseModel):
    """A template. `command`, `args` and `env` are null for who is no administrator."""

    template_id: str = Field(examples=["tpl_5d4c3b2a"])
    name: str = Field(examples=["files"])
    description: str = Field(examples=["Reads a folder."])
    parameters: list[ParameterInfo]
    command: str | None = Field(examples=["mcp-server-filesystem"])
    args: list[str] | None = Field(examples=[["{folder}"]])
    env: dict[str, str] | None = Field(examples=[{}])

    @classmethod
    def of(cls, template: Template, *, is_admin: bool) -> Self:
        """The template as someone may see it."""
        info = cls.model_validate(template, from_attributes=True)
        if is_admin:
            return info
        return info.model_copy(update=dict.fromkeys(("command", "args", "env")))
