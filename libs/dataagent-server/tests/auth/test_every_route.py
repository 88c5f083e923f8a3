"""Every route and every socket asks who is there, or stands on the list of those that do not.

Read from the app itself, so a new route is looked at without anyone remembering to.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from fastapi.dependencies.models import Dependant
from starlette.routing import WebSocketRoute
from websockets.exceptions import InvalidStatus

from dataagent_server.api.deps import get_current_user, require_admin
from dataagent_server.api.route import PrivateRoute
from dataagent_server.config import ServerSettings
from dataagent_server.main import create_app
from tests.requirements import requirement

if TYPE_CHECKING:
    from conftest import LiveServer

OPEN = {
    ("GET", "/"),  # the web app's page, at all its addresses: it shows nothing and logs in
    ("GET", "/chat/{view:path}"),
    ("GET", "/data"),
    ("GET", "/data/{view:path}"),
    ("GET", "/mcp-servers"),
    ("GET", "/settings"),
    ("GET", "/admin"),
    ("GET", "/admin/{view:path}"),
    ("GET", "/assets/{name}"),
    ("GET", "/api/info"),  # what the page must know before the login
    ("GET", "/login"),  # asks whether to log in; shows nothing
    ("POST", "/login"),  # the one-time link is the credential
    ("POST", "/api/auth/login"),  # name and password are
    ("POST", "/api/auth/logout"),  # nothing to get
    ("GET", "/api/agents"),  # names and descriptions, for the page before the login
    ("GET", "/api/v1/health"),
    ("GET", "/api/v1/health/live"),
    ("GET", "/api/v1/health/ready"),
    ("GET", "/openapi.json"),
    ("GET", "/docs"),
    ("GET", "/metrics"),  # this machine, or an administrator: its own tests
}
SOCKETS = {"/ws/chat/{session_id}", "/{path:path}"}


def every_route(routes: Iterable[Any]) -> Iterator[Any]:
    """The routes of an app with their whole address: FastAPI keeps included routers as branches."""
    for route in routes:
        if hasattr(route, "effective_candidates"):
            yield from every_route(route.effective_candidates())
            yield from route.effective_low_priority_routes()
        else:
            yield route


def asks_who(dependant: Dependant | None) -> bool:
    if dependant is None:
        return False
    return dependant.call is get_current_user or any(map(asks_who, dependant.dependencies))


def is_private(route: Any) -> bool:
    """Whether the caller is a dependency, and known before the body is read."""
    original = getattr(route, "original_route", route)
    return isinstance(original, PrivateRoute) and asks_who(getattr(route, "dependant", None))


def addresses(route: Any) -> set[tuple[str, str]]:
    methods = getattr(route, "methods", None) or {"?"}
    return {(method, route.path) for method in methods - {"HEAD"}}


@requirement("R19.3", "P30", "S2.5.1c", "S10.2")
def test_every_route_asks_who_is_there_or_is_on_the_list(
    settings_for: Callable[..., ServerSettings],
) -> None:
    app = create_app(settings_for())
    routes = [each for each in every_route(app.routes) if not isinstance(each, WebSocketRoute)]
    private = {one for route in routes if is_private(route) for one in addresses(route)}
    others = {one for route in routes if not is_private(route) for one in addresses(route)}
    assert others == OPEN
    documented = {
        (method.upper(), path)
        for path, methods in app.openapi()["paths"].items()
        for method in methods
    }
    seen = {(method, path.replace(":path}", "}")) for method, path in private | others}
    assert documented <= seen  # nothing was missed on the way
    assert len(private) >= 40


def is_for_administrators(dependant: Dependant | None) -> bool:
    if dependant is None:
        return False
    below = map(is_for_administrators, dependant.dependencies)
    return dependant.call is require_admin or any(below)


@requirement("S2.5.1d")
async def test_what_is_for_administrators_is_denied_to_everyone_else(live: LiveServer) -> None:
    theirs = [
        one
        for route in every_route(live.app.routes)
        if is_for_administrators(getattr(route, "dependant", None))
        for one in addresses(route)
    ]
    assert len(theirs) >= 20
    for user in ("alice", "service"):
        async with live.http(user) as client:
            for method, path in theirs:
                answer = await client.request(method, re.sub(r"{[\w:]+}", "sample", path), json={})
                assert (answer.status_code, answer.json()["error_code"]) == (403, "denied"), path


async def test_no_cache_may_store_what_is_someones_own_or_why_they_did_not_get_it(
    live: LiveServer,
) -> None:
    private = [
        one
        for route in every_route(live.app.routes)
        if is_private(route)
        for one in addresses(route)
    ]
    answers = dict[str, str | None]()
    for user in ("root", None):
        async with live.http(user) as client:
            for method, path in private:
                address = re.sub(r"{[\w:]+}", "sample", path)
                answer = await client.request(method, address, json={})
                key = f"{method} {path} {answer.status_code}"
                answers[key] = answer.headers.get("Cache-Control")
    assert {key: found for key, found in answers.items() if "no-store" not in (found or "")} == {}
    assert len({key.split()[2] for key in answers}) >= 6  # answers and refusals of many kinds


@requirement("R19.3")
def test_a_route_that_does_not_ask_would_be_found(
    settings_for: Callable[..., ServerSettings],
) -> None:
    app = create_app(settings_for())

    @app.get("/api/v1/secrets")
    async def secrets() -> None: ...

    found = [one for one in every_route(app.routes) if getattr(one, "name", "") == "secrets"]
    assert len(found) == 1
    assert not is_private(found[0])


@requirement("R19.3")
async def test_no_socket_lets_anyone_in_who_does_not_say_who_they_are(live: LiveServer) -> None:
    sockets = [each for each in every_route(live.app.routes) if isinstance(each, WebSocketRoute)]
    assert {each.path for each in sockets} == SOCKETS
    async with live.socket(user=None, is_greeted=False) as socket:
        for command in ("chat", "cancel", "hitl_decision", "ping"):
            payload = {"message": "x"} if command == "chat" else {}
            await socket.say(command, {**payload, "request_id": "r", "type": "approve"})
            assert (await socket.next("error"))["data"]["error_code"] in {
                "not_authenticated",
                "bad_input",
            }
        await socket.say("auth", {"api_key": "wrong"})
        await socket.next("error")
        assert await socket.closed() == 4401
    for path in ("/ws/other", f"/ws/chat/{uuid4()}/more", "/api/v1/chat"):
        address = f"../../{path.lstrip('/')}"
        with pytest.raises(InvalidStatus) as refused:
            async with live.socket(address, is_greeted=False):
                pass
        assert refused.value.response.status_code == 404
