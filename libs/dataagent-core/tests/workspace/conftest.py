from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from pathlib import Path

import pytest

from dataagent_core.storage import open_database
from dataagent_core.storage.tables import metadata
from dataagent_core.workspace import (
    FolderBackend,
    MemoryQuotaLedger,
    QuotaLedger,
    SqlQuotaLedger,
    UserWorkspaceManager,
)

QUOTA = 1000
USER = "u1"


@pytest.fixture
def manager(tmp_path: Path) -> Generator[UserWorkspaceManager]:
    manager = UserWorkspaceManager(tmp_path / "workspaces", QUOTA, MemoryQuotaLedger())
    yield manager
    manager.close()


@pytest.fixture
async def backend(manager: UserWorkspaceManager) -> FolderBackend:
    return await manager.open_workspace(USER)


@pytest.fixture(params=["memory", "sqlite"])
async def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[QuotaLedger]:
    if request.param == "memory":
        yield MemoryQuotaLedger()
        return
    database = open_database(f"sqlite:///{tmp_path / 'quota.db'}")
    await database.write(metadata.create_all)
    yield SqlQuotaLedger(database)
    await database.close()
