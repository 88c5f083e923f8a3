"""What an operator or user can set, read from the environment in this one place.

Every name has the prefix `DATAAGENT_`; the names that other tools use without it (provider keys,
`DATABASE_URL`, the variables of tracers) are honoured as they are. `config.toml` in the data
directory counts less than the environment and `.env`. A group of settings is a class with a
`title`, under which `--help` and the reference show it. `dataagent_server.config` adds what only a
server needs.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal
from urllib.parse import quote

from pydantic import (
    AliasChoices,
    BeforeValidator,
    Field,
    SecretStr,
    ValidationInfo,
    field_validator,
)
from pydantic.fields import FieldInfo
from pydantic_settings import (
    BaseSettings,
    InitSettingsSource,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from dataagent_core.config.private_files import create_private_home
from dataagent_core.errors import Misconfigured

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

CONFIG_NAME = "config.toml"
_HINT = "correct the file, or move it away and run: dataagent init"
_ASSISTANT_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_MILLION = 1_000_000
_SIGNS = {"USD": "$", "EUR": "€", "GBP": "£", "CNY": "¥", "JPY": "¥"}

McpStdio = Literal["off", "templates", "any"]
SessionStoreKind = Literal["memory", "sqlite", "mysql", "postgres", "redis"]
Sampler = Literal[
    "always_on",
    "always_off",
    "traceidratio",
    "parentbased_always_on",
    "parentbased_always_off",
    "parentbased_traceidratio",
]


def split_commas(value: Any) -> Any:
    """`"a, b"` → `["a", "b"]`; anything that is not text passes through."""
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    return value


CommaList = Annotated[list[str], NoDecode, BeforeValidator(split_commas)]
"""A list written with commas in the environment (pydantic-settings would expect JSON)."""


def environment() -> Mapping[str, str]:
    """The process's environment, for files that name variables of it."""
    return dict(os.environ)


# -- groups ---------------------------------------------------------------------------------


class SettingsGroup(BaseSettings):
    """Settings that belong together. A subclass names itself: `class Limits(…, title="Limits")`."""


class StorageSettings(SettingsGroup, title="Storage"):
    """Directories, the database, and how long deleted or unused data stays."""

    home: Path = Field(default=Path("~/.dataagent"), description="the data directory")
    agents_home: Path = Field(
        default=Path("~/.deepagents"), description="directories of the terminal's assistants"
    )
    workspace_root: Path | None = Field(
        default=None, description="users' workspaces, if not in the data directory"
    )
    project: Path | None = Field(
        default=None, description="a folder to work in instead of a workspace; terminal only"
    )
    workspace_quota: int = Field(default=1024**3, ge=0, description="bytes of a user's workspace")
    conversation_quota: int = Field(
        default=2 * 1024**3, ge=0, description="bytes of a user's conversations; 0 is no limit"
    )
    max_upload_bytes: int = Field(default=10 * 1024**2, ge=1)
    workspace_archive_days: int = Field(
        default=30, ge=0, description="an unused workspace is archived after so many days"
    )
    memory_retention_days: int = Field(
        default=90, ge=0, description="unused memories are erased after so many days"
    )
    deleted_retention_days: int = Field(
        default=30, ge=0, le=36500, description="deleted conversations can be restored so long"
    )
    session_store: SessionStoreKind | None = None
    database_url: SecretStr | None = Field(
        default=None, validation_alias=AliasChoices("DATAAGENT_DATABASE_URL", "DATABASE_URL")
    )
    db_pool_size: int = Field(
        default=10, ge=2, description="connections of one process to PostgreSQL"
    )
    mysql_host: str = "localhost"
    mysql_port: int = 3306
    mysql_user: str = "root"
    mysql_password: SecretStr = SecretStr("")
    mysql_database: str = "dataagent"
    mysql_pool_size: int = Field(default=10, ge=1)
    mysql_max_overflow: int = Field(default=20, ge=0)
    redis_url: SecretStr | None = None
    redis_prefix: str = Field(default="dataagent:", min_length=1, max_length=64)
    secret_key: SecretStr | None = Field(
        default=None, description="encrypts stored credentials; unset: a key in the database"
    )


