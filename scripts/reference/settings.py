"""docs/reference/settings.md, from the settings classes."""

from __future__ import annotations

import types
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import SecretStr
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from dataagent_core.config import Settings
from dataagent_core.config.settings import SettingsGroup, setting_groups, variables
from dataagent_server.config import ServerSettings
from scripts.reference.tables import row

_INTRO = """\
# Settings

Read from the environment, from a file `.env` in the working directory (by the server, not by the
terminal, whose folder may belong to anyone), and from `config.toml` in the data directory, where a
name is written without `DATAAGENT_` and in small letters (`model = "offline"`); the first value
counts. Nothing has to be set. Lists are written with commas. This page is generated from
the code: `make docs` writes it.
"""
_PLACES: dict[str, type[SettingsGroup]] = {
    "Everywhere": Settings,
    "The server, in addition": ServerSettings,
}


def kind(annotation: Any) -> str:  # Any: an annotation can be any object
    """A type as a reader would say it."""
    origin = get_origin(annotation)
    if origin in (Union, types.UnionType):
        parts = [part for part in get_args(annotation) if part is not type(None)]
        return " or ".join(kind(part) for part in parts)
    if origin is Annotated:
        return kind(get_args(annotation)[0])
    if origin is Literal:
        return ", ".join(f"`{value}`" for value in get_args(annotation))
    if origin in (list, tuple):
        return "list"
    if origin is dict:
        return "object"
    names = {str: "text", int: "whole number", float: "number", bool: "`true`, `false`"}
    names |= {Path: "path", SecretStr: "secret", Any: "any JSON"}
    return names.get(annotation, str(getattr(annotation, "__name__", annotation)))


def default(field: FieldInfo) -> str:
    """A field's default as one would write it in the environment."""
    # pydantic leaves it open
    value = field.get_default(call_default_factory=True)
    if value is None or value is PydanticUndefined or value in ("", [], ()):
        return ""
    if isinstance(value, SecretStr):
        return "`••••`" if value.get_secret_value() else ""
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, float):
        return f"`{value:g}`"
    if isinstance(value, list):
        # of any kind
        return f"`{','.join(map(str, value))}`"  # pyright: ignore[reportUnknownArgumentType]
    return f"`{value}`"


def section(title: str, settings: type[SettingsGroup]) -> str:
    """One class's settings, a table a group; explained where the code explains them."""
    fields = settings.model_fields
    head = ["variable", "kind", "default"]
    if any(field.description for field in fields.values()):
        head.append("what it does")
    lines = [f"## {title}"]
    for group, names in setting_groups(settings).items():
        lines += ["", f"### {group[0].upper()}{group[1:]}", ""]
        lines += [row(head), row(["---"] * len(head))]
        for name in names:
            field = fields[name]
            written = ", ".join(f"`{one}`" for one in variables(settings, name))
            cells = [written, kind(field.annotation), default(field)]
            lines.append(row([*cells, field.description or ""][: len(head)]))
    return "\n".join(lines) + "\n"


def page() -> str:
    """The whole page."""
    return "\n".join([_INTRO, *(section(*place) for place in _PLACES.items())])
