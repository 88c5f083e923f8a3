"""`mcp.json`: servers that someone writes down, in either of the two shapes in use.

    {"servers": [{"name": "files", "command": "uvx", "args": ["mcp-server-filesystem", "/data"],
                  "env": {"TOKEN": "${TOKEN}"}, "disabled": false}]}
    {"mcpServers": {"docs": {"url": "https://docs.example/mcp", "headers": {"X-Key": "…"},
                             "read_only_tools": ["search"]}}}

An entry that does not do is named and left out; the others are there. `${NAME}` is filled in from
an environment only where the caller says so, which is on a user's own machine. Above: the terminal,
`runs/mcp.py`. Below: `registration.py`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from pydantic import SecretStr

from dataagent_core.config.settings import environment as process_environment
from dataagent_core.errors import BadInput
from dataagent_core.mcp.registration import NewServer, alias_for, spec_of
from dataagent_core.mcp.types import ServerSpec, Transport

TIMEOUT_SECONDS = 30.0
_MAX_BYTES = 1024 * 1024
_MOST_SERVERS = 200
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-((?:(?!\$\{)[^}])*))?\}")
_TRANSPORTS: Mapping[str, Transport] = {
    "stdio": "stdio",
    "sse": "sse",
    "http": "streamable_http",
    "streamable_http": "streamable_http",
    "streamable-http": "streamable_http",
    "streamableHttp": "streamable_http",
    "auto": "auto",
}


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """What a file says: servers, and what is wrong with the rest."""

    servers: tuple[ServerSpec, ...] = ()
    problems: tuple[str, ...] = ()


def read_config_file(
    path: Path,
    *,
    expand: bool,
    environment: Mapping[str, str] | None = None,
    timeout_seconds: float = TIMEOUT_SECONDS,
) -> ConfigFile:
    """The servers of a file; a file that is not there has none. Never raises for what is in it.

    The options are those of `parse_config_file`.
    """
    try:
        with path.open("rb") as file:
            raw = file.read(_MAX_BYTES + 1)
    except FileNotFoundError:
        return ConfigFile()
    except OSError as error:
        return ConfigFile(problems=(f"{path.name} cannot be read: {error.strerror}.",))
    return parse_config_file(
        raw,
        path.name,
        expand=expand,
        environment=environment,
        timeout_seconds=timeout_seconds,
    )


def parse_config_file(
    raw: bytes,
    name: str,
    *,
    expand: bool,
    environment: Mapping[str, str] | None = None,
    timeout_seconds: float = TIMEOUT_SECONDS,
) -> ConfigFile:
    """The servers of a file of that name that holds this. Never raises for what is in it.

    `expand` fills in `${NAME}` and `${NAME:-otherwise}` from the environment. An entry that does
    not say how long connecting may take has `timeout_seconds`.
    """
    if len(raw) > _MAX_BYTES:
        return ConfigFile(problems=(f"{name} is larger than 1 MiB.",))
    if not raw.strip():
        return ConfigFile()
    try:
        content: Any = json.loads(raw)  # Any: JSON of any shape
    except (ValueError, RecursionError) as error:
        where = f" (line {error.lineno})" if isinstance(error, json.JSONDecodeError) else ""
        return ConfigFile(problems=(f"{name} is not JSON{where}.",))
    values = (process_environment() if environment is None else environment) if expand else None
    return servers_in(content, environment=values, file=name, timeout_seconds=timeout_seconds)


def servers_in(
    content: Any,
    *,
    environment: Mapping[str, str] | None = None,
    file: str = "mcp.json",
    timeout_seconds: float = TIMEOUT_SECONDS,
) -> ConfigFile:
    """The servers of a file's content; variables are filled in if there is an environment."""
    if not isinstance(content, dict):
        return ConfigFile(problems=(f"{file} is not an object with 'servers' or 'mcpServers'.",))
    entries = list(_entries(cast("dict[str, Any]", content)))  # JSON of any shape
    problems: list[str] = []
    if len(entries) > _MOST_SERVERS:
        problems.append(f"{file} has more than {_MOST_SERVERS} servers; the rest is left out.")
    servers: dict[str, ServerSpec] = {}
    for place, named, entry in entries[:_MOST_SERVERS]:
        try:
            spec = _server(
                named, entry, environment, taken=servers.values(), timeout_seconds=timeout_seconds
            )
        except BadInput as error:
            problems.append(f"{file}: {place} is left out. {error.message}")
            continue
        if spec.name in servers:
            problems.append(f"{file}: {place} is left out. There is one of that name before it.")
            continue
        servers[spec.name] = spec
    return ConfigFile(tuple(servers.values()), tuple(problems))


