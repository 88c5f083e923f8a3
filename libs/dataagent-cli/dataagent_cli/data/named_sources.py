"""Names, files, folders and URLs of the command line as data sources.

Files with tables become one source together, so that they can be joined; a database is a source of
its own. They exist for this process only. A plain word is the name of a registered source.
`${NAME}` in a URL stands for a variable of the environment, or is asked for; no message quotes a
URL.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from pydantic import SecretStr

from dataagent_core.config.settings import environment
from dataagent_core.data.dialects import DIALECTS
from dataagent_core.data.sources import NewSource, Source
from dataagent_core.errors import BadInput

if TYPE_CHECKING:
    from dataagent_cli.data.context import DataCommandContext


AskSecret = Callable[[str], Awaitable[str | None]]
"""Asks the user for a secret; None when they cancel."""

_VARIABLE = re.compile(r"\$\{([^{}]*)\}")
_FILE_KINDS = "|".join(name for each in DIALECTS if each.is_file for name in each.url_names)
_RELATIVE_FILE = re.compile(rf"({_FILE_KINDS})(\+\w+)?:///(?![/:])(?P<path>[^?]+)")
_AUTHORITY = re.compile(r"(?P<scheme>[\w+]+://)(?P<user>[^/@:?]*)(:(?P<password>[^/]*))?@")
_DATABASES = {ending: each.url_names[0] for each in DIALECTS for ending in each.file_endings}


class PromptCancelled(Exception):
    """The user was asked for a secret and cancelled."""


@dataclass(frozen=True, slots=True)
class SourceLocation:
    """One of three: a database's URL, a folder, a file."""

    url: SecretStr | None = None
    folder: str | None = None
    files: tuple[str, ...] = ()
    is_password_typed: bool = False  # in clear text on the command line


async def parse_location(
    written: str,
    *,
    environment: Mapping[str, str],
    ask: AskSecret | None,
    asks_password: bool = False,
) -> SourceLocation:
    """The location that a text names: a URL, a folder or a file.

    Raises:
        BadInput: it does not exist, or a variable is not set and no one can be asked.
        PromptCancelled: the user was asked for a secret and cancelled.
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
    """A file's URL with an absolute path, since the program may be started elsewhere next."""
    found = _RELATIVE_FILE.match(url)
    if found is None:
        return url
    start, end = found.span("path")
    return f"{url[:start]}{Path(found['path']).absolute()}{url[end:]}"


# -- secrets --------------------------------------------------------------------------------


async def _expand_variables(
    written: str, environment: Mapping[str, str], ask: AskSecret | None
) -> str:
    """The URL with its variables replaced; before the host their values are percent-encoded."""
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
            f"{name!r} is needed, and there is no terminal to ask on.",
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


_NAME = re.compile(r"\w[\w-]{0,63}")
_COMBINED_NAME = "files"
_MOST_NAME = 60


def is_name(written: str) -> bool:
    """Whether a text is the name of a registered source, and not a path or URL."""
    return _NAME.fullmatch(written) is not None


async def open_sources(context: DataCommandContext, written: Sequence[str]) -> list[Source]:
    """The named sources in their order; files and URLs are opened for this process.

    Raises:
        BadInput: there is no such file, or it is not a table.
        SourceNotFound: there is no source of that name.
        SourceUnavailable: a database does not answer.
    """
    reader = await context.reader()
    found: list[Source] = []
    files: list[str] = []
    for each in written:
        if is_name(each):
            found.append(await context.service.source(reader, each))
            continue
        place = await _parse_location(each)
        if place.files:
            files += place.files
        else:
            found.append(await _register_temporary(context, _derived_name(place, each), place))
    if files:
        name = _sanitized_name(Path(files[0]).stem) if len(files) == 1 else _COMBINED_NAME
        found.insert(
            0,
            await _register_temporary(
                context, name, SourceLocation(files=tuple(dict.fromkeys(files)))
            ),
        )
    return found


async def resolve_source(context: DataCommandContext, written: Sequence[str]) -> Source:
    """The one named source; the default one if none is named.

    Raises:
        BadInput: there is more than one.
        Others: as `open_sources`.
    """
    if not written:
        return await context.service.source(await context.reader())
    found = await open_sources(context, written)
    if len(found) > 1:
        names = ", ".join(source.name for source in found)
        raise BadInput(
            f"A statement reads one source, and these are {len(found)}: {names}.",
            details={"hint": "files with tables are one source together; name them alone."},
        )
    return found[0]


async def _parse_location(written: str) -> SourceLocation:
    try:
        return await parse_location(written, environment=environment(), ask=None)
    except PromptCancelled as error:  # cannot happen without `ask`
        raise BadInput(f"{written!r} needs a password.") from error


async def _register_temporary(
    context: DataCommandContext, name: str, place: SourceLocation
) -> Source:
    new = NewSource(name, url=place.url, folder=place.folder, files=place.files)
    return await context.service.add_temporary(new, owner_id=context.user_id)


def _derived_name(place: SourceLocation, written: str) -> str:
    """A name for a folder or a database, from the last part of its location."""
    if "://" not in written:
        return _sanitized_name(Path(written).absolute().stem)
    return _sanitized_name(
        written.partition("?")[0].rstrip("/").rpartition("/")[2].partition(".")[0]
    )


def _sanitized_name(text: str) -> str:
    return re.sub(r"[^\w-]+", "_", text).strip("_-")[:_MOST_NAME] or "data"
