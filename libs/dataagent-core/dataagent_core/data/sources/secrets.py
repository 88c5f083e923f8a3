"""Credentials are write-only: encrypted where they are kept, masked wherever they are shown.

The URL of a source is sealed with AES-256-GCM. The key is made once and shared through the
database, or given by the operator, which keeps it apart from what it protects. A sealed text is
bound to its source: copied into another row it cannot be opened. Above: `store.py`. Below:
`identity/secret.py`.
"""

from __future__ import annotations

import base64
import os
from urllib.parse import quote, quote_plus

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from pydantic import SecretStr
from sqlalchemy import make_url
from sqlalchemy.engine import URL

from dataagent_core.errors import BadInput, Misconfigured
from dataagent_core.identity.secret import shared_secret
from dataagent_core.storage import Database
from dataagent_core.storage.text import is_storable

MASK = "••••"
_KEY_NAME = "data-sources"
_FORMAT = "v1:"
_NONCE_BYTES = 12
_MAX_URL = 4096


class SecretBox:
    """Seals and opens credentials with one key."""

    def __init__(self, key: SecretStr) -> None:
        derive = HKDF(algorithm=SHA256(), length=32, salt=None, info=b"dataagent data sources")
        self._cipher = AESGCM(derive.derive(key.get_secret_value().encode()))

    def __repr__(self) -> str:
        return "SecretBox(…)"

    def seal(self, secret: SecretStr, *, source_id: str) -> str:
        """The secret as text that is safe to keep."""
        nonce = os.urandom(_NONCE_BYTES)
        sealed = self._cipher.encrypt(nonce, secret.get_secret_value().encode(), source_id.encode())
        return _FORMAT + base64.b64encode(nonce + sealed).decode()

    def open(self, sealed: str, *, source_id: str) -> SecretStr:
        """The secret that was sealed for this source.

        Raises:
            Misconfigured: it was sealed with another key, for another source, or is damaged.
        """
        try:
            raw = base64.b64decode(sealed.removeprefix(_FORMAT), validate=True)
            plain = self._cipher.decrypt(
                raw[:_NONCE_BYTES], raw[_NONCE_BYTES:], source_id.encode()
            ).decode()
        except (InvalidTag, ValueError) as error:
            raise Misconfigured(
                f"The address of data source {source_id} cannot be decrypted with the present "
                "key. Set DATAAGENT_SECRET_KEY to the one it was entered with, or enter the "
                "address again."
            ) from error
        return SecretStr(plain)


async def secret_box(database: Database, *, key: SecretStr | None = None) -> SecretBox:
    """A box with the operator's key, else with the one all processes share."""
    return SecretBox(key or SecretStr(await shared_secret(database, _KEY_NAME)))


def parsed_url(url: SecretStr) -> URL:
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


def masked(url: SecretStr) -> str:
    """The URL for display: no password, and options only hinted at, since they may hold one.

    Raises:
        BadInput: it is not a database URL.
    """
    parts = parsed_url(url)
    name = quote(parts.username) if parts.username else ""
    user = name + (f":{MASK}" if parts.password is not None else "")
    host = f"[{parts.host}]" if parts.host and ":" in parts.host else parts.host or ""
    port = f":{parts.port}" if parts.port else ""
    at = f"{user}@" if user else ""
    path = f"/{parts.database}" if parts.database else ""
    return f"{parts.drivername}://{at}{host}{port}{path}{'?…' if parts.query else ''}"


def holds_password(url: SecretStr) -> bool:
    """Whether the URL carries a password or options that may be one."""
    parts = parsed_url(url)
    return parts.password is not None or bool(parts.query)


def scrubbed(text: str, url: SecretStr) -> str:
    """The text, fit for a log line or an error: the URL and its password are taken out."""
    parts = parsed_url(url)
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
