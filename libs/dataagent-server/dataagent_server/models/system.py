"""Response models of health, readiness, the installation, and what its web pages need."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from typing import Literal, Self

from pydantic import Field

from dataagent_core.mcp.servers.server_views import ServerView
from dataagent_core.sandbox import Sandboxes
from dataagent_server import __version__
from dataagent_server.config import ServerSettings
from dataagent_server.models.fields import ResponseModel


class RunsInfo(ResponseModel):
    """Active and queued runs."""

    active: int = Field(description="In this process.", examples=[2])
    queued: int | None = Field(
        description="Queued, in all processes; a thousand stands for more.",
        examples=[0],
    )


class ConnectionsInfo(ResponseModel):
    """Sockets and event streams of this process."""

    used: int = Field(examples=[12])
    limit: int = Field(examples=[200])


class SandboxInfo(ResponseModel):
    """The sandboxes for agents' code; `auto` until the first use has chosen a kind."""

    kind: str = Field(examples=["bwrap"])
    ready: int = Field(description="Waiting for an owner.", examples=[5])
    in_use: int = Field(examples=[1])

    @classmethod
    def of(cls, sandboxes: Sandboxes) -> Self:
        """The sandboxes of this process."""
        return cls(kind=sandboxes.wall.name, ready=sandboxes.ready, in_use=sandboxes.bound)


class McpInfo(ResponseModel):
    """The enabled MCP servers, users' too, as this process sees them."""

    servers: int = Field(examples=[3])
    connected: int = Field(examples=[2])
    failing: list[str] = Field(description="Shared ones in error, by name.", examples=[["orders"]])

    @classmethod
    def of(cls, views: Sequence[ServerView]) -> Self:
        """Of the servers as they are now."""
        used = [each for each in views if not each.spec.disabled]
        shared = [each for each in used if each.spec.scope != "user"]
        return cls(
            servers=len(used),
            connected=sum(each.status.status == "connected" for each in used),
            failing=[each.spec.name for each in shared if each.status.status == "error"],
        )


class Versions(ResponseModel):
    """Installed versions."""

    dataagent: str = Field(examples=["0.1.0"])
    python: str = Field(examples=["3.11.9"])

    @classmethod
    def here(cls) -> Self:
        """Of this process."""
        return cls(dataagent=__version__, python=platform.python_version())


class SystemInfo(ResponseModel):
    """The state of the installation. `checks` has `ok` or the problem of each dependency.

    What cannot be read while the database is unavailable is null.
    """

    status: Literal["ready", "not_ready"]
    checks: dict[str, str]
    uptime: float
    versions: Versions
    model: str = Field(examples=["offline"])
    is_offline: bool
    database: str = Field(description="Its kind.", examples=["sqlite"])
    runs_in: Literal["web", "workers"]
    runs: RunsInfo
    connections: ConnectionsInfo
    sandbox: SandboxInfo | None = Field(description="Null: agents run no code.")
    mcp: McpInfo | None


class Health(ResponseModel):
    """The process answers."""

    status: Literal["ok"]
    version: str
    uptime: float


class Readiness(ResponseModel):
    """The process is ready; `checks` names its dependencies."""

    status: Literal["ready"]
    checks: dict[str, Literal["ok"]]


_OFFLINE = "offline"


def is_offline(settings: ServerSettings) -> bool:
    """Whether answers come by rule, because no language model is set up."""
    return settings.default_model == _OFFLINE


class Info(ResponseModel):
    """The installation, as its web pages need it."""

    version: str
    model: str | None = Field(description="Null before login.", examples=["offline"])
    is_offline: bool = Field(description="No language model is configured; answers are rule-based.")
    max_upload_bytes: int = Field(examples=[10_485_760])
    sandbox: bool = Field(description="Agents can run code here.")
    multi_tenant: bool
    auth_disabled: bool = Field(description="Every caller is an administrator.")

    @classmethod
    def of(cls, settings: ServerSettings, *, is_known: bool, has_sandbox: bool) -> Info:
        """Of a server with these settings."""
        model = settings.default_model
        return cls(
            version=__version__,
            model=model if is_known else None,
            is_offline=is_offline(settings),
            max_upload_bytes=settings.max_upload_bytes,
            sandbox=has_sandbox,
            multi_tenant=settings.multi_tenant,
            auth_disabled=settings.auth_disabled,
        )
