"""Changes `config.toml`: a few lines of it, whole or not at all, for its owner's eyes only.

What else stands in the file stays, comments too. Reading it is core's affair
(`config/settings.py`).
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path

from dataagent_core.config.private_files import write_private
from dataagent_core.config.settings import read_config
from dataagent_core.errors import Misconfigured

_TITLE = "# Settings of DataAgent. The environment counts more. `dataagent init` changes it.\n"
Value = str | bool | None
"""None takes the setting out of the file."""


def change_config(path: Path, values: Mapping[str, Value]) -> None:
    """Set these, and leave the rest as it is.

    Raises:
        Misconfigured: the file is no TOML, or is written in a way that cannot be changed by lines.
        OSError: it cannot be written; then the old one is still there.
    """
    earlier = read_config(path)
    text = path.read_text(encoding="utf-8") if path.exists() else _TITLE
    changed = _set_values(text, values)
    expected = {name: value for name, value in earlier.items() if name not in values}
    expected |= {name: value for name, value in values.items() if value is not None}
    try:
        is_right = tomllib.loads(changed) == expected
    except tomllib.TOMLDecodeError:
        is_right = False
    if not is_right:
        raise Misconfigured(
            f"The file {path} is written in a way that cannot be changed for you.",
            details={"hint": f"set {', '.join(values)} in it by hand."},
        )
    write_private(path, changed)


def _set_values(text: str, values: Mapping[str, Value]) -> str:
    """The text with lines for these values, before the first table."""
    lines = text.splitlines(keepends=True)
    names = "|".join(map(re.escape, values))
    first_table = next((n for n, line in enumerate(lines) if line.startswith("[")), len(lines))
    kept = [line for line in lines[:first_table] if not re.match(rf"({names})\s*=", line)]
    if kept and not kept[-1].endswith("\n"):
        kept[-1] += "\n"
    new = [f"{name} = {_toml(value)}\n" for name, value in values.items() if value is not None]
    return "".join([*kept, *new, *lines[first_table:]])


def _toml(value: str | bool) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
