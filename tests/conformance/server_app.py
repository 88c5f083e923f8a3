"""A DataAgent server for the conformance suite, in a process of its own.

The suite has no key, so authentication is off, as it may be on loopback. `plain` is the product as
it is. `fixtures` is the same app with the same endpoint, and behind it, with our tools, those the
suite asks for. Run as `python -m tests.conformance.server_app plain|fixtures HOME`; the first line
it prints is the address.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import uvicorn
from fastapi import FastAPI

from dataagent_server.config import ServerSettings
from dataagent_server.main import create_app
from dataagent_server.mcp import LazyMcpEndpoint
from tests.conformance.fixtures import fixture_server


def app_of(kind: str, home: Path) -> FastAPI:
    """The app that is to be tested."""
    settings = ServerSettings(
        _env_file=None,  # pyright: ignore[reportCallIssue] pydantic-settings takes it
        home=home,
        agents_home=home / "agents",
        model="scripted",
        host="127.0.0.1",
        auth_disabled=True,
        # pydantic makes a secret of it
        admin_password="correct horse",  # pyright: ignore[reportArgumentType]
    )
    app = create_app(settings)
    if kind == "fixtures":
        _add_fixtures(app)
    return app


def _add_fixtures(app: FastAPI) -> None:
    """Put another server behind the same endpoint."""
    as_it_is = app.router.lifespan_context

    @asynccontextmanager
    async def lifespan(same: FastAPI) -> AsyncGenerator[None]:
        async with as_it_is(same):
            endpoint = same.state.mcp = LazyMcpEndpoint(same.state.container, fixture_server)
            yield
            await endpoint.aclose()

    app.router.lifespan_context = lifespan


async def main(kind: str, home: Path) -> None:
    """Serve until stopped."""
    config = uvicorn.Config(app_of(kind, home), host="127.0.0.1", port=0, log_level="warning")
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve())
    while not server.started:
        if serving.done():
            serving.result()
            raise SystemExit("the server did not start")
        await asyncio.sleep(0.02)
    port = server.servers[0].sockets[0].getsockname()[1]
    print(f"http://127.0.0.1:{port}/mcp", flush=True)
    await serving


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2])))
