"""The app: doors, middleware, errors, and the container behind them.

`create_app(settings)` is the one way to make it; nothing is built when this module is imported.
Above: `serve.py` and tests. Below: `api/`, `ws/`, `deps/`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from fastapi import APIRouter, FastAPI
from starlette.middleware.cors import CORSMiddleware

from dataagent_server import __version__
from dataagent_server.api.errors import ERROR_RESPONSES, install_error_handlers
from dataagent_server.api.middleware import BodyLimit, RequestContext
from dataagent_server.api.v1 import (
    artifacts,
    chat,
    data_policies,
    data_sources,
    health,
    queries,
    runs,
    sessions,
)
from dataagent_server.api.web import login, page
from dataagent_server.config import ServerSettings, load_settings
from dataagent_server.deps.container import open_container
from dataagent_server.ws.manager import ConnectionManager
from dataagent_server.ws.routes import add_socket_route


def create_app(settings: ServerSettings | None = None) -> FastAPI:
    """The ASGI app for these settings (those of the environment if None).

    Raises:
        Misconfigured: the settings cannot work together.
    """
    settings = settings or load_settings()
    app = FastAPI(
        title="DataAgent",
        version=__version__,
        summary="An assistant that works with a company's data and can be trusted with it.",
        lifespan=_lifespan(settings),
    )
    install_error_handlers(app)
    _add_routes(app)
    _add_middleware(app, settings)
    return app


def _lifespan(settings: ServerSettings) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncGenerator[None]:
        async with open_container(settings) as container:
            app.state.container = container
            app.state.connections = ConnectionManager(container.capacity)
            yield

    return lifespan


def _add_routes(app: FastAPI) -> None:
    v1 = APIRouter(prefix="/api/v1", responses=ERROR_RESPONSES)
    for part in (health, chat, sessions, runs, data_sources, data_policies, queries, artifacts):
        v1.include_router(part.router)
    app.include_router(v1)
    app.include_router(login.router)
    app.include_router(page.router)
    add_socket_route(app)


def _add_middleware(app: FastAPI, settings: ServerSettings) -> None:
    """The last one added is the outermost."""
    app.add_middleware(BodyLimit, max_bytes=settings.max_body_bytes)
    if settings.cors_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=settings.cors_origins,
            allow_credentials=settings.cors_credentials,
            allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
            allow_headers=["Authorization", "Content-Type", "X-API-Key", "X-User-Id"],
            expose_headers=["X-Request-Id", "Retry-After"],
        )
    app.add_middleware(RequestContext)
