"""Request and response models of MCP servers and of templates for stdio servers.

Secrets (values of `env` and `headers`) are received and sent as `••••`; sending that back leaves
the stored value. A shared server's address and a template's command are for administrators.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import ConfigDict, Field, SecretStr, StringConstraints

from dataagent_core.identity.sealing import MASK
from dataagent_core.mcp.servers.administration import SharedScope
from dataagent_core.mcp.servers.registration import ServerFields
from dataagent_core.mcp.servers.server_views import ServerView, Trial, mask_secrets, mask_url
from dataagent_core.mcp.servers.templates import NewTemplate, Parameter, Template
from dataagent_core.mcp.types import (
    CatalogueTool,
    OnChange,
    Scope,
    ServerStatus,
    SessionScope,
    ToolStatus,
    Transport,
)
from dataagent_server.models.fields import Id, Name, RequestModel, ResponseModel, SafeText, UtcTime

ServerId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
Alias = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,32}$")]
Word = Annotated[SafeText, StringConstraints(min_length=1, max_length=4096)]
Address = Annotated[SafeText, StringConstraints(min_length=1, max_length=2048)]
VariableName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,127}$")]
ParameterName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,63}$")]
HeaderName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$")]
Secret = Annotated[SecretStr, Field(max_length=16_384, json_schema_extra={"writeOnly": True})]
Seconds = Annotated[float, Field(gt=0, le=3600)]
_EXAMPLE: dict[str, Any] = {
    "name": "orders",
    "transport": "streamable_http",
    "url": "https://mcp.example.com/mcp",
    "headers": {"Authorization": "Bearer …"},
}
_FIELDS = {
    "timeout": "connect_timeout_seconds",
    "call_timeout": "call_timeout_seconds",
    "template": "template_id",
}
_NOT_FIELDS = {"name", "server_id", "scope", "tenant_id", "parameters"}


class _ServerBody(RequestModel):
    """Fields of a server, for adding and changing it."""

    transport: Transport | None = Field(
        default=None, description="`auto` tries streamable HTTP, then SSE; a command is `stdio`."
    )
    command: Word | None = Field(default=None, description="The program to start (stdio).")
    args: list[Word] | None = Field(default=None, max_length=200)
    env: dict[VariableName, Secret] | None = Field(
        default=None,
        max_length=100,
        description=f"Values are secret; `{MASK}` keeps the old.",
    )
    url: Address | None = Field(default=None, description="No credentials in it: use `headers`.")
    headers: dict[HeaderName, Secret] | None = Field(
        default=None,
        max_length=100,
        description=f"Values are secret; `{MASK}` keeps the old.",
    )
    timeout: Seconds | None = Field(
        default=None, description="Seconds to connect; by default the installation's."
    )
    call_timeout: Seconds | None = Field(default=None, description="Seconds a call may take; 30.")
    disabled: bool | None = None

    @property
    def fields(self) -> ServerFields:
        """As the core has them: what was sent and is not null."""
        sent = {
            name: getattr(self, name)
            for name in self.model_fields_set - _NOT_FIELDS
            if getattr(self, name) is not None
        }
        if self.args is not None:
            sent["args"] = tuple(self.args)
        return ServerFields(**{_FIELDS.get(name, name): value for name, value in sent.items()})


class _UserServerBody(_ServerBody):
    """Fields of a user's own server, for adding and changing it."""

    template: Id | None = Field(
        default=None, description="An administrator's template of the program."
    )
    parameters: dict[ParameterName, Word] | None = Field(
        default=None, max_length=50, description="All parameters of the template."
    )


class UserServerUpdate(_UserServerBody):
    """Changes of a server; what is left out or null stays, its secrets too."""

    model_config = ConfigDict(json_schema_extra={"example": {"disabled": True}})

    name: str | None = Field(default=None, description="If sent, must match the URL.")


class MCPServerConfigRequest(_UserServerBody):
    """A server to add: a URL, a template with its parameters, or (where allowed) a command."""

    model_config = ConfigDict(json_schema_extra={"example": _EXAMPLE})

    name: Name


