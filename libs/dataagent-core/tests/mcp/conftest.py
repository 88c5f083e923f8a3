"""Servers of the tests' own over each transport, and connections that are closed afterwards."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from pathlib import Path

import pytest

from dataagent_core.mcp.connections.connection import ConnectionRules
from dataagent_core.mcp.types import ServerSpec
from dataagent_core.network import HostPolicy

from .hub.fixtures import make_settings, mall, mortal, rival, shop
from .running import ERAS, KINDS, QUICK, Kept, OwnServer, Party
from .stored import (
    catalogue,
    cuttable,
    cuttable_place,
    database,
    servers,
)

__all__ = [
    "catalogue",
    "cuttable",
    "cuttable_place",
    "database",
    "make_settings",
    "mall",
    "mortal",
    "rival",
    "servers",
    "shop",
]
"""Fixtures of other files."""

Serve = Callable[..., Awaitable[OwnServer]]
Keep = Callable[..., Kept]


@pytest.fixture
def hosts() -> Generator[HostPolicy]:
    """Lets through this machine."""
    hosts = HostPolicy(["127.0.0.1", "localhost"])
    yield hosts
    hosts.close()


@pytest.fixture
async def serve() -> AsyncGenerator[Serve]:
    """Starts the own server over HTTP."""
    started: list[OwnServer] = []

    async def start(kind: str = "http", era: str = "modern", **environment: str) -> OwnServer:
        server = OwnServer(kind, era, environment)
        started.append(server)
        await server.start()
        return server

    yield start
    for server in started:
        server.kill()


@pytest.fixture
async def keep(hosts: HostPolicy) -> AsyncGenerator[Keep]:
    """Makes connections."""
    kept: list[Kept] = []

    def make(spec: ServerSpec, rules: ConnectionRules = QUICK) -> Kept:
        kept.append(Kept(spec, hosts, rules))
        return kept[-1]

    yield make
    for one in kept:
        await one.connection.aclose()


@pytest.fixture(params=["modern", pytest.param("legacy", marks=pytest.mark.slow)])
def era(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Generator[dict[tuple[str, str], Party]]:
    """Servers that stay for all tests, as they are first asked for."""
    parties: dict[tuple[str, str], Party] = {}
    folder = tmp_path_factory.mktemp("servers")
    for kind in KINDS:
        for era in ERAS:
            parties[kind, era] = Party(kind, era, folder / f"{kind}-{era}")
    yield parties
    for party in parties.values():
        party.kill()


@pytest.fixture
async def steady(running: dict[tuple[str, str], Party], kind: str, era: str) -> Party:
    """A server over each transport and in each era, which other tests use too."""
    party = running[kind, era]
    await party.start()
    return party


@pytest.fixture
async def doomed(kind: str, era: str, tmp_path: Path) -> AsyncGenerator[Party]:
    """The same, for this test alone: it may be killed."""
    party = Party(kind, era, tmp_path / "notes")
    await party.start()
    yield party
    party.kill()
