"""The server's container: the core, accounts, logins, connections and MCP services, open.

The app's lifespan opens and closes it; routes and sockets take their parts from it through
`api/deps.py`.
"""

from __future__ import annotations

import asyncio
import fcntl
import logging
import os
import time
from collections.abc import AsyncGenerator, Generator, Iterable
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta

from dataagent_core.app.assembly import Core, open_core
from dataagent_core.errors import DataAgentError
from dataagent_core.identity.logins import LoginLimits, LoginService
from dataagent_core.identity.sealing import shared_secret
from dataagent_core.identity.users import User, UserStore
from dataagent_core.mcp.gateway.call_log import CallLog
from dataagent_core.mcp.servers.administration import McpAdministration
from dataagent_core.mcp.servers.service import McpService
from dataagent_core.mcp.servers.templates import TemplateStore
from dataagent_core.runs.cluster.bus import USERS_TOPIC
from dataagent_core.runs.service import RunService
from dataagent_core.storage import Database
from dataagent_core.storage.background_tasks import cancel_all
from dataagent_server.auth import Authenticator, LoginTokens
from dataagent_server.config import ServerSettings
from dataagent_server.deps.connections import Capacity, LiveConnections
from dataagent_server.deps.rate import MessageRate, open_message_rate
from dataagent_server.deps.web_app import WebApp

logger = logging.getLogger(__name__)
RECHECK_SECONDS = 2.0
"""How often open connections are checked for logins and keys that have ended."""


@dataclass(frozen=True, slots=True)
class McpServices:
    """The services behind the MCP routes."""

    service: McpService
    administration: McpAdministration
    calls: CallLog
    templates: TemplateStore


def make_mcp_services(core: Core) -> McpServices:
    """The services of an open core."""
    hub, agents = core.mcp, core.agents

    async def bound(agent_id: str) -> frozenset[int]:
        return (await agents.registry.get(agent_id)).mcp_tools

    async def bind(agent_id: str, tool_ids: Iterable[int]) -> None:
        await agents.service.set_mcp_tools(agent_id, tool_ids)

    most, timeout = core.settings.mcp_max_servers, core.settings.mcp_timeout
    return McpServices(
        service=McpService(hub, core.limits.tenancy, most_servers=most, timeout_seconds=timeout),
        administration=McpAdministration(hub, bound=bound, bind=bind, timeout_seconds=timeout),
        calls=hub.calls,
        templates=hub.templates,
    )


def delete_mcp_with_account(users: UserStore, service: McpService) -> None:
    """Delete an account's MCP servers and credentials with it."""

    async def forget(user_id: str) -> None:
        try:
            if await users.get(user_id) is None:
                await service.forget(user_id)
        except DataAgentError as error:  # the account is deleted all the same
            logger.warning("MCP servers of a deleted user were not deleted: %s", error.message)

    users.listen(forget)


@dataclass(slots=True)
class Container:
    """The open parts of a server."""

    settings: ServerSettings
    core: Core
    users: UserStore
    logins: LoginService
    tokens: LoginTokens
    auth: Authenticator
    live_connections: LiveConnections
    capacity: Capacity
    rate: MessageRate
    mcp: McpServices
    web: WebApp = field(default_factory=WebApp)
    first_password: str | None = field(default=None, repr=False)
    started_at: float = field(default_factory=time.monotonic)
    is_draining: bool = False
    closing: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def uptime(self) -> float:
        """Seconds since the server opened."""
        return time.monotonic() - self.started_at

    @property
    def first_login(self) -> str | None:
        """The first administrator's name and generated password, to be shown once."""
        if self.first_password is None:
            return None
        name = self.settings.admin_username
        return f"First start: user '{name}', password '{self.first_password}' (shown this once)"

    async def login_token(self) -> str | None:
        """A one-time login for the first administrator; None if there is no administrator."""
        admin = await self.users.first_admin()
        return None if admin is None else await self.users.links.create(admin.user_id)

    async def prepare_workspace(self, user: User) -> None:
        """Create the workspace of a user who logs in; a disk error does not prevent the login.

        An archived workspace is restored when something in it is used, not here.
        """
        workspaces = self.core.workspaces
        try:
            if not workspaces.is_archived(user.user_id):
                await workspaces.prepare(user.user_id)
        except (DataAgentError, OSError) as error:
            logger.warning("the workspace of %s was not created: %s", user.user_id, error)

    async def drain(self) -> None:
        """Let runs finish or release them, then end every long response. For shutdown, once."""
        if not self.is_draining:
            self.is_draining = True
            await self.core.worker.aclose(self.settings.shutdown_timeout / 3)
            self.closing.set()