class ModelSettings(SettingsGroup, title="The model"):
    """Which model answers, its keys, and what its tokens cost."""

    model: str | None = Field(
        default=None, description="PROVIDER:MODEL; unset: the first provider with a key, or offline"
    )
    openai_api_key: SecretStr | None = Field(default=None, validation_alias="OPENAI_API_KEY")
    openai_base_url: str | None = Field(
        default=None, validation_alias="OPENAI_BASE_URL", description="any compatible endpoint"
    )
    anthropic_api_key: SecretStr | None = Field(default=None, validation_alias="ANTHROPIC_API_KEY")
    keyring: bool = Field(
        default=False, description="read provider keys from the system's keyring; terminal only"
    )
    model_timeout: float = Field(default=120.0, gt=0, description="seconds of a request")
    model_max_retries: int = Field(default=2, ge=0)
    price_input: float | None = Field(
        default=None, ge=0, description="of a million input tokens; usage then shows costs"
    )
    price_output: float | None = Field(default=None, ge=0)
    price_currency: str = Field(default="USD", pattern=r"^[A-Z]{3}$")


class RunSettings(SettingsGroup, title="Runs"):
    """How a run is executed, and where."""

    session_timeout: float = Field(
        default=3600.0, gt=0, description="an unused session releases its resources after this"
    )
    hitl_timeout: float = Field(
        default=300.0, gt=0, description="seconds to approve a call; then it is rejected"
    )
    auto_approve: bool = False
    enable_shell: bool = Field(default=False, description="agents may run shell commands")
    run_timeout: float | None = Field(default=None, gt=0)
    lease_seconds: float = Field(
        default=10.0, gt=0, description="a process that does not answer so long counts as dead"
    )
    runs_in: Literal["web", "workers"] = Field(
        default="web", description="which processes execute runs"
    )
    runs_per_worker: int = Field(default=200, ge=1)


class LimitSettings(SettingsGroup, title="Limits and budgets; 0 is no limit"):
    """What a user and a run may use."""

    multi_tenant: bool = Field(default=False, description="limits by tenant too")
    max_runs_per_user: int = Field(default=100, ge=0)
    max_queued_runs: int = Field(default=1000, ge=0)
    run_max_tokens: int | None = Field(default=None, ge=0)
    run_max_tool_calls: int | None = Field(default=None, ge=0)
    run_max_sql_seconds: float | None = Field(default=None, ge=0)
    user_daily_tokens: int | None = Field(default=None, ge=0)
    user_daily_tool_calls: int | None = Field(default=None, ge=0)
    user_daily_sql_seconds: float | None = Field(default=None, ge=0)
    user_daily_wall_seconds: float | None = Field(default=None, ge=0)


class AgentToolSettings(SettingsGroup, title="Agents, skills and tools"):
    """The skills, packages and tools of agents."""

    skills_dirs: CommaList = Field(
        default=[], description="folders of skills; of two with one name the later wins"
    )
    packages_dirs: CommaList = Field(
        default=[], description="folders of agents with an AGENTS.md; the later wins"
    )
    agent_modules: CommaList = Field(
        default=[], description="modules that call `register_agent`, imported at the start"
    )
    allow_private_hosts: CommaList = Field(
        default=[], description="private addresses that tools may call"
    )
    fetch_hosts: CommaList = Field(
        default=[], description="hosts read without approval; `*.example.com` is any below"
    )
    tavily_api_key: SecretStr | None = Field(
        default=None, validation_alias="TAVILY_API_KEY", description="turns web search on"
    )
    tavily_base_url: str = Field(
        default="https://api.tavily.com", validation_alias="TAVILY_BASE_URL"
    )


class DataSettings(SettingsGroup, title="Data and files"):
    """Where data comes from."""

    sources_config: Path | None = Field(
        default=None, description="a file of data sources; unset: sources.yaml, if there is one"
    )
    sample_data: bool = Field(default=True, description="offer the sample database")
    read_timeout: float = Field(
        default=15.0, gt=0, le=600, description="seconds to read an uploaded document"
    )


