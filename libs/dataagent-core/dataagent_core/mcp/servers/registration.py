"""Registrations of MCP servers: their fields, checks and aliases. Pure.

The policy is checked elsewhere (`policy.py`).
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, TypedDict

from pydantic import SecretStr

from dataagent_core.errors import BadInput
from dataagent_core.mcp.types import OnChange, Scope, ServerSpec, SessionScope, Transport
from dataagent_core.storage.database import is_storable

MAX_NAME = 100
MAX_ALIAS = 32
_ALIAS = re.compile(r"[A-Za-z0-9_-]{1,32}")
_SERVER_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_NOT_IN_ALIAS = re.compile(r"[^A-Za-z0-9-]+")
_MOST_ARGS = 100
_MOST_SECRETS = 50
_LONGEST_TEXT = 8192
_LONGEST_SECRET = 32_768
_LONGEST_TIMEOUT = 3600.0
_MOST_AT_ONCE = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class NewServer:
    """A server to register. Its secrets are not shown by `repr`."""

    name: str
    scope: Scope
    server_id: str | None = None
    """Made unless an administrator chooses one."""
    alias: str | None = None
    """Made of the name."""
    transport: Transport = "auto"
    command: str | None = None
    args: tuple[str, ...] = field(default=(), repr=False)
    cwd: str | None = None
    env: Mapping[str, SecretStr] = field(default_factory=dict[str, SecretStr], repr=False)
    url: str | None = field(default=None, repr=False)
    headers: Mapping[str, SecretStr] = field(default_factory=dict[str, SecretStr], repr=False)
    proxy_url: str | None = field(default=None, repr=False)
    tenant_id: str = ""
    user_id: str = ""
    template_id: str | None = None
    session_scope: SessionScope | None = None
    """Shared servers are shared, a user's own is theirs."""
    connect_timeout_seconds: float = 30.0
    call_timeout_seconds: float = 30.0
    max_concurrency: int = 16
    on_change: OnChange | None = None
    """Shared servers' changed tools wait for a look, a user's own are taken."""
    disabled: bool = False
    read_only_tools: tuple[str, ...] = ()
    """Of a configuration file's server: tools that only read, as its author confirms."""


class ServerFields(TypedDict, total=False):
    """Fields of a server in a request; omitted fields stay as they are, or get the default."""

    alias: str
    transport: Transport
    command: str | None
    args: tuple[str, ...]
    cwd: str | None
    env: Mapping[str, SecretStr]
    url: str | None
    headers: Mapping[str, SecretStr]
    proxy_url: str | None
    template_id: str | None
    session_scope: SessionScope
    connect_timeout_seconds: float
    call_timeout_seconds: float
    max_concurrency: int
    on_change: OnChange
    disabled: bool


class ServerChanges(ServerFields, total=False):
    """Changes to a server; omitted fields stay. `env` and `headers` are replaced as a whole."""

    name: str


def spec_of(new: NewServer, *, server_id: str, alias: str) -> ServerSpec:
    """Return the spec of a new server.

    Raises:
        BadInput: a value does not do; the message says which and shows no secret.
    """
    is_own = new.scope in ("user", "file")
    spec = ServerSpec(
        server_id=server_id,
        scope=new.scope,
        name=new.name,
        alias=alias,
        transport=_transport(new.transport, new.command),
        command=new.command,
        args=tuple(new.args),
        cwd=new.cwd,
        env=dict(new.env),
        url=new.url,
        headers=dict(new.headers),
        proxy_url=new.proxy_url,
        tenant_id=new.tenant_id,
        user_id=new.user_id,
        template_id=new.template_id,
        session_scope=new.session_scope or ("user" if new.scope == "user" else "shared"),
        connect_timeout_seconds=new.connect_timeout_seconds,
        call_timeout_seconds=new.call_timeout_seconds,
        max_concurrency=new.max_concurrency,
        on_change=new.on_change or ("accept" if is_own else "quarantine"),
        disabled=new.disabled,
        read_only_tools=new.read_only_tools,
    )
    check(spec)
    return spec


def _transport(transport: Transport, command: str | None) -> Transport:
    return "stdio" if transport == "auto" and command is not None else transport


def check(spec: ServerSpec) -> None:
    """Check that a server can be stored and reached as described.

    Raises:
        BadInput: it cannot; the message says which value does not do and shows no secret.
    """
    _check_whose(spec)
    check_name(spec.name)
    if not _SERVER_ID.fullmatch(spec.server_id.removeprefix("file:")) and spec.scope != "file":
        raise BadInput("A server_id has 1 to 64 letters, digits, '.', '_' or '-'.")
    if not _ALIAS.fullmatch(spec.alias) or "__" in spec.alias:
        raise BadInput(
            f"An alias has 1 to {MAX_ALIAS} letters, digits, '_' or '-', and no double underscore."
        )
    _check_way(spec)
    _check_texts(spec)
    _check_secrets("env", spec.env)
    _check_secrets("headers", spec.headers)
    _check_numbers(spec)


