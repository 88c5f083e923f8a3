"""What an operator or user can set, read from the environment in this one place.

Every name has the prefix `DATAAGENT_`; the few names other tools use without it (provider keys,
`DATABASE_URL`) are honoured as they are. What the environment leaves open, `config.toml` may say
(`file.py`). `dataagent_server.config` adds what only a server needs.

What tokens cost, as an operator says it: one price for all models. Pure.

Where traces go, how many are taken, and whether they hold what was said.

A part of `Settings`, under the names the tools themselves use. A tracer is on when its own variable
says so and off otherwise; each takes a share of the runs if it is told to. Above: `settings.py`.
Below: nothing. `telemetry/` reads them.

`config.toml` in the data directory: settings that are not in the environment.

`dataagent init` writes it; a person may. It holds any setting by its own name (`model`,
`openai_api_key`, …) and counts less than the environment and `.env`. It is only read here.
Above: `Settings`.

Which settings belong together: the comment lines that part them in their class's source.

The settings page and the server's `--help` show them so. A class without its source is one group.
"""

from __future__ import annotations

import inspect
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal
from urllib.parse import quote

from pydantic import AliasChoices, BaseModel, Field, SecretStr, ValidationInfo, field_validator
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


_MILLION = 1_000_000
_SIGNS = {"USD": "$", "EUR": "€", "GBP": "£", "CNY": "¥", "JPY": "¥"}


@dataclass(frozen=True, slots=True)
class Prices:
    """What a million tokens cost, in and out."""

    input: float
    output: float
    currency: str

    def cost(self, input_tokens: int, output_tokens: int) -> float:
        """What so many tokens cost."""
        return (input_tokens * self.input + output_tokens * self.output) / _MILLION

    def cost_of(self, usage: Mapping[str, int]) -> float:
        """What a run's `token_usage` cost."""
        return self.cost(usage.get("input_tokens", 0), usage.get("output_tokens", 0))

    def shown(self, cost: float) -> str:
        """`$0.0123`; a currency without a sign of its own is named."""
        sign = _SIGNS.get(self.currency)
        return f"{cost:.4f} {self.currency}" if sign is None else f"{sign}{cost:.4f}"


Sampler = Literal[
    "always_on",
    "always_off",
    "traceidratio",
    "parentbased_always_on",
    "parentbased_always_off",
    "parentbased_traceidratio",
]


def _langsmith(name: str) -> AliasChoices:
    """A variable of LangSmith's under its two names."""
    return AliasChoices(f"LANGSMITH_{name}", f"LANGCHAIN_{name}")


class TraceSettings(BaseModel):
    """What an operator can say about traces."""

    # traces, and whether they hold what was said
    trace_content: bool = False
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
    def _as_written(cls, value: Any, info: ValidationInfo) -> Any:
        """In small letters; a variable that is set to nothing says nothing."""
        if not isinstance(value, str):
            return value
        return value.strip().lower() or cls.model_fields[str(info.field_name)].default

    @property
    def has_langfuse(self) -> bool:
        """Whether Langfuse gets the traces: its two keys are there and nobody says no."""
        has_keys = bool(self.langfuse_public_key and self.langfuse_secret_key)
        return has_keys and self.langfuse_tracing_enabled


CONFIG_NAME = "config.toml"
_HINT = "correct the file, or move it away and run: dataagent init"


def read_config(path: Path) -> dict[str, Any]:
    """What stands in the file; nothing if there is none.

    Raises:
        Misconfigured: it cannot be read, or is no TOML; the message says where.
    """
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except NotADirectoryError:  # said better by whoever needs the directory
        return {}
    except OSError as error:
        raise _wrong(path, f"cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise _wrong(path, "is not text in UTF-8") from error
    except tomllib.TOMLDecodeError as error:
        raise _wrong(path, f"is not valid TOML: {error}") from error


def _wrong(path: Path, what: str) -> Misconfigured:
    return Misconfigured(f"The configuration file {path} {what}.", details={"hint": _HINT})


class ConfigFileSource(PydanticBaseSettingsSource):
    """The file as a source of settings; its place is what the sources before it say of `home`."""

    def __call__(self) -> dict[str, Any]:
        """The file's settings, under the names the other sources use.

        Raises:
            Misconfigured: as `read_config`.
        """
        home = self.current_state.get("home") or self.settings_cls.model_fields["home"].default
        written = read_config(Path(home).expanduser() / CONFIG_NAME)
        return InitSettingsSource(self.settings_cls, _known(self.settings_cls, written))()

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        """Nothing: the file is read as a whole, by the call."""
        return None, field_name, False


def _known(settings: type[BaseSettings], written: dict[str, Any]) -> dict[str, Any]:
    """What this program's settings know. Another's may stand in the same file."""
    return {name: value for name, value in written.items() if name in settings.model_fields}


_TITLE = re.compile(r"    # ([^-].*)")
_FIELD = re.compile(r"    (\w+):")


@cache
def setting_groups(settings: type[BaseSettings]) -> dict[str, list[str]]:
    """The settings a class declares itself, by title, in the order of its source.

    What it is put together from, and is no settings of a program's by itself, comes after.
    """
    found: dict[str, list[str]] = {}
    bases: tuple[type[Any], ...] = settings.__bases__
    parts = [part for part in bases if not issubclass(part, BaseSettings)]
    for part in (settings, *parts):
        title = "other"
        for line in _source(part).splitlines():
            if comment := _TITLE.fullmatch(line):
                title = comment[1]
            elif (declared := _FIELD.match(line)) and declared[1] in settings.model_fields:
                found.setdefault(title, []).append(declared[1])
    return found


def _source(settings: type[Any]) -> str:
    try:
        return inspect.getsource(settings)
    except OSError:  # installed without sources
        own: list[str] = [
            name for name in settings.__annotations__ if name in settings.model_fields
        ]
        return "\n".join(f"    {name}:" for name in own)


def variables(settings: type[BaseSettings], name: str) -> list[str]:
    """The environment variables that set a setting; the first one wins."""
    alias = settings.model_fields[name].validation_alias
    if alias is None:
        prefix = settings.model_config.get("env_prefix", "")
        return [f"{prefix}{name}".upper()]
    choices: list[object] = list(getattr(alias, "choices", [alias]))
    return [str(choice) for choice in choices]


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
