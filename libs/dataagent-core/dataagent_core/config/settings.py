"""What an operator or user can set, read from the environment in this one place.

Every name has the prefix `DATAAGENT_`; the few names other tools use without it (provider keys,
`DATABASE_URL`) are honoured as they are. What the environment leaves open, `config.toml` may say
(`file.py`). `dataagent_server.config` adds what only a server needs.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal
from urllib.parse import quote

from pydantic import AliasChoices, Field, SecretStr, field_validator
from pydantic_settings import (
    BaseSettings,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from dataagent_core.config.config_file import CONFIG_NAME, ConfigFileSource
from dataagent_core.config.home import create_private_home
from dataagent_core.config.prices import Prices
from dataagent_core.config.tracing import TraceSettings
from dataagent_core.errors import Misconfigured

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

McpStdio = Literal["off", "templates", "any"]
"""Which programs users may have started as MCP servers."""
SessionStoreKind = Literal["memory", "sqlite", "mysql", "postgres", "redis"]
_ASSISTANT_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")

CommaList = Annotated[list[str], NoDecode]
"""A list written with commas in the environment (pydantic-settings would expect JSON)."""


def _alias(name: str, *others: str) -> Any:
    """`DATAAGENT_NAME` first, then the names other tools know."""
    return AliasChoices(f"DATAAGENT_{name}", *others)


def environment() -> Mapping[str, str]:
    """The process's environment, for files that name variables of it."""
    return dict(os.environ)


