"""A home of its own for every test; the scripted model answers."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The data directory."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("DATAAGENT_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("DATAAGENT_AGENTS_HOME", str(tmp_path / "agents"))
    monkeypatch.setenv("DATAAGENT_MODEL", "scripted")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "home"
