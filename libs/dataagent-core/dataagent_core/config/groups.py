"""Which settings belong together: the comment lines that part them in their class's source.

The settings page and the server's `--help` show them so. A class without its source is one group.
"""

from __future__ import annotations

import inspect
import re
from functools import cache
from typing import Any

from pydantic_settings import BaseSettings

_TITLE = re.compile(r"    # ([^-].*)")
_FIELD = re.compile(r"    (\w+):")


@cache
def setting_groups(settings: type[BaseSettings]) -> dict[str, list[str]]:
    """The settings a class declares itself, by title, in the order of its source.

    What it is put together from, and is no settings of a program's by itself, comes after.
    """
    found: dict[str, list[str]] = {}
    bases: tuple[type[Any], ...] = settings.__bases__
    parts = [part for part in bases if not issubclass(part, BaseSettings)]
    for part in (settings, *parts):
        title = "other"
        for line in _source(part).splitlines():
            if comment := _TITLE.fullmatch(line):
                title = comment[1]
            elif (declared := _FIELD.match(line)) and declared[1] in settings.model_fields:
                found.setdefault(title, []).append(declared[1])
    return found


def _source(settings: type[Any]) -> str:
    try:
        return inspect.getsource(settings)
    except OSError:  # installed without sources
        own: list[str] = [
            name for name in settings.__annotations__ if name in settings.model_fields
        ]
        return "\n".join(f"    {name}:" for name in own)


def variables(settings: type[BaseSettings], name: str) -> list[str]:
    """The environment variables that set a setting; the first one wins."""
    alias = settings.model_fields[name].validation_alias
    if alias is None:
        prefix = settings.model_config.get("env_prefix", "")
        return [f"{prefix}{name}".upper()]
    choices: list[object] = list(getattr(alias, "choices", [alias]))
    return [str(choice) for choice in choices]
