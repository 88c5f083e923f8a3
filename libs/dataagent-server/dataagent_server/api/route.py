"""Route classes: the caller is authenticated before the body is read, and JSON is strict.

FastAPI reads the body first; `PrivateRoute` reverses that, so that only known callers can make the
server parse anything. Routes are audited (`request_audit.py`) and list their possible errors in the
OpenAPI document.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Coroutine
from typing import Any, get_args, get_origin

from fastapi import Request, Response
from fastapi.dependencies.utils import get_flat_params
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic_core import from_json

from dataagent_server.api.deps import get_current_user
from dataagent_server.api.errors import ERROR_RESPONSES
from dataagent_server.api.request_audit import audit_request, is_audited

Handler = Callable[[Request], Coroutine[Any, Any, Response]]
_READS = frozenset({"GET", "HEAD"})
_OF_ALL = frozenset({503})
_OF_WRITES = frozenset({401, 403, 413, 422, 429})
_OF_CALLERS = frozenset({401, 403, 422})
_OF_CALLERS_WRITES = frozenset({404, 409, 413, 429})
_ANY_CREDENTIAL: list[dict[str, list[str]]] = [
    {"api_key": []},
    {"login_token": []},
    {"login_cookie": []},
]


class StrictRequest(Request):
    """A request whose JSON keeps long numbers exact and has no half characters or deep nesting."""

    async def json(self) -> Any:
        """The body as JSON."""
        try:
            return from_json(await self.body(), allow_inf_nan=False)
        except ValueError:
            raise json.JSONDecodeError("not valid JSON", "", 0) from None


class PublicRoute(APIRoute):
    """A route for anyone."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        """As FastAPI's, with the possible errors in its OpenAPI responses."""
        is_write = not set(options.get("methods") or _READS) <= _READS
        statuses = self.statuses(path, is_write=is_write)
        errors = {each: ERROR_RESPONSES[each] for each in sorted(statuses)}
        options["responses"] = errors | (options.get("responses") or {})
        super().__init__(path, endpoint, **options)

    def statuses(self, path: str, *, is_write: bool) -> frozenset[int]:
        """The statuses of its possible errors."""
        return _OF_ALL | (_OF_WRITES if is_write else frozenset[int]())

    def get_route_handler(self) -> Handler:
        """FastAPI's handler, on a strict request."""
        handler = super().get_route_handler()
        operation = (self.operation_id or self.name) if is_audited(self) else None

        async def strict(request: Request) -> Response:
            request = StrictRequest(request.scope, request.receive)
            if operation is None:
                return await handler(request)
            return await audit_request(operation, request, handler)

        return strict


class PrivateRoute(PublicRoute):
    """A route for callers with a credential."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        """As of every route, with the accepted credentials."""
        options["openapi_extra"] = {
            "security": _ANY_CREDENTIAL,
            **(options.get("openapi_extra") or {}),
        }
        super().__init__(path, endpoint, **options)

    def statuses(self, path: str, *, is_write: bool) -> frozenset[int]:
        """As of every route; more for routes that name or change something."""
        named = frozenset({404}) if "{" in path else frozenset[int]()
        written = _OF_CALLERS_WRITES if is_write else frozenset[int]()
        return _OF_ALL | _OF_CALLERS | named | written

    def get_route_handler(self) -> Handler:
        """As `PublicRoute`, after authentication."""
        handler = super().get_route_handler()
        lists = {
            each.alias
            for each in get_flat_params(self.dependant)
            if _is_list(each.field_info.annotation)
        }

        async def private(request: Request) -> Response:
            await get_current_user(request)
            _refuse_repeats(request, lists)
            return await handler(request)

        return private


def _is_list(annotation: Any) -> bool:  # Any: a type
    """Whether a parameter is a list, or an optional one."""
    return list in {get_origin(annotation), *map(get_origin, get_args(annotation))}


def _refuse_repeats(request: Request, lists: Collection[str]) -> None:
    """Refuse a repeated query parameter that is no list: one of its values would be lost.

    Raises:
        RequestValidationError: a parameter is repeated.
    """
    given = Counter(name for name, _ in request.query_params.multi_items())
    repeated = [name for name, times in given.items() if times > 1 and name not in lists]
    if not repeated:
        return
    raise RequestValidationError(
        [
            {
                "type": "value_error",
                "loc": ("query", name),
                "msg": "Given more than once. Give one value.",
                "input": request.query_params.getlist(name),
            }
            for name in repeated
        ]
    )
