"""Records requests in the audit log, for all routes in one place.

A route is audited if it writes and is for administrators, or concerns what they administer (logins,
users, keys, tenants, sources) even if users may do it for themselves; and if it exports the log.
`route.py` checks every route it makes, so a new one is covered. Of a body only the names of its
fields and the few values that are never secret are recorded. The record is in the database before
the response is sent.
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
# recorded as `sql.query` and `mcp.call` instead
_QUESTIONS = frozenset({"run_query", "check_query", "mcp_endpoint"})
_COPIES = frozenset({"export_audit"})  # reads, but of the whole log
_LOGINS = {"log_in": "password", "login_by_link": "link"}
_ACTIONS = {"log_in": "login", "login_by_link": "login", "log_out": "logout"}
# recorded a second time under the account that another user changed
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
_MAX_BODY_BYTES = 256 * 1024


def is_audited(route: APIRoute) -> bool:
    """Whether the route's requests are recorded."""
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
    """Run the handler and record the request; errors pass through."""
    try:
        response = await handler(request)
    except Exception as error:
        await _record(operation, request, _status(error), {})
        raise
    await _record(operation, request, response.status_code, _json(getattr(response, "body", b"")))
    return response


async def _record(operation: str, request: Request, status: int, answer: dict[str, Any]) -> None:
    container = container_of(request)
    sent = _sent(request)
    if operation in _LOGINS:
        await _record_login(container, operation, status, sent=sent, user=answer)
        return
    caller: Principal | None = getattr(request.state, "principal", None)
    if caller is None:  # unauthenticated requests must not fill the log
        return
    ids = {name: str(value) for name, value in request.path_params.items()}
    target = next((str(answer[name]) for name in _IDS if answer.get(name)), None)
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
    # wrong passwords have a rate limit, wrong links do not: they could fill the log
    is_recorded = status < HTTPStatus.BAD_REQUEST or (
        status == HTTPStatus.UNAUTHORIZED and _LOGINS[operation] == "password"
    )
    if not is_recorded:
        return
    name = sent.get("username")
    # an invalid name may be a password in the wrong field
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
    """The status of the error's response."""
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
    return _json(getattr(request, "_body", b""))  # as far as it was read; reading could block


def _json(body: Any) -> dict[str, Any]:  # Any: a response's body may be missing
    if not isinstance(body, bytes) or not body or len(body) > _MAX_BODY_BYTES:
        return {}
    try:
        found = from_json(body)
    except ValueError:
        return {}
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}  # JSON of any shape
