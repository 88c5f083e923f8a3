"""Reads and writes `mcp.json`, a file of MCP servers in either of the two shapes in use.

    {"servers": [{"name": "files", "command": "uvx", "args": ["mcp-server-filesystem", "/data"],
                  "env": {"TOKEN": "${TOKEN}"}, "disabled": false}]}
    {"mcpServers": {"docs": {"url": "https://docs.example/mcp", "headers": {"X-Key": "…"},
                             "read_only_tools": ["search"]}}}

`MCPConfig` reads such a file for a program and raises at an invalid entry. `read_config_file`
reports invalid entries and returns the others. `${NAME}` is expanded from an environment only where
the caller says so, which is on a user's own machine.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Self, cast

from pydantic import SecretStr

from dataagent_core.config.private_files import write_private
from dataagent_core.config.settings import environment as process_environment
from dataagent_core.errors import BadInput
from dataagent_core.mcp.servers.registration import NewServer, alias_for, spec_of
from dataagent_core.mcp.types import ServerSpec, Transport

TIMEOUT_SECONDS = 30
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


# -- servers in a program -------------------------------------------------------------------------


@dataclass
class MCPServerConfig:
    """How one MCP server is reached: a command to start, or a `url` and None for the command.

    `timeout` is the seconds to connect, `call_timeout` those a call may take. `alias` is what the
    names of its tools begin with; made of the name unless said. `read_only_tools` change nothing,
    as the author of the file confirms.
    """

    name: str
    command: str | None
    args: list[str] = field(default_factory=list[str], repr=False)
    env: dict[str, str] = field(default_factory=dict[str, str], repr=False)
    disabled: bool = False
    timeout: float = TIMEOUT_SECONDS
    url: str | None = field(default=None, repr=False)
    transport: Transport = "auto"
    headers: dict[str, str] = field(default_factory=dict[str, str], repr=False)
    cwd: str | None = None
    alias: str | None = None
    call_timeout: float = 30
    read_only_tools: list[str] = field(default_factory=list[str])

    def spec(self, server_id: str | None = None, *, taken: Collection[str] = ()) -> ServerSpec:
        """Return the server's spec; `taken` are the aliases of the other servers.

        Raises:
            BadInput: a value does not do; the message says which and shows no secret.
        """
        if self.alias in taken:
            raise BadInput("There is one of that alias before it.")
        new = NewServer(
            name=self.name,
            scope="file",
            transport=self.transport,
            command=self.command or None,
            args=tuple(self.args),
            cwd=self.cwd,
            env=_secret(self.env),
            url=self.url,
            headers=_secret(self.headers),
            connect_timeout_seconds=float(self.timeout),
            call_timeout_seconds=float(self.call_timeout),
            disabled=self.disabled,
            read_only_tools=tuple(self.read_only_tools),
        )
        alias = self.alias or alias_for(self.name, taken)
        return spec_of(new, server_id=server_id or f"file:{self.name}", alias=alias)

    def entry(self) -> dict[str, Any]:
        """Return the server's entry: the standard fields, and those that are not the default."""
        values = asdict(self)
        return {
            name: value
            for name, value in values.items()
            if name in _ALWAYS_WRITTEN or value != _DEFAULTS[name]
        }


_ALWAYS_WRITTEN = ("name", "command", "args", "env", "disabled", "timeout")
_DEFAULTS: Mapping[str, Any] = {
    each.name: each.default if each.default_factory is MISSING else each.default_factory()
    for each in fields(MCPServerConfig)
}


def _secret(texts: Mapping[str, str]) -> dict[str, SecretStr]:
    return {name: SecretStr(str(text)) for name, text in texts.items()}  # a port may be a number


@dataclass
class MCPConfig:
    """The servers of a configuration file."""

    servers: list[MCPServerConfig] = field(default_factory=list[MCPServerConfig])

    @classmethod
    def from_file(cls, path: str | Path) -> Self:
        """Parse a file in either shape without expanding variables; empty if it does not exist.

        Raises:
            BadInput: it is no such file, or an entry makes no sense; the message says which.
        """
        place = Path(path)
        raw = _raw(place)
        config = cls()
        for which, named, entry in [] if raw is None else _entries(_content(raw, place.name)):
            try:
                server = _server(named, entry, None)
            except BadInput as error:
                raise BadInput(f"{place.name}: {which} cannot be used. {error.message}") from None
            if any(server.name == each.name for each in config.servers):
                raise BadInput(f"{place.name}: {which} has the name of one before it.")
            config.servers.append(server)
        return config

    def to_file(self, path: str | Path) -> None:
        """Write the servers as JSON, whole or not at all, to a file only its owner may read.

        Raises:
            OSError: it cannot be written.
        """
        content = {"servers": [server.entry() for server in self.servers]}
        write_private(Path(path), json.dumps(content, indent=2, ensure_ascii=False))


# -- servers of a file, for who goes on without those that do not do ------------------------------


@dataclass(frozen=True, slots=True)
class ParsedConfigFile:
    """The valid servers of a file, and the problems of the others."""

    servers: tuple[ServerSpec, ...] = ()
    problems: tuple[str, ...] = ()


def read_config_file(
    path: Path,
    *,
    expand: bool,
    environment: Mapping[str, str] | None = None,
    timeout_seconds: float = TIMEOUT_SECONDS,
) -> ParsedConfigFile:
    """Parse a file; without a file there are no servers. Never raises for its content.

    The options are those of `parse_config_file`.
    """
    try:
        raw = _raw(path)
    except BadInput as error:
        return ParsedConfigFile(problems=(error.message,))
    return parse_config_file(
        raw or b"",
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
) -> ParsedConfigFile:
    """Parse the content of a file of that name. Never raises for its content.

    `expand` fills in `${NAME}` and `${NAME:-otherwise}` from the environment. An entry that does
    not say how long connecting may take has `timeout_seconds`.
    """
    try:
        content = _content(raw, name)
    except BadInput as error:
        return ParsedConfigFile(problems=(error.message,))
    values = (process_environment() if environment is None else environment) if expand else None
    return servers_in(content, environment=values, file=name, timeout_seconds=timeout_seconds)


