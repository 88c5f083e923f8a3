"""What someone asks of a server's registration, made complete. Pure.

Secrets are shown as `••••`; who sends that back keeps what is stored. A server has an address or a
command, so who names the one gives up the other. Above: `service.py`, `administration.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from pydantic import SecretStr

from dataagent_core.errors import BadInput
from dataagent_core.identity.sealing import MASK
from dataagent_core.mcp.servers.registration import ServerFields
from dataagent_core.mcp.types import ServerSpec

_CONNECTION_FIELDS = ("transport", "command", "args", "cwd", "env", "url", "headers", "proxy_url")


def complete_fields(sent: ServerFields, stored: ServerSpec | None = None) -> ServerFields:
    """The fields with stored secrets in place of masks, and one way to reach the server.

    Raises:
        BadInput: a mask stands for something that is not stored.
    """
    fields = ServerFields(**sent)
    for name in ("env", "headers"):
        given = fields.get(name)
        if given is not None:
            fields[name] = _restore_secrets(given, getattr(stored, name, None) or {}, name)
    for name in ("url", "proxy_url"):
        shown = fields.get(name)
        if shown is not None and MASK in shown:
            fields[name] = _restore_url(shown, getattr(stored, name, None))
    return _single_endpoint(fields, stored)


def changes_connection(old: ServerSpec, new: ServerSpec) -> bool:
    """Whether a change concerns what is started or connected to."""
    return any(getattr(old, name) != getattr(new, name) for name in _CONNECTION_FIELDS)


def apply_fields(spec: ServerSpec, fields: ServerFields) -> ServerSpec:
    """The server as it will be."""
    values: dict[str, Any] = dict(fields)  # Any: a field of each type
    return replace(spec, **values)


def mask_secrets(secrets: Mapping[str, SecretStr]) -> dict[str, str]:
    """The names of secrets, each with a mask."""
    return dict.fromkeys(secrets, MASK)


def mask_url(url: str | None) -> str | None:
    """An address without what may be secret in it: login and values of its query."""
    if url is None:
        return None
    try:
        parts = urlsplit(url)
    except ValueError:
        return MASK
    place = parts.netloc.rpartition("@")
    host = f"{MASK}@{place[2]}" if place[1] else parts.netloc
    pairs = [name.partition("=") for name in parts.query.split("&") if name]
    query = "&".join(f"{name}={MASK}" if equals else name for name, equals, _ in pairs)
    return urlunsplit((parts.scheme, host, parts.path, query, ""))


def _restore_secrets(
    sent: Mapping[str, SecretStr], stored: Mapping[str, SecretStr], what: str
) -> dict[str, SecretStr]:
    found = {
        name: stored.get(name, value) if value.get_secret_value() == MASK else value
        for name, value in sent.items()
    }
    unknown = sorted(name for name, value in found.items() if value.get_secret_value() == MASK)
    if unknown:
        raise BadInput(
            f"{MASK} keeps a value that is stored, and {what} has none for "
            f"{', '.join(unknown)[:200]}. Send the value."
        )
    return found


def _restore_url(shown: str, stored: str | None) -> str:
    """The stored address that was shown so."""
    if stored is None or mask_url(stored) != shown:
        raise BadInput(f"The address has {MASK} in it and is not the stored one. Send all of it.")
    return stored


def _single_endpoint(fields: ServerFields, stored: ServerSpec | None) -> ServerFields:
    """With an address no command, with a command no address."""
    has_command, has_url = bool(fields.get("command")), bool(fields.get("url"))
    if has_command and not has_url:
        if fields.get("transport", "auto") == "auto":
            fields["transport"] = "stdio"
        if stored is not None and stored.url is not None:
            fields.update(url=None, headers=fields.get("headers", {}))
    if has_url and not has_command and stored is not None and stored.command is not None:
        fields.update(command=None, args=(), env=fields.get("env", {}), cwd=None)
        fields.update(transport=fields.get("transport", "auto"), template_id=None)
    return fields
