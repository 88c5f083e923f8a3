"""Decides which MCP servers may be registered and started, and by whom.

A program is the dangerous kind: registering it runs it on this machine. Users therefore get
programs only from an administrator's template or from the operator's list, where an entry is the
beginning of a whole command line: a list of program names alone protects nothing, as `npx -c …` or
`python -c …` run anything. Addresses are open to everyone, subject to `network/`. Nothing from our
own environment is passed to a server.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import Literal
from urllib.parse import parse_qsl

from pydantic import SecretStr

from dataagent_core.errors import BadInput, HostNotAllowed, Misconfigured, ServerNotAllowed
from dataagent_core.mcp.servers.registration import NewServer
from dataagent_core.mcp.types import ServerSpec
from dataagent_core.network import HostPolicy, parse_target
from dataagent_core.telemetry import Scrubber

StdioRule = Literal["off", "templates", "any"]
"""No programs; from administrators, templates and the operator's list; anything."""

_LAUNCHERS = frozenset(
    {
        "npx", "npm", "pnpm", "yarn", "bunx", "bun", "deno", "node", "nodejs", "uvx", "uv",
        "pipx", "pip", "python", "python2", "python3", "pypy", "pypy3", "perl", "ruby", "php",
        "lua", "java", "dotnet", "go", "cargo", "sh", "bash", "dash", "zsh", "ksh", "fish",
        "busybox", "env", "sudo", "doas", "su", "xargs", "nohup", "setsid", "timeout", "nice",
        "time", "watch", "ssh", "docker", "podman", "nerdctl", "kubectl", "make", "find", "awk",
        "gawk", "sed", "vi", "vim", "ed", "git", "tar", "rsync", "gdb", "strace", "ld.so",
        "unshare", "nsenter", "chroot", "bwrap", "script", "cmd", "powershell", "pwsh"
    }
)  # fmt: skip
"""Programs that run whatever their arguments say."""
_INVISIBLE = re.compile(r"[^\x21-\x7e ]")
_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_LOADS_CODE = re.compile(
    r"(LD|DYLD|GLIBC|NPM_CONFIG|UV|PIP|PIPX|DOCKER|GIT|BASH_FUNC|DATAAGENT)_.*"
    r"|PATH|HOME|SHELL|ENV|BASH_ENV|ZDOTDIR|IFS|PS4|PROMPT_COMMAND|GCONV_PATH|LOCPATH|NLSPATH"
    r"|(PYTHON|PERL5?|RUBY|NODE|JAVA|JDK|LUA|PHP)(_?(PATH|HOME|STARTUP|OPT|OPTIONS|LIB|INIT|"
    r"BREAKPOINT|INSPECT|EXECUTABLE|USERBASE|WARNINGS|TOOL_OPTIONS|INI_SCAN_DIR|DB).*)"
    r"|_JAVA_OPTIONS|CLASSPATH|EDITOR|VISUAL|PAGER|BROWSER",
    re.IGNORECASE,
)
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}")
_HEADER_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
_OURS = frozenset(
    {
        "host", "content-length", "content-type", "transfer-encoding", "connection", "upgrade",
        "te", "trailer", "expect", "accept", "accept-encoding", "mcp-session-id",
        "mcp-protocol-version", "mcp-method", "mcp-name", "last-event-id", "keep-alive",
        "proxy-connection"
    }
)  # fmt: skip
"""Headers that the transport sets."""
_CREDENTIAL = re.compile(
    r"(?:^|[._-])(key|auth|sig|signature|jwt|sid|session|access|code|pwd|pw|bearer)(?:$|[._-])",
    re.IGNORECASE,
)
_VARIABLE = re.compile(r"\$[A-Za-z_]")
_SECRET_OPTION = re.compile(r"-[\w-]*=.+", re.DOTALL)
_SECRET_WORD = re.compile(r"password|passwd|secret|token|api[_-]?key", re.IGNORECASE)
_SECRET_URL = re.compile(r"[A-Za-z][\w+.-]*://[^/@\s:]*+:[^/@\s]+@")


