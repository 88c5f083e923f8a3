"""Servers other people wrote, as they are started, and calls that show that they work."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from dataagent_core.mcp.types import JsonObject, Transport
from scripts.mcp_servers import npm_program, python_program
from tests.waiting import WAIT_SECONDS


@dataclass(frozen=True)
class Expected:
    """A call and something that its answer says."""

    tool: str
    arguments: JsonObject
    says: str


@dataclass(frozen=True)
class RealServer:
    """A server: how it is started (`{port}` and `{folder}` are filled in) and called."""

    name: str
    command: Callable[[], list[str]]
    calls: tuple[Expected, Expected]
    transport: Transport = "stdio"
    path: str = ""
    env: dict[str, str] = field(default_factory=dict[str, str])
    protocol_version: str = "2025-11-25"

    def filled(self, folder: Path, port: int = 0) -> list[str]:
        """The command line in this folder, on this port."""
        return [each.format(folder=folder, port=port) for each in self.command()]

    def environment(self, folder: Path, port: int = 0) -> dict[str, str]:
        """Its environment."""
        return {key: value.format(folder=folder, port=port) for key, value in self.env.items()}


def prepare(folder: Path) -> None:
    """What the servers work on: a file and a repository."""
    (folder / "note.txt").write_text("written by the test\n", encoding="utf-8")
    git = ["git", "-c", "user.name=Test", "-c", "user.email=test@example.org"]
    for command in (["init", "-q"], ["add", "note.txt"], ["commit", "-qm", "the first commit"]):
        subprocess.run([*git, *command], cwd=folder, check=True)


_EVERYTHING = (
    Expected("echo", {"message": "hello"}, "Echo: hello"),
    Expected("get-sum", {"a": 2, "b": 40}, "42"),
)
_TIME = (
    Expected("get_current_time", {"timezone": "UTC"}, "UTC"),
    Expected(
        "convert_time",
        {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Shanghai"},
        "20:00",
    ),
)


def _everything(kind: str) -> Callable[[], list[str]]:
    return lambda: [*npm_program("mcp-server-everything"), kind]


def _time() -> list[str]:
    return python_program("time", "mcp-server-time")


def _proxy() -> list[str]:
    proxy = python_program("proxy", "mcp-proxy")
    return [*proxy, "--port", "{port}", "--host", "127.0.0.1", "--", *_time()]


SERVERS = (
    RealServer("everything-stdio", _everything("stdio"), _EVERYTHING),
    RealServer(
        "everything-sse", _everything("sse"), _EVERYTHING, "sse", "/sse", {"PORT": "{port}"}
    ),
    RealServer(
        "everything-http",
        _everything("streamableHttp"),
        _EVERYTHING,
        "streamable_http",
        "/mcp",
        {"PORT": "{port}"},
    ),
    RealServer(
        "filesystem",
        lambda: [*npm_program("mcp-server-filesystem"), "{folder}"],
        (
            Expected("read_text_file", {"path": "{folder}/note.txt"}, "written by the test"),
            Expected("list_directory", {"path": "{folder}"}, "note.txt"),
        ),
    ),
    RealServer(
        "memory",
        lambda: npm_program("mcp-server-memory"),
        (
            Expected(
                "create_entities",
                {"entities": [{"name": "Ada", "entityType": "person", "observations": ["counts"]}]},
                "[",  # whom it created: no one the second time
            ),
            Expected("read_graph", {}, "counts"),
        ),
        env={"MEMORY_FILE_PATH": "{folder}/memory.jsonl"},
    ),
    RealServer("time", _time, _TIME, protocol_version="2026-07-28"),
    RealServer(
        "git",
        lambda: [*python_program("git", "mcp-server-git"), "--repository", "{folder}"],
        (
            Expected("git_status", {"repo_path": "{folder}"}, "nothing"),
            Expected("git_log", {"repo_path": "{folder}"}, "the first commit"),
        ),
        protocol_version="2026-07-28",
    ),
    RealServer(
        "sqlite",
        lambda: [*python_program("sqlite", "mcp-server-sqlite"), "--db-path", "{folder}/a.db"],
        (
            Expected("create_table", {"query": "CREATE TABLE IF NOT EXISTS t (n)"}, "success"),
            Expected("list_tables", {}, "t"),
        ),
    ),
    RealServer("proxy-sse", _proxy, _TIME, "sse", "/sse"),
    RealServer("proxy-http", _proxy, _TIME, "streamable_http", "/mcp"),
)


class Listening:
    """A server that listens on a port of its own, through all its deaths."""

    def __init__(self, server: RealServer, folder: Path) -> None:
        self._server = server
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._port: int = probe.getsockname()[1]

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self._port}{self._server.path}"

    async def start(self) -> None:
        """Start it, and wait until it takes connections."""
        log = self._folder / "server.log"
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                self._server.filled(self._folder, self._port),
                env=os.environ | self._server.environment(self._folder, self._port),
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        async with asyncio.timeout(WAIT_SECONDS):
            while not self._is_open():
                assert self._process.poll() is None, log.read_text()
                await asyncio.sleep(0.05)

    def kill(self) -> None:
        """End it, with everything it started, at once."""
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None

    def _is_open(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self._port)) == 0


def filled(arguments: JsonObject, folder: Path) -> JsonObject:
    """Arguments that name this folder."""
    return {key: _filled(value, folder) for key, value in arguments.items()}


def _filled(value: Any, folder: Path) -> Any:
    return value.replace("{folder}", str(folder)) if isinstance(value, str) else value


def kill_children(program: str) -> int:
    """Kill each process below ours that runs the program; how many there were."""
    found = [
        child
        for child in psutil.Process().children(recursive=True)
        if program in " ".join(_line(child)) and "launcher.py" not in " ".join(_line(child))
    ]
    for child in found:
        child.kill()
    return len(found)


def _line(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []
