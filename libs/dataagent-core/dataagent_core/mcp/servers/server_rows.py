"""The rows of MCP servers: plain columns, sealed secrets, and the reading of both.

Each secret is sealed by itself and bound to its place, so a row copied elsewhere cannot be opened.
"""

from __future__ import annotations

import hashlib
import logging
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal

from pydantic import SecretStr
from sqlalchemy import Connection, Row, and_, bindparam, case, delete, insert, or_, select

from dataagent_core.errors import BadInput, Misconfigured
from dataagent_core.identity.sealing import SecretBox
from dataagent_core.mcp.catalogue.definitions import strip_invisible
from dataagent_core.mcp.types import ConnectionStatus, JsonObject, ServerSpec
from dataagent_core.storage.agent_tables import mcp_server_secrets, mcp_servers, mcp_templates
from dataagent_core.storage.database import storable

logger = logging.getLogger(__name__)
SecretKind = Literal["env", "header"]
_MAX_REASON = 500
_MAX_VERSION = 32
_MAX_INFO = 200
_INFO = ("name", "title", "version")
_COLUMNS: Mapping[str, str] = {
    "server_id": "server_id",
    "scope": "scope",
    "tenant_id": "tenant_id",
    "user_id": "user_id",
    "name": "name",
    "alias": "alias",
    "transport": "transport",
    "command": "command",
    "cwd": "cwd",
    "url": "url",
    "proxy_url": "proxy_url",
    "template_id": "template_id",
    "session_scope": "session_scope",
    "connect_timeout_seconds": "timeout",
    "call_timeout_seconds": "call_timeout_s",
    "max_concurrency": "max_concurrency",
    "on_change": "on_change",
    "disabled": "disabled",
}
"""The column of each field of a `ServerSpec`."""
_OWNED_BY = mcp_server_secrets.c.owner_user_id == bindparam("owner")
_IS_SERVER = mcp_server_secrets.c.server_id == bindparam("wanted")
_FORGET = delete(mcp_server_secrets).where(
    _IS_SERVER, _OWNED_BY, mcp_server_secrets.c.kind == bindparam("of_kind")
)
SECRETS_OF = select(mcp_server_secrets).where(_IS_SERVER, _OWNED_BY)
_SERVERS = select(mcp_servers, mcp_templates.c.version.label("template_now")).outerjoin(
    mcp_templates, mcp_templates.c.template_id == mcp_servers.c.template_id
)
_SERVER = _SERVERS.where(mcp_servers.c.server_id == bindparam("wanted"))
_SHARED_SECRETS = select(mcp_server_secrets).where(
    mcp_server_secrets.c.server_id == bindparam("wanted"),
    mcp_server_secrets.c.owner_user_id == "",
)
_NEARNESS = case({"global": 0, "tenant": 1, "user": 2}, value=mcp_servers.c.scope, else_=3)
_IS_THEIRS = or_(
    mcp_servers.c.scope == "global",
    and_(mcp_servers.c.scope == "tenant", mcp_servers.c.tenant_id == bindparam("tenant")),
    and_(mcp_servers.c.scope == "user", mcp_servers.c.user_id == bindparam("user")),
)
_EFFECTIVE = _SERVERS.where(_IS_THEIRS).order_by(_NEARNESS)
_THEIR_SECRETS = (
    select(mcp_server_secrets)
    .join(mcp_servers, mcp_servers.c.server_id == mcp_server_secrets.c.server_id)
    .where(
        _IS_THEIRS,
        or_(
            mcp_server_secrets.c.owner_user_id == "",
            mcp_server_secrets.c.owner_user_id == bindparam("user"),
        ),
    )
)


@dataclass(frozen=True, slots=True)
class StoredServer:
    """A server's row with its sealed secrets: the shared ones, and a user's own."""

    row: Row[Any]
    shared: tuple[Row[Any], ...] = field(default=(), repr=False)
    own: tuple[Row[Any], ...] = field(default=(), repr=False)


# -- reading --------------------------------------------------------------------------------------


def read_one(connection: Connection, server_id: str) -> StoredServer | None:
    """Read a server with its shared secrets."""
    row = connection.execute(_SERVER, {"wanted": server_id}).first()
    if row is None:
        return None
    return StoredServer(row, tuple(connection.execute(_SHARED_SECRETS, {"wanted": server_id})))


