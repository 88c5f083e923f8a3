"""The demo's server and key, from the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from dataagent_client import Backoff

DEFAULT_URL = "http://127.0.0.1:8000"
TIMEOUT_SECONDS = 15.0
BACKOFF = Backoff(first_seconds=0.2, most_seconds=2.0, attempts=3)
"""Short, since a user waits: the page then says that the server does not answer."""


class BadDemoSettings(ValueError):
    """A variable cannot be used; the message names it and says what to write."""


@dataclass(frozen=True, slots=True)
class DemoSettings:
    """The server's address, without a slash at its end, and the key if one is set."""

    server_url: str
    api_key: str | None = field(default=None, repr=False)


def load_settings(environment: Mapping[str, str] | None = None) -> DemoSettings:
    """Read `DATAAGENT_SERVER_URL` and `DATAAGENT_API_KEY`; neither has to be set.

    Raises:
        BadDemoSettings: the address is not a web address, or the key could not be sent.
    """
    variables = os.environ if environment is None else environment
    return DemoSettings(
        server_url=_server_url(variables.get("DATAAGENT_SERVER_URL") or DEFAULT_URL),
        api_key=_api_key(variables.get("DATAAGENT_API_KEY")),
    )


def _server_url(text: str) -> str:
    try:
        parts = urlsplit(text.strip())
        is_usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_usable = False
        parts = urlsplit("")
    if not is_usable or parts.query or parts.fragment:
        raise BadDemoSettings(
            f"DATAAGENT_SERVER_URL 的值是 {text!r}；请填写地址，例如 {DEFAULT_URL}"
        )
    if parts.username is not None:
        raise BadDemoSettings("DATAAGENT_SERVER_URL 中含有用户名；请把密钥填入 DATAAGENT_API_KEY")
    return parts.geturl().rstrip("/")


def _api_key(text: str | None) -> str | None:
    key = (text or "").strip()
    if not key:
        return None
    if not key.isascii() or not key.isprintable() or " " in key:
        raise BadDemoSettings("DATAAGENT_API_KEY 中有请求头不允许的字符")
    return key
