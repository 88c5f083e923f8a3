"""An engine that hangs holds nobody up, and nothing stays open to it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from dataagent_core.errors import SandboxUnavailable
from dataagent_core.sandbox import docker_client
from dataagent_core.sandbox.docker import DockerProcess
from dataagent_core.sandbox.docker_client import DockerClient


class DeafEngine(DockerClient):
    """Takes a connection and never says a word; what its API is asked for is only counted."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"unix://{path}")
        self._path = path
        self.has_caller = asyncio.Event()
        self.has_none_again = asyncio.Event()
        self.removed: list[str] = []
        self.is_away = False

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        self.has_caller.set()
        await reader.read()
        self.has_none_again.set()
        writer.close()

    async def remove(self, container_id: str) -> None:
        self.removed.append(container_id)
        if self.is_away:
            raise SandboxUnavailable("The Docker engine: it does not run here.")

    async def _call(self, work: Callable[[Any], Any]) -> Any:
        return str(self._path), "1.43"


@pytest_asyncio.fixture
async def engine(tmp_path: Path) -> AsyncGenerator[DeafEngine]:
    engine = DeafEngine(tmp_path / "engine")
    server = await asyncio.start_unix_server(engine.serve, tmp_path / "engine")
    async with server:
        yield engine
    await engine.aclose()


async def test_an_engine_that_does_not_answer_is_given_up(
    engine: DeafEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(docker_client, "_SECONDS", 0.05)
    process = DockerProcess(engine, "c1", set())
    async with asyncio.timeout(5):
        with pytest.raises(SandboxUnavailable, match="did not attach"):
            await process.begin()
        await engine.has_none_again.wait()
    assert engine.removed == ["c1"]


async def test_whoever_is_cancelled_meanwhile_is_cancelled_though_the_engine_goes_away(
    engine: DeafEngine,
) -> None:
    engine.is_away = True
    beginning = asyncio.create_task(DockerProcess(engine, "c1", set()).begin())
    async with asyncio.timeout(5):
        await engine.has_caller.wait()
        beginning.cancel()
        with pytest.raises(asyncio.CancelledError):
            await beginning
        await engine.has_none_again.wait()
    assert engine.removed == ["c1"]
