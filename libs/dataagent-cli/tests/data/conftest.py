"""One home for the tests that change nothing in it, and a fresh one for those that do."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shared_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data-home")


@pytest.fixture(autouse=True)
def home(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    shared_home: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Path:
    """The data directory: the shared one, unless a test asks for `fresh_home`."""
    is_fresh = "fresh_home" in request.fixturenames
    chosen = tmp_path / "home" if is_fresh else shared_home
    monkeypatch.setenv("DATAAGENT_HOME", str(chosen))
    monkeypatch.setenv("DATAAGENT_AGENTS_HOME", str(tmp_path / "agents"))
    monkeypatch.setenv("DATAAGENT_MODEL", "scripted")
    monkeypatch.chdir(tmp_path)
    return chosen


@pytest.fixture
def fresh_home(home: Path) -> Path:
    """A data directory of this test's own."""
    return home