class _SharedServerBody(_ServerBody):
    """Fields of a shared server, for registering and changing it."""

    alias: Alias | None = Field(
        default=None, description="Prefix of its tools' names, before `__`."
    )
    cwd: Annotated[SafeText, StringConstraints(max_length=4096)] | None = Field(
        default=None, description="The folder a command is started in; empty: its own."
    )
    proxy_url: Annotated[SafeText, StringConstraints(max_length=2048)] | None = Field(
        default=None, description="Empty: none."
    )
    session_scope: SessionScope | None = Field(
        default=None, description="Who shares one connection."
    )
    max_concurrency: Annotated[int, Field(ge=1, le=1000)] | None = None
    on_change: OnChange | None = Field(
        default=None, description="How a changed tool definition is treated."
    )

    @property
    def fields(self) -> ServerFields:
        """As of any server, with what was emptied as nothing."""
        sent = super().fields
        if sent.get("cwd") == "":
            sent["cwd"] = None
        if sent.get("proxy_url") == "":
            sent["proxy_url"] = None
        return sent


class SharedServerUpdate(_SharedServerBody):
    """Changes of a shared server; what is left out or null stays, its secrets too.

    An empty `cwd` or `proxy_url` removes it.
    """

    model_config = ConfigDict(json_schema_extra={"example": {"call_timeout": 60}})

    server_id: str | None = Field(default=None, description="If sent, must match the URL.")


class SharedServerCreate(_SharedServerBody):
    """A shared server to register: for everyone, or for one tenant."""

    model_config = ConfigDict(json_schema_extra={"example": {**_EXAMPLE, "scope": "global"}})

    server_id: ServerId | None = Field(default=None, description="Generated if left out.")
    name: Name
    scope: SharedScope = "global"
    tenant_id: Id | None = None


class CredentialsBody(RequestModel):
    """The user's own credentials for a shared server; those left out are deleted."""

    model_config = ConfigDict(
        json_schema_extra={"example": {"headers": {"Authorization": "Bearer …"}}}
    )

    headers: dict[HeaderName, Secret] = Field(
        default_factory=dict[str, SecretStr],
        max_length=100,
        description=f"`{MASK}` keeps the old.",
    )
    env: dict[VariableName, Secret] = Field(
        default_factory=dict[str, SecretStr],
        max_length=100,
        description=f"`{MASK}` keeps the old.",
    )


class ServerToolInfo(ResponseModel):
    """A tool of a server, in short."""

    id: int = Field(examples=[41])
    name: str = Field(examples=["get_order"])
    exposed_name: str = Field(examples=["orders__get_order"])
    description: str = Field(examples=["An order with its lines."])
    status: ToolStatus
    enabled: bool = Field(examples=[True])
    annotations: dict[str, Any] = Field(examples=[{"readOnlyHint": True}])
    asks_first: bool = Field(description="A call needs approval.")
    definition_hash: str = Field(examples=["9f86d081" * 8])

    @classmethod
    def of(cls, tool: CatalogueTool) -> Self:
        """The short form of a tool."""
        return cls(
            id=tool.tool_id,
            name=tool.name,
            exposed_name=tool.exposed_name,
            description=tool.definition.description,
            status=tool.status,
            enabled=tool.enabled,
            annotations=tool.definition.annotations,
            asks_first=tool.asks_first,
            definition_hash=tool.definition_hash,
        )


class MCPServerConfigResponse(ResponseModel):
    """A user's server. A shared one has no connection details."""

    name: str = Field(examples=["orders"])
    scope: Scope = Field(description="`user`: their own.", examples=["user"])
    transport: Transport = Field(examples=["streamable_http"])
    command: str | None = Field(examples=[None])
    args: list[str] = Field(examples=[[]])
    env: dict[str, str] = Field(description="Names; values are never shown.", examples=[{}])
    url: str | None = Field(examples=["https://mcp.example.com/mcp"])
    headers: dict[str, str] = Field(
        description="Names; values are never shown.", examples=[{"Authorization": MASK}]
    )
    template: str | None = Field(examples=[None])
    timeout: float = Field(examples=[30.0])
    call_timeout: float = Field(examples=[30.0])
    disabled: bool
    has_credentials: bool = Field(description="Own credentials for a shared server are stored.")
    status: ServerStatus = Field(examples=["connected"])
    status_detail: str = Field(description="Details and the reason.", examples=["ready"])
    tools: list[ServerToolInfo]

    @classmethod
    def of(cls, view: ServerView) -> Self:
        """The server as its user sees it."""
        fields = _fields(view)
        if view.spec.scope != "user":
            fields |= {"command": None, "args": [], "env": {}, "url": None, "headers": {}}
            fields |= {"template": None}
        return cls(**fields)


