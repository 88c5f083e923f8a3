"""`config.toml`: read below the environment, from the data directory that counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from dataagent_core.config import Settings
from dataagent_core.errors import Misconfigured


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DATAAGENT_HOME", str(tmp_path))
    return tmp_path


def key_of(settings: Settings) -> str | None:
    key = settings.openai_api_key
    return None if key is None else key.get_secret_value()


def test_the_environment_counts_more_than_the_file(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "config.toml").write_text(
        'model = "openai:m"\nopenai_api_key = "of the file"\nskills_dirs = ["a", "b"]\n'
        'database_url = "postgresql://file"\nport = 9000\n'
    )
    settings = Settings()
    assert (settings.model, key_of(settings)) == ("openai:m", "of the file")
    assert settings.skills_dirs == ["a", "b"]
    monkeypatch.setenv("OPENAI_API_KEY", "of the environment")
    monkeypatch.setenv("DATABASE_URL", "sqlite://")
    settings = Settings(model="offline")
    assert (settings.model, key_of(settings)) == ("offline", "of the environment")
    assert settings.sql_url() == "sqlite://"


def test_the_file_is_the_one_of_the_home_that_is_asked_for(home: Path, tmp_path: Path) -> None:
    (home / "config.toml").write_text('model = "here"\n')
    other = tmp_path / "other"
    other.mkdir()
    (other / "config.toml").write_text('model = "there"\n')
    assert Settings().model == "here"
    assert Settings(home=other).model == "there"
    assert Settings(home=tmp_path / "none").model is None


@pytest.mark.parametrize("content", [b"model = ", b"\xff\xfe"])
def test_a_file_that_is_no_toml_is_named_with_a_way_out(home: Path, content: bytes) -> None:
    (home / "config.toml").write_bytes(content)
    with pytest.raises(Misconfigured, match=r"config\.toml is not") as refused:
        Settings()
    assert "dataagent init" in str(refused.value.details)
