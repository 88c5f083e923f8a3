"""Settings come from the environment, have sensible defaults, and make directories."""

from __future__ import annotations

import string
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import SecretStr, ValidationError

from dataagent_core.config import Settings, split_commas
from dataagent_core.errors import Misconfigured
from tests.requirements import requirement
from tests.tiers import examples

NAMES = (
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "ANTHROPIC_API_KEY",
    "TAVILY_API_KEY",
    "DATABASE_URL",
    "DATAAGENT_DATABASE_URL",
    "DATAAGENT_MODEL",
    "DATAAGENT_SESSION_STORE",
    "DATAAGENT_HOME",
    "DATAAGENT_WORKSPACE_ROOT",
    "DATAAGENT_MYSQL_PASSWORD",
    "DATAAGENT_ALLOW_PRIVATE_HOSTS",
)
KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "TAVILY_API_KEY")
with_fixtures = settings(max_examples=examples(100))
printable = st.text(string.ascii_letters + string.digits + "-_.:/@ ", min_size=1, max_size=40)


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


def shown(secret: SecretStr | None) -> str | None:
    return secret.get_secret_value() if secret else None


@requirement("R6.1", "P16", "S9.1")
@given(openai=printable, anthropic=printable, tavily=printable)
@with_fixtures
def test_keys_are_read_from_the_environment(openai: str, anthropic: str, tavily: str) -> None:
    with pytest.MonkeyPatch.context() as environment:
        for name, value in zip(KEYS, (openai, anthropic, tavily), strict=True):
            environment.setenv(name, value)
        read = Settings()
    assert shown(read.openai_api_key) == openai
    assert shown(read.anthropic_api_key) == anthropic
    assert shown(read.tavily_api_key) == tavily
    for secret in (read.openai_api_key, read.anthropic_api_key, read.tavily_api_key):
        assert "*" in str(secret)


@requirement("R6.4", "P18")
@given(unset=st.sets(st.sampled_from(KEYS)))
@with_fixtures
def test_what_is_not_set_has_a_default(unset: set[str]) -> None:
    with pytest.MonkeyPatch.context() as environment:
        for name in KEYS:
            if name not in unset:
                environment.setenv(name, "x")
        read = Settings()
    assert (read.openai_api_key is None) == ("OPENAI_API_KEY" in unset)
    assert (read.anthropic_api_key is None) == ("ANTHROPIC_API_KEY" in unset)
    assert (read.tavily_api_key is None) == ("TAVILY_API_KEY" in unset)
    if {"ANTHROPIC_API_KEY", "OPENAI_API_KEY"} <= unset:
        assert read.default_model == "offline"
    elif "ANTHROPIC_API_KEY" not in unset:
        assert read.default_model.startswith("anthropic:")
    else:
        assert read.default_model.startswith("openai:")


@requirement("R6.4", "P18")
def test_without_any_environment_the_defaults_are_those_of_the_embedded_product() -> None:
    read = Settings()
    assert read.default_model == "offline"
    assert read.store_kind == "sqlite"
    assert read.session_timeout == 3600
    assert read.hitl_timeout == 300
    assert read.auto_approve is False
    assert read.enable_shell is False
    assert read.workspaces_dir == Path("~/.dataagent/workspaces").expanduser()
    assert read.sql_url() == f"sqlite:///{Path('~/.dataagent/dataagent.db').expanduser()}"


@requirement("R18.4", "R31.2", "R31.6", "R32.7", "R33.5", "R33.7", "R34.5", "S2.4.1a", "S2.4.2b")
def test_limits_that_are_not_set_are_those_of_the_requirements() -> None:
    read = Settings()
    assert read.hitl_timeout == 300
    assert (read.mcp_max_servers, read.mcp_timeout) == (5, 30)
    assert read.workspaces_dir == read.home_dir / "workspaces"
    assert read.workspace_quota == 1024**3
    assert (read.workspace_archive_days, read.memory_retention_days) == (30, 90)
    assert read.sandbox_pool_size == 5
    assert read.sandbox_max_uses == 100
    assert (read.sandbox_memory, read.sandbox_cpus) == (512 * 1024**2, 1)
    assert read.max_upload_bytes == 10 * 1024**2


def test_the_chosen_model_wins_over_the_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    monkeypatch.setenv("DATAAGENT_MODEL", "scripted")
    assert Settings().default_model == "scripted"


def test_a_file_of_the_directory_is_read_and_the_environment_wins(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / ".env").write_text("OPENAI_API_KEY=from-file\nDATAAGENT_LOG_LEVEL=DEBUG\nX=1\n")
    assert shown(Settings().openai_api_key) == "from-file"
    assert Settings().log_level == "DEBUG"
    monkeypatch.setenv("OPENAI_API_KEY", "from-environment")
    assert shown(Settings().openai_api_key) == "from-environment"


