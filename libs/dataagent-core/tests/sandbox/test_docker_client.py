"""An engine that hangs holds nobody up, and nothing stays open to it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
import pytest_asyncio
from aiohttp import web

from dataagent_core.errors import SandboxUnavailable
from dataagent_core.sandbox import docker
from dataagent_core.sandbox.docker import DockerClient, DockerProcess
from tests.waiting import WAIT_SECONDS


class DeafEngine:
    """An engine's socket. Who attaches to a container never hears a word."""

    def __init__(self) -> None:
        self.has_caller = asyncio.Event()
        self.has_none_again = asyncio.Event()
        self.asked: list[tuple[str, str]] = []  # of containers, besides
        self.is_away = False

    async def version(self, request: web.Request) -> web.Response:
        return web.json_response({"ApiVersion": "1.43", "Version": "24.0"})

    async def attach(self, request: web.Request) -> web.Response:
        self.has_caller.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.has_none_again.set()
        raise AssertionError

    async def other(self, request: web.Request) -> web.Response:
        self.asked.append((request.method, request.match_info["what"]))
        if self.is_away:
            assert request.transport is not None
            request.transport.abort()
        return web.json_response({"StatusCode": 0})


@pytest_asyncio.fixture
async def engine(tmp_path: Path) -> AsyncGenerator[DeafEngine]:
    engine = DeafEngine()
    app = web.Application()
    for path in ("/version", "/v1.43/version"):
        app.router.add_get(path, engine.version)
    app.router.add_post("/v1.43/containers/c1/attach", engine.attach)
    app.router.add_route("*", "/v1.43/containers/{what:.*}", engine.other)
    runner = web.AppRunner(app, handler_cancellation=True, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.UnixSite(runner, str(tmp_path / "engine")).start()
    yield engine
    await runner.cleanup()


@pytest_asyncio.fixture
async def client(engine: DeafEngine, tmp_path: Path) -> AsyncGenerator[DockerClient]:
    client = DockerClient(f"unix://{tmp_path / 'engine'}")
    assert await client.version() == "24.0"
    yield client
    await client.aclose()


async def test_an_engine_that_does_not_answer_is_given_up(
    engine: DeafEngine, client: DockerClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(docker, "_SECONDS", 0.1)
    process = DockerProcess(client, "c1", set())
    async with asyncio.timeout(WAIT_SECONDS):
        with pytest.raises(SandboxUnavailable, match="did not attach"):
            await process.begin()
        await engine.has_none_again.wait()
    assert engine.asked == [("POST", "c1/kill"), ("DELETE", "c1"), ("POST", "c1/wait")]


async def test_a_cancelled_caller_is_cancelled_though_the_engine_disappears(
    engine: DeafEngine, client: DockerClient
) -> None:
    engine.is_away = True
    beginning = asyncio.create_task(DockerProcess(client, "c1", set()).begin())
    async with asyncio.timeout(WAIT_SECONDS):
        await engine.has_caller.wait()
        beginning.cancel()
        with pytest.raises(asyncio.CancelledError):
            await beginning
        await engine.has_none_again.wait()
    assert engine.asked == [("POST", "c1/kill")]