class SandboxSettings(SettingsGroup, title="The sandbox"):
    """Where agents' code runs, and what it may use."""

    sandbox: str | None = Field(
        default=None,
        pattern=r"^[A-Za-z0-9_-]{1,64}$",
        description="bwrap, docker or a plug-in; unset: the first that works; off: no code runs",
    )
    sandbox_memory: int = Field(default=512 * 1024**2, ge=64 * 1024**2)
    sandbox_cpus: float = Field(default=1.0, gt=0)
    sandbox_disk: int = Field(default=256 * 1024**2, ge=1024**2)
    sandbox_files: int = Field(default=4096, ge=64, description="files and folders on that disk")
    sandbox_timeout: float = Field(default=30.0, gt=0, description="seconds of one call")
    sandbox_max_timeout: float = Field(
        default=300.0, gt=0, description="as many as a call may ask for"
    )
    sandbox_pool_size: int = Field(default=5, ge=0, description="sandboxes kept ready")
    sandbox_max_sessions: int = Field(default=50, ge=1)
    sandbox_max_per_user: int = Field(default=5, ge=0, description="0 is no limit")
    sandbox_max_uses: int = Field(default=100, ge=1, description="calls before one is replaced")
    sandbox_idle_seconds: float = Field(default=1200.0, gt=0)
    sandbox_image: str = "dataagent-sandbox"
    sandbox_docker_url: str | None = None
    sandbox_docker_runtime: str | None = None


class McpSettings(SettingsGroup, title="MCP servers"):
    """Which MCP servers there may be, and how they are used."""

    mcp_config: Path | None = Field(default=None, description="a file of servers that everyone has")
    mcp_max_servers: int = Field(default=5, ge=0, description="of a user")
    mcp_timeout: float = Field(default=30.0, gt=0, le=3600, description="seconds to connect")
    mcp_wait: float = Field(
        default=3.0, ge=0, le=60, description="seconds a run waits for servers that start"
    )
    mcp_health_interval: float = Field(default=30.0, gt=0)
    mcp_calls_per_minute: int = Field(
        default=0, ge=0, description="of a user to one server; 0 is no limit"
    )
    mcp_call_log_days: int = Field(default=90, ge=1, le=36500)
    mcp_stdio: McpStdio | None = Field(
        default=None, description="which programs users may have started as servers"
    )
    mcp_stdio_commands: CommaList = Field(
        default=[], description="programs that users may start beside the templates"
    )
    mcp_memory: int = Field(
        default=1024**3, ge=64 * 1024**2, description="bytes of one confined program"
    )
    mcp_cpus: float = Field(default=1.0, gt=0)


class OutputSettings(SettingsGroup, title="Terminal, logs and metrics"):
    """What a process shows of itself."""

    graphics: Literal["auto", "kitty", "sixel", "off"] = Field(
        default="auto", description="how the terminal shows pictures"
    )
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    metrics_host: str = "127.0.0.1"
    metrics_port: int | None = Field(default=None, ge=1, le=65_000)


def _langsmith(name: str) -> AliasChoices:
    """A variable of LangSmith's under its two names."""
    return AliasChoices(f"LANGSMITH_{name}", f"LANGCHAIN_{name}")


