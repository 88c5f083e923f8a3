"""Requests about MCP servers completed, servers as clients see them, and connection tests.

Secrets are shown as `••••`; a client that sends the mask back keeps the stored value. A server has
either an address or a command, so setting one clears the other.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

from pydantic import SecretStr

from dataagent_core.errors import BadInput
from dataagent_core.identity.sealing import MASK
from dataagent_core.mcp.connections.connection import ServerConnection
from dataagent_core.mcp.servers.registration import ServerFields
from dataagent_core.mcp.types import CatalogueTool, ConnectionStatus, ServerSpec

if TYPE_CHECKING:
    from dataagent_core.mcp.hub import McpHub


_CONNECTION_FIELDS = ("transport", "command", "args", "cwd", "env", "url", "headers", "proxy_url")


def complete_fields(sent: ServerFields, stored: ServerSpec | None = None) -> ServerFields:
    """Replace masks by stored secrets, and reduce the fields to one way to reach the server.

    Raises:
        BadInput: a mask stands for something that is not stored.
    """
    fields = ServerFields(**sent)
    for name in ("env", "headers"):
        given = fields.get(name)
        if given is not None:
            fields[name] = _restore_secrets(given, getattr(stored, name, None) or {}, name)
    for name in ("url", "proxy_url"):
        shown = fields.get(name)
        if shown is not None and MASK in shown:
            fields[name] = _restore_url(shown, getattr(stored, name, None))
    return _single_endpoint(fields, stored)


def changes_connection(old: ServerSpec, new: ServerSpec) -> bool:
    """Whether a change affects what is started or connected to."""
    return any(getattr(old, name) != getattr(new, name) for name in _CONNECTION_FIELDS)


def apply_fields(spec: ServerSpec, fields: ServerFields) -> ServerSpec:
    """Return the server with the fields changed."""
    values: dict[str, Any] = dict(fields)  # Any: a field of each type
    return replace(spec, **values)


def mask_secrets(secrets: Mapping[str, SecretStr]) -> dict[str, str]:
    """Return the names of secrets, each with a mask."""
    return dict.fromkeys(secrets, MASK)


def mask_url(url: str | None) -> str | None:
    """Mask what may be secret in an address: the login and the query's values."""
    if url is None:
        return None
    try:
        parts = urlsplit(url)
    except ValueError:
        return MASK
    place = parts.netloc.rpartition("@")
    host = f"{MASK}@{place[2]}" if place[1] else parts.netloc
    pairs = [name.partition("=") for name in parts.query.split("&") if name]
    query = "&".join(f"{name}={MASK}" if equals else name for name, equals, _ in pairs)
    return urlunsplit((parts.scheme, host, parts.path, query, ""))


def _restore_secrets(
    sent: Mapping[str, SecretStr], stored: Mapping[str, SecretStr], what: str
) -> dict[str, SecretStr]:
    found = {
        name: stored.get(name, value) if value.get_secret_value() == MASK else value
        for name, value in sent.items()
    }
    unknown = sorted(name for name, value in found.items() if value.get_secret_value() == MASK)
    if unknown:
        raise BadInput(
            f"{MASK} keeps a value that is stored, and {what} has none for "
            f"{', '.join(unknown)[:200]}. Send the value."
        )
    return found


def _restore_url(shown: str, stored: str | None) -> str:
    """Return the stored address, if the masked one is its mask."""
    if stored is None or mask_url(stored) != shown:
        raise BadInput(f"The address has {MASK} in it and is not the stored one. Send all of it.")
    return stored


def _single_endpoint(fields: ServerFields, stored: ServerSpec | None) -> ServerFields:
    """Clear the command of a server with an address, and the address of one with a command."""
    has_command, has_url = bool(fields.get("command")), bool(fields.get("url"))
    if has_command and not has_url:
        if fields.get("transport", "auto") == "auto":
            fields["transport"] = "stdio"
        if stored is not None and stored.url is not None:
            fields.update(url=None, headers=fields.get("headers", {}))
    if has_url and not has_command and stored is not None and stored.command is not None:
        fields.update(command=None, args=(), env=fields.get("env", {}), cwd=None)
        fields.update(transport=fields.get("transport", "auto"), template_id=None)
    return fields


@dataclass(frozen=True, slots=True)
class ServerView:
    """A server with its status and tools."""

    spec: ServerSpec
    status: ConnectionStatus
    tools: tuple[CatalogueTool, ...] = ()
    has_credentials: bool = False
    """Whether the user brings credentials of their own to a shared server."""


@dataclass(frozen=True, slots=True)
class Trial:
    """The result of a connection test."""

    view: ServerView
    is_ready: bool
    duration_ms: float


async def view_of(
    hub: McpHub, spec: ServerSpec, *, user_id: str, has_credentials: bool = False
) -> ServerView:
    """Return a server with its status and tools."""
    status = await hub.status_of(spec, user_id=user_id)
    return ServerView(spec, status, await tools_of(hub, spec), has_credentials)


async def tools_of(hub: McpHub, spec: ServerSpec) -> tuple[CatalogueTool, ...]:
    """Return a server's tools; if it is not connected here, as last stored."""
    found = hub.catalogue.tools_of(spec.server_id)
    if not found and spec.scope == "user":
        found = await hub.catalogue.list(server_id=spec.server_id)
    return tuple(tool for tool in found if tool.status != "removed")


_SHARED = "shared"
_FAILING = frozenset({"backoff", "auth_required"})


async def run_trial(hub: McpHub, spec: ServerSpec, *, user_id: str) -> Trial:
    """Connect as a user's session would, and report the first outcome.

    Raises:
        TooManyServers: the user has as many connections as they may.
    """
    started = time.monotonic()
    session_id = f"test:{uuid.uuid4().hex}"
    status = ConnectionStatus("disabled", "It is disabled.")
    if not spec.disabled:
        try:
            connection = await _fresh_connection(hub, spec, user_id=user_id, session_id=session_id)
            status = await connection.wait_for_outcome(spec.connect_timeout_seconds)
        finally:
            hub.pool.release(session_id)
    view = replace(await view_of(hub, spec, user_id=user_id), status=status)
    return Trial(view, status.state == "ready", (time.monotonic() - started) * 1000)


async def _fresh_connection(
    hub: McpHub, spec: ServerSpec, *, user_id: str, session_id: str
) -> ServerConnection:
    """Return the user's connection; one of their own that is failing is replaced."""
    connection = hub.pool.lease(spec, user_id=user_id, session_id=session_id)
    principal = connection.key.principal
    if connection.status.state in _FAILING and principal != _SHARED:
        await hub.pool.drop(spec.server_id, principal=principal)
        connection = hub.pool.lease(spec, user_id=user_id, session_id=session_id)
    return connection
