"""Which later calls one approval may stand for.

"Every call of this kind" must cover no more than the person who chooses it has read: a tool by its
name, a command by its program and subcommand, a request by its method and server. A call of which
that cannot be said has no kind, and is asked about each time. Pure.
"""

from __future__ import annotations

import math
import re
import shlex
from collections import Counter
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Final
from urllib.parse import unquote, urlsplit

MAX_QUERY_CHARACTERS: Final = 200
_MIN_TOKEN_CHARACTERS: Final = 32
_MIN_TOKEN_BITS: Final = 3.5
"""Bits per character: words have fewer in so many characters, encoded data more."""
_TOKEN: Final = re.compile(r"[A-Za-z0-9+/_-]+")
_SHELL_SYNTAX: Final = frozenset(";&|<>()`$\\\n\r")
"""Characters with which one command line may hold another; quoted ones count as well."""
_COMMAND_RUNNERS: Final = frozenset(
    {
        *("!", ".", "builtin", "busybox", "chroot", "command", "coproc", "doas", "env", "eval"),
        *("exec", "find", "flock", "ionice", "nice", "nohup", "parallel", "script", "setsid"),
        *("source", "ssh", "stdbuf", "strace", "su", "sudo", "taskset", "time", "timeout"),
        *("unshare", "watch", "xargs"),
    }
)
"""Programs that run whatever command they are given: their first words say nothing about it."""


def kind_of(name: str, args: Mapping[str, object]) -> str | None:
    """The kind of a call of a tool; two calls of one kind may be approved together."""
    if "command" in args:
        command = args["command"]
        prefix = command_prefix(command) if isinstance(command, str) else None
        return None if prefix is None else f"{name}: {prefix}"
    if isinstance(url := args.get("url"), str):
        server = _server(url)
        method = str(args.get("method") or "GET").upper()
        return None if server is None else f"{name}: {method} {server}"
    return name


def command_prefix(command: str) -> str | None:
    """The program and its words up to the first that is no option: `git status`, `ls -l src`.

    None for a line that may run more than one command, or a command that is not its first word.
    """
    if _SHELL_SYNTAX & set(command):
        return None
    try:
        words = shlex.split(command)
    except ValueError:  # a quotation mark is not closed
        return None
    if not words or "=" in words[0] or PurePosixPath(words[0]).name in _COMMAND_RUNNERS:
        return None
    end = next((at for at, word in enumerate(words[1:], 1) if not word.startswith("-")), len(words))
    return shlex.join(words[: end + 1])


def carries_data(url: str) -> bool:
    """Whether the query of an address is long, or has a part that looks like encoded data."""
    try:
        query = urlsplit(url).query
    except ValueError:
        return True
    if len(query) > MAX_QUERY_CHARACTERS:
        return True
    return any(_is_dense(token) for token in _TOKEN.findall(unquote(query)))


def _is_dense(token: str) -> bool:
    if len(token) < _MIN_TOKEN_CHARACTERS:
        return False
    shares = [count / len(token) for count in Counter(token).values()]
    return -sum(share * math.log2(share) for share in shares) >= _MIN_TOKEN_BITS


def _server(url: str) -> str | None:
    """Scheme, host and port; None if the address may carry data, or names a user."""
    try:
        parts = urlsplit(url.strip())
        port = "" if parts.port is None else f":{parts.port}"
    except ValueError:
        return None
    if not parts.hostname or "@" in parts.netloc or carries_data(url):
        return None
    return f"{parts.scheme}://{parts.hostname}{port}"