class TraceSettings(SettingsGroup, title="Traces"):
    """Where traces go and how many, under the names of the tools that receive them."""

    trace_content: bool = Field(default=False, description="traces hold messages and results")
    otel_exporter_otlp_endpoint: str | None = Field(
        default=None, validation_alias="OTEL_EXPORTER_OTLP_ENDPOINT"
    )
    otel_exporter_otlp_headers: SecretStr | None = Field(
        default=None, validation_alias="OTEL_EXPORTER_OTLP_HEADERS"
    )
    otel_service_name: str = Field(default="dataagent", validation_alias="OTEL_SERVICE_NAME")
    otel_traces_sampler: Sampler = Field(
        default="parentbased_always_on", validation_alias="OTEL_TRACES_SAMPLER"
    )
    otel_traces_sampler_arg: float = Field(
        default=1.0, ge=0, le=1, validation_alias="OTEL_TRACES_SAMPLER_ARG"
    )
    langsmith_tracing: bool = Field(
        default=False,
        validation_alias=AliasChoices(
            "LANGSMITH_TRACING_V2", "LANGCHAIN_TRACING_V2", "LANGSMITH_TRACING"
        ),
    )
    langsmith_api_key: SecretStr | None = Field(
        default=None, validation_alias=_langsmith("API_KEY")
    )
    langsmith_endpoint: str = Field(
        default="https://api.smith.langchain.com", validation_alias=_langsmith("ENDPOINT")
    )
    langsmith_project: str = Field(default="dataagent", validation_alias=_langsmith("PROJECT"))
    langsmith_tracing_sampling_rate: float = Field(
        default=1.0, ge=0, le=1, validation_alias=_langsmith("TRACING_SAMPLING_RATE")
    )
    langfuse_public_key: str | None = Field(default=None, validation_alias="LANGFUSE_PUBLIC_KEY")
    langfuse_secret_key: SecretStr | None = Field(
        default=None, validation_alias="LANGFUSE_SECRET_KEY"
    )
    langfuse_base_url: str = Field(
        default="https://cloud.langfuse.com",
        validation_alias=AliasChoices("LANGFUSE_BASE_URL", "LANGFUSE_HOST"),
    )
    langfuse_tracing_enabled: bool = Field(
        default=True, validation_alias="LANGFUSE_TRACING_ENABLED"
    )
    langfuse_tracing_environment: str = Field(
        default="default", validation_alias="LANGFUSE_TRACING_ENVIRONMENT"
    )
    langfuse_sample_rate: float = Field(
        default=1.0, ge=0, le=1, validation_alias="LANGFUSE_SAMPLE_RATE"
    )

    @field_validator("langsmith_tracing", "otel_traces_sampler", mode="before")
    @classmethod
    def _normalize(cls, value: Any, info: ValidationInfo) -> Any:
        """In lower case; an empty variable counts as unset."""
        if not isinstance(value, str):
            return value
        return value.strip().lower() or cls.model_fields[str(info.field_name)].default

    @property
    def has_langfuse(self) -> bool:
        """Whether Langfuse gets the traces: both keys are set and tracing is not switched off."""
        has_keys = bool(self.langfuse_public_key and self.langfuse_secret_key)
        return has_keys and self.langfuse_tracing_enabled


# -- config.toml ----------------------------------------------------------------------------


def read_config(path: Path) -> dict[str, Any]:
    """The values in a `config.toml`; none if there is no such file.

    Raises:
        Misconfigured: it cannot be read, or is no TOML; the message says where.
    """
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):  # `ensure_home` explains the second
        return {}
    except OSError as error:
        problem = f"cannot be read: {error.strerror}"
    except UnicodeDecodeError:
        problem = "is not text in UTF-8"
    except tomllib.TOMLDecodeError as error:
        problem = f"is not valid TOML: {error}"
    raise Misconfigured(f"The configuration file {path} {problem}.", details={"hint": _HINT})


class ConfigFileSource(PydanticBaseSettingsSource):
    """`config.toml` as a source of settings, in the data directory that earlier sources name.

    Names that these settings do not have are ignored: the file serves several programs.
    """

    def __call__(self) -> dict[str, Any]:
        """The file's settings, under the names the other sources use.

        Raises:
            Misconfigured: as `read_config`.
        """
        fields = self.settings_cls.model_fields
        home = self.current_state.get("home") or fields["home"].default
        values = read_config(Path(home).expanduser() / CONFIG_NAME)
        known = {name: value for name, value in values.items() if name in fields}
        return InitSettingsSource(self.settings_cls, known)()

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        """Nothing: the file is read as a whole, by the call."""
        return None, field_name, False


# -- settings -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Prices:
    """What a million tokens cost, in and out."""

    input: float
    output: float
    currency: str

    def cost(self, input_tokens: int, output_tokens: int) -> float:
        """The cost of so many tokens."""
        return (input_tokens * self.input + output_tokens * self.output) / _MILLION

    def cost_of(self, usage: Mapping[str, int]) -> float:
        """The cost of a run, by its `token_usage`."""
        return self.cost(usage.get("input_tokens", 0), usage.get("output_tokens", 0))

    def shown(self, cost: float) -> str:
        """`$0.0123`; a currency without a sign of its own is named."""
        sign = _SIGNS.get(self.currency)
        return f"{cost:.4f} {self.currency}" if sign is None else f"{sign}{cost:.4f}"