def read_where(connection: Connection, given: Mapping[str, str]) -> list[StoredServer]:
    """Read the servers whose columns have these values, with their shared secrets."""
    fits = [mcp_servers.c[name] == value for name, value in given.items()]
    rows = connection.execute(_SERVERS.where(*fits)).all()
    sealed = connection.execute(
        select(mcp_server_secrets)
        .join(mcp_servers, mcp_servers.c.server_id == mcp_server_secrets.c.server_id)
        .where(*fits, mcp_server_secrets.c.owner_user_id == "")
    ).all()
    return _with_secrets(rows, sealed)


def read_effective(connection: Connection, user_id: str, tenant_id: str) -> list[StoredServer]:
    """Read a user's servers, the nearest last, with shared secrets and the user's own."""
    whose = {"user": user_id, "tenant": tenant_id}
    rows = connection.execute(_EFFECTIVE, whose).all()
    sealed = connection.execute(_THEIR_SECRETS, whose).all() if rows else ()
    return _with_secrets(rows, sealed)


def _with_secrets(rows: Sequence[Row[Any]], sealed: Sequence[Row[Any]]) -> list[StoredServer]:
    shared: dict[str, list[Row[Any]]] = defaultdict(list)
    own: dict[str, list[Row[Any]]] = defaultdict(list)
    for each in sealed:
        (own if each.owner_user_id else shared)[each.server_id].append(each)
    return [
        StoredServer(row, tuple(shared[row.server_id]), tuple(own[row.server_id])) for row in rows
    ]


# -- shapes ---------------------------------------------------------------------------------------


def columns_of(spec: ServerSpec) -> dict[str, Any]:
    """Return the plain columns of a server."""
    values = {column: getattr(spec, name) for name, column in _COLUMNS.items()}
    return {**values, "args": list(spec.args)}


def changed_columns(spec: ServerSpec) -> dict[str, Any]:
    """Return the columns to update for a changed server."""
    return {**columns_of(spec), "config_version": spec.config_version}


def unconnected_columns(spec: ServerSpec) -> dict[str, Any]:
    """Return the status columns of a server that has not been connected to."""
    status = "disabled" if spec.disabled else "idle"
    return {"status": status, "status_reason": "", "fail_count": 0, "next_retry_at": None}


def new_columns(spec: ServerSpec, *, by: str, at: datetime) -> dict[str, Any]:
    """Return the columns of a new server."""
    return {
        **columns_of(spec),
        **unconnected_columns(spec),
        "config_version": 1,
        "catalogue_version": 0,
        "created_by": by,
        "created_at": at,
        "updated_by": by,
        "updated_at": at,
    }


def template_columns(connection: Connection, spec: ServerSpec) -> dict[str, Any]:
    """Return the version of the template a server is filled from.

    Raises:
        BadInput: there is no such template, or it starts something else.
    """
    if spec.template_id is None:
        return {"template_version": None}
    wanted = select(mcp_templates).where(mcp_templates.c.template_id == spec.template_id)
    template = connection.execute(wanted).first()
    if template is None or template.command != spec.command:
        raise BadInput("The template is gone or was changed. Fill it in anew.")
    return {"template_version": template.version}


def spec_from(stored: StoredServer, box: SecretBox, *, user_id: str = "") -> ServerSpec:
    """Return the server with its secrets, of which the user's own take precedence.

    One whose secrets cannot be opened is disabled, and named in the log. So is one whose template
    is gone or starts something else by now.
    """
    row = stored.row
    values: dict[str, Any] = {name: getattr(row, column) for name, column in _COLUMNS.items()}
    spec = ServerSpec(**values, args=tuple(row.args), config_version=row.config_version)
    if row.template_id is not None and row.template_now != row.template_version:
        spec = replace(spec, disabled=True)
    try:
        env, headers = unseal(box, stored.shared)
        if stored.own:
            own_env, own_headers = unseal(box, stored.own)
            env, headers = env | own_env, _with_own(headers, own_headers)
            spec = _as_users_own(spec, stored.own)
    except Misconfigured as error:
        logger.warning("MCP server %s is left out: %s", spec.label, error.message)
        return replace(spec, disabled=True)
    return replace(spec, env=env, headers=headers)


