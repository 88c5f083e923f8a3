"""The settings of a command line, and where a provider's key is stored.

Options take precedence over the environment, the file and the keyring. The package `keyring` is
optional (`dataagent-cli[keyring]`); without a real backend it is treated as missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, cast

from dataagent_core.config import Settings

if TYPE_CHECKING:
    from dataagent_cli.arguments import CliOptions


KEY_SETTINGS: Mapping[str, str] = {
    "openai": "openai_api_key",
    "langchain-openai": "openai_api_key",
    "anthropic": "anthropic_api_key",
}
"""Settings of the keys that can be stored, by the part of a model's name before the colon."""


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider to choose, and what to ask for it."""

    title: str
    summary: str
    prefix: str = ""  # of the model's name; empty: nothing more to ask
    example: str = ""
    url: str | None = None  # None: the provider's own; "": asked for
    has_key: bool = False


PROVIDERS = (
    Provider("Offline", "no network and no key: answers by rule, over your data"),
    Provider("Anthropic", "Claude", "anthropic", "claude-sonnet-4-5", has_key=True),
    Provider("OpenAI", "GPT", "openai", "gpt-5-mini", has_key=True),
    Provider(
        "Compatible", "any server that speaks OpenAI's protocol", "openai", url="", has_key=True
    ),
    Provider(
        "Ollama", "models on this machine", "openai", "qwen3", url="http://localhost:11434/v1"
    ),
)


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """The chosen model, its address, and its key."""

    model: str
    url: str | None = None
    key: str | None = None

    @property
    def key_setting(self) -> str | None:
        """The setting of its key; None for a model whose key is not stored."""
        return KEY_SETTINGS.get(self.model.partition(":")[0])

    def settings(self) -> dict[str, str | None]:
        """The choice as settings; None removes a setting.

        A key belongs to the address it was given for: another address removes the old key.
        """
        values: dict[str, str | None] = {"model": self.model}
        if self.key_setting == "openai_api_key":
            values |= {"openai_base_url": self.url, "openai_api_key": self.key}
        elif self.key_setting is not None:
            values[self.key_setting] = self.key
        return values


_SERVICE = "dataagent"


class Keyring(Protocol):
    """The part of the system's keyring that is used here."""

    def get_password(self, service: str, username: str) -> str | None:
        """The password of a name."""
        ...

    def set_password(self, service: str, username: str, password: str) -> None:
        """Store the password of a name."""
        ...

    def delete_password(self, service: str, username: str) -> None:
        """Delete the password of a name."""
        ...


def usable_keyring() -> Keyring | None:
    """The system's keyring; None if there is none that stores anything."""
    try:
        import keyring

        backend = keyring.get_keyring()
        stores = backend.priority > 0  # backends that store nothing have 0 or less
        return cast("Keyring", backend) if stores else None  # it has no types
    except Exception:  # backends fail in many ways: no session bus, no password, …
        return None


def store_key(setting: str, key: str | None, backend: Keyring | None) -> bool:
    """Store the key in the keyring, or delete it for None; return whether it is stored there."""
    if backend is None:
        return False
    try:
        if key is not None:
            backend.set_password(_SERVICE, setting, key)
        elif backend.get_password(_SERVICE, setting) is not None:
            backend.delete_password(_SERVICE, setting)
    except Exception:  # locked, or the user refused: the key goes to the file
        return False
    return key is not None


def load_stored_keys(settings: Settings) -> dict[str, str]:
    """The keys from the keyring that the settings lack, if they name the keyring."""
    if not settings.keyring:
        return {}
    missing = [name for name in set(KEY_SETTINGS.values()) if getattr(settings, name) is None]
    backend = usable_keyring() if missing else None
    if backend is None:
        return {}
    keys: dict[str, str] = {}
    for name in missing:
        try:
            key = backend.get_password(_SERVICE, name)
        except Exception:  # locked: the model then reports that its key is missing
            key = None
        if key:
            keys[name] = key
    return keys


def load_settings(options: CliOptions) -> Settings:
    """The settings of this process.

    Raises:
        Misconfigured: the configuration file cannot be used.
        ValidationError: a setting is invalid.
    """
    given: dict[str, Any] = {"home": options.home, "model": options.model}
    given = {name: value for name, value in given.items() if value is not None}
    if options.is_auto_approved:
        given["auto_approve"] = True
    settings = make_settings(**given)
    given |= load_stored_keys(settings)
    return make_settings(**given)


def make_settings(**given: Any) -> Settings:  # what Settings takes, checked there
    """Settings without the folder's `.env`.

    The folder may be someone else's, and could disable approvals or send questions elsewhere.
    """
    # an argument of pydantic-settings
    return Settings(_env_file=None, **given)  # pyright: ignore[reportCallIssue]
