"""A core with MCP servers, and one user's talk with it. Every wait is bounded."""

from __future__ import annotations

import asyncio
import json
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from dataagent_core.app.assembly import Core
from dataagent_core.events import AnyEvent, HITLRequestEvent, ToolResultEvent
from dataagent_core.hitl import Decision
from dataagent_core.mcp.gateway.call_log import CallFilter, CallRow
from dataagent_core.mcp.servers.registration import NewServer
from dataagent_core.mcp.types import CatalogueTool, ServerSpec
from dataagent_core.runs import Run, RunOptions
from tests.programs import Program as Running
from tests.programs import programs, quick
from tests.waiting import WAIT_SECONDS, until

from ..running import free_port, is_open

PROGRAM = Path(__file__).with_name("shop_server.py")


def told(name: str, **args: Any) -> str:
    """What makes the scripted model call a tool."""
    return f"!tool {name} {json.dumps(args)}"


class Program:
    """The shop's server over HTTP, as a process that can be killed and started again."""

    def __init__(self, mark: str) -> None:
        self.mark = mark
        self.port = free_port()
        self._process: Running | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    def start(self) -> None:
        words = ["python", str(PROGRAM), "http", str(self.port)]
        env = {**os.environ, "MARK": self.mark}
        self._process = programs().start(words, env=env, log=Path(os.devnull))
        end = time.monotonic() + WAIT_SECONDS
        while not is_open(self.port):
            assert time.monotonic() < end, "it did not start in time"
            time.sleep(0.02)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process = None


@dataclass(slots=True)
class Shop:
    """A core, seen by who administers it."""

    core: Core

    async def add(self, name: str, program: Program | None = None, **fields: Any) -> ServerSpec:
        """Register the shop's server and wait until it is ready, if it is everyone's."""
        spec = await self.register(name, program, **fields)
        if spec.scope == "global" and spec.session_scope == "shared":
            await self.ready(spec)
        return spec

    async def register(
        self, name: str, program: Program | None = None, **fields: Any
    ) -> ServerSpec:
        """A server that runs already, or a program that is started for it."""
        given: dict[str, Any] = {"scope": "global", **fields}
        if program is not None:
            given |= {"url": program.url, "transport": "streamable_http"}
        elif "url" not in fields:
            given |= {"command": quick("python"), "args": (str(PROGRAM), "stdio")}
        for secret in {"env", "headers"} & fields.keys():
            given[secret] = {key: SecretStr(value) for key, value in fields[secret].items()}
        spec = await self.core.mcp.servers.create(NewServer(name=name, **given), by="root")
        await self.core.mcp.changed(spec, "added")
        return spec

    async def ready(self, spec: ServerSpec) -> None:
        def is_ready() -> bool:
            known = self.core.mcp.pool.statuses().items()
            return any(k.server_id == spec.server_id and s.state == "ready" for k, s in known)

        await until(is_ready)

    def tool(self, spec: ServerSpec, name: str) -> CatalogueTool:
        return next(t for t in self.core.mcp.catalogue.tools_of(spec.server_id) if t.name == name)

    async def bind(self, spec: ServerSpec, *names: str, agent: str = "general") -> None:
        """Let an agent use tools of a server, beside what it may use already."""
        found = [self.tool(spec, name).tool_id for name in names]
        had = (await self.core.agents.registry.get(agent)).mcp_tools
        await self.core.agents.service.set_mcp_tools(agent, [*had, *found])

    async def approve(self, spec: ServerSpec, *names: str) -> None:
        """Look at tools as they are defined, and approve them."""
        for name in names:
            await self.core.mcp.catalogue.approve(self.tool(spec, name).tool_id, by="root")

    async def calls(self, **wanted: Any) -> list[CallRow]:
        """Rows of the call log, newest first."""
        await self.core.mcp.calls.flush()
        return (await self.core.mcp.calls.list(CallFilter(**wanted), limit=100, offset=0))[0]

    async def talk(self, owner: str = "anna", agent: str = "agent") -> Talk:
        session = await self.core.sessions.get_or_create_session(owner, agent, None)
        return Talk(self.core, session.session_id, owner)


@dataclass(slots=True)
class Talk:
    """One user's session."""

    core: Core
    session_id: str
    owner: str

    async def start(self, message: str, *, auto_approve: bool | None = True, **more: Any) -> Run:
        options = RunOptions(auto_approve=auto_approve, **more)
        started = await self.core.runs.start(
            self.session_id, message, owner=self.owner, options=options
        )
        return started.run

    async def events(self, run: Run) -> list[AnyEvent]:
        async with asyncio.timeout(WAIT_SECONDS):
            return [entry.event async for entry in self.core.runs.read(run.run_id)]

    async def ask(self, message: str, **more: Any) -> list[AnyEvent]:
        return await self.events(await self.start(message, **more))

    async def call(
        self, name: str, args: dict[str, Any] | None = None, **more: Any
    ) -> ToolResultEvent:
        """The result of the one call a run makes."""
        events = await self.ask(told(name, **(args or {})), **more)
        return next(event for event in events if isinstance(event, ToolResultEvent))

    async def request(self, run: Run) -> HITLRequestEvent:
        async with asyncio.timeout(WAIT_SECONDS):
            async for entry in self.core.runs.read(run.run_id):
                if isinstance(entry.event, HITLRequestEvent):
                    return entry.event
        raise AssertionError("nothing was asked")

    async def decide(self, run: Run, request_id: str, decision: Decision) -> None:
        await self.core.runs.decide(run.run_id, request_id, decision, owner=self.owner)


def failure_of(event: ToolResultEvent) -> dict[str, Any]:
    """What the model reads of a call that failed."""
    return json.loads(event.result)["error"]