def _with_own(
    shared: Mapping[str, SecretStr], own: Mapping[str, SecretStr]
) -> dict[str, SecretStr]:
    """Merge headers regardless of case; the user's own take precedence."""
    given = {name.lower() for name in own}
    return {name: value for name, value in shared.items() if name.lower() not in given} | dict(own)


def _as_users_own(spec: ServerSpec, own: Iterable[Row[Any]]) -> ServerSpec:
    """Make the connection the user's own, and a new one whenever the credentials change."""
    sealed = "".join(sorted(row.ciphertext for row in own))  # another at each sealing
    which = int(hashlib.sha256(sealed.encode()).hexdigest()[:12], 16)
    return replace(
        spec,
        session_scope="session" if spec.session_scope == "session" else "user",
        config_version=spec.config_version + which,
    )


def unseal(
    box: SecretBox, rows: Iterable[Row[Any]]
) -> tuple[dict[str, SecretStr], dict[str, SecretStr]]:
    """Return the environment and the headers in sealed rows.

    Raises:
        Misconfigured: one was sealed with another key or for another place.
    """
    found: dict[str, dict[str, SecretStr]] = {"env": {}, "header": {}}
    for row in rows:
        place = _seal_binding(row.server_id, row.owner_user_id, row.kind, row.name)
        what = f"A secret of MCP server {row.server_id}"
        found[row.kind][row.name] = box.open(row.ciphertext, bound_to=place, what=what)
    return found["env"], found["header"]


def put_secrets(
    connection: Connection,
    box: SecretBox,
    server_id: str,
    owner: str,
    given: Mapping[SecretKind, Mapping[str, SecretStr]],
    *,
    at: datetime,
) -> None:
    """Replace all secrets of the given kinds."""
    for kind, secrets in given.items():
        connection.execute(_FORGET, {"wanted": server_id, "owner": owner, "of_kind": kind})
        rows = [
            {
                "server_id": server_id,
                "owner_user_id": owner,
                "kind": kind,
                "name": name,
                "ciphertext": box.seal(value, bound_to=_seal_binding(server_id, owner, kind, name)),
                "updated_at": at,
            }
            for name, value in secrets.items()
        ]
        if rows:
            connection.execute(insert(mcp_server_secrets), rows)


def _seal_binding(server_id: str, owner: str, kind: str, name: str) -> str:
    return f"{server_id}:{owner}:{kind}:{name}"


def status_columns(status: ConnectionStatus) -> dict[str, Any]:
    """Return the columns of a connection's status."""
    return {
        "status": status.state,
        "status_reason": storable(status.reason)[:_MAX_REASON],
        "protocol_version": storable(status.protocol_version or "")[:_MAX_VERSION] or None,
        "server_info": _short(status.server_info),
        "fail_count": status.fail_count,
        "next_retry_at": status.next_retry_at,
        "last_ok_at": status.last_ok_at,
    }


def _short(info: JsonObject | None) -> JsonObject | None:
    """Return the server's description of itself, short texts only."""
    if info is None:
        return None
    texts = ((name, info.get(name)) for name in _INFO)
    return {name: strip_invisible(text, _MAX_INFO) for name, text in texts if isinstance(text, str)}


STATUS = select(
    mcp_servers.c.status,
    mcp_servers.c.status_reason,
    mcp_servers.c.protocol_version,
    mcp_servers.c.server_info,
    mcp_servers.c.fail_count,
    mcp_servers.c.next_retry_at,
    mcp_servers.c.last_ok_at,
).where(mcp_servers.c.server_id == bindparam("wanted"))


def status_from(row: Any) -> ConnectionStatus:  # Any: a row of `STATUS`
    """Return the stored status of a connection."""
    return ConnectionStatus(
        state=row.status,
        reason=row.status_reason,
        protocol_version=row.protocol_version,
        server_info=row.server_info,
        fail_count=row.fail_count,
        next_retry_at=row.next_retry_at,
        last_ok_at=row.last_ok_at,
    )
