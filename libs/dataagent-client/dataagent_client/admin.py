"""Administration as `client.admin`: accounts, tenants, agents, data sources, the audit log.

Each method is one request and one parser; callers without the role get a `DeniedError`. MCP servers
are administered in `client.mcp.admin`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, Unpack

from dataagent_client.auth import UserInfo, parse_user
from dataagent_client.data import (
    CatalogueSummary,
    Grant,
    PolicyInfo,
    SourceInfo,
    SourceSettings,
    UserAttributes,
    parse_attributes,
    parse_policy,
    parse_source,
    parse_summary,
)
from dataagent_client.files import save
from dataagent_client.http import Http, child_path
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
    parse_changed_agent,
    parse_invitation,
    parse_member,
    parse_page,
    parse_record,
    parse_system,
    parse_tenant,
    parse_verdict,
)

_ALL = "data-sources"


class AdminData:
    """Sources, grants, policies, and what row filters ask about users."""

    def __init__(self, http: Http) -> None:
        self._http = http

    async def create(
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
        body = {"name": name, "grants": _grants_body(grants), **settings}
        params = {"check": _json_ready(is_checked)}
        found = await self._http.request("POST", _ALL, body=body, params=params, has_time=True)
        return parse_source(found)

    async def update(
        self,
        source_id: str,
        *,
        name: str | None = None,
        is_checked: bool = True,
        **settings: Unpack[SourceSettings],
    ) -> SourceInfo:
        """Change a source; what is not named stays, its credential too."""
        path, params = child_path(_ALL, source_id), {"check": _json_ready(is_checked)}
        body = {"name": name, **settings}
        found = await self._http.request("PUT", path, body=body, params=params, has_time=True)
        return parse_source(found)

    async def set_grants(self, source_id: str, grants: Iterable[Grant]) -> SourceInfo:
        """Say anew who may read a source."""
        path, body = f"{child_path(_ALL, source_id)}/grants", {"grants": _grants_body(grants)}
        return parse_source(await self._http.request("PUT", path, body=body, is_repeatable=True))

    async def refresh(self, source_id: str) -> CatalogueSummary:
        """Look at a source now. If it is down, `problem` says so."""
        path = f"{child_path(_ALL, source_id)}/refresh"
        found = await self._http.request("POST", path, has_time=True, is_repeatable=True)
        return parse_summary(found)

    async def policies(self, source_id: str) -> Page[PolicyInfo]:
        """A source's policies, by name."""
        return parse_page(await self._http.request("GET", _policies(source_id)), parse_policy)

    async def create_policy(
        self, source_id: str, name: str, rules: Mapping[str, Any]
    ) -> PolicyInfo:
        """Add a policy: `rules` say to whom it speaks, and what of which tables.

        Raises:
            InvalidError: it does not fit the source.
        """
        body = {"name": name, "rules": dict(rules)}
        return parse_policy(await self._http.request("POST", _policies(source_id), body=body))

    async def replace_policy(
        self, source_id: str, policy_id: str, name: str, rules: Mapping[str, Any]
    ) -> PolicyInfo:
        """Put another policy in a policy's place."""
        path, body = (
            child_path(_policies(source_id), policy_id),
            {"name": name, "rules": dict(rules)},
        )
        return parse_policy(await self._http.request("PUT", path, body=body, is_repeatable=True))

    async def delete_policy(self, source_id: str, policy_id: str) -> None:
        """Remove a policy."""
        await self._http.request("DELETE", child_path(_policies(source_id), policy_id))

    async def attributes(self, user_id: str) -> UserAttributes:
        """What row filters may ask about a user."""
        return parse_attributes(await self._http.request("GET", _attributes(user_id)))

    async def set_attributes(self, user_id: str, attributes: Mapping[str, Any]) -> UserAttributes:
        """Say all of it anew; what is not named is forgotten."""
        body = {"attributes": dict(attributes)}
        path = _attributes(user_id)
        found = await self._http.request("PUT", path, body=body, is_repeatable=True)
        return parse_attributes(found)


def _policies(source_id: str) -> str:
    return f"{child_path(_ALL, source_id)}/policies"


def _attributes(user_id: str) -> str:
    return f"{child_path('users', user_id)}/attributes"


def _grants_body(grants: Iterable[Grant]) -> list[dict[str, str]]:
    return [{"subject_kind": each.subject_kind, "subject_id": each.subject_id} for each in grants]


