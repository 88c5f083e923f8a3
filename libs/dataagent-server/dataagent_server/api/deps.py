"""Dependencies of routes and sockets: the caller, the container's services, `as_user`.

With `as_user` an administrator reads data as another user would, which is recorded first. Only the
reader changes: results belong to the administrator.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Query, Request
from starlette.requests import HTTPConnection

from dataagent_core.agents import AgentService
from dataagent_core.app.assembly import FileServices
from dataagent_core.audit import AuditLog
from dataagent_core.data.results import ArtifactStore
from dataagent_core.data.service import DataService
from dataagent_core.data.sources import Source
from dataagent_core.data.types import Reader
from dataagent_core.errors import Denied, NotAuthenticated
from dataagent_core.identity import Principal
from dataagent_core.identity.logins import LoginService
from dataagent_core.identity.tenancy import Tenancy
from dataagent_core.identity.usage import UsageRecorder
from dataagent_core.identity.users import UserStore
from dataagent_core.mcp.gateway.call_log import CallLog
from dataagent_core.mcp.servers.administration import McpAdministration
from dataagent_core.mcp.servers.service import McpService
from dataagent_core.mcp.servers.templates import TemplateStore
from dataagent_core.runs.agents import SkillService
from dataagent_core.runs.service import RunService
from dataagent_core.session.manager import SessionManager
from dataagent_core.telemetry import bind_user
from dataagent_core.workspace import Memories
from dataagent_server.auth import read_credentials
from dataagent_server.deps.container import Container
from dataagent_server.deps.web_app import WebApp
from dataagent_server.models.fields import Id, PathId

_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


def container_of(connection: HTTPConnection) -> Container:
    """The container of the app that serves the connection."""
    return connection.app.state.container


async def get_current_user(request: Request) -> Principal:
    """The caller of a request; authenticated once per request.

    Raises:
        NotAuthenticated: no valid credential.
        Denied: a page of another site sent it.
    """
    known: Principal | None = getattr(request.state, "principal", None)
    if known is None:
        known = await container_of(request).auth.authenticate(
            read_credentials(request.headers), from_page=request.method not in _SAFE_METHODS
        )
        request.state.principal = known
        bind_user(known.user_id, via=known.via)
    return known


async def optional_user(request: Request) -> Principal | None:
    """The caller of a public request, if it has a credential."""
    try:
        return await get_current_user(request)
    except NotAuthenticated:
        return None


def _container(request: Request) -> Container:
    return container_of(request)


def _users(request: Request) -> UserStore:
    return container_of(request).users


def _logins(request: Request) -> LoginService:
    return container_of(request).logins


def _audit(request: Request) -> AuditLog:
    return container_of(request).core.observers.audit


def _tenancy(request: Request) -> Tenancy:
    return container_of(request).core.limits.tenancy


def _usage(request: Request) -> UsageRecorder:
    return container_of(request).core.limits.usage


def _sessions(request: Request) -> SessionManager:
    return container_of(request).core.sessions


def _runs(request: Request) -> RunService:
    return container_of(request).core.runs


def _data(request: Request) -> DataService:
    return container_of(request).core.data.service


def _artifacts(request: Request) -> ArtifactStore:
    return container_of(request).core.data.service.artifacts


def _files(request: Request) -> FileServices:
    return container_of(request).core.files


def _skills(request: Request) -> SkillService:
    return container_of(request).core.skills


def _agents(request: Request) -> AgentService:
    return container_of(request).core.agents.service


def _memories(request: Request) -> Memories:
    return container_of(request).core.files.memories


def _mcp(request: Request) -> McpService:
    return container_of(request).mcp.service


def _mcp_administration(request: Request) -> McpAdministration:
    return container_of(request).mcp.administration


def _mcp_calls(request: Request) -> CallLog:
    return container_of(request).mcp.calls


def _mcp_templates(request: Request) -> TemplateStore:
    return container_of(request).mcp.templates


def _web(request: Request) -> WebApp:
    return container_of(request).web


CurrentUser = Annotated[Principal, Depends(get_current_user)]
OptionalUser = Annotated[Principal | None, Depends(optional_user)]
ContainerDep = Annotated[Container, Depends(_container)]
UsersDep = Annotated[UserStore, Depends(_users)]
LoginsDep = Annotated[LoginService, Depends(_logins)]
AuditDep = Annotated[AuditLog, Depends(_audit)]
TenancyDep = Annotated[Tenancy, Depends(_tenancy)]
UsageDep = Annotated[UsageRecorder, Depends(_usage)]
SessionsDep = Annotated[SessionManager, Depends(_sessions)]
RunsDep = Annotated[RunService, Depends(_runs)]
DataDep = Annotated[DataService, Depends(_data)]
ArtifactsDep = Annotated[ArtifactStore, Depends(_artifacts)]
FilesDep = Annotated[FileServices, Depends(_files)]
SkillsDep = Annotated[SkillService, Depends(_skills)]
AgentsDep = Annotated[AgentService, Depends(_agents)]
MemoriesDep = Annotated[Memories, Depends(_memories)]
McpDep = Annotated[McpService, Depends(_mcp)]
McpAdminDep = Annotated[McpAdministration, Depends(_mcp_administration)]
McpCallsDep = Annotated[CallLog, Depends(_mcp_calls)]
McpTemplatesDep = Annotated[TemplateStore, Depends(_mcp_templates)]
WebAppDep = Annotated[WebApp, Depends(_web)]


def require_admin(user: CurrentUser) -> Principal:
    """The caller, who is an administrator.

    Raises:
        Denied: they are not.
    """
    if not user.is_admin:
        raise Denied("Only an administrator may do this.")
    return user


async def _reader(user: CurrentUser, data: DataDep) -> Reader:
    return await data.reader(user.user_id, role=user.role, tenant_id=user.tenant_id)


AdminUser = Annotated[Principal, Depends(require_admin)]
ReaderDep = Annotated[Reader, Depends(_reader)]


async def _source(source_id: PathId, reader: ReaderDep, data: DataDep) -> Source:
    """The data source of the URL, by id or name, if the caller may read it."""
    return await data.sources.get_for(source_id, reader)


SourceDep = Annotated[Source, Depends(_source)]


AsUser = Annotated[
    Id | None,
    Query(
        description="Read as this user would; for administrators, and recorded in the audit log."
    ),
]


@dataclass(frozen=True, slots=True)
class DataViewer:
    """Whose rights apply to a read; `impersonator_id` is the administrator who uses `as_user`."""

    reader: Reader
    impersonator_id: str | None = None


async def _data_viewer(
    request: Request, user: CurrentUser, container: ContainerDep, as_user: AsUser = None
) -> DataViewer:
    data = container.core.data.service
    if as_user is None:
        own = await data.reader(user.user_id, role=user.role, tenant_id=user.tenant_id)
        return DataViewer(own)
    await _record(request, container, user, as_user)
    require_admin(user)
    other = await container.auth.principal_for(as_user)
    reader = await data.reader(other.user_id, role=other.role, tenant_id=other.tenant_id)
    return DataViewer(reader, impersonator_id=user.user_id)


async def _record(request: Request, container: ContainerDep, user: Principal, as_user: str) -> None:
    """Record the use of `as_user`, or the attempt, before anything is read."""
    await container.core.observers.audit.record(
        "view_as_user",
        "success" if user.is_admin else "denied",
        target=as_user,
        user_id=user.user_id,
        via=user.via,
        details={"address": request.url.path},
    )


DataViewerDep = Annotated[DataViewer, Depends(_data_viewer)]


async def _viewed_source(source_id: PathId, viewer: DataViewerDep, data: DataDep) -> Source:
    """The data source of the URL, by id or name, if the viewer may read it."""
    return await data.sources.get_for(source_id, viewer.reader)


ViewedSourceDep = Annotated[Source, Depends(_viewed_source)]