def servers_in(
    content: Any,
    *,
    environment: Mapping[str, str] | None = None,
    file: str = "mcp.json",
    timeout_seconds: float = TIMEOUT_SECONDS,
) -> ParsedConfigFile:
    """Return the servers of a file's content; an environment expands variables."""
    try:
        entries = _entries(_object(content, file))
    except BadInput as error:
        return ParsedConfigFile(problems=(error.message,))
    problems: list[str] = []
    if len(entries) > _MOST_SERVERS:
        problems.append(f"{file} has more than {_MOST_SERVERS} servers; the rest is left out.")
    servers: dict[str, ServerSpec] = {}
    for which, named, entry in entries[:_MOST_SERVERS]:
        taken = {each.alias for each in servers.values()}
        try:
            server = _server(named, entry, environment, timeout_seconds=timeout_seconds)
            spec = server.spec(taken=taken)
        except BadInput as error:
            problems.append(f"{file}: {which} is left out. {error.message}")
            continue
        if spec.name in servers:
            problems.append(f"{file}: {which} is left out. There is one of that name before it.")
            continue
        servers[spec.name] = spec
    return ParsedConfigFile(tuple(servers.values()), tuple(problems))


# -- reading --------------------------------------------------------------------------------------


def _raw(path: Path) -> bytes | None:
    """Read a file, or the beginning of one that is too large; None if it does not exist."""
    try:
        with path.open("rb") as file:
            return file.read(_MAX_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise BadInput(f"{path.name} cannot be read: {error.strerror}.") from None


def _content(raw: bytes, file: str) -> dict[str, Any]:
    """Return the object in a file; an empty file is an empty object."""
    if len(raw) > _MAX_BYTES:
        raise BadInput(f"{file} is larger than 1 MiB.")
    if not raw.strip():
        return {}
    try:
        content: Any = json.loads(raw)  # Any: JSON of any shape
    except (ValueError, RecursionError) as error:
        where = f" (line {error.lineno})" if isinstance(error, json.JSONDecodeError) else ""
        raise BadInput(f"{file} is not JSON{where}.") from None
    return _object(content, file)


def _object(content: Any, file: str) -> dict[str, Any]:
    if not isinstance(content, dict):
        raise BadInput(f"{file} is not an object with 'servers' or 'mcpServers'.")
    return cast("dict[str, Any]", content)  # JSON of any shape


def _entries(content: dict[str, Any]) -> list[tuple[str, str | None, Any]]:
    """Return each server's label for messages, its name if that is the key, and its entry."""
    return [*_listed(content), *_by_name(content)]


def _listed(content: dict[str, Any]) -> Iterator[tuple[str, str | None, Any]]:
    listed = content.get("servers")
    if isinstance(listed, list):
        for number, entry in enumerate(cast("list[Any]", listed), 1):  # JSON of any shape
            yield f"server {number}", None, entry


def _by_name(content: dict[str, Any]) -> Iterator[tuple[str, str | None, Any]]:
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
    timeout_seconds: float = TIMEOUT_SECONDS,
) -> MCPServerConfig:
    """Parse an entry, checking the type of each value."""
    if not isinstance(entry, dict):
        raise BadInput("It is not an object.")
    values = _Fields(cast("dict[str, Any]", entry), environment)  # JSON of any shape
    name = values.text("name") if named is None else named
    if name is None:
        raise BadInput("It has no name.")
    return MCPServerConfig(
        name=name,
        command=values.text("command"),
        args=values.texts("args"),
        env=values.named_texts("env"),
        disabled=values.boolean("disabled", False) or not values.boolean("enabled", True),
        timeout=values.number("timeout", timeout_seconds),
        url=values.text("url") or values.text("serverUrl"),
        transport=values.transport(),
        headers=values.named_texts("headers"),
        cwd=values.text("cwd"),
        alias=values.text("alias"),
        call_timeout=values.number("call_timeout", 30),
        read_only_tools=values.texts("read_only_tools"),
    )


class _Fields:
    """An entry's values, each checked for its type."""

    def __init__(self, entry: dict[str, Any], environment: Mapping[str, str] | None) -> None:
        self._entry = entry
        self._environment = environment

    def text(self, name: str) -> str | None:
        value = self._entry.get(name)
        if value is None:
            return None
        return self._filled(name, value)

    def texts(self, name: str) -> list[str]:
        value = self._entry.get(name)
        if value is None:
            return []
        if not isinstance(value, list):
            raise BadInput(f"{name!r} is not a list of texts.")
        return [self._filled(name, each) for each in cast("list[Any]", value)]  # JSON

    def named_texts(self, name: str) -> dict[str, str]:
        value = self._entry.get(name)
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise BadInput(f"{name!r} is not an object of texts.")
        items = cast("dict[str, Any]", value).items()  # JSON of any shape
        return {key: self._filled(name, each) for key, each in items}

    def number(self, name: str, default: float) -> float:
        value = self._entry.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise BadInput(f"{name!r} is not a number of seconds.")
        return value

    def boolean(self, name: str, default: bool) -> bool:
        value = self._entry.get(name, default)
        if not isinstance(value, bool):
            raise BadInput(f"{name!r} is not true or false.")
        return value

    def transport(self) -> Transport:
        """Return the given transport, or the one a command or an address implies."""
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
