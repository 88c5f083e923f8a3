"""Where a source is, as someone types it: a URL, a folder, a file. Secrets are asked for.

`${NAME}` stands for a variable of the environment, or for what is typed when it is not set. No
message here quotes a URL. Above: `sources.py`.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from pydantic import SecretStr

from dataagent_core.data.dialects import DIALECTS
from dataagent_core.errors import BadInput

AskSecret = Callable[[str], Awaitable[str | None]]
"""Asks a person for a secret; None when they leave."""

_VARIABLE = re.compile(r"\$\{([^{}]*)\}")
_FILE_KINDS = "|".join(name for each in DIALECTS if each.is_file for name in each.url_names)
_RELATIVE_FILE = re.compile(rf"({_FILE_KINDS})(\+\w+)?:///(?![/:])(?P<path>[^?]+)")
_AUTHORITY = re.compile(r"(?P<scheme>[\w+]+://)(?P<user>[^/@:?]*)(:(?P<password>[^/]*))?@")
_DATABASES = {ending: each.url_names[0] for each in DIALECTS for ending in each.file_endings}


class PromptCancelled(Exception):
    """The person was asked for a secret and left instead."""


@dataclass(frozen=True, slots=True)
class SourceLocation:
    """One of three: a database's URL, a folder, a file."""

    url: SecretStr | None = None
    folder: str | None = None
    files: tuple[str, ...] = ()
    is_password_typed: bool = False  # in clear on the command line


async def parse_location(
    written: str,
    *,
    environment: Mapping[str, str],
    ask: AskSecret | None,
    asks_password: bool = False,
) -> SourceLocation:
    """Where the written address leads.

    Raises:
        BadInput: there is nothing there, or a variable is not set and nobody can be asked.
        Left: whoever was asked left.
    """
    if "://" not in written and not _VARIABLE.fullmatch(written):
        return _local_path(written)
    found = _AUTHORITY.match(written)
    is_typed = bool(found and found["password"] and not _VARIABLE.search(found["password"]))
    url = await _expand_variables(written, environment, ask)
    if asks_password:
        url = _with_password(url, await _ask_secret(ask, "password"))
    return SourceLocation(url=SecretStr(_absolute(url)), is_password_typed=is_typed)


def _local_path(written: str) -> SourceLocation:
    whole = Path(written).expanduser().absolute()
    if whole.is_dir():
        return SourceLocation(folder=str(whole))
    if not whole.is_file():
        raise BadInput(
            f"There is no file or folder {written!r}.",
            details={
                "hint": "a database's address is like postgresql://USER@HOST/NAME or "
                "sqlite:///FILE."
            },
        )
    kind = _DATABASES.get(whole.suffix.lower())
    return (
        SourceLocation(files=(str(whole),))
        if kind is None
        else SourceLocation(url=SecretStr(f"{kind}:///{whole}"))
    )


def _absolute(url: str) -> str:
    """A file's URL from wherever the program is started next time."""
    found = _RELATIVE_FILE.match(url)
    if found is None:
        return url
    start, end = found.span("path")
    return f"{url[:start]}{Path(found['path']).absolute()}{url[end:]}"


# -- secrets --------------------------------------------------------------------------------


async def _expand_variables(
    written: str, environment: Mapping[str, str], ask: AskSecret | None
) -> str:
    """The URL with its variables; before the host their values are spelled as a URL needs it."""
    before_host = written.rfind("@")
    parts: list[str] = []
    end = 0
    for match in _VARIABLE.finditer(written):
        name = match[1]
        value = environment.get(name)
        if value is None:
            value = await _ask_secret(ask, name)
        is_part = match.start() < before_host
        parts += [written[end : match.start()], quote(value, safe="") if is_part else value]
        end = match.end()
    return "".join([*parts, written[end:]])


async def _ask_secret(ask: AskSecret | None, name: str) -> str:
    if ask is None:
        raise BadInput(
            f"{name!r} is needed, and nobody is at the terminal to be asked for it.",
            details={"hint": "set a variable of the environment and write ${NAME} in the URL."},
        )
    value = await ask(name)
    if value is None:
        raise PromptCancelled
    return value


def _with_password(url: str, password: str) -> str:
    found = _AUTHORITY.match(url)
    if found is None or not found["user"]:
        raise BadInput(
            "A password belongs to a user, and the URL names none.",
            details={"hint": "write it like postgresql://USER@HOST/NAME."},
        )
    start = f"{found['scheme']}{found['user']}:{quote(password, safe='')}@"
    return start + url[found.end() :]