def _json_ready(value: bool) -> str:
    return "true" if value else "false"


_USERS, _TENANTS, _AGENTS, _AUDIT = "users", "tenants", "agents", "audit"
AuditFormat = Literal["csv", "jsonl"]


class AdminCalls:
    """Everything for administrators but MCP."""

    def __init__(self, http: Http) -> None:
        self._http = http
        self.users = UserAdmin(http)
        self.tenants = TenantAdmin(http)
        self.agents = AgentAdmin(http)
        self.data = AdminData(http)
        self.audit = AuditCalls(http)

    async def system(self) -> SystemInfo:
        """The server's state: what it waits for, what runs, which versions."""
        return parse_system(await self._http.request("GET", "system"))


class UserAdmin:
    """Accounts."""

    def __init__(self, http: Http) -> None:
        self._http = http

    async def list(
        self, *, search: str | None = None, limit: int = 100, offset: int = 0
    ) -> Page[UserInfo]:
        """The accounts, oldest first; with `search` those whose names have it."""
        params = {"search": search, "limit": limit, "offset": offset}
        found = await self._http.request("GET", _USERS, params=params, is_web=True)
        return parse_page(found, parse_user)

    async def create(self, username: str, password: str, *, role: str = "user") -> UserInfo:
        """Add an account."""
        body = {"username": username, "password": password, "role": role}
        return parse_user(await self._http.request("POST", _USERS, body=body, is_web=True))

    async def delete(self, user_id: str) -> None:
        """Remove an account; its user is out at once. `ConflictError`: one's own, or the last."""
        await self._http.request("DELETE", child_path(_USERS, user_id), is_web=True)

    async def set_status(self, user_id: str, status: str) -> UserInfo:
        """Let a user in (`active`) or keep them out (`disabled`), at once."""
        return await self._set("PATCH", user_id, "status", {"status": status})

    async def set_role(self, user_id: str, role: str) -> UserInfo:
        """Make a user an `admin`, or a `user`."""
        return await self._set("PATCH", user_id, "role", {"role": role})

    async def reset_password(
        self, user_id: str, password: str, *, keep_keys: bool = False
    ) -> UserInfo:
        """Give another user a new password; their logins and, unless kept, their keys end."""
        body = {"password": password, "keep_keys": keep_keys}
        return await self._set("PUT", user_id, "password", body)

    async def _set(
        self,
        method: Literal["PATCH", "PUT"],
        user_id: str,
        what: str,
        body: Mapping[str, Any],
    ) -> UserInfo:
        path = f"{child_path(_USERS, user_id)}/{what}"
        return parse_user(await self._http.request(method, path, body=body, is_web=True))


class TenantAdmin:
    """Tenants, their limits and who belongs to them."""

    def __init__(self, http: Http) -> None:
        self._http = http

    async def list(self) -> Page[TenantInfo]:
        """All tenants."""
        return parse_page(await self._http.request("GET", _TENANTS), parse_tenant)

    async def create(
        self, name: str, *, tenant_id: str | None = None, **settings: Unpack[TenantSettings]
    ) -> TenantInfo:
        """Add a tenant."""
        body = {"name": name, "tenant_id": tenant_id, **settings}
        return parse_tenant(await self._http.request("POST", _TENANTS, body=body))

    async def get(self, tenant_id: str) -> TenantInfo:
        """A tenant."""
        return parse_tenant(await self._http.request("GET", child_path(_TENANTS, tenant_id)))

    async def replace(
        self, tenant_id: str, name: str, **settings: Unpack[TenantSettings]
    ) -> TenantInfo:
        """Say anew what a tenant is; a limit that is not named does not hold any more."""
        body = {"name": name, **settings}
        path = child_path(_TENANTS, tenant_id)
        return parse_tenant(await self._http.request("PUT", path, body=body, is_repeatable=True))

    async def delete(self, tenant_id: str) -> None:
        """Remove a tenant; its users stay."""
        await self._http.request("DELETE", child_path(_TENANTS, tenant_id))

    async def users(
        self, tenant_id: str, *, limit: int = 100, offset: int = 0
    ) -> Page[TenantMember]:
        """Who belongs to it."""
        params = {"limit": limit, "offset": offset}
        path = f"{child_path(_TENANTS, tenant_id)}/users"
        return parse_page(await self._http.request("GET", path, params=params), parse_member)

    async def put_user(self, tenant_id: str, user_id: str, *, role: str = "member") -> TenantMember:
        """Let a user belong to it, or change their role there."""
        path = child_path(f"{child_path(_TENANTS, tenant_id)}/users", user_id)
        found = await self._http.request("PUT", path, body={"role": role}, is_repeatable=True)
        return parse_member(found)

    async def remove_user(self, tenant_id: str, user_id: str) -> None:
        """Remove a user from a tenant."""
        await self._http.request(
            "DELETE", child_path(f"{child_path(_TENANTS, tenant_id)}/users", user_id)
        )

    async def invitations(self, tenant_id: str) -> Page[TenantInvitation]:
        """Its invitations that wait for an answer."""
        path = f"{child_path(_TENANTS, tenant_id)}/invitations"
        return parse_page(await self._http.request("GET", path), parse_invitation)

    async def invite(
        self, tenant_id: str, user_id: str, *, role: str = "member"
    ) -> TenantInvitation:
        """Invite an account; it belongs to the tenant once its user accepts."""
        path = f"{child_path(_TENANTS, tenant_id)}/invitations"
        body = {"user_id": user_id, "role": role}
        return parse_invitation(await self._http.request("POST", path, body=body))

    async def withdraw(self, tenant_id: str, user_id: str) -> None:
        """Take an invitation back, or, as the one who is invited, decline it."""
        path = child_path(f"{child_path(_TENANTS, tenant_id)}/invitations", user_id)
        await self._http.request("DELETE", path)