def check_name(name: str) -> None:
    """Check a server's name.

    Raises:
        BadInput: it may not.
    """
    is_plain = is_storable(name) and not any(unicodedata.category(c)[0] == "C" for c in name)
    if not 0 < len(name) <= MAX_NAME or not is_plain or name != name.strip():
        raise BadInput(
            f"A server's name has 1 to {MAX_NAME} characters, none of them invisible, "
            "and no space at its ends."
        )
    if "/" in name or "\\" in name or name in (".", ".."):
        raise BadInput("A server's name has no slash and is not '.' or '..'.")


def alias_for(name: str, taken: Collection[str] = ()) -> str:
    """Derive from its name an alias for a server's tools that is not taken."""
    plain = unicodedata.normalize("NFKD", name)
    alias = re.sub(r"_{2,}", "_", _NOT_IN_ALIAS.sub("_", plain)).strip("_-")[:MAX_ALIAS].strip("_-")
    alias = alias or f"s_{hashlib.sha256(name.encode()).hexdigest()[:6]}"
    number = 1
    found = alias
    while found in taken:
        number += 1
        end = f"_{number}"
        found = alias[: MAX_ALIAS - len(end)].rstrip("_-") + end
    return found


def _check_whose(spec: ServerSpec) -> None:
    wanted = {
        "global": (False, False),
        "tenant": (True, False),
        "user": (False, True),
        "file": (False, False),
    }
    if wanted[spec.scope] != (bool(spec.tenant_id), bool(spec.user_id)):
        raise BadInput("A tenant's server names its tenant_id, a user's its user_id, others none.")


def _check_way(spec: ServerSpec) -> None:
    """Check that there is either a command or a url, with a matching transport."""
    if (spec.command is None) == (spec.url is None):
        raise BadInput(f"Server {spec.name!r} needs a command or a url, and not both.")
    is_program = spec.command is not None
    if is_program != (spec.transport == "stdio"):
        raise BadInput(
            "A command goes with transport 'stdio'; a url with 'sse', 'streamable_http' or 'auto'."
        )
    if is_program and (spec.headers or spec.proxy_url):
        raise BadInput("Headers and a proxy belong to a url; give a command its secrets in env.")
    if not is_program and (spec.env or spec.args or spec.cwd):
        raise BadInput("env, args and cwd belong to a command; give a url its secrets in headers.")
    if spec.template_id is not None and not is_program:
        raise BadInput("A template is for a command.")


def _check_texts(spec: ServerSpec) -> None:
    if len(spec.args) > _MOST_ARGS:
        raise BadInput(f"A command has at most {_MOST_ARGS} args.")
    texts: dict[str, Any] = {"command": spec.command, "cwd": spec.cwd, "url": spec.url}
    texts |= {"proxy_url": spec.proxy_url} | {f"args[{i}]": a for i, a in enumerate(spec.args)}
    for name, text in texts.items():
        if text is None:
            continue
        if len(text) > _LONGEST_TEXT or not is_storable(text):
            raise BadInput(f"{name} is too long or has characters that cannot be kept.")
    if spec.command is not None and not spec.command.strip():
        raise BadInput("The command is empty.")


def _check_secrets(what: str, secrets: Mapping[str, SecretStr]) -> None:
    if len(secrets) > _MOST_SECRETS:
        raise BadInput(f"A server has at most {_MOST_SECRETS} {what}.")
    for name, value in secrets.items():
        if not 0 < len(name) <= 128 or not is_storable(name):
            raise BadInput(f"A name in {what} is empty, too long or cannot be kept.")
        plain = value.get_secret_value()
        if len(plain) > _LONGEST_SECRET or not is_storable(plain):
            raise BadInput(f"The value of {name!r} in {what} is too long or cannot be kept.")


def _check_numbers(spec: ServerSpec) -> None:
    for name in ("connect_timeout_seconds", "call_timeout_seconds"):
        if not 0 < getattr(spec, name) <= _LONGEST_TIMEOUT:
            raise BadInput(f"{name} is more than 0 and at most {_LONGEST_TIMEOUT:.0f}.")
    if not 1 <= spec.max_concurrency <= _MOST_AT_ONCE:
        raise BadInput(f"max_concurrency is 1 to {_MOST_AT_ONCE}.")
