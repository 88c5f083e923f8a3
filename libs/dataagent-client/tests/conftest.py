"""A server with the sample database and tenants, and clients of a user and an administrator."""

from __future__ import annotations

import asyncio
from collections.abc import Generator

import pytest

from dataagent_client import SyncDataAgentClient as Client
from tests.end_to_end.server import KEY, Server
from tests.homes import prepared_home

ROOT_KEY = "root-key-of-groups"
BOSS, PASSWORD = "boss", "a-long-word-7"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Server]:
    home = tmp_path_factory.mktemp("server")
    prepared_home(home / "data")
    made = Server(
        home,
        DATAAGENT_SAMPLE_DATA="true",
        DATAAGENT_MULTI_TENANT="true",
        DATAAGENT_ADMIN_API_KEYS=f"root:{ROOT_KEY}",
        DATAAGENT_MAX_UPLOAD_BYTES="100000",
        ADMIN_USERNAME=BOSS,
        ADMIN_PASSWORD=PASSWORD,
    )
    asyncio.run(made.start())
    yield made
    asyncio.run(made.signal())


@pytest.fixture
def alice(server: Server) -> Generator[Client]:
    with Client(server.url, KEY) as client:
        yield client


@pytest.fixture
def root(server: Server) -> Generator[Client]:
    with Client(server.url, ROOT_KEY) as client:
        yield client
