"""Settings of a server: the core's, and its address, its access rules and its capacity.

Read from the environment (prefix `DATAAGENT_`); the command line overrides. Combinations that would
be unsafe or cannot work are refused here, before anything listens.
"""

from __future__ import annotations

import ipaddress
from typing import Any, Literal

from pydantic import (
    AliasChoices,
    Field,
    SecretStr,
    ValidationError,
    model_validator,
)

from dataagent_core.config import Settings
from dataagent_core.config.settings import CommaList, McpStdio, SettingsGroup
from dataagent_core.errors import Misconfigured

OnDisconnect = Literal["continue", "cancel"]


class ListenSettings(SettingsGroup, title="Where it listens"):
    """The address, the processes behind it, and their end."""

    host: str = Field(
        default="0.0.0.0",  # noqa: S104 as the requirement has it
        description="127.0.0.1 if DATAAGENT_AUTH_DISABLED",
    )
    port: int = Field(default=8000, ge=0, le=65535)
    workers: int = Field(default=1, ge=1, description="web processes")
    forwarded_allow_ips: CommaList = Field(
        default=["127.0.0.1", "::1"], description="proxies whose X-Forwarded-For is trusted"
    )
    shutdown_timeout: float = Field(default=25.0, gt=0, le=30)


class AccessSettings(SettingsGroup, title="Who may use it"):
    """Keys, logins, and the pages of other origins."""

    api_keys: CommaList = Field(default=[], repr=False, description="KEY or USER_ID:KEY")
    admin_api_keys: CommaList = Field(default=[], repr=False, description="KEY or USER_ID:KEY")
    auth_disabled: bool = Field(
        default=False, description="everyone is an administrator; on 127.0.0.1 only"
    )
    admin_username: str = Field(
        default="admin", validation_alias=AliasChoices("DATAAGENT_ADMIN_USERNAME", "ADMIN_USERNAME")
    )
    admin_password: SecretStr | None = Field(
        default=None,
        validation_alias=AliasChoices("DATAAGENT_ADMIN_PASSWORD", "ADMIN_PASSWORD"),
        description="of the first administrator; unset: generated and printed once",
    )
    jwt_secret_key: SecretStr | None = Field(
        default=None,
        min_length=32,
        validation_alias=AliasChoices("DATAAGENT_JWT_SECRET_KEY", "JWT_SECRET_KEY"),
        description="signs logins; unset: generated once and stored in the database",
    )
    jwt_expiration: int = Field(
        default=86400,
        ge=60,
        le=366 * 86400,
        validation_alias=AliasChoices("DATAAGENT_JWT_EXPIRATION", "JWT_EXPIRATION"),
        description="seconds that a login lasts",
    )
    login_failures_per_name: int = Field(
        default=10, ge=1, description="wrong passwords in a quarter of an hour"
    )
    login_failures_per_address: int = Field(default=30, ge=1)
    cors_origins: CommaList = Field(
        default=["*"], description="pages that may call the API; unset: /api/v1 with a key only"
    )
    cors_credentials: bool = Field(default=False, description="those pages may use the cookie")
    metrics_public: bool = Field(default=False, description="/metrics needs no key")


class CapacitySettings(SettingsGroup, title="Capacity"):
    """How much clients may ask of a process."""

    max_connections: int = Field(
        default=200, ge=1, description="sockets, event streams and waiting requests"
    )
    max_connections_per_user: int = Field(default=100, ge=0, description="0 is no limit")
    rate_limit_per_minute: int = Field(
        default=1200, ge=0, description="messages of a user; 0 is no limit"
    )
    on_disconnect: OnDisconnect = Field(
        default="continue", description="what a run does when its client leaves"
    )


class ServerSettings(ListenSettings, AccessSettings, CapacitySettings, Settings):
    """Settings of the server. By default callers have to authenticate."""

    @property
    def takes_any_assistant(self) -> bool:
        """No: an unknown agent is an error, never answered by another."""
        return False

    @property
    def has_shell(self) -> bool:
        """Whether agents may run commands: on a server in a sandbox only."""
        return self.enable_shell and self.sandbox != "off"

    @property
    def shell_sandbox(self) -> str | None:
        """The sandbox that commands run in: as set, else the first that works."""
        return self.sandbox or "auto"

    @property
    def mcp_programs(self) -> McpStdio:
        """Which programs users may have started: templates, or any if no one else can connect."""
        if self.mcp_stdio is not None:
            return self.mcp_stdio
        return "any" if self.auth_disabled and is_loopback(self.host) else "templates"

    @property
    def trusted_origins(self) -> list[str]:
        """The origins that the operator set; the default `*` is not one."""
        return self.cors_origins if "cors_origins" in self.model_fields_set else []

    @property
    def is_open_to_others(self) -> bool:
        """Whether other machines can reach the server."""
        return not is_loopback(self.host)

    @model_validator(mode="after")
    def _require_loopback_without_login(self) -> ServerSettings:
        if self.auth_disabled and "host" not in self.model_fields_set:
            self.host = "127.0.0.1"
        return self

    @model_validator(mode="after")
    def _refuse_invalid_combinations(self) -> ServerSettings:
        if self.workers > 1:
            self.check_shared(f"DATAAGENT_WORKERS={self.workers}")
        if self.runs_in == "workers":
            self.check_shared("DATAAGENT_RUNS_IN=workers")
        if self.project is not None:
            raise Misconfigured(
                "DATAAGENT_PROJECT is for the terminal, where one user has the folder. Unset it."
            )
        if self.auth_disabled and self.is_open_to_others:
            raise Misconfigured(
                f"DATAAGENT_AUTH_DISABLED=true would open the server to everyone who can reach "
                f"{self.host}. Set DATAAGENT_HOST=127.0.0.1, or set DATAAGENT_API_KEYS and leave "
                "authentication on."
            )
        if "*" in self.cors_origins and self.cors_credentials:
            raise Misconfigured(
                "DATAAGENT_CORS_ORIGINS=* cannot go with DATAAGENT_CORS_CREDENTIALS=true: every "
                "site could act for a logged-in user. Name the origins."
            )
        return self

    @property
    def deployment_secrets(self) -> list[str]:
        """Secrets to remove from logs: API keys, with and without `user_id:`, and the JWT key."""
        keys = [*self.api_keys, *self.admin_api_keys]
        if self.jwt_secret_key:
            keys.append(self.jwt_secret_key.get_secret_value())
        return keys + [key.partition(":")[2] for key in keys if ":" in key]


def is_loopback(host: str) -> bool:
    """Whether a server bound to the host can be reached from this machine only."""
    if host in ("localhost", ""):
        return host == "localhost"
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def load_settings(**overrides: Any) -> ServerSettings:
    """The settings from the environment, with overrides that are not None on top.

    Raises:
        Misconfigured: a value is invalid; the message names the setting, not the value.
    """
    given = {name: value for name, value in overrides.items() if value is not None}
    try:
        return ServerSettings(**given)
    except ValidationError as error:
        problems = "; ".join(_problem(item["loc"], item["msg"]) for item in error.errors())
        raise Misconfigured(f"Invalid setting. {problems}.") from None


def _problem(loc: tuple[int | str, ...], message: str) -> str:
    name = str(loc[0]) if loc else "settings"
    shown = name if name.isupper() else f"DATAAGENT_{name.upper()}"
    return f"{shown}: {message[0].lower()}{message[1:]}"
