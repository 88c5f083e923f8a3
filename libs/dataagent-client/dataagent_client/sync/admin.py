"""The sync twin of `admin.py`. Written by `make sync-client`: change the other."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from pathlib import Path
from typing import Any, Unpack

from dataagent_client.admin import (
    AdminCalls,
    AdminData,
    AgentAdmin,
    AuditCalls,
    AuditFormat,
    TenantAdmin,
    UserAdmin,
)
from dataagent_client.auth import UserInfo
from dataagent_client.data import (
    CatalogueSummary,
    Grant,
    PolicyInfo,
    SourceInfo,
    SourceSettings,
    UserAttributes,
)
from dataagent_client.models import (
    AgentChanged,
    AgentSettings,
    AuditRecord,
    AuditSearch,
    AuditVerdict,
    Page,
    SystemInfo,
    TenantInfo,
    TenantInvitation,
    TenantMember,
    TenantSettings,
)
from dataagent_client.sync.portal import Portal, Stream


class SyncAdminCalls:
    """Everything for administrators but MCP."""

    def __init__(self, portal: Portal, calls: AdminCalls) -> None:
        self._portal = portal
        self._calls = calls
        self.users = SyncUserAdmin(portal, calls.users)
        self.tenants = SyncTenantAdmin(portal, calls.tenants)
        self.agents = SyncAgentAdmin(portal, calls.agents)
        self.data = SyncAdminData(portal, calls.data)
        self.audit = SyncAuditCalls(portal, calls.audit)

    def system(self) -> SystemInfo:
        """The server's state: what it waits for, what runs, which versions."""
        return self._portal.call(self._calls.system())


class SyncUserAdmin:
    """Accounts."""

    def __init__(self, portal: Portal, calls: UserAdmin) -> None:
        self._portal = portal
        self._calls = calls

    def list(
        self, *, search: str | None = None, limit: int = 100, offset: int = 0
    ) -> Page[UserInfo]:
        """The accounts, oldest first; with `search` those whose names have it."""
        return self._portal.call(self._calls.list(search=search, limit=limit, offset=offset))

    def create(self, username: str, password: str, *, role: str = "user") -> UserInfo:
        """Add an account."""
        return self._portal.call(self._calls.create(username, password, role=role))

    def delete(self, user_id: str) -> None:
        """Remove an account; its user is out at once. `ConflictError`: one's own, or the last."""
        return self._portal.call(self._calls.delete(user_id))

    def set_status(self, user_id: str, status: str) -> UserInfo:
        """Let a user in (`active`) or keep them out (`disabled`), at once."""
        return self._portal.call(self._calls.set_status(user_id, status))

    def set_role(self, user_id: str, role: str) -> UserInfo:
        """Make a user an `admin`, or a `user`."""
        return self._portal.call(self._calls.set_role(user_id, role))

    def reset_password(self, user_id: str, password: str, *, keep_keys: bool = False) -> UserInfo:
        """Give another user a new password; their logins and, unless kept, their keys end."""
        return self._portal.call(self._calls.reset_password(user_id, password, keep_keys=keep_keys))


class SyncTenantAdmin:
    """Tenants, their limits and who belongs to them."""

    def __init__(self, portal: Portal, calls: TenantAdmin) -> None:
        self._portal = portal
        self._calls = calls

    def list(self) -> Page[TenantInfo]:
        """All tenants."""
        return self._portal.call(self._calls.list())

    def create(
        self, name: str, *, tenant_id: str | None = None, **settings: Unpack[TenantSettings]
    ) -> TenantInfo:
        """Add a tenant."""
        return self._portal.call(self._calls.create(name, tenant_id=tenant_id, **settings))

    def get(self, tenant_id: str) -> TenantInfo:
        """A tenant."""
        return self._portal.call(self._calls.get(tenant_id))

    def replace(self, tenant_id: str, name: str, **settings: Unpack[TenantSettings]) -> TenantInfo:
        """Say anew what a tenant is; a limit that is not named does not hold any more."""
        return self._portal.call(self._calls.replace(tenant_id, name, **settings))

    def delete(self, tenant_id: str) -> None:
        """Remove a tenant; its users stay."""
        return self._portal.call(self._calls.delete(tenant_id))

    def users(self, tenant_id: str, *, limit: int = 100, offset: int = 0) -> Page[TenantMember]:
        """Who belongs to it."""
        return self._portal.call(self._calls.users(tenant_id, limit=limit, offset=offset))

    def put_user(self, tenant_id: str, user_id: str, *, role: str = "member") -> TenantMember:
        """Let a user belong to it, or change their role there."""
        return self._portal.call(self._calls.put_user(tenant_id, user_id, role=role))

    def remove_user(self, tenant_id: str, user_id: str) -> None:
        """Remove a user from a tenant."""
        return self._portal.call(self._calls.remove_user(tenant_id, user_id))

    def invitations(self, tenant_id: str) -> Page[TenantInvitation]:
        """Its invitations that wait for an answer."""
        return self._portal.call(self._calls.invitations(tenant_id))

    def invite(self, tenant_id: str, user_id: str, *, role: str = "member") -> TenantInvitation:
        """Invite an account; it belongs to the tenant once its user accepts."""
        return self._portal.call(self._calls.invite(tenant_id, user_id, role=role))

    def withdraw(self, tenant_id: str, user_id: str) -> None:
        """Take an invitation back, or, as the one who is invited, decline it."""
        return self._portal.call(self._calls.withdraw(tenant_id, user_id))


