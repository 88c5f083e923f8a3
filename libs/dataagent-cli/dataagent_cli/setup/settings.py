"""The settings of a command line: what it says, over the environment, the file and the keyring."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dataagent_cli.setup.keys import load_stored_keys
from dataagent_core.config import Settings

if TYPE_CHECKING:
    from dataagent_cli.arguments import CliOptions


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
