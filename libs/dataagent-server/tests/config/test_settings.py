"""What an operator can set, and what is refused before anything listens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dataagent_core.errors import Misconfigured
from dataagent_server.config import ServerSettings, load_settings
from dataagent_server.config.settings import is_loopback
from tests.requirements import requirement


@requirement("R20.1", "R20.2", "R20.4", "P32")
def test_unset_values_are_those_of_the_requirement() -> None:
    settings = load_settings()
    assert settings.host == "0.0.0.0"
    assert settings.port == 8000
    assert settings.workers == 1
    assert settings.api_keys == settings.admin_api_keys == []
    assert (settings.cors_origins, settings.cors_credentials) == (["*"], False)
    assert settings.trusted_origins == []  # nobody named an origin
    assert settings.session_timeout == 3600
    assert settings.max_connections == 200
    assert settings.auth_disabled is False
    assert settings.on_disconnect == "continue"


@requirement("R20.1", "R20.2", "R19.4", "S9.1")
def test_values_come_from_the_environment_with_commas_in_lists(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in {
        "DATAAGENT_HOST": "0.0.0.0",
        "DATAAGENT_PORT": "9000",
        "DATAAGENT_API_KEYS": "k1, alice:k2 ,,k3",
        "DATAAGENT_ADMIN_API_KEYS": "a1",
        "DATAAGENT_CORS_ORIGINS": "https://a.example,https://b.example",
        "DATAAGENT_SESSION_TIMEOUT": "60",
        "DATAAGENT_ON_DISCONNECT": "cancel",
        "ADMIN_USERNAME": "boss",
        "ADMIN_PASSWORD": "hunter2",
        "JWT_SECRET_KEY": "s" * 32,
        "JWT_EXPIRATION": "600",
    }.items():
        monkeypatch.setenv(name, value)
    settings = load_settings()
    assert (settings.host, settings.port) == ("0.0.0.0", 9000)
    assert settings.api_keys == ["k1", "alice:k2", "k3"]
    assert settings.admin_api_keys == ["a1"]
    assert settings.cors_origins == ["https://a.example", "https://b.example"]
    assert settings.session_timeout == 60
    assert settings.on_disconnect == "cancel"
    assert settings.admin_username == "boss"
    assert settings.admin_password is not None
    assert settings.admin_password.get_secret_value() == "hunter2"
    assert settings.jwt_expiration == 600
    assert not any(secret in repr(settings) for secret in ("k2", "a1", "hunter2", "s" * 32))
    assert {"k2", "s" * 32} <= set(settings.deployment_secrets)


def test_a_key_too_short_to_sign_with_is_refused_and_not_shown() -> None:
    with pytest.raises(Misconfigured, match="JWT_SECRET_KEY") as refused:
        load_settings(jwt_secret_key="guess-me")
    assert "guess-me" not in refused.value.message


@requirement("R20.3")
def test_overrides_win_over_the_environment_and_none_is_no_override(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DATAAGENT_PORT", "9000")
    monkeypatch.setenv("DATAAGENT_LOG_LEVEL", "ERROR")
    settings = load_settings(port=9001, log_level=None)
    assert (settings.port, settings.log_level) == (9001, "ERROR")


@requirement("R19.5")
@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "example.org", ""])
def test_authentication_cannot_be_disabled_on_a_host_others_can_reach(host: str) -> None:
    with pytest.raises(Misconfigured, match="DATAAGENT_AUTH_DISABLED"):
        load_settings(auth_disabled=True, host=host)


@requirement("R19.5")
def test_a_server_without_a_login_stays_on_this_machine_unless_told_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DATAAGENT_AUTH_DISABLED", "true")
    settings = load_settings()
    assert (settings.host, settings.is_open_to_others) == ("127.0.0.1", False)
    monkeypatch.setenv("DATAAGENT_HOST", "0.0.0.0")
    with pytest.raises(Misconfigured, match="DATAAGENT_AUTH_DISABLED"):
        load_settings()


@requirement("R20.1", "R20.2")
def test_values_come_from_a_file_in_the_working_directory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / ".env").write_text(
        "DATAAGENT_PORT=9000\nDATAAGENT_API_KEYS=a,b\nJWT_EXPIRATION=600\n", encoding="utf-8"
    )
    monkeypatch.chdir(tmp_path)
    settings = ServerSettings()
    assert (settings.port, settings.api_keys, settings.jwt_expiration) == (9000, ["a", "b"], 600)


def test_a_project_is_refused_for_it_would_be_everybodys(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DATAAGENT_PROJECT", str(tmp_path))
    with pytest.raises(Misconfigured, match="DATAAGENT_PROJECT"):
        ServerSettings()


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "localhost"])
def test_authentication_can_be_disabled_on_loopback(host: str) -> None:
    assert is_loopback(host)
    assert load_settings(auth_disabled=True, host=host).auth_disabled


@requirement("R16.5")
def test_any_origin_cannot_go_with_credentials() -> None:
    assert load_settings(cors_origins=["*"]).trusted_origins == ["*"]
    with pytest.raises(Misconfigured, match="DATAAGENT_CORS_ORIGINS"):
        load_settings(cors_origins=["*"], cors_credentials=True)


@requirement("G10", "R23.3")
@pytest.mark.parametrize("wanted", [{"workers": 2}, {"runs_in": "workers"}])
@pytest.mark.parametrize(
    ("given", "missing"),
    [
        ({}, ["DATAAGENT_REDIS_URL", "DATAAGENT_DATABASE_URL"]),
        ({"redis_url": "redis://localhost"}, ["DATAAGENT_DATABASE_URL"]),
        ({"database_url": "postgresql://localhost/x"}, ["DATAAGENT_REDIS_URL"]),
        ({"redis_url": "redis://localhost", "session_store": "memory"}, ["DATAAGENT_DATABASE_URL"]),
        ({"redis_url": "redis://localhost", "session_store": "redis"}, ["DATAAGENT_DATABASE_URL"]),
    ],
)
def test_several_processes_are_refused_with_what_to_set(
    wanted: dict[str, Any], given: dict[str, Any], missing: list[str]
) -> None:
    with pytest.raises(Misconfigured) as refused:
        load_settings(**wanted, **given)
    assert next(iter(wanted)).upper() in refused.value.message
    named = {"DATAAGENT_REDIS_URL", "DATAAGENT_DATABASE_URL"}
    assert sorted(name for name in named if name in refused.value.message) == sorted(missing)


@requirement("G10")
def test_several_processes_on_redis_and_a_database_server_are_let_through() -> None:
    shared = {"redis_url": "redis://localhost", "database_url": "mysql://localhost/x"}
    assert load_settings(workers=4, runs_in="workers", **shared).is_shared


def test_a_value_that_does_not_fit_is_named_and_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATAAGENT_PORT", "hunter2")
    with pytest.raises(Misconfigured, match="DATAAGENT_PORT") as refused:
        load_settings()
    assert "hunter2" not in refused.value.message


def test_settings_can_be_made_by_name_in_a_program() -> None:
    settings = ServerSettings(host="127.0.0.1", api_keys=["k"], admin_username="boss")
    assert (settings.api_keys, settings.admin_username) == (["k"], "boss")
