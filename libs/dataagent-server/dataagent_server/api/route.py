"""How a route takes its request: the caller is known before the body is read, JSON is strict.

What is worth an audit record gets one (`request_audit.py`). Which errors it may answer follows from
what kind of route it is, and is in the OpenAPI document without anyone writing it down.

FastAPI reads the body first and checks the caller after; `PrivateRoute` turns that round, so that
nobody unknown can make the server parse anything.
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
        """As FastAPI's, with the errors that a route of the kind may answer."""
        is_write = not set(options.get("methods") or _READS) <= _READS
        statuses = self.statuses(path, is_write=is_write)
        errors = {each: ERROR_RESPONSES[each] for each in sorted(statuses)}
        options["responses"] = errors | (options.get("responses") or {})
        super().__init__(path, endpoint, **options)

    def statuses(self, path: str, *, is_write: bool) -> frozenset[int]:
        """Which errors it may answer."""
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
        """As of every route, and which credentials are taken."""
        options["openapi_extra"] = {
            "security": _ANY_CREDENTIAL,
            **(options.get("openapi_extra") or {}),
        }
        super().__init__(path, endpoint, **options)

    def statuses(self, path: str, *, is_write: bool) -> frozenset[int]:
        """What a caller may run into, and who names or changes something."""
        named = frozenset({404}) if "{" in path else frozenset[int]()
        written = _OF_CALLERS_WRITES if is_write else frozenset[int]()
        return _OF_ALL | _OF_CALLERS | named | written

    def get_route_handler(self) -> Handler:
        """As `PublicRoute`, after the caller is known."""
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


def _is_list(annotation: Any) -> bool:  # Any: a type of whatever kind
    """Whether a parameter is a list, or a list or nothing."""
    return list in {get_origin(annotation), *map(get_origin, get_args(annotation))}


def _refuse_repeats(request: Request, lists: Collection[str]) -> None:
    """Refuse a name that is given twice and is no list: one of its values would be lost.

    Raises:
        RequestValidationError: there is one.
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
