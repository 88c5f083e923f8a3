"""Runs a process, a web server (uvicorn with our transport) or a worker, and ends it in order.

On SIGTERM or Ctrl-C new connections are refused, runs finish or are released, event streams end,
sockets close with 1012, and the process exits within 30 seconds (`shutdown.py`).
"""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from collections.abc import Callable
from socket import AF_INET, AF_INET6, SO_REUSEADDR, SO_REUSEPORT, SOL_SOCKET, socket
from types import FrameType
from typing import TextIO

import uvicorn
from fastapi import FastAPI

from dataagent_core.app.assembly import open_core
from dataagent_core.errors import DataAgentError, Misconfigured
from dataagent_core.telemetry import configure_logging
from dataagent_server.config import ServerSettings
from dataagent_server.deps.container import Container
from dataagent_server.main import create_app
from dataagent_server.shutdown import force_exit_when_overdue
from dataagent_server.transport import TransportConfig
from dataagent_server.ws.manager import ConnectionManager

_MAX_FRAME = 16 * 1024 * 1024
_KEEP_ALIVE_SECONDS = 30
PING_SECONDS = 20.0
"""How often a socket is pinged, and how long its client may take to answer."""
STALL_SECONDS = 20.0
"""A client that reads nothing for so long is disconnected."""
_LAST_SECONDS = 5


class DataAgentServer(uvicorn.Server):
    """uvicorn's server, which prints its address and lets runs finish before it closes."""

    def __init__(
        self, settings: ServerSettings, app: FastAPI, *, out: TextIO, is_first: bool = True
    ) -> None:
        super().__init__(_config(settings, app))
        self._app = app
        self._out = out
        self._is_first = is_first
        self.listening = asyncio.Event()

    async def startup(self, sockets: list[socket] | None = None) -> None:
        """Open the app, listen, and print the address.

        Raises:
            DataAgentError: why the app did not open; uvicorn would log a traceback instead.
        """
        log = logging.getLogger("uvicorn.error")
        log.addFilter(self._is_unexplained)
        try:
            await super().startup(sockets=sockets)
        except SystemExit as end:
            raise self._refusal or end from None
        finally:
            log.removeFilter(self._is_unexplained)
        if self.started:
            if self._is_first:
                await self._print_greeting(self._app.state.container)
            self.listening.set()

    @property
    def _refusal(self) -> DataAgentError | None:
        """Why the app did not open, if it did not and knows why."""
        return getattr(self._app.state, "refusal", None)

    def _is_unexplained(self, _record: logging.LogRecord) -> bool:
        """A log filter: whether there is no better explanation than uvicorn's."""
        return self._refusal is None

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Handle a signal; the first one sets the deadline for the exit."""
        if not self.should_exit:
            force_exit_when_overdue()
        super().handle_exit(sig, frame)

    async def shutdown(self, sockets: list[socket] | None = None) -> None:
        """Refuse new connections, let runs finish, then close everything."""
        for server in self.servers:
            server.close()
        container: Container = self._app.state.container
        await container.drain()
        connections: ConnectionManager = self._app.state.connections
        await connections.finish_all()
        await super().shutdown(sockets=sockets)

    @property
    def address(self) -> str:
        """The URL of the server, as typed on this machine."""
        name: tuple[str, int] = self.servers[0].sockets[0].getsockname()[:2]
        host, port = name
        local = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 not bound
        return f"http://[{local}]:{port}" if ":" in local else f"http://{local}:{port}"

    async def _print_greeting(self, container: Container) -> None:
        settings = container.settings
        lines = [f"DataAgent is at {self.address}"]
        if settings.is_open_to_others:
            port = self.servers[0].sockets[0].getsockname()[1]
            lines.append(
                f"WARNING: it listens on {settings.host}:{port}, so other machines can reach it. "
                "Set DATAAGENT_HOST=127.0.0.1 to allow only this one"
            )
        if container.first_login is not None:
            lines.append(container.first_login)
        if settings.auth_disabled:
            lines.append("WARNING: authentication is disabled; everyone on this machine is admin")
        elif (token := await container.login_token()) is not None:
            lines.append(f"Log in once, within 15 minutes: {self.address}/login?token={token}")
        self._out.write("\n".join(lines) + "\n")
        self._out.flush()


def _config(settings: ServerSettings, app: FastAPI) -> TransportConfig:
    return TransportConfig(
        app,
        stall_seconds=STALL_SECONDS,
        host=settings.host,
        port=settings.port,
        loop="uvloop" if sys.platform != "win32" else "asyncio",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        forwarded_allow_ips=settings.forwarded_allow_ips,
        ws_max_size=_MAX_FRAME,
        ws_ping_interval=PING_SECONDS,
        ws_ping_timeout=PING_SECONDS,
        ws_per_message_deflate=False,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=_LAST_SECONDS,
    )


def make_server(
    settings: ServerSettings, *, out: TextIO | None = None, is_first: bool = True
) -> DataAgentServer:
    """A server ready to `run()`, or to `serve()` on a running loop.

    The first of several processes, or the only one, prints the address and the first login.
    """
    return DataAgentServer(settings, create_app(settings), out=out or sys.stdout, is_first=is_first)


def serve(settings: ServerSettings) -> None:
    """Serve until a signal ends it. Logs go to stderr, the address to stdout.

    Raises:
        DataAgentError: the app cannot be opened, or the address is in use.
    """
    configure_logging(settings, secrets=settings.deployment_secrets)
    with bound_socket(settings.host, settings.port) as listening:
        make_server(settings).run(sockets=[listening])


def bound_socket(host: str, port: int, *, is_shared: bool = False) -> socket:
    """A socket bound to an address; with `is_shared` other processes of this user may bind it too.

    Raises:
        Misconfigured: the port is in use, or this machine has no such address.
    """
    bound = socket(AF_INET6 if ":" in host else AF_INET)
    try:
        bound.setsockopt(SOL_SOCKET, SO_REUSEADDR, 1)
        if is_shared:
            bound.setsockopt(SOL_SOCKET, SO_REUSEPORT, 1)
        bound.bind((host, port))
    except OSError as error:
        bound.close()
        raise Misconfigured(
            f"Port {port} on {host} cannot be used: {error.strerror}. Set DATAAGENT_PORT."
        ) from error
    return bound


def work(settings: ServerSettings) -> None:
    """Execute the runs that web processes accept, until a signal ends it.

    Raises:
        Misconfigured: there is no queue; names the settings for one.
    """
    settings.check_shared("`dataagent-server worker`")
    configure_logging(settings, secrets=settings.deployment_secrets)
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(_work(settings, sys.stdout))


async def _work(settings: ServerSettings, out: TextIO) -> None:
    stopping = asyncio.Event()

    def stop() -> None:
        if not stopping.is_set():
            force_exit_when_overdue()
        stopping.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop)
    grace = settings.shutdown_timeout / 3
    async with open_core(settings, role="worker", grace_seconds=grace) as core:
        out.write(f"DataAgent worker {core.worker.name} takes runs\n")
        out.flush()
        await stopping.wait()


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    if sys.platform == "win32":
        return None
    import uvloop

    return uvloop.new_event_loop