class SharedServerInfo(MCPServerConfigResponse):
    """A server as an administrator sees it."""

    server_id: str
    alias: str = Field(examples=["orders"])
    tenant_id: str | None = Field(examples=[None])
    user_id: str | None = Field(examples=[None])
    cwd: str | None = Field(examples=[None])
    proxy_url: str | None = Field(examples=[None])
    session_scope: SessionScope
    max_concurrency: int = Field(examples=[16])
    on_change: OnChange = Field(examples=["quarantine"])
    protocol_version: str | None = Field(examples=["2026-07-28"])
    server_info: dict[str, Any] | None = Field(examples=[{"name": "orders", "version": "2.1"}])
    fail_count: int = Field(examples=[0])
    next_retry_at: UtcTime | None = Field(examples=[None])
    last_ok_at: UtcTime | None = Field(examples=["2026-03-01T09:30:00.000Z"])

    @classmethod
    def of(cls, view: ServerView) -> Self:
        """The whole registration, without its secrets."""
        spec, status = view.spec, view.status
        return cls(
            **_fields(view),
            server_id=spec.server_id,
            alias=spec.alias,
            tenant_id=spec.tenant_id or None,
            user_id=spec.user_id or None,
            cwd=spec.cwd,
            proxy_url=mask_url(spec.proxy_url),
            session_scope=spec.session_scope,
            max_concurrency=spec.max_concurrency,
            on_change=spec.on_change,
            protocol_version=status.protocol_version,
            server_info=status.server_info,
            fail_count=status.fail_count,
            next_retry_at=status.next_retry_at,
            last_ok_at=status.last_ok_at,
        )


class ServerDeleted(ResponseModel):
    """Confirms that a user's server was deleted."""

    status: Literal["deleted"] = "deleted"
    server_name: str = Field(examples=["orders"])


class TrialInfo(ResponseModel):
    """The result of testing a server."""

    ok: bool = Field(examples=[True])
    status: ServerStatus = Field(examples=["connected"])
    status_detail: str = Field(examples=["ready"])
    protocol_version: str | None = Field(examples=["2026-07-28"])
    server_info: dict[str, Any] | None = Field(examples=[{"name": "orders", "version": "2.1"}])
    duration_ms: float
    tools: list[ServerToolInfo]

    @classmethod
    def of(cls, trial: Trial) -> Self:
        """The public form of a trial."""
        status = trial.view.status
        return cls(
            ok=trial.is_ready,
            status=status.status,
            status_detail=_detail(trial.view),
            protocol_version=status.protocol_version,
            server_info=status.server_info,
            duration_ms=round(trial.duration_ms, 1),
            tools=[ServerToolInfo.of(each) for each in trial.view.tools],
        )


def _fields(view: ServerView) -> dict[str, Any]:
    spec = view.spec
    return {
        "name": spec.name,
        "scope": spec.scope,
        "transport": spec.transport,
        "command": spec.command,
        "args": list(spec.args),
        "env": mask_secrets(spec.env),
        "url": mask_url(spec.url),
        "headers": mask_secrets(spec.headers),
        "template": spec.template_id,
        "timeout": spec.connect_timeout_seconds,
        "call_timeout": spec.call_timeout_seconds,
        "disabled": spec.disabled,
        "has_credentials": view.has_credentials,
        "status": view.status.status,
        "status_detail": _detail(view),
        "tools": [ServerToolInfo.of(each) for each in view.tools],
    }


_WORDS: dict[str, str] = {"auth_required": "authentication required"}


def _detail(view: ServerView) -> str:
    """The state in words, and why."""
    state = _WORDS.get(view.status.state, view.status.state)
    return f"{state}: {view.status.reason}" if view.status.reason else state


Text = Annotated[SafeText, StringConstraints(max_length=4000)]
Pattern = Annotated[SafeText, StringConstraints(min_length=1, max_length=200)]


class ParameterBody(RequestModel):
    """A parameter: `{name}` in an argument or a variable of the template."""

    name: ParameterName = Field(examples=["folder"])
    description: Text = ""
    is_secret: bool = False
    is_required: bool = True
    pattern: Pattern | None = Field(default=None, description="Must match the whole value.")

    @property
    def parameter(self) -> Parameter:
        """As the core has it."""
        return Parameter(**self.model_dump())


class TemplateBody(RequestModel):
    """A stdio server for users: a fixed command with parameters."""

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
    """A template's new content."""

    template_id: str | None = Field(default=None, description="If sent, must match the URL.")


class ParameterInfo(ResponseModel):
    """A parameter of a template."""

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