@asynccontextmanager
async def open_container(settings: ServerSettings) -> AsyncGenerator[Container]:
    """Open the core and everything around it."""
    role = "web" if settings.runs_in == "workers" else "all"
    async with open_core(settings, role=role) as core, open_message_rate(settings) as rate:
        users = UserStore(core.database)
        try:
            password = settings.admin_password
            first_password = await users.ensure_admin(
                settings.admin_username, password.get_secret_value() if password else None
            )
            tokens = await _login_tokens(settings, core.database, users)
            tenancy = core.limits.tenancy
            tenant_of = tenancy.tenant_id_of if tenancy.is_on else None
            auth = Authenticator(settings, users, tokens, tenant_of=tenant_of)
            container = Container(
                settings=settings,
                core=core,
                users=users,
                logins=LoginService(core.database, users, limits=_login_limits(settings)),
                tokens=tokens,
                auth=auth,
                live_connections=LiveConnections(auth),
                capacity=Capacity(
                    settings.max_connections, per_user=settings.max_connections_per_user
                ),
                rate=rate,
                mcp=make_mcp_services(core),
                first_password=first_password,
            )
            users.listen(container.live_connections.recheck_user)
            _cancel_with_account(core.runs, users)
            delete_mcp_with_account(users, container.mcp.service)
            _subscribe_to_user_changes(container, users)
            core.observers.metrics.watch(
                "connections", "Sockets and event streams.", lambda: container.capacity.used
            )
            async with _periodic_recheck(container.live_connections):
                yield container
                await container.drain()
        finally:
            users.close()


@contextmanager
def data_directory_lock(settings: ServerSettings) -> Generator[None]:
    """Lock the data directory, unless several processes can work together.

    Raises:
        Misconfigured: another process holds it; names the settings for several.
    """
    if settings.is_shared:
        yield
        return
    descriptor = os.open(settings.ensure_home() / "server.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            settings.check_shared("A second server of one data directory (uvicorn --workers)")
        yield
    finally:
        os.close(descriptor)


def _cancel_with_account(runs: RunService, users: UserStore) -> None:
    """Stop the runs of a user, in all processes, when their account is disabled or deleted."""

    async def cancel(user_id: str) -> None:
        try:
            user = await users.get(user_id)
            if user is None or not user.is_active:
                await runs.cancel_all(user_id)
        except DataAgentError as error:  # workers cancel these runs when they renew leases
            logger.warning("runs of a disabled user were not cancelled: %s", error.message)

    users.listen(cancel)


def _subscribe_to_user_changes(container: Container, users: UserStore) -> None:
    """Publish changes of users to other processes, and recheck those they publish."""
    bus, live_connections = container.core.peers.bus, container.live_connections
    if not bus.is_shared:
        return

    async def publish(user_id: str) -> None:
        bus.publish(USERS_TOPIC, user_id.encode())

    def recheck(payload: bytes | None) -> None:
        live_connections.schedule_recheck(None if payload is None else payload.decode())

    users.listen(publish)
    bus.subscribe(USERS_TOPIC, recheck)


async def _login_tokens(
    settings: ServerSettings, database: Database, users: UserStore
) -> LoginTokens:
    """Signed with the secret that is set, else with one generated once and stored."""
    own = settings.jwt_secret_key
    secret = own.get_secret_value() if own else await shared_secret(database, "login_tokens")
    return LoginTokens(secret, users, lifetime=timedelta(seconds=settings.jwt_expiration))


def _login_limits(settings: ServerSettings) -> LoginLimits:
    return LoginLimits(
        per_name=settings.login_failures_per_name,
        per_address=settings.login_failures_per_address,
    )


@asynccontextmanager
async def _periodic_recheck(live_connections: LiveConnections) -> AsyncGenerator[None]:
    task = asyncio.create_task(live_connections.watch(RECHECK_SECONDS))
    try:
        yield
    finally:
        await cancel_all([task])
