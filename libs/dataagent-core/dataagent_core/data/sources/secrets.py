"""Reads the URL of a source and masks its credentials wherever it is shown or quoted.

`identity/sealing.py` encrypts it where it is stored.
"""

from __future__ import annotations

from urllib.parse import quote, quote_plus

from pydantic import SecretStr
from sqlalchemy import make_url
from sqlalchemy.engine import URL

from dataagent_core.errors import BadInput
from dataagent_core.identity.sealing import MASK
from dataagent_core.storage.database import is_storable

_MAX_URL = 4096


def parse_url(url: SecretStr) -> URL:
    """The URL, taken apart.

    Raises:
        BadInput: it is not a database URL. The message does not quote it.
    """
    text = url.get_secret_value()
    if not is_storable(text) or len(text) > _MAX_URL:
        raise BadInput(f"A data source's URL has at most {_MAX_URL} storable characters.")
    try:
        parts = make_url(text)
    except Exception:
        parts = None
    if parts is None or _is_torn(parts):  # no cause: what the parser says may quote the password
        raise BadInput(
            "The data source's URL cannot be read. Write dialect://user:password@host:port/name "
            "(or sqlite:///path), with special characters in the password as %XX."
        )
    return parts


def _is_torn(parts: URL) -> bool:
    """Whether an unescaped `@` left a piece of the password in what is shown."""
    has_second = "@" in (parts.host or "") or "@" in (parts.database or "")
    return parts.password is not None and has_second


def mask_url(url: SecretStr) -> str:
    """The URL for display: no password, and options only hinted at, since they may hold one.

    Raises:
        BadInput: it is not a database URL.
    """
    parts = parse_url(url)
    name = quote(parts.username) if parts.username else ""
    user = name + (f":{MASK}" if parts.password is not None else "")
    host = f"[{parts.host}]" if parts.host and ":" in parts.host else parts.host or ""
    port = f":{parts.port}" if parts.port else ""
    at = f"{user}@" if user else ""
    path = f"/{parts.database}" if parts.database else ""
    return f"{parts.drivername}://{at}{host}{port}{path}{'?…' if parts.query else ''}"


def has_password(url: SecretStr) -> bool:
    """Whether the URL carries a password or options that may be one."""
    parts = parse_url(url)
    return parts.password is not None or bool(parts.query)


def scrub_url(text: str, url: SecretStr) -> str:
    """The text, fit for a log line or an error: the URL and its password are taken out."""
    parts = parse_url(url)
    values = [str(parts.password or "")]
    for option in parts.query.values():
        values += [option] if isinstance(option, str) else option
    spelled = [url.get_secret_value(), parts.render_as_string(hide_password=False)]
    for value in values:
        spelled += [
            value,
            quote(value, safe=""),
            quote(value),
            quote_plus(value),
            repr(value)[1:-1],
        ]
    for secret in sorted(set(spelled), key=len, reverse=True):
        if len(secret) > 2:  # shorter ones would tear up the words of the message
            text = text.replace(secret, MASK)
    return text