class Settings(
    StorageSettings,
    ModelSettings,
    RunSettings,
    LimitSettings,
    AgentToolSettings,
    DataSettings,
    SandboxSettings,
    McpSettings,
    OutputSettings,
    TraceSettings,
):
    """Settings of the core. Unset values are the embedded default: SQLite, `offline` model."""

    model_config = SettingsConfigDict(
        env_prefix="DATAAGENT_", env_file=".env", extra="ignore", populate_by_name=True
    )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Arguments first, then the environment, `.env`, secrets, and `config.toml` last."""
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
        """What tokens cost; None if no price is set."""
        if self.price_input is None and self.price_output is None:
            return None
        return Prices(self.price_input or 0.0, self.price_output or 0.0, self.price_currency)

    @property
    def deployment_secrets(self) -> list[str]:
        """Secrets whose type is not `SecretStr`, to be removed from logs: none here."""
        return []

    # -- directories ------------------------------------------------------------------------

    @property
    def home_dir(self) -> Path:
        """`home` with `~` expanded."""
        return self.home.expanduser()

    @property
    def config_path(self) -> Path:
        """The path of `config.toml`, which may not exist."""
        return self.home_dir / CONFIG_NAME

    @property
    def workspaces_dir(self) -> Path:
        """Where the users' workspaces are."""
        return (self.workspace_root or self.home / "workspaces").expanduser()

    @property
    def project_dir(self) -> Path | None:
        """The folder agents work in instead of a workspace, if one is set.

        Raises:
            Misconfigured: it does not exist.
        """
        if self.project is None:
            return None
        project = self.project.expanduser().absolute()
        if not project.is_dir():
            raise Misconfigured(f"The project {str(project)!r} is not a folder. Name one that is.")
        return project

    @property
    def sources_path(self) -> Path | None:
        """The file of data sources: as set, else `sources.yaml` in the data directory, if any.

        Raises:
            Misconfigured: the setting names a file that does not exist.
        """
        if self.sources_config is not None:
            path = self.sources_config.expanduser().absolute()
            if not path.exists():
                raise Misconfigured(
                    f"DATAAGENT_SOURCES_CONFIG names {path}, which does not exist.",
                    details={"hint": "correct the setting, or create the file; it may be empty."},
                )
            return path
        usual = (self.home_dir / "sources.yaml").absolute()
        return usual if usual.exists() else None

    def ensure_home(self) -> Path:
        """Create the data directory, for its owner only, and return it.

        Raises:
            Misconfigured: other users can read it, and it also holds files of other programs.
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
        """Whether an assistant may have a name that no agent has, with memories of its own."""
        return True

    # -- the shell --------------------------------------------------------------------------

    @property
    def has_shell(self) -> bool:
        """Whether agents may run shell commands: at the terminal, if the user enables it."""
        return self.enable_shell

    @property
    def shell_home(self) -> Path | None:
        """The home of commands on this machine: the user's own in a project, else the workspace."""
        return None if self.project is None else Path("~").expanduser()

    @property
    def shell_sandbox(self) -> str | None:
        """The sandbox that commands run in, if one is set; None runs them on this machine."""
        return None if self.sandbox == "off" else self.sandbox

    # -- MCP servers --------------------------------------------------------------------------

    @property
    def mcp_programs(self) -> McpStdio:
        """Which programs users may have started as servers: at the terminal any."""
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

    def check_shared(self, feature: str) -> None:
        """Refuse a feature that needs several processes if they could not work together.

        Raises:
            Misconfigured: names the feature, and what to set for it.
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
                f"{feature} needs processes that work together. Set {' and '.join(missing)}."
            )

    def sql_url(self) -> str:
        """SQLAlchemy URL of the database.

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
        return self.db_pool_size - self.checkpoint_pool_size, 0

    @property
    def checkpoint_pool_size(self) -> int:
        """How many connections LangGraph's savers share."""
        if self.sql_url().startswith(("mysql", "mariadb")):
            return self.mysql_pool_size
        return max(1, self.db_pool_size * 2 // 5)


def setting_groups(settings: type[SettingsGroup]) -> dict[str, list[str]]:
    """The settings of the groups that a class is made of, by title; a parent's are not repeated."""
    bases: tuple[type[Any], ...] = settings.__bases__
    groups = [base for base in bases if SettingsGroup in base.__bases__]
    return {str(group.model_config.get("title")): list(group.__annotations__) for group in groups}


def variables(settings: type[BaseSettings], name: str) -> list[str]:
    """The environment variables that set a setting; the first one wins."""
    alias = settings.model_fields[name].validation_alias
    if alias is None:
        prefix = settings.model_config.get("env_prefix", "")
        return [f"{prefix}{name}".upper()]
    choices: list[object] = list(getattr(alias, "choices", [alias]))
    return [str(choice) for choice in choices]
