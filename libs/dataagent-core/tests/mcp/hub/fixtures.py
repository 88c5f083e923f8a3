"""A core in an empty home, with the shop's servers to be added."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from dataagent_core.app.assembly import open_core
from dataagent_core.config import Settings

from .shop import Program, Shop


def _running(mark: str) -> Generator[Program]:
    program = Program(mark)
    program.start()
    yield program
    program.kill()


@pytest.fixture(scope="session")
def mall() -> Generator[Program]:
    """A server that runs for all tests; nobody kills it."""
    yield from _running("mall")


@pytest.fixture(scope="session")
def rival() -> Generator[Program]:
    """Another with the very same tools."""
    yield from _running("rival")


@pytest.fixture
def mortal() -> Generator[Program]:
    """A server of one test, which may kill it."""
    yield from _running("mortal")


@pytest.fixture
def make_settings(tmp_path: Path) -> Callable[..., Settings]:
    """Settings of a core with the scripted model in this test's home directory."""

    def make(**values: Any) -> Settings:
        given: dict[str, Any] = {
            "home": tmp_path / "home",
            "model": "scripted",
            "sample_data": False,
            "allow_private_hosts": ["127.0.0.1"],
            "mcp_wait": 15,
            **values,
        }
        return Settings(**given)

    return make


@pytest.fixture
async def shop(make_settings: Callable[..., Settings]) -> AsyncGenerator[Shop]:
    async with open_core(make_settings(), grace_seconds=2) as core:
        yield Shop(core)
