"""Everything the server is made of, put together in one place.

Opened by the app's lifespan, closed with it. Routers and sockets get their parts from here, through
`providers.py`; nothing else builds services.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from dataagent_core.identity.secret import shared_secret
from dataagent_core.identity.users import UserStore
from dataagent_core.runs.assembly import Core, open_core
from dataagent_server.auth import Authenticator, LoginTokens
from dataagent_server.config import ServerSettings
from dataagent_server.deps.capacity import Capacity


@dataclass(slots=True)
class Container:
    """The server's parts."""

    settings: ServerSettings
    core: Core
    users: UserStore
    tokens: LoginTokens
    auth: Authenticator
    capacity: Capacity
    first_password: str | None = field(default=None, repr=False)
    started_at: float = field(default_factory=time.monotonic)
    is_draining: bool = False
    closing: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def uptime(self) -> float:
        """Seconds since the server opened."""
        return time.monotonic() - self.started_at

    async def login_token(self) -> str | None:
        """A one-time login for the first administrator; None if there is none."""
        admin = await self.users.first_admin()
        return None if admin is None else await self.users.links.create(admin.user_id)

    async def drain(self) -> None:
        """End or park what runs, then let every long answer end. For shutdown, once."""
        if not self.is_draining:
            self.is_draining = True
            await self.core.worker.aclose(self.settings.shutdown_timeout / 3)
            self.closing.set()


@asynccontextmanager
async def open_container(settings: ServerSettings) -> AsyncGenerator[Container]:
    """Open the core and everything around it."""
    async with open_core(settings) as core:
        users = UserStore(core.database)
        try:
            password = settings.admin_password
            first_password = await users.ensure_admin(
                settings.admin_username, password.get_secret_value() if password else None
            )
            tokens = LoginTokens(await shared_secret(core.database, "login_tokens"), users)
            container = Container(
                settings=settings,
                core=core,
                users=users,
                tokens=tokens,
                auth=Authenticator(settings, users, tokens),
                capacity=Capacity(settings.max_connections),
                first_password=first_password,
            )
            yield container
            await container.drain()
        finally:
            users.close()
