"""The settings of a command line: what it says, over the environment, the file and the keyring.

Who a model may come from: what to ask for, and which settings it becomes. Plain data.

Where a provider's key is kept: the system's keyring if there is one, else `config.toml`.

The package `keyring` is optional (`dataagent-cli[keyring]`); without a real backend behind it, it
is as if it were not there. Above: `init.py`, and `main.py`, which looks keys up.
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
"""Whose keys can be stored, by the part of a model's name before the colon."""


@dataclass(frozen=True, slots=True)
class Provider:
    """One line of the question, and what follows from it."""

    title: str
    summary: str
    prefix: str = ""  # of the model's name; none: there is nothing more to ask
    example: str = ""
    url: str | None = None  # None: the provider's own; "" has to be asked for
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
    """What was chosen: the model, where it is, and the key to it."""

    model: str
    url: str | None = None
    key: str | None = None

    @property
    def key_setting(self) -> str | None:
        """The setting its key belongs to; None for a model whose key we do not keep."""
        return KEY_SETTINGS.get(self.model.partition(":")[0])

    def settings(self) -> dict[str, str | None]:
        """The settings it becomes; None is one that must not be left from before.

        A key goes to the server it was given for: with another address, the old one is forgotten.
        """
        made: dict[str, str | None] = {"model": self.model}
        if self.key_setting == "openai_api_key":
            made |= {"openai_base_url": self.url, "openai_api_key": self.key}
        elif self.key_setting is not None:
            made[self.key_setting] = self.key
        return made


_SERVICE = "dataagent"


class Keyring(Protocol):
    """The system's keyring, as far as it is used here."""

    def get_password(self, service: str, username: str) -> str | None:
        """What is kept under the name."""
        ...

    def set_password(self, service: str, username: str, password: str) -> None:
        """Keep it under the name."""
        ...

    def delete_password(self, service: str, username: str) -> None:
        """Forget it."""
        ...


def usable_keyring() -> Keyring | None:
    """The system's keyring; None where there is none that keeps anything."""
    try:
        import keyring

        backend = keyring.get_keyring()
        has_room = backend.priority > 0  # those that keep nothing have 0 or less
        return cast("Keyring", backend) if has_room else None  # its own types are unknown
    except Exception:  # its backends fail in their own ways: no session bus, no password, …
        return None


def store_key(setting: str, key: str | None, backend: Keyring | None) -> bool:
    """Put the key into the keyring, or take it out; whether it is there now."""
    if backend is None:
        return False
    try:
        if key is not None:
            backend.set_password(_SERVICE, setting, key)
        elif backend.get_password(_SERVICE, setting) is not None:
            backend.delete_password(_SERVICE, setting)
    except Exception:  # locked, or the person said no: then it goes to the file
        return False
    return key is not None


def load_stored_keys(settings: Settings) -> dict[str, str]:
    """The keys from the keyring that the settings lack, if they say that keys are there."""
    if not settings.keyring:
        return {}
    missing = [name for name in set(KEY_SETTINGS.values()) if getattr(settings, name) is None]
    backend = usable_keyring() if missing else None
    if backend is None:
        return {}
    found: dict[str, str] = {}
    for name in missing:
        try:
            key = backend.get_password(_SERVICE, name)
        except Exception:  # locked: the model then says that its key is missing
            key = None
        if key:
            found[name] = key
    return found


def load_settings(options: CliOptions) -> Settings:
    """The settings this process works with.

    Raises:
        Misconfigured: the configuration file cannot be used.
        ValidationError: a setting makes no sense.
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

    The folder may be anybody's, and could switch approvals off or send questions elsewhere.
    """
    # pydantic-settings' own
    return Settings(_env_file=None, **given)  # pyright: ignore[reportCallIssue]