@requirement("R6.3", "P17")
@given(
    assistant_id=st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_.\-]{0,63}", fullmatch=True).filter(
        lambda name: not name.endswith("\n")
    )
)
@with_fixtures
def test_an_agents_directory_is_created(tmp_path: Path, assistant_id: str) -> None:
    read = Settings(agents_home=tmp_path / "agents")
    made = read.ensure_agent_dir(assistant_id)
    assert made == tmp_path / "agents" / assistant_id
    assert made.is_dir()
    (made / "kept").write_text("x")
    assert read.ensure_agent_dir(assistant_id) == made
    assert (made / "kept").exists()


@requirement("R6.3")
@pytest.mark.parametrize("bad", ["", "..", "../x", "a/b", "/etc", ".hidden", "a" * 65, "a\n", "ü"])
def test_an_id_that_is_no_name_makes_no_directory(tmp_path: Path, bad: str) -> None:
    read = Settings(agents_home=tmp_path / "agents")
    with pytest.raises(Misconfigured, match="letters, digits"):
        read.ensure_agent_dir(bad)
    assert not (tmp_path / "agents").exists()


def test_the_data_directory_is_for_its_owner_only(tmp_path: Path) -> None:
    home = Settings(home=tmp_path / "data").ensure_home()
    assert home.stat().st_mode & 0o777 == 0o700
    assert Settings(home=tmp_path / "data").ensure_home() == home


def test_directories_follow_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DATAAGENT_HOME", str(tmp_path / "h"))
    assert Settings().workspaces_dir == tmp_path / "h" / "workspaces"
    monkeypatch.setenv("DATAAGENT_WORKSPACE_ROOT", str(tmp_path / "w"))
    assert Settings().workspaces_dir == tmp_path / "w"


@requirement("S9.1")
@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("postgresql://u:p@h/d", "postgres"),
        ("postgres://u:p@h/d", "postgres"),
        ("mysql://u:p@h/d", "mysql"),
        ("mariadb://u:p@h/d", "mysql"),
        ("sqlite:///x.db", "sqlite"),
    ],
)
def test_the_store_follows_from_the_database_url(
    monkeypatch: pytest.MonkeyPatch, url: str, kind: str
) -> None:
    monkeypatch.setenv("DATABASE_URL", url)
    assert Settings().store_kind == kind
    assert Settings().sql_url() == url
    assert "u:p" not in repr(Settings())


def test_our_name_for_the_database_wins_over_the_common_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DATABASE_URL", "sqlite:///a.db")
    monkeypatch.setenv("DATAAGENT_DATABASE_URL", "sqlite:///b.db")
    assert Settings().sql_url() == "sqlite:///b.db"


def test_a_mysql_url_is_put_together_and_its_login_escaped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DATAAGENT_SESSION_STORE", "mysql")
    assert Settings().sql_url() == "mysql://root@localhost:3306/dataagent"
    monkeypatch.setenv("DATAAGENT_MYSQL_PASSWORD", "p@ss/word")
    assert Settings().sql_url() == "mysql://root:p%40ss%2Fword@localhost:3306/dataagent"


@requirement("R25.8")
def test_the_connections_of_postgres_are_shared_out() -> None:
    of_postgres = Settings(database_url=SecretStr("postgresql://localhost/x"))
    assert of_postgres.pool_sizes() == (6, 0)
    assert of_postgres.checkpoint_pool_size == 4


def test_the_pool_of_mysql_has_its_own_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATAAGENT_MYSQL_POOL_SIZE", "3")
    monkeypatch.setenv("DATAAGENT_MYSQL_MAX_OVERFLOW", "4")
    of_mysql = Settings(session_store="mysql")
    assert (of_mysql.pool_sizes(), of_mysql.checkpoint_pool_size) == ((3, 4), 3)


def test_memory_and_postgres_say_where_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATAAGENT_SESSION_STORE", "memory")
    assert Settings().sql_url() == "sqlite:///:memory:"
    monkeypatch.setenv("DATAAGENT_SESSION_STORE", "postgres")
    with pytest.raises(Misconfigured, match="DATAAGENT_DATABASE_URL"):
        Settings().sql_url()


def test_lists_are_written_with_commas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATAAGENT_ALLOW_PRIVATE_HOSTS", "10.0.0.1, db.internal ,,")
    assert Settings().allow_private_hosts == ["10.0.0.1", "db.internal"]
    assert split_commas(["as", "it", "is"]) == ["as", "it", "is"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DATAAGENT_MODEL_TIMEOUT", "0"),
        ("DATAAGENT_SANDBOX_POOL_SIZE", "-1"),
        ("DATAAGENT_SESSION_STORE", "paper"),
        ("DATAAGENT_RUNS_PER_WORKER", "none"),
    ],
)
def test_a_value_that_makes_no_sense_is_refused(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ValidationError):
        Settings()
