"""Where a provider's key is kept: the system's keyring if there is one, else `config.toml`.

The package `keyring` is optional (`dataagent-cli[keyring]`); without a real backend behind it, it
is as if it were not there. Above: `init.py`, and `main.py`, which looks keys up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, cast

from dataagent_cli.setup.providers import KEY_SETTINGS

if TYPE_CHECKING:
    from dataagent_core.config import Settings

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
