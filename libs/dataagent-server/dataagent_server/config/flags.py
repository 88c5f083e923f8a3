"""A command-line flag for every setting, made from the settings classes.

`max_connections` is `--max-connections`. A secret has no flag of its own, since everyone on the
machine can read a command line: `--database-url-file PATH` reads it from a file, `-` is stdin.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any, Literal, cast, get_args, get_origin

from pydantic import SecretStr
from pydantic.fields import FieldInfo

from dataagent_core.config import Settings
from dataagent_core.config.settings import setting_groups, variables
from dataagent_core.errors import Misconfigured
from dataagent_server.config.settings import ServerSettings

_PREFIX = "setting:"
_FILE = "secret:"
_COMMON = ("home", "log_level")
SERVING = ("host", "port", "workers")
_MAX_SECRET_BYTES = 64 * 1024


def add_flags(parser: argparse.ArgumentParser, *, are_all_shown: bool) -> None:
    """Add a flag for every setting; help lists all of them, or only the common ones."""
    for title, names in [
        *setting_groups(Settings).items(),
        *setting_groups(ServerSettings).items(),
    ]:
        group = parser.add_argument_group(title)
        for name in names:
            _add(group, name, is_shown=are_all_shown or name in _COMMON)


def add_serving_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `serve` that may stand before the command or without one."""
    group = parser.add_argument_group("serving")
    for name in SERVING:
        _add(group, name, is_shown=True)


def settings_from_flags(arguments: argparse.Namespace) -> dict[str, Any]:
    """The settings on the command line, secrets read from their files.

    Raises:
        Misconfigured: a file cannot be read.
    """
    found: dict[str, Any] = {}
    for key, value in vars(arguments).items():
        if key.startswith(_PREFIX):
            found[key.removeprefix(_PREFIX)] = value
        elif key.startswith(_FILE):
            found[key.removeprefix(_FILE)] = _read(value)
    return found


def _add(group: Any, name: str, *, is_shown: bool) -> None:  # Any: argparse's type is private
    field = ServerSettings.model_fields[name]
    flag = "--" + name.replace("_", "-")
    options: dict[str, Any] = {"default": argparse.SUPPRESS, "dest": _PREFIX + name}
    text = _help(name, field) if is_shown else argparse.SUPPRESS
    if _is_secret(field):
        options |= {"dest": _FILE + name, "metavar": "PATH"}
        flag += "-file"
        text = f"file to read it from, - for stdin; {text}" if is_shown else text
    elif field.annotation is bool:
        options["action"] = argparse.BooleanOptionalAction
    elif choices := _choices(field.annotation):
        options |= {"choices": choices, "type": _letter_case(choices)}
    else:
        options["metavar"] = "VALUE"
    group.add_argument(flag, help=text, **options)


def _help(name: str, field: FieldInfo) -> str:
    parts = [field.description] if field.description else []
    parts.append(variables(ServerSettings, name)[0])
    value = field.get_default(call_default_factory=True)
    if value not in (None, "", []) and not _is_secret(field):
        values = cast("list[object]", value) if isinstance(value, list) else [value]
        shown = ",".join(map(str, values))
        parts.append(f"default {shown}")
    return "; ".join(parts).replace("%", "%%")


def _is_secret(field: FieldInfo) -> bool:
    """Whether its type or its missing `repr` marks it as secret."""
    kinds = (field.annotation, *get_args(field.annotation))
    return SecretStr in kinds or not field.repr


def _choices(annotation: Any) -> tuple[str, ...]:  # Any: an annotation can be any object
    for kind in (annotation, *get_args(annotation)):
        if get_origin(kind) is Literal:
            return get_args(kind)
    return ()


def _letter_case(choices: tuple[str, ...]) -> type[str] | Any:
    """The case of the choices, so that `debug` is accepted for `DEBUG`."""
    return str.upper if all(choice.isupper() for choice in choices) else str


def _read(path: str) -> str:
    try:
        if path == "-":
            return sys.stdin.readline().rstrip("\r\n")
        with Path(path).open(encoding="utf-8") as file:
            return file.read(_MAX_SECRET_BYTES).strip()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "is not text"
        raise Misconfigured(f"The file {path} cannot be read: {reason}.") from error
