"""A core over a home directory of its own, with each kind of store that needs no server."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from dataagent_core.app.assembly import Core, open_core
from dataagent_core.config import Settings
from dataagent_core.session import SessionManager
from tests.homes import prepared_home


@pytest.fixture(params=["memory", "sqlite"])
async def core(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Core]:
    home = prepared_home(tmp_path / "home")
    settings = Settings(home=home, model="scripted", session_store=request.param)
    async with open_core(settings, grace_seconds=1) as opened:
        yield opened


@pytest.fixture
def manager(core: Core) -> SessionManager:
    return core.sessions