class ServerPolicy:
    """The installation's policy for MCP servers."""

    def __init__(
        self, hosts: HostPolicy, *, stdio: StdioRule = "templates", commands: Sequence[str] = ()
    ) -> None:
        """`commands` are beginnings of command lines that users may start.

        Raises:
            Misconfigured: one of them would let users start anything.
        """
        self._hosts = hosts
        self._stdio = stdio
        self._commands = tuple(_command(line) for line in commands)
        self._scrubber = Scrubber()

    def check(self, server: NewServer | ServerSpec, *, is_admin: bool) -> None:
        """Check that a server may be registered, or started.

        Raises:
            ServerNotAllowed: they may not; the message says whom to ask.
            BadInput: no one may, as it is written; no secret is shown.
        """
        if server.command is not None or server.transport == "stdio" or server.args:
            self._check_program(server, is_admin=is_admin)
        if server.url is not None:
            self._check_url(server.url)
        if server.proxy_url is not None:
            self._check_proxy(server.proxy_url, is_admin=is_admin)
        _check_headers(server.headers)
        if self._stdio != "any":
            _refuse_variables(server)

    # -- programs -------------------------------------------------------------------------------

    def _check_program(self, server: NewServer | ServerSpec, *, is_admin: bool) -> None:
        if self._stdio == "any":
            return
        if self._stdio == "off":
            raise ServerNotAllowed(
                "Programs are not started as MCP servers here (DATAAGENT_MCP_STDIO=off). "
                "Register a server with a url."
            )
        words = (server.command or "", *server.args)
        if not is_admin and server.template_id is None and not self._is_listed(words):
            raise ServerNotAllowed(
                "This program may not be started as an MCP server here. Choose a template, "
                "register a server with a url, or ask an administrator to register it."
            )
        if not is_admin and server.cwd is not None:
            raise ServerNotAllowed("The working directory is not yours to choose. Leave cwd out.")
        if any(_INVISIBLE.search(word) for word in words[:1]):
            raise BadInput("The command has characters that do not belong in one.")
        if any(_is_secret(word) for word in words[1:]):
            raise BadInput("An argument looks like a credential. Put it into env, which is sealed.")
        _check_env(server.env)

    def _is_listed(self, words: tuple[str, ...]) -> bool:
        return any(words[: len(known)] == known for known in self._commands)

    # -- addresses ------------------------------------------------------------------------------

    def _check_url(self, url: str) -> None:
        try:
            target = self._hosts.check_url(url)
        except HostNotAllowed as error:
            raise ServerNotAllowed(error.message) from None
        if target.url.fragment:
            raise BadInput("The url has a fragment (#…), which is never sent. Leave it out.")
        for name, _ in parse_qsl(target.url.query_string, keep_blank_values=True):
            if _CREDENTIAL.search(name) or self._scrubber.hides(name):
                raise BadInput(
                    f"The url carries a credential ({name[:40]!r}): urls get into logs. "
                    "Put it into headers."
                )

    def _check_proxy(self, url: str, *, is_admin: bool) -> None:
        if not is_admin and self._stdio != "any":
            raise ServerNotAllowed("A proxy is an administrator's to set. Leave proxy_url out.")
        try:
            parse_target(url)
        except HostNotAllowed as error:
            raise BadInput(f"proxy_url does not do. {error.message}") from None


def _command(line: str) -> tuple[str, ...]:
    """Return the words of a command line that users may begin with."""
    try:
        words = tuple(shlex.split(line))
    except ValueError:
        words = ()
    if not words:
        raise Misconfigured("DATAAGENT_MCP_STDIO_COMMANDS has an entry that is no command line.")
    program = PurePath(words[0]).name.lower().removesuffix(".exe").rstrip("0123456789.")
    if program in _LAUNCHERS and (len(words) == 1 or words[-1].startswith("-")):
        raise Misconfigured(
            f"DATAAGENT_MCP_STDIO_COMMANDS lets users start anything with {words[0]!r}. Name what "
            "it may run as well, such as 'npx -y @scope/package'."
        )
    return words


def _is_secret(word: str) -> bool:
    """Whether an argument looks like a credential: `--api-key=…`, `https://user:password@…`."""
    if _SECRET_OPTION.fullmatch(word):
        return _SECRET_WORD.search(word.partition("=")[0]) is not None
    return _SECRET_URL.match(word) is not None


def _check_env(env: Mapping[str, SecretStr]) -> None:
    for name in env:
        if not _ENV_NAME.fullmatch(name):
            raise BadInput("A name in env has letters, digits and '_', and begins with no digit.")
        if _LOADS_CODE.fullmatch(name):
            raise ServerNotAllowed(f"{name} in env changes which code is run. Leave it out.")


def _check_headers(headers: Mapping[str, SecretStr]) -> None:
    seen: set[str] = set()
    for name, value in headers.items():
        if not _HEADER_NAME.fullmatch(name):
            raise BadInput("A name in headers is not the name of a header.")
        if name.lower() in _OURS:
            raise BadInput(f"The header {name} is set by the transport. Leave it out.")
        if name.lower() in seen:
            raise BadInput(f"The header {name} is there twice.")
        seen.add(name.lower())
        if not _HEADER_VALUE.fullmatch(value.get_secret_value()):
            raise BadInput(f"The value of header {name} has characters that do not belong in one.")


def _refuse_variables(server: NewServer | ServerSpec) -> None:
    """Refuse variables: a server expands none, so they would be sent literally."""
    for where, text in _texts(server):
        _, begin, after = text.partition("${")
        if (begin and "}" in after) or _VARIABLE.search(text):
            raise BadInput(
                f"{where} has a ${{…}} in it. Variables are not filled in here: write the value."
            )


def _texts(server: NewServer | ServerSpec) -> Iterable[tuple[str, str]]:
    yield "url", server.url or ""
    for arg in server.args:
        yield "args", arg
    for name, value in server.env.items():
        yield f"env {name}", value.get_secret_value()
    for name, value in server.headers.items():
        yield f"header {name}", value.get_secret_value()