class AgentAdmin:
    """Agents: made, changed, deleted. Who there is says `client.agents()`."""

    def __init__(self, http: Http) -> None:
        self._http = http

    async def create(self, name: str, **settings: Unpack[AgentSettings]) -> AgentChanged:
        """Make an agent with its tools. `ConflictError` if the name is taken."""
        body = {"name": name, **_agent(settings)}
        return parse_changed_agent(await self._http.request("POST", _AGENTS, body=body))

    async def update(
        self, agent_id: str, *, name: str | None = None, **settings: Unpack[AgentSettings]
    ) -> AgentChanged:
        """Change an agent; what is not named stays, `tool_ids` replace all its tools.

        Raises:
            ConflictError: a run of it is active.
        """
        body = {"name": name, **_agent(settings)}
        path = child_path(_AGENTS, agent_id)
        return parse_changed_agent(await self._http.request("PUT", path, body=body))

    async def delete(self, agent_id: str) -> None:
        """Delete an agent that was made. `ConflictError` while a run of it is active."""
        await self._http.request("DELETE", child_path(_AGENTS, agent_id))


class AuditCalls:
    """Who did what."""

    def __init__(self, http: Http) -> None:
        self._http = http

    async def list(
        self, *, limit: int = 100, offset: int = 0, **search: Unpack[AuditSearch]
    ) -> Page[AuditRecord]:
        """What happened, the newest first."""
        params = {**_conditions(search), "limit": limit, "offset": offset}
        return parse_page(await self._http.request("GET", _AUDIT, params=params), parse_record)

    async def stream(
        self, fmt: AuditFormat = "csv", **search: Unpack[AuditSearch]
    ) -> AsyncGenerator[bytes]:
        """All that happened and fits, the oldest first, as a file that arrives."""
        params = {**_conditions(search), "format": fmt}
        async with self._http.stream(f"{_AUDIT}/export", params=params) as chunks:
            async for chunk in chunks:
                yield chunk

    async def export(
        self, target: Path, fmt: AuditFormat = "csv", **search: Unpack[AuditSearch]
    ) -> Path:
        """Save it; if that fails, what was at `target` is still there."""
        return await save(self.stream(fmt, **search), target)

    async def verify(self) -> AuditVerdict:
        """Verify the chain of hashes: was a row changed, removed, inserted or moved?"""
        found = await self._http.request("GET", f"{_AUDIT}/verify", has_time=True)
        return parse_verdict(found)


def _agent(settings: AgentSettings) -> dict[str, Any]:
    """What is said of an agent, by the names the server has for it."""
    return {"toolIds" if name == "tool_ids" else name: value for name, value in settings.items()}


def _conditions(search: AuditSearch) -> dict[str, Any]:
    """The conditions by the names the server has for them."""
    named = {"since": "from", "until": "to"}
    return {
        named.get(name, name): value.isoformat() if isinstance(value, datetime) else value
        for name, value in search.items()
    }
