"""Encrypts stored credentials, and generates the secrets that processes share.

AES-256-GCM with a key shared through the database, or given by the operator
(`DATAAGENT_SECRET_KEY`), which keeps it apart from the data. A sealed text is bound to its row:
copied into another it cannot be opened. A shared secret, such as the one that signs login tokens,
is generated at first use.
"""

from __future__ import annotations

import base64
import os
import secrets as randomness
from contextlib import suppress
from datetime import UTC, datetime

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from pydantic import SecretStr
from sqlalchemy import Connection, insert, select
from sqlalchemy.exc import IntegrityError

from dataagent_core.errors import Misconfigured
from dataagent_core.storage import Database
from dataagent_core.storage.tables import secrets


async def shared_secret(database: Database, name: str) -> str:
    """The secret of that name; 256 random bits if this is the first time it is asked for."""
    known = await database.read(lambda connection: _find(connection, name))
    if known is not None:
        return known
    row = {"name": name, "value": randomness.token_urlsafe(32), "created_at": datetime.now(UTC)}
    with suppress(IntegrityError):  # another process was first; theirs is the one
        await database.write(lambda connection: connection.execute(insert(secrets), row).rowcount)
    return await shared_secret(database, name)


def _find(connection: Connection, name: str) -> str | None:
    return connection.execute(select(secrets.c.value).where(secrets.c.name == name)).scalar()


MASK = "••••"
_FORMAT = "v1:"
_NONCE_BYTES = 12


class SecretBox:
    """Seals and opens credentials of one purpose with one key."""

    def __init__(self, key: SecretStr, *, purpose: str) -> None:
        derive = HKDF(
            algorithm=SHA256(), length=32, salt=None, info=f"dataagent {purpose}".encode()
        )
        self._cipher = AESGCM(derive.derive(key.get_secret_value().encode()))

    def __repr__(self) -> str:
        return "SecretBox(…)"

    def seal(self, secret: SecretStr, *, bound_to: str) -> str:
        """The secret as text that is safe to keep."""
        nonce = os.urandom(_NONCE_BYTES)
        sealed = self._cipher.encrypt(nonce, secret.get_secret_value().encode(), bound_to.encode())
        return _FORMAT + base64.b64encode(nonce + sealed).decode()

    def open(self, sealed: str, *, bound_to: str, what: str) -> SecretStr:
        """The secret that was sealed for this; `what` names it in the error.

        Raises:
            Misconfigured: it was sealed with another key, for another thing, or is damaged.
        """
        try:
            raw = base64.b64decode(sealed.removeprefix(_FORMAT), validate=True)
            plain = self._cipher.decrypt(
                raw[:_NONCE_BYTES], raw[_NONCE_BYTES:], bound_to.encode()
            ).decode()
        except (InvalidTag, ValueError) as error:
            raise Misconfigured(
                f"{what} cannot be decrypted with the present key. Set DATAAGENT_SECRET_KEY to "
                "the one it was entered with, or enter it again."
            ) from error
        return SecretStr(plain)


async def secret_box(
    database: Database, *, purpose: str, key: SecretStr | None = None
) -> SecretBox:
    """A box with the operator's key, else with the one all processes share for the purpose."""
    shared = purpose.replace(" ", "-")
    return SecretBox(key or SecretStr(await shared_secret(database, shared)), purpose=purpose)