class SyncAgentAdmin:
    """Agents: made, changed, deleted. Who there is says `client.agents()`."""

    def __init__(self, portal: Portal, calls: AgentAdmin) -> None:
        self._portal = portal
        self._calls = calls

    def create(self, name: str, **settings: Unpack[AgentSettings]) -> AgentChanged:
        """Make an agent with its tools. `ConflictError` if the name is taken."""
        return self._portal.call(self._calls.create(name, **settings))

    def update(
        self, agent_id: str, *, name: str | None = None, **settings: Unpack[AgentSettings]
    ) -> AgentChanged:
        """Change an agent; what is not named stays, `tool_ids` replace all its tools.

        Raises:
            ConflictError: a run of it is active.
        """
        return self._portal.call(self._calls.update(agent_id, name=name, **settings))

    def delete(self, agent_id: str) -> None:
        """Delete an agent that was made. `ConflictError` while a run of it is active."""
        return self._portal.call(self._calls.delete(agent_id))


class SyncAdminData:
    """Sources, grants, policies, and what row filters ask about users."""

    def __init__(self, portal: Portal, calls: AdminData) -> None:
        self._portal = portal
        self._calls = calls

    def create(
        self,
        name: str,
        *,
        grants: Iterable[Grant] = (),
        is_checked: bool = True,
        **settings: Unpack[SourceSettings],
    ) -> SourceInfo:
        """Register a database by its `url`, or a `folder` of files on the server.

        Raises:
            UnavailableError: it does not answer, and so is not registered, if it is checked.
            ConflictError: there is one of that name.
        """
        return self._portal.call(
            self._calls.create(name, grants=grants, is_checked=is_checked, **settings)
        )

    def update(
        self,
        source_id: str,
        *,
        name: str | None = None,
        is_checked: bool = True,
        **settings: Unpack[SourceSettings],
    ) -> SourceInfo:
        """Change a source; what is not named stays, its credential too."""
        return self._portal.call(
            self._calls.update(source_id, name=name, is_checked=is_checked, **settings)
        )

    def set_grants(self, source_id: str, grants: Iterable[Grant]) -> SourceInfo:
        """Say anew who may read a source."""
        return self._portal.call(self._calls.set_grants(source_id, grants))

    def refresh(self, source_id: str) -> CatalogueSummary:
        """Look at a source now. If it is down, `problem` says so."""
        return self._portal.call(self._calls.refresh(source_id))

    def policies(self, source_id: str) -> Page[PolicyInfo]:
        """A source's policies, by name."""
        return self._portal.call(self._calls.policies(source_id))

    def create_policy(self, source_id: str, name: str, rules: Mapping[str, Any]) -> PolicyInfo:
        """Add a policy: `rules` say to whom it speaks, and what of which tables.

        Raises:
            InvalidError: it does not fit the source.
        """
        return self._portal.call(self._calls.create_policy(source_id, name, rules))

    def replace_policy(
        self, source_id: str, policy_id: str, name: str, rules: Mapping[str, Any]
    ) -> PolicyInfo:
        """Put another policy in a policy's place."""
        return self._portal.call(self._calls.replace_policy(source_id, policy_id, name, rules))

    def delete_policy(self, source_id: str, policy_id: str) -> None:
        """Remove a policy."""
        return self._portal.call(self._calls.delete_policy(source_id, policy_id))

    def attributes(self, user_id: str) -> UserAttributes:
        """What row filters may ask about a user."""
        return self._portal.call(self._calls.attributes(user_id))

    def set_attributes(self, user_id: str, attributes: Mapping[str, Any]) -> UserAttributes:
        """Say all of it anew; what is not named is forgotten."""
        return self._portal.call(self._calls.set_attributes(user_id, attributes))


class SyncAuditCalls:
    """Who did what."""

    def __init__(self, portal: Portal, calls: AuditCalls) -> None:
        self._portal = portal
        self._calls = calls

    def list(
        self, *, limit: int = 100, offset: int = 0, **search: Unpack[AuditSearch]
    ) -> Page[AuditRecord]:
        """What happened, the newest first."""
        return self._portal.call(self._calls.list(limit=limit, offset=offset, **search))

    def stream(self, fmt: AuditFormat = "csv", **search: Unpack[AuditSearch]) -> Generator[bytes]:
        """All that happened and fits, the oldest first, as a file that arrives."""
        stream = Stream[bytes](self._portal)
        return stream.read(self._calls.stream(fmt, **search))

    def export(self, target: Path, fmt: AuditFormat = "csv", **search: Unpack[AuditSearch]) -> Path:
        """Save it; if that fails, what was at `target` is still there."""
        return self._portal.call(self._calls.export(target, fmt, **search))

    def verify(self) -> AuditVerdict:
        """Verify the chain of hashes: was a row changed, removed, inserted or moved?"""
        return self._portal.call(self._calls.verify())