def _entries(content: dict[str, Any]) -> Iterator[tuple[str, str | None, Any]]:
    """Each server with how to name it in a sentence, and its name where that is the key."""
    listed = content.get("servers")
    if isinstance(listed, list):
        for number, entry in enumerate(cast("list[Any]", listed), 1):  # JSON of any shape
            yield f"server {number}", None, entry
    for key in ("mcpServers", "servers"):
        by_name = content.get(key)
        if isinstance(by_name, dict):
            for name, entry in cast("dict[str, Any]", by_name).items():  # JSON of any shape
                yield f"server {name[:80]!a}", name, entry


def _server(
    named: str | None,
    entry: Any,
    environment: Mapping[str, str] | None,
    *,
    taken: Any,
    timeout_seconds: float,
) -> ServerSpec:
    if not isinstance(entry, dict):
        raise BadInput("It is not an object.")
    fields = _Fields(cast("dict[str, Any]", entry), environment)  # JSON of any shape
    name = fields.text("name") if named is None else named
    if name is None:
        raise BadInput("It has no name.")
    alias = fields.text("alias")
    new = NewServer(
        name=name,
        scope="file",
        transport=fields.transport(),
        command=fields.text("command"),
        args=fields.texts("args"),
        cwd=fields.text("cwd"),
        env=fields.secrets("env"),
        url=fields.text("url") or fields.text("serverUrl"),
        headers=fields.secrets("headers"),
        connect_timeout_seconds=fields.number("timeout", timeout_seconds),
        call_timeout_seconds=fields.number("call_timeout", 30.0),
        disabled=fields.truth("disabled", False) or not fields.truth("enabled", True),
        read_only_tools=fields.texts("read_only_tools"),
    )
    aliases = {each.alias for each in taken}
    if alias in aliases:
        raise BadInput("There is one of that alias before it.")
    return spec_of(new, server_id=f"file:{name}", alias=alias or alias_for(name, aliases))


class _Fields:
    """An entry's values, each of the type it must have."""

    def __init__(self, entry: dict[str, Any], environment: Mapping[str, str] | None) -> None:
        self._entry = entry
        self._environment = environment

    def text(self, name: str) -> str | None:
        value = self._entry.get(name)
        if value is None:
            return None
        return self._filled(name, value)

    def texts(self, name: str) -> tuple[str, ...]:
        value = self._entry.get(name)
        if value is None:
            return ()
        if not isinstance(value, list):
            raise BadInput(f"{name!r} is not a list of texts.")
        return tuple(self._filled(name, each) for each in cast("list[Any]", value))  # JSON

    def secrets(self, name: str) -> dict[str, SecretStr]:
        value = self._entry.get(name)
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise BadInput(f"{name!r} is not an object of texts.")
        items = cast("dict[str, Any]", value).items()  # JSON of any shape
        return {key: SecretStr(self._filled(name, each)) for key, each in items}

    def number(self, name: str, usual: float) -> float:
        value = self._entry.get(name, usual)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise BadInput(f"{name!r} is not a number of seconds.")
        return float(value)

    def truth(self, name: str, usual: bool) -> bool:
        value = self._entry.get(name, usual)
        if not isinstance(value, bool):
            raise BadInput(f"{name!r} is not true or false.")
        return value

    def transport(self) -> Transport:
        """What is said, or what follows from a command or an address."""
        said = self._entry.get("transport", self._entry.get("type", "auto"))
        if not isinstance(said, str) or said not in _TRANSPORTS:
            raise BadInput(f"Its transport is none of: {', '.join(sorted(_TRANSPORTS))}.")
        return _TRANSPORTS[said]

    def _filled(self, name: str, value: Any) -> str:
        if isinstance(value, int | float) and not isinstance(value, bool) and name == "env":
            value = str(value)  # a port number, as people write it
        if not isinstance(value, str):
            raise BadInput(f"{name!r} has something that is not text.")
        if self._environment is None:
            return value
        return _VARIABLE.sub(lambda found: self._looked_up(name, found), value)

    def _looked_up(self, name: str, found: re.Match[str]) -> str:
        values = self._environment or {}
        if found[1] in values:
            return values[found[1]]
        if found[2] is not None:
            return found[2]
        raise BadInput(f"{name!r} asks for the environment variable {found[1]}, which is not set.")
