"""A user's MCP servers: list, add, change, remove and test.

Users have their own servers, up to a limit, and administrators may manage those of any user. Shared
servers (`administration.py`) cannot be changed here; users may add credentials of their own to
them. A changed registration applies from the next session on, a removed or disabled one at once
(`session_servers.py`).
"""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from pydantic import SecretStr

from dataagent_core.errors import BadInput, Denied, ServerNotAllowed, ServerNotFound
from dataagent_core.identity import Principal
from dataagent_core.identity.tenancy import Tenancy
from dataagent_core.mcp.servers.registration import NewServer, ServerChanges, ServerFields
from dataagent_core.mcp.servers.server_views import (
    ServerView,
    Trial,
    apply_fields,
    changes_connection,
    complete_fields,
    run_trial,
    tools_of,
    view_of,
)
from dataagent_core.mcp.servers.templates import fill
from dataagent_core.mcp.types import CatalogueTool, ServerSpec

if TYPE_CHECKING:
    from dataagent_core.mcp.hub import McpHub


class McpService:
    """Manages users' MCP servers."""

    def __init__(
        self, hub: McpHub, tenancy: Tenancy, *, most_servers: int, timeout_seconds: float
    ) -> None:
        """`timeout_seconds` is the default for connecting."""
        self._hub = hub
        self._timeout_seconds = timeout_seconds
        self._tenancy = tenancy
        self._most = most_servers

    # -- seeing them ----------------------------------------------------------------------------

    async def list_for(
        self, user_id: str, *, asked_by: Principal, is_shared_included: bool = False
    ) -> builtins.list[ServerView]:
        """Return the user's own servers, with the shared ones if requested, by name.

        Raises:
            Denied: the caller is neither the user nor an administrator.
        """
        _require_own_or_admin(user_id, asked_by)
        if is_shared_included:
            found = await self._effective(user_id)
        else:
            found = await self._hub.servers.list(scope="user", user_id=user_id)
        return [await self._view(spec, user_id) for spec in sorted(found, key=_by_name)]

    async def get(self, user_id: str, name: str, *, asked_by: Principal) -> ServerView:
        """Return one of the user's servers.

        Raises:
            Denied: the caller is neither the user nor an administrator.
            ServerNotFound: they have none of that name.
        """
        _require_own_or_admin(user_id, asked_by)
        return await self._view(await self._usable(user_id, name), user_id)

    async def tools_for(self, caller: Principal) -> builtins.list[CatalogueTool]:
        """Return the numbered tools the caller may know: for administrators those of all shared
        servers, else those of their own list.
        """
        if caller.is_admin:
            shared = await self._hub.servers.list()
            found = [s for s in shared if s.scope != "user" or s.user_id == caller.user_id]
        else:
            found = await self._effective(caller.user_id)
        numbered = [spec for spec in found if spec.scope != "file"]
        tools = [tool for spec in numbered for tool in await tools_of(self._hub, spec)]
        return sorted(tools, key=lambda tool: tool.tool_id)

    # -- changing them --------------------------------------------------------------------------

    async def add(
        self,
        user_id: str,
        name: str,
        sent: ServerFields,
        *,
        asked_by: Principal,
        parameters: Mapping[str, str] | None = None,
    ) -> ServerView:
        """Register a server for the user; with a `template_id` the parameters fill the template.

        Raises:
            Denied: the caller is neither the user nor an administrator.
            ServerNotAllowed: a policy, or the user's organisation, keeps them from it.
            BadInput: it cannot be reached as it is described.
            TooManyServers: they have as many as they may.
            Conflict: they have one of that name.
        """
        _require_own_or_admin(user_id, asked_by)
        await self._check_switched_on(user_id)
        fields = complete_fields(await self._fill_template(sent, parameters))
        fields.setdefault("connect_timeout_seconds", self._timeout_seconds)
        new = NewServer(name=name, scope="user", user_id=user_id, **fields)
        self._hub.policy.check(new, is_admin=asked_by.is_admin)
        most = await self._most_servers(user_id)
        spec = await self._hub.servers.create(new, by=asked_by.user_id, most=most)
        await self._hub.changed(spec, "added")
        return await self._view(spec, user_id)

    async def change(
        self,
        user_id: str,
        name: str,
        sent: ServerFields,
        *,
        asked_by: Principal,
        parameters: Mapping[str, str] | None = None,
    ) -> ServerView:
        """Change one of the user's own servers; omitted fields stay.

        Raises:
            ServerNotFound: they have none of that name.
            Others: as `add`.
        """
        _require_own_or_admin(user_id, asked_by)
        spec = await self._own(user_id, name)
        if parameters is not None and "template_id" not in sent:
            sent = {**sent, "template_id": spec.template_id}
        fields = complete_fields(await self._fill_template(sent, parameters), spec)
        is_same = not changes_connection(spec, apply_fields(spec, fields))
        if not is_same and "template_id" not in fields:  # it is not what the template says any more
            fields["template_id"] = None
        if not is_same or (spec.disabled and fields.get("disabled") is False):
            is_given = asked_by.is_admin or is_same  # someone was allowed to register it so
            self._hub.policy.check(apply_fields(spec, fields), is_admin=is_given)
        changes = ServerChanges(**fields)
        spec = await self._hub.servers.update(spec.server_id, changes, by=asked_by.user_id)
        await self._hub.changed(spec, "updated")
        return await self._view(spec, user_id)

    async def remove(self, user_id: str, name: str, *, asked_by: Principal) -> None:
        """Delete one of the user's own servers with its secrets.

        Raises:
            Denied: the caller is neither the user nor an administrator.
            ServerNotFound: they have none of that name.
        """
        _require_own_or_admin(user_id, asked_by)
        spec = await self._own(user_id, name)
        await self._hub.servers.delete(spec.server_id)
        await self._hub.changed(spec, "removed")

    async def set_credentials(
        self,
        user_id: str,
        name: str,
        *,
        headers: Mapping[str, SecretStr],
        env: Mapping[str, SecretStr],
        asked_by: Principal,
    ) -> ServerView:
        """Store the user's own credentials for a shared server; none deletes them.

        Raises:
            Denied: the caller is not the user.
            ServerNotFound: they have no such shared server.
            ServerNotAllowed: a policy keeps them from it.
            BadInput: the server is their own, or takes no such thing.
        """
        _require_own(user_id, asked_by)
        spec = await self._usable(user_id, name)
        if spec.scope == "user":
            raise BadInput(f"Server {name!r} is your own: put its secrets into it.")
        known_headers, known_env = await self._hub.servers.credentials(
            spec.server_id, user_id=user_id
        )
        stored = replace(spec, headers=known_headers, env=known_env)
        given = complete_fields({"headers": headers, "env": env}, stored)
        wanted = replace(stored, headers=given.get("headers", {}), env=given.get("env", {}))
        self._hub.policy.check(wanted, is_admin=True)  # the server itself is an administrator's
        await self._hub.servers.set_credentials(
            spec.server_id, user_id=user_id, headers=wanted.headers, env=wanted.env
        )
        await self._hub.changed(replace(spec, user_id=user_id), "updated")
        return await self._view(await self._usable(user_id, name), user_id)

    async def forget(self, user_id: str) -> None:
        """Delete all servers and credentials of a deleted user.

        Raises:
            StorageUnavailable: the database does not answer.
        """
        theirs = await self._hub.servers.list(scope="user", user_id=user_id)
        await self._hub.servers.delete_of_user(user_id)
        for spec in theirs:
            await self._hub.changed(spec, "removed")

    # -- trying them out ------------------------------------------------------------------------

    async def test(self, user_id: str, name: str, *, asked_by: Principal) -> Trial:
        """Connect to a server now, and return how that went.

        Raises:
            Denied: the caller is neither the user nor an administrator.
            ServerNotFound: they have none of that name.
        """
        _require_own_or_admin(user_id, asked_by)
        await self._check_switched_on(user_id)
        spec = await self._usable(user_id, name)
        return await run_trial(self._hub, spec, user_id=user_id)

    # -- which servers are whose ----------------------------------------------------------------

    async def _effective(self, user_id: str) -> builtins.list[ServerSpec]:
        tenant_id = await self._tenancy.tenant_id_of(user_id)
        found = await self._hub.servers.effective(user_id=user_id, tenant_id=tenant_id)
        by_name = {spec.name: spec for spec in (*self._hub.files, *found)}  # the nearest is last
        return [*by_name.values()]

    async def _usable(self, user_id: str, name: str) -> ServerSpec:
        """Return the user's server with the name, own or shared."""
        found = await self._effective(user_id)
        spec = next((each for each in found if each.name == name), None)
        if spec is None:
            raise _server_not_found(name)
        return spec

    async def _own(self, user_id: str, name: str) -> ServerSpec:
        for spec in await self._hub.servers.list(scope="user", user_id=user_id):
            if spec.name == name:
                return spec
        raise _server_not_found(name)

    async def _view(self, spec: ServerSpec, user_id: str) -> ServerView:
        has_credentials = False
        if spec.scope != "user":
            credentials = await self._hub.servers.credentials(spec.server_id, user_id=user_id)
            has_credentials = any(credentials)
        return await view_of(self._hub, spec, user_id=user_id, has_credentials=has_credentials)

    async def _fill_template(
        self, sent: ServerFields, parameters: Mapping[str, str] | None
    ) -> ServerFields:
        """Return the fields with a template's command, if they name a template."""
        template_id = sent.get("template_id")
        if template_id is None:
            if parameters:
                raise BadInput("Parameters are a template's: name it in `template`.")
            return sent
        if sent.keys() & {"command", "args", "cwd", "url", "headers", "env"}:
            raise BadInput("A template says what is started: send `parameters` and no command.")
        template = await self._hub.templates.get(template_id)
        filled = fill(template, parameters or {})
        return {**sent, **filled, "template_id": template.template_id}

    # -- what is allowed ------------------------------------------------------------------------

    async def _check_switched_on(self, user_id: str) -> None:
        tenant = await self._tenancy.tenant_of(user_id)
        if tenant is not None and not tenant.has("mcp"):
            raise ServerNotAllowed("MCP is switched off for this organisation.")

    async def _most_servers(self, user_id: str) -> int:
        """Return how many servers the user may have: their tenant's limit or the installation's."""
        tenant = await self._tenancy.tenant_of(user_id)
        own = None if tenant is None else tenant.max_mcp_servers
        return self._most if own is None else own


def _by_name(spec: ServerSpec) -> str:
    return spec.name


def _server_not_found(name: str) -> ServerNotFound:
    return ServerNotFound(f"There is no MCP server {name[:64]!r}.")


def _require_own(user_id: str, asked_by: Principal) -> None:
    if asked_by.user_id != user_id:
        raise Denied("Permission denied")


def _require_own_or_admin(user_id: str, asked_by: Principal) -> None:
    if not asked_by.is_admin:
        _require_own(user_id, asked_by)
