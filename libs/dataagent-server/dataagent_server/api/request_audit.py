"""Which requests the audit log hears of, and what it is told: one place for all routes.

A route is audited when it writes and is for administrators, or is about what they administer, even
if users may do it for themselves: logins, users, keys, tenants, sources; and when it hands out a
copy of the log itself. `route.py` asks for every route it makes, so a new one is covered without
doing anything. What is kept of a body are its fields' names and the few values that are never
secret. The record is in the database before the answer goes out. Above: `route.py`. Below: the
core's `audit/`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine
from http import HTTPStatus
from typing import Any, cast

from fastapi import Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic_core import from_json
from starlette.exceptions import HTTPException

from dataagent_core.audit import AuditOutcome
from dataagent_core.errors import DataAgentError
from dataagent_core.identity import Principal
from dataagent_server.api.deps import container_of, require_admin
from dataagent_server.api.errors import status_of
from dataagent_server.deps.container import Container

Handler = Callable[[Request], Coroutine[Any, Any, Response]]
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_ADMINISTERED = (
    *("/auth", "/users", "/tenants", "/invitations", "/api-keys", "/data-sources", "/agents"),
    "/mcp",
)
# they write nothing; `sql.query` has them, and `mcp.call` each call behind the other door
_QUESTIONS = frozenset({"run_query", "check_query", "mcp_door"})
_COPIES = frozenset({"export_audit"})  # they write nothing, and carry everything away
_LOGINS = {"log_in": "password", "login_by_link": "link"}
_ACTIONS = {"log_in": "login", "login_by_link": "login", "log_out": "logout"}
# what is done to another user's account, and what the log says of that under their name
_ACTIONS_ON_OTHERS = {
    "create_api_key": "api_key_created_by_other",
    "revoke_api_key": "api_key_revoked_by_other",
}
_SHOWN = frozenset({"username", "role", "status", "name", "user_id", "tenant_id", "keep_keys"})
_IDS = (
    *("id", "server_id", "template_id", "user_id", "tenant_id", "source_id", "policy_id"),
    "file_id",
)
_NAME = re.compile(r"[A-Za-z0-9_]{3,20}")
_MOST_BODY = 256 * 1024


def is_audited(route: APIRoute) -> bool:
    """Whether the audit log hears of the route's requests."""
    if route.operation_id in _LOGINS or route.operation_id in _COPIES:
        return True
    if (route.methods or _SAFE_METHODS) <= _SAFE_METHODS:
        return False
    if route.operation_id in _QUESTIONS:
        return False
    return route.path.startswith(_ADMINISTERED) or _requires_admin(route.dependant)


def _requires_admin(dependant: Dependant) -> bool:
    return dependant.call is require_admin or any(
        _requires_admin(each) for each in dependant.dependencies
    )


async def audit_request(operation: str, request: Request, handler: Handler) -> Response:
    """The handler's answer, after its audit record is kept; errors pass through."""
    try:
        response = await handler(request)
    except Exception as error:
        await _record(operation, request, _status(error), {})
        raise
    await _record(operation, request, response.status_code, _json(getattr(response, "body", b"")))
    return response


async def _record(operation: str, request: Request, status: int, made: dict[str, Any]) -> None:
    container = container_of(request)
    sent = _sent(request)
    if operation in _LOGINS:
        await _record_login(container, operation, status, sent=sent, user=made)
        return
    caller: Principal | None = getattr(request.state, "principal", None)
    if caller is None:  # nobody: a flood of strangers must not become a flood of records
        return
    ids = {name: str(value) for name, value in request.path_params.items()}
    target = next((str(made[name]) for name in _IDS if made.get(name)), None)
    await container.core.observers.audit.record(
        _ACTIONS.get(operation, operation),
        _outcome(status),
        target="/".join(ids.values()) or target,
        user_id=caller.user_id,
        via=caller.via,
        details={
            "status": status,
            "ids": ids,
            "fields": sorted(sent),
            "values": _shown(dict(request.query_params)) | _shown(sent),
        },
    )
    owner = request.query_params.get("user_id", caller.user_id)
    is_done = status < HTTPStatus.BAD_REQUEST and operation in _ACTIONS_ON_OTHERS
    if is_done and owner != caller.user_id:
        await container.core.observers.audit.record(
            _ACTIONS_ON_OTHERS[operation],
            "success",
            target="/".join(ids.values()) or target,
            user_id=owner,
            via=caller.via,
            details={"by": caller.user_id, "values": _shown(sent)},
        )


async def _record_login(
    container: Container, operation: str, status: int, *, sent: dict[str, Any], user: dict[str, Any]
) -> None:
    observers = container.core.observers
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.TOO_MANY_REQUESTS):
        observers.metrics.login_failed()
    # wrong passwords have a limit, wrong links have none: strangers could fill the log with them
    is_kept = status < HTTPStatus.BAD_REQUEST or (
        status == HTTPStatus.UNAUTHORIZED and _LOGINS[operation] == "password"
    )
    if not is_kept:
        return
    name = sent.get("username")
    # what is no name may be a password in the wrong field
    shown = name if isinstance(name, str) and _NAME.fullmatch(name) else None
    await observers.audit.record(
        "login",
        _outcome(status),
        target=shown,
        user_id=user.get("id"),
        via=_LOGINS[operation],
        details={"status": status},
    )


def _shown(given: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if name in _SHOWN}


def _outcome(status: int) -> AuditOutcome:
    if status < HTTPStatus.BAD_REQUEST:
        return "success"
    is_refusal = status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)
    return "denied" if is_refusal else "failed"


def _status(error: Exception) -> int:
    """The status the error will be answered with."""
    match error:
        case DataAgentError():
            return status_of(error)
        case RequestValidationError():
            return 422
        case HTTPException():
            return error.status_code
        case _:
            return 500


def _sent(request: Request) -> dict[str, Any]:
    """The fields of the request's body, if it was read and is a JSON object."""
    return _json(getattr(request, "_body", b""))  # the body as it was read; reading on could wait


def _json(body: Any) -> dict[str, Any]:  # Any: a response's body may be missing
    if not isinstance(body, bytes) or not body or len(body) > _MOST_BODY:
        return {}
    try:
        found = from_json(body)
    except ValueError:
        return {}
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}  # JSON of any shape
