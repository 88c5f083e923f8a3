"""Runs the tests' own server, and keeps connections to it."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
from collections.abc import Awaitable, Mapping
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from dataagent_core.mcp.connections.connection import Backoff, ConnectionRules, ServerConnection
from dataagent_core.mcp.connections.live_session import HealthRules
from dataagent_core.mcp.types import (
    CallFailed,
    ConnectionKey,
    ConnectionStatus,
    RemoteResult,
    RemoteTool,
    ServerSpec,
)
from dataagent_core.network import HostPolicy
from tests.programs import Program, programs, quick
from tests.waiting import WAIT_SECONDS, until

from .raw import RawServer

PROGRAM = Path(__file__).with_name("own_server.py")
KINDS = ("stdio", "sse", "http")
ERAS = ("modern", "legacy")
PATHS = {"sse": "/sse", "http": "/mcp"}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def is_open(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


STUBBORN = """
import json, os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGHUP, signal.SIG_IGN)
child = os.fork()
if child == 0:
    os.setsid()
    time.sleep(3600)
INFO = {"name": "stubborn", "version": "1"}
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    answers = {
        "initialize": {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": INFO},
        "tools/list": {"tools": [
            {"name": f"{os.getpid()}-{child}", "inputSchema": {"type": "object"}}
        ]},
    }
    answer = {"jsonrpc": "2.0", "id": message["id"]}
    if message["method"] in answers:
        answer["result"] = answers[message["method"]]
    else:
        answer["error"] = {"code": -32601, "message": "what?"}
    print(json.dumps(answer), flush=True)
time.sleep(3600)
"""


def stubborn() -> dict[str, Any]:
    """Ends at nothing but a kill, and has a child in a session of its own."""
    return {"command": sys.executable, "args": ("-c", STUBBORN)}


class OwnServer:
    """The program over HTTP, which can be killed and started again on its port."""

    def __init__(self, kind: str, era: str, environment: Mapping[str, str]) -> None:
        self.kind = kind
        self.era = era
        self.port = free_port()
        self.environment = dict(environment)
        self._process: Program | None = None

    async def start(self) -> None:
        words = ["python", str(PROGRAM), self.kind, self.era, str(self.port)]
        env = {**os.environ, **self.environment}
        self._process = programs().start(words, env=env, log=Path(os.devnull))
        await until(lambda: is_open(self.port))

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process = None

    @property
    def is_running(self) -> bool:
        return self._process is not None

    def pause(self, *, is_paused: bool = True) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP if is_paused else signal.SIGCONT)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}{PATHS[self.kind]}"


def spec_of(server: OwnServer, **changes: Any) -> ServerSpec:
    transport = "sse" if server.kind == "sse" else "streamable_http"
    given: dict[str, Any] = {"transport": transport, "url": server.url, **changes}
    return _spec(**given)


def raw_spec(server: RawServer, **changes: Any) -> ServerSpec:
    return _spec(**{"transport": "streamable_http", "url": server.url, **changes})


def stdio_spec(era: str = "modern", **changes: Any) -> ServerSpec:
    given: dict[str, Any] = {
        "transport": "stdio",
        "command": quick("python"),
        "args": (str(PROGRAM), "stdio", era),
        **changes,
    }
    return _spec(**given)


def _spec(**given: Any) -> ServerSpec:
    for secret in ("env", "headers"):
        if secret in given:
            given[secret] = {name: SecretStr(value) for name, value in given[secret].items()}
    named: dict[str, Any] = {"server_id": "srv", "scope": "global", "name": "own", "alias": "own"}
    return ServerSpec(**{**named, **given})


class Party:
    """The own server, however it is reached, with what its tools noted."""

    def __init__(self, kind: str, era: str, notes: Path) -> None:
        self.kind, self.era, self._notes = kind, era, notes
        self._environment = {"NOTES_FILE": str(notes)}
        self._server = None if kind == "stdio" else OwnServer(kind, era, self._environment)

    async def start(self) -> None:
        if self._server is not None and not self._server.is_running:
            await self._server.start()

    def spec(self, **changes: Any) -> ServerSpec:
        if self._server is not None:
            return spec_of(self._server, **changes)
        env = {**self._environment, **changes.pop("env", {})}
        return stdio_spec(self.era, env=env, **changes)

    def kill(self, pid: int | None = None) -> None:
        if self._server is not None:
            self._server.kill()
        elif pid is not None:
            end(pid)

    def count(self, line: str) -> int:
        lines = self._notes.read_text().splitlines() if self._notes.exists() else []
        return lines.count(line)


QUICK = ConnectionRules(
    backoff=Backoff(first_seconds=0.1, most_seconds=0.4, early_seconds=0.0),
    health=HealthRules(interval_seconds=30.0),
)


class Kept:
    """One connection, with what it told."""

    def __init__(self, spec: ServerSpec, hosts: HostPolicy, rules: ConnectionRules = QUICK) -> None:
        self.lists: list[tuple[RemoteTool, ...]] = []
        self.statuses: list[ConnectionStatus] = []
        self.connection = ServerConnection(
            ConnectionKey(spec.server_id, "shared"),
            spec,
            hosts,
            on_tools=self._tools,
            on_status=lambda _key, _spec, status: self.statuses.append(status),
            rules=rules,
        )

    async def _tools(self, _spec: ServerSpec, tools: tuple[RemoteTool, ...]) -> None:
        assert self.connection.status.state != "ready" or self.connection.tools
        self.lists.append(tools)

    @property
    def states(self) -> list[str]:
        return [status.state for status in self.statuses]

    async def ready(self, seconds: float = 20.0) -> ServerConnection:
        self.connection.start()
        assert await self.connection.wait_ready(seconds), self.connection.status
        return self.connection


async def call(connection: ServerConnection, name: str, /, **arguments: Any) -> str:
    """The text that a tool answers with."""
    return text_of(await connection.call(name, arguments, timeout_seconds=WAIT_SECONDS))


async def outcome(calling: Awaitable[RemoteResult]) -> str:
    """How a call ended, in one word."""
    try:
        await calling
    except CallFailed as error:
        return error.failure.code
    return "ok"


def text_of(result: Any) -> str:
    return result.content[0]["text"]


def alive(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def end(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


async def failure_of(
    connection: ServerConnection, *, timeout_seconds: float = WAIT_SECONDS, **arguments: Any
) -> CallFailed:
    with pytest.raises(CallFailed) as failed:
        await connection.call("echo", arguments, timeout_seconds=timeout_seconds)
    return failed.value