class Settings(TraceSettings, BaseSettings):
    """Settings of the core. Unset values are the embedded default: SQLite, `offline` model."""

    model_config = SettingsConfigDict(
        env_prefix="DATAAGENT_", env_file=".env", extra="ignore", populate_by_name=True
    )

    # where things are kept
    home: Path = Path("~/.dataagent")
    agents_home: Path = Path("~/.deepagents")
    workspace_root: Path | None = None
    project: Path | None = None
    workspace_quota: int = Field(default=1024**3, ge=0)
    workspace_archive_days: int = Field(default=30, ge=0)
    memory_retention_days: int = Field(default=90, ge=0)
    max_upload_bytes: int = Field(default=10 * 1024**2, ge=1)
    read_timeout: float = Field(default=15.0, gt=0, le=600)

    # the model
    model: str | None = None
    openai_api_key: SecretStr | None = Field(default=None, validation_alias="OPENAI_API_KEY")
    openai_base_url: str | None = Field(default=None, validation_alias="OPENAI_BASE_URL")
    anthropic_api_key: SecretStr | None = Field(default=None, validation_alias="ANTHROPIC_API_KEY")
    tavily_api_key: SecretStr | None = Field(default=None, validation_alias="TAVILY_API_KEY")
    tavily_base_url: str = Field(
        default="https://api.tavily.com", validation_alias="TAVILY_BASE_URL"
    )
    model_timeout: float = Field(default=120.0, gt=0)
    model_max_retries: int = Field(default=2, ge=0)
    text_window_ms: float = Field(default=20.0, ge=0)
    keyring: bool = False

    # storage
    session_store: SessionStoreKind | None = None
    database_url: SecretStr | None = Field(
        default=None, validation_alias=_alias("DATABASE_URL", "DATABASE_URL")
    )
    redis_url: SecretStr | None = None
    redis_prefix: str = Field(default="dataagent:", min_length=1, max_length=64)
    mysql_host: str = "localhost"
    mysql_port: int = 3306
    mysql_user: str = "root"
    mysql_password: SecretStr = SecretStr("")
    mysql_database: str = "dataagent"
    mysql_pool_size: int = Field(default=10, ge=1)
    mysql_max_overflow: int = Field(default=20, ge=0)
    # PostgreSQL's, of one process with all it does; MySQL has its own above
    db_pool_size: int = Field(default=10, ge=2)
    db_max_overflow: int = Field(default=0, ge=0)

    # runs
    session_timeout: float = Field(default=3600.0, gt=0)
    hitl_timeout: float = Field(default=300.0, gt=0)
    deleted_retention_days: int = Field(default=30, ge=0, le=36500)
    auto_approve: bool = False
    enable_shell: bool = False
    recursion_limit: int = Field(default=1000, ge=1)
    run_timeout: float | None = Field(default=None, gt=0)
    lease_seconds: float = Field(default=10.0, gt=0)
    runs_in: Literal["web", "workers"] = "web"
    runs_per_worker: int = Field(default=200, ge=1)
    queue_timeout: float = Field(default=300.0, gt=0)

    # limits; 0 is no limit
    max_runs_per_user: int = Field(default=100, ge=0)
    max_queued_runs: int = Field(default=1000, ge=0)
    conversation_quota: int = Field(default=2 * 1024**3, ge=0)  # bytes of a user's conversations
    run_max_tokens: int | None = Field(default=None, ge=0)
    run_max_tool_calls: int | None = Field(default=None, ge=0)
    run_max_sql_seconds: float | None = Field(default=None, ge=0)
    user_daily_tokens: int | None = Field(default=None, ge=0)
    user_daily_tool_calls: int | None = Field(default=None, ge=0)
    user_daily_sql_seconds: float | None = Field(default=None, ge=0)
    user_daily_wall_seconds: float | None = Field(default=None, ge=0)

    # tenants
    multi_tenant: bool = False

    # the sandbox: where agents' code runs; unset takes the first wall there is, `off` none
    sandbox: str | None = Field(default=None, pattern=r"^[A-Za-z0-9_-]{1,64}$")
    sandbox_memory: int = Field(default=512 * 1024**2, ge=64 * 1024**2)
    sandbox_cpus: float = Field(default=1.0, gt=0)
    sandbox_processes: int = Field(default=64, ge=8)
    sandbox_timeout: float = Field(default=30.0, gt=0)
    sandbox_max_timeout: float = Field(default=300.0, gt=0)
    sandbox_disk: int = Field(default=256 * 1024**2, ge=1024**2)
    sandbox_files: int = Field(default=4096, ge=64)
    sandbox_pool_size: int = Field(default=5, ge=0)
    sandbox_max_sessions: int = Field(default=50, ge=1)
    sandbox_max_per_user: int = Field(default=5, ge=0)  # 0: any number
    sandbox_max_uses: int = Field(default=100, ge=1)
    sandbox_idle_seconds: float = Field(default=1200.0, gt=0)
    sandbox_image: str = "dataagent-sandbox"
    sandbox_docker_url: str | None = None
    sandbox_docker_runtime: str | None = None

    # skills: folders of SKILL.md folders, later ones win
    skills_dirs: CommaList = []

    # packages: folders of agents as folders with an AGENTS.md, searched beside ours; later ones win
    packages_dirs: CommaList = []

    # modules that register agents (`register_agent`), imported at the start
    agent_modules: CommaList = []

    # data
    sources_config: Path | None = None
    sample_data: bool = True
    catalogue_interval: float = Field(default=900.0, gt=0)
    secret_key: SecretStr | None = None

    # what a million tokens cost; usage then shows costs
    price_input: float | None = Field(default=None, ge=0)
    price_output: float | None = Field(default=None, ge=0)
    price_currency: str = Field(default="USD", pattern=r"^[A-Z]{3}$")

    # outbound requests of tools
    allow_private_hosts: CommaList = []
    fetch_hosts: CommaList = []  # their pages are read without asking; `*.example.com` is any below

    # MCP servers
    mcp_config: Path | None = None
    mcp_max_servers: int = Field(default=5, ge=0)
    mcp_timeout: float = Field(default=30.0, gt=0, le=3600)
    mcp_wait: float = Field(default=3.0, ge=0, le=60)
    mcp_health_interval: float = Field(default=30.0, gt=0)
    mcp_calls_per_minute: int = Field(default=0, ge=0)
    mcp_call_log_days: int = Field(default=90, ge=1, le=36500)
    mcp_stdio: McpStdio | None = None
    mcp_stdio_commands: CommaList = []
    mcp_memory: int = Field(default=1024**3, ge=64 * 1024**2)
    mcp_cpus: float = Field(default=1.0, gt=0)
    mcp_processes: int = Field(default=256, ge=16)

    # the terminal: how it shows pictures, where it does not say so itself
    graphics: Literal["auto", "kitty", "sixel", "off"] = "auto"

    # logs and metrics
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    metrics_host: str = "127.0.0.1"
    metrics_port: int | None = Field(default=None, ge=1, le=65_000)

    @field_validator(
        "allow_private_hosts",
        "fetch_hosts",
        "skills_dirs",
        "packages_dirs",
        "agent_modules",
        "mcp_stdio_commands",
        mode="before",
    )
    @classmethod
    def _split(cls, value: Any) -> Any:
        return split_commas(value)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """What a program says, then the environment, `.env`, secrets, and `config.toml` last."""
        earlier = (init_settings, env_settings, dotenv_settings, file_secret_settings)
        return (*earlier, ConfigFileSource(settings_cls))

    # -- models -----------------------------------------------------------------------------

    @property
    def default_model(self) -> str:
        """The model's name: as set, else the first provider with a key, else `offline`."""
        if self.model:
            return self.model
        if self.anthropic_api_key:
            return "anthropic:claude-sonnet-4-5-20250929"
        if self.openai_api_key:
            return "openai:gpt-5-mini"
        return "offline"

    def create_model(self, model_name: str | None = None) -> BaseChatModel:
        """Make a chat model by name (`openai:…`, `anthropic:…`, `offline`, `scripted`, …).

        Raises:
            Misconfigured: the name is unknown, or the provider's key or package is missing.
        """
        from dataagent_core.models import create_model

        return create_model(model_name or self.default_model, self)

    @property
    def prices(self) -> Prices | None:
        """What tokens cost; None as long as nobody said."""
        if self.price_input is None and self.price_output is None:
            return None
        return Prices(self.price_input or 0.0, self.price_output or 0.0, self.price_currency)

    @property
    def deployment_secrets(self) -> list[str]:
        """Secrets among the settings whose type does not say so, for scrubbing: none here."""
        return []

    # -- directories ------------------------------------------------------------------------

    @property
    def home_dir(self) -> Path:
        """`home` with `~` expanded."""
        return self.home.expanduser()

    @property
    def config_path(self) -> Path:
        """The file of settings, whether it is there or not."""
        return self.home_dir / CONFIG_NAME

    @property
    def workspaces_dir(self) -> Path:
        """Where the users' workspaces are."""
        return (self.workspace_root or self.home / "workspaces").expanduser()

    @property
    def project_dir(self) -> Path | None:
        """The folder agents work in instead of a workspace in the data directory, if one is set.

        Raises:
            Misconfigured: there is no such folder.
        """
        if self.project is None:
            return None
        project = self.project.expanduser().absolute()
        if not project.is_dir():
            raise Misconfigured(f"The project {str(project)!r} is not a folder. Name one that is.")
        return project

    @property
    def sources_path(self) -> Path | None:
        """The file of data sources: as set, else `sources.yaml` in the data directory, if there.

        Raises:
            Misconfigured: there is no file where the setting says.
        """
        if self.sources_config is not None:
            path = self.sources_config.expanduser().absolute()
            if not path.exists():
                raise Misconfigured(
                    f"DATAAGENT_SOURCES_CONFIG names {path}, and there is no such file.",
                    details={"hint": "correct the setting, or create the file; it may be empty."},
                )
            return path
        usual = (self.home_dir / "sources.yaml").absolute()
        return usual if usual.exists() else None

    def ensure_home(self) -> Path:
        """Create the data directory, for its owner only, and return it.

        Raises:
            Misconfigured: it is there, other users can read it, and it is not ours to close.
        """
        return create_private_home(self.home_dir)

    def ensure_agent_dir(self, assistant_id: str) -> Path:
        """Create `~/.deepagents/{assistant_id}/` and return it.

        Raises:
            Misconfigured: the id cannot be a directory's name.
        """
        if not _ASSISTANT_ID.fullmatch(assistant_id):
            raise Misconfigured(
                f"Assistant id {assistant_id!r} is not usable as a name: letters, digits, "
                "'_', '.' and '-' only, at most 64, starting with a letter or digit."
            )
        path = self.agents_home.expanduser() / assistant_id
        path.mkdir(parents=True, exist_ok=True)
        return path

    @property
    def takes_any_assistant(self) -> bool:
        """Whether an assistant may have a name that no agent has: at the terminal, a place for
        memories of its own.
        """
        return True

    # -- the shell --------------------------------------------------------------------------

    @property
    def has_shell(self) -> bool:
        """Whether agents may run commands. The machine belongs to whoever sits at the terminal."""
        return self.enable_shell

    @property
    def shell_home(self) -> Path | None:
        """The home of commands on this machine: the user's own in a project, else the workspace."""
        return None if self.project is None else Path("~").expanduser()

    @property
    def shell_sandbox(self) -> str | None:
        """The sandbox that commands run in, where one is asked for; None is this machine."""
        return None if self.sandbox == "off" else self.sandbox

    # -- MCP servers --------------------------------------------------------------------------

    @property
    def mcp_programs(self) -> McpStdio:
        """Which programs users may have started. At the terminal they are the user's own."""
        return self.mcp_stdio or "any"

    @property
    def mcp_config_path(self) -> Path | None:
        """The file of servers that everyone has, with `~` expanded."""
        return None if self.mcp_config is None else self.mcp_config.expanduser()

    # -- storage ----------------------------------------------------------------------------

    @property
    def store_kind(self) -> SessionStoreKind:
        """The session store: as set, else what `DATABASE_URL` implies, else `sqlite`."""
        if self.session_store:
            return self.session_store
        url = self.database_url.get_secret_value() if self.database_url else ""
        if url.startswith("postgres"):
            return "postgres"
        return "mysql" if url.startswith(("mysql", "mariadb")) else "sqlite"

    @property
    def is_shared(self) -> bool:
        """Whether several processes may work together: through Redis, on a database server."""
        return self.redis_url is not None and not self.sql_url().startswith("sqlite")

    def check_shared(self, wanted: str) -> None:
        """Refuse what takes several processes where they could not work together.

        Raises:
            Misconfigured: names what is `wanted`, and what to set for it.
        """
        missing: list[str] = []
        if self.redis_url is None:
            missing.append("DATAAGENT_REDIS_URL (for example redis://localhost:6379/0)")
        if self.sql_url().startswith("sqlite"):
            missing.append(
                "DATAAGENT_DATABASE_URL to PostgreSQL or MySQL (for example "
                "postgresql://user:password@host:5432/dataagent): SQLite and memory are for one "
                "process"
            )
        if missing:
            raise Misconfigured(
                f"{wanted} takes several processes that work together. Set {' and '.join(missing)}."
            )

    def sql_url(self) -> str:
        """SQLAlchemy URL of the database that holds what is true.

        Raises:
            Misconfigured: `DATAAGENT_SESSION_STORE=postgres` without a `DATABASE_URL`.
        """
        if self.store_kind == "memory":
            return "sqlite:///:memory:"
        if self.database_url:
            return self.database_url.get_secret_value()
        if self.store_kind == "mysql":
            password = quote(self.mysql_password.get_secret_value(), safe="")
            login = quote(self.mysql_user, safe="") + (f":{password}" if password else "")
            return f"mysql://{login}@{self.mysql_host}:{self.mysql_port}/{self.mysql_database}"
        if self.store_kind == "postgres":
            raise Misconfigured(
                "DATAAGENT_SESSION_STORE=postgres needs DATAAGENT_DATABASE_URL, for example "
                "postgresql://user:password@host:5432/dataagent."
            )
        return f"sqlite:///{self.home_dir / 'dataagent.db'}"

    def pool_sizes(self) -> tuple[int, int]:
        """How many connections the SQL database's pool holds, and how many more it may open."""
        if self.sql_url().startswith(("mysql", "mariadb")):
            return self.mysql_pool_size, self.mysql_max_overflow
        return self.db_pool_size - self.checkpoint_pool_size, self.db_max_overflow

    @property
    def checkpoint_pool_size(self) -> int:
        """How many connections LangGraph's savers share."""
        if self.sql_url().startswith(("mysql", "mariadb")):
            return self.mysql_pool_size
        return max(1, self.db_pool_size * 2 // 5)


def split_commas(value: Any) -> Any:
    """`"a, b"` → `["a", "b"]`; anything that is not text passes through."""
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    return value
