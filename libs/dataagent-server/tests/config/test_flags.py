"""A flag for every setting, grouped as the settings are; secrets are read from files."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from dataagent_core.errors import Misconfigured
from dataagent_server import cli
from dataagent_server.config import ServerSettings, load_settings
from dataagent_server.config.flags import settings_from_flags
from tests.requirements import requirement


def parsed(*arguments: str) -> ServerSettings:
    return load_settings(
        **settings_from_flags(cli.build_parser().parse_args(cli._with_command(arguments)))
    )


@requirement("R20.3")
def test_every_setting_has_a_flag_and_help_shows_it(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["serve", "--help"])
    assert ended.value.code == 0
    text = capsys.readouterr().out
    for name in ServerSettings.model_fields:
        flag = "--" + name.replace("_", "-")
        assert f"{flag} " in text or f"{flag}-file " in text or f"{flag}," in text, name
    for title in ("Where it listens", "Capacity", "Storage"):
        assert f"\n{title}:" in text


@requirement("R20.3")
def test_flags_win_over_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATAAGENT_PORT", "9000")
    monkeypatch.setenv("ADMIN_USERNAME", "boss")
    settings = parsed(
        "--port", "9001", "--max-connections", "7", "--auth-disabled", "--no-sample-data",
        "--cors-origins", "https://a.example,https://b.example", "--log-level", "debug",
        "--on-disconnect", "cancel", "--admin-username", "chief",
    )  # fmt: skip
    assert (settings.port, settings.max_connections) == (9001, 7)
    assert (settings.auth_disabled, settings.sample_data) == (True, False)
    assert settings.cors_origins == ["https://a.example", "https://b.example"]
    assert (settings.log_level, settings.on_disconnect) == ("DEBUG", "cancel")
    assert settings.admin_username == "chief"
    assert parsed("serve").port == 9000


def test_secrets_come_from_files_never_from_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "url"
    path.write_text("postgresql://u:hunter22@h/d\n", encoding="utf-8")
    settings = parsed("serve", "--database-url-file", str(path))
    assert settings.database_url is not None
    assert settings.database_url.get_secret_value() == "postgresql://u:hunter22@h/d"
    monkeypatch.setattr(sys, "stdin", io.StringIO("alice:k1,k2\n"))
    assert parsed("serve", "--api-keys-file", "-").api_keys == ["alice:k1", "k2"]
    with pytest.raises(Misconfigured, match="cannot be read"):
        parsed("serve", "--admin-password-file", str(tmp_path / "none"))
    with pytest.raises(SystemExit):
        parsed("serve", "--database-url", "postgresql://u:hunter22@h/d")


@pytest.mark.parametrize(
    ("typed", "understood"),
    [
        ([], ["serve"]),
        (["--port", "9"], ["serve", "--port", "9"]),
        (["--home", "/x"], ["serve", "--home", "/x"]),
        (["--home", "/x", "user", "list"], ["--home", "/x", "user", "list"]),
        (["--log-level=info", "doctor"], ["--log-level=info", "doctor"]),
        (["--help"], ["--help"]),
        (["nonsense"], ["nonsense"]),
    ],
)
def test_without_a_command_it_serves(typed: list[str], understood: list[str]) -> None:
    assert cli._with_command(typed) == understood
