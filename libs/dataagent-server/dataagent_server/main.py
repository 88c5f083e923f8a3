"""The ASGI app: its routes, middleware, error handlers, and the container they use.

`create_app(settings)` makes it; importing this module builds nothing. `app` is made from the
environment on first access, for programs that serve apps: `uvicorn dataagent_server.main:app`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import cache

from fastapi import APIRouter, FastAPI
from starlette.routing import BaseRoute
from starlette.types import Scope

from dataagent_core.errors import DataAgentError
from dataagent_core.telemetry import configure_logging
from dataagent_server import __version__
from dataagent_server.api import metrics
from dataagent_server.api.errors import install_error_handlers
from dataagent_server.api.middleware import BodyLimit, CrossOrigin, RequestContext
from dataagent_server.api.openapi import install_document
from dataagent_server.api.v1 import (
    agents,
    api_keys,
    artifacts,
    audit,
    chat,
    data_policies,
    data_sources,
    health,
    mcp,
    memory,
    queries,
    runs,
    sessions,
    source_uploads,
    system,
    tenants,
    tools,
    usage,
    workspace,
)
from dataagent_server.api.web import agents as web_agents
from dataagent_server.api.web import (
    auth,
    conversations,
    files,
    info,
    login,
    page,
    skills,
    threads,
    users,
)
from dataagent_server.api.web import chat as web_chat
from dataagent_server.config import ServerSettings, load_settings
from dataagent_server.deps.container import data_directory_lock, open_container
from dataagent_server.deps.uploads import FORM_BYTES, MAX_FILES
from dataagent_server.mcp import open_lazy_endpoint
from dataagent_server.mcp import router as mcp_router
from dataagent_server.ws.manager import ConnectionManager
from dataagent_server.ws.routes import add_socket_route

MAX_BODY_BYTES = 8 * 1024 * 1024
_MCP_HEADERS = ("Mcp-Protocol-Version", "Mcp-Session-Id", "Mcp-Method", "Mcp-Name")


def __getattr__(name: str) -> FastAPI:
    """`app`, made from the environment on first access.

    Raises:
        AttributeError: for any other name.
    """
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _app_of_environment()


@cache
def _app_of_environment() -> FastAPI:
    return create_app(is_hosted=True)


def create_app(settings: ServerSettings | None = None, *, is_hosted: bool = False) -> FastAPI:
    """The ASGI app for these settings (those of the environment if None).

    With `is_hosted` another program serves it, so the app itself configures logs, prints the first
    password and refuses to be one of several processes that cannot work together.

    Raises:
        Misconfigured: the settings cannot work together.
    """
    settings = settings or load_settings()
    app = FastAPI(
        title="DataAgent",
        version=__version__,
        summary="An assistant that works with a company's data and can be trusted with it.",
        lifespan=_lifespan(settings, is_hosted=is_hosted),
        docs_url=None,  # a page of the web app: FastAPI's own loads scripts from other hosts
        redoc_url=None,
    )
    install_error_handlers(app, page.not_found_page)
    _add_routes(app)
    install_document(app)
    _add_middleware(app, settings)
    return app


def _lifespan(
    settings: ServerSettings, *, is_hosted: bool
) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncGenerator[None]:
        async with AsyncExitStack() as stack:
            try:
                if is_hosted:
                    configure_logging(settings, secrets=settings.deployment_secrets)
                    stack.enter_context(data_directory_lock(settings))
                container = await stack.enter_async_context(open_container(settings))
                app.state.mcp = await stack.enter_async_context(open_lazy_endpoint(container))
            except DataAgentError as error:
                app.state.refusal = error  # uvicorn keeps only its text
                raise
            if is_hosted and container.first_login is not None:
                print(container.first_login, flush=True)  # noqa: T201 shown once, stored nowhere
            app.state.container = container
            connections = app.state.connections = ConnectionManager(capacity=container.capacity)
            stop_listening = container.core.mcp.listen(connections.notify_mcp_change)
            yield
            stop_listening()

    return lifespan


def _add_routes(app: FastAPI) -> None:
    add_socket_route(app)
    app.router.routes.extend(built_routes())


@cache
def built_routes() -> list[BaseRoute]:
    """The routes of every app. None depends on settings, so a process builds them once.

    Matching each against a dummy request makes FastAPI build it now, not for the first caller.
    """
    dummy: Scope = {"type": "http", "method": "GET", "path": "/-", "headers": [], "root_path": ""}
    routes = _routes()
    for route in routes:
        route.matches(dummy)
    return routes


def _routes() -> list[BaseRoute]:
    root = APIRouter()
    v1 = APIRouter()
    for part in (health, chat, sessions, runs, data_sources, data_policies, queries, artifacts):
        v1.include_router(part.router)
    v1.include_router(api_keys.router)
    for part in (source_uploads, workspace, memory, tenants, usage):
        v1.include_router(part.router)
    v1.include_router(tenants.invitation_router)
    for part in (audit, agents, tools, system, mcp):
        v1.include_router(part.router)
    root.include_router(
        v1, prefix="/api/v1"
    )  # with the prefix here, routes are not built to be copied
    web = APIRouter()
    web.include_router(auth.open_router)
    web.include_router(web_agents.router)
    web.include_router(info.router)
    for part in (auth, users, conversations, web_chat, threads, files, skills):
        web.include_router(part.router)
    root.include_router(web, prefix="/api")
    root.include_router(mcp_router)
    root.include_router(metrics.router)
    root.include_router(login.router)
    root.include_router(page.router)
    return root.routes


def _add_middleware(app: FastAPI, settings: ServerSettings) -> None:
    """The last one added is the outermost."""
    app.add_middleware(BodyLimit, max_bytes=MAX_BODY_BYTES, max_bytes_at=_file_limits(settings))
    if settings.cors_origins:
        app.add_middleware(
            CrossOrigin,
            # unless the operator names origins, only where a page needs a key
            prefix="/" if settings.trusted_origins else "/api/v1/",
            allow_origins=settings.cors_origins,
            allow_credentials=settings.cors_credentials,
            allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
            allow_headers=[
                "Authorization",
                "Content-Type",
                "Last-Event-ID",
                "X-API-Key",
                "X-User-Id",
                *_MCP_HEADERS,
            ],
            expose_headers=["X-Request-Id", "Retry-After", "Mcp-Session-Id"],
        )
    app.add_middleware(RequestContext)


def _file_limits(settings: ServerSettings) -> dict[str, int]:
    """The largest body of the routes that receive files: the files, and the form around them."""
    return {
        "/api/files/upload": settings.max_upload_bytes + FORM_BYTES,
        "/api/v1/data-sources/upload": MAX_FILES * (settings.max_upload_bytes + FORM_BYTES),
    }
