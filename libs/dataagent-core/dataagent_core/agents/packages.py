"""Reads agents from folders: `packages/NAME/AGENTS.md`, with `skills/` beside it.

AGENTS.md is the agent's prompt; front matter at its top may add fields. A package that cannot be
read is logged with the reason and left out. Folders named later win, so that a package can replace
one of ours.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, cast

import yaml

import dataagent_core
from dataagent_core.agents.builtin import WORKSPACE_TOOLS, builtin_agent
from dataagent_core.agents.types import AgentSpec, check_name
from dataagent_core.errors import BadInput
from dataagent_core.storage.database import is_storable

logger = logging.getLogger(__name__)
FILE = "AGENTS.md"
MAX_BYTES = 256 * 1024
_MAX_HEADER = 16 * 1024
_MAX_BRACKETS = 100  # PyYAML looks at all that are open for each word
_MAX_DESCRIPTION = 1000
_MAX_LIST = 200
_HEADER = re.compile(r"---[ \t]*\n(.*?)^---[ \t]*$\n?", re.DOTALL | re.MULTILINE)
_FIELDS = frozenset(
    {"name", "description", "icon", "model", "tools", "subagents", "show_in_selector"}
)


def shipped_packages() -> Path:
    """The folder with our own packages: of the wheel if this is one, else of the repository."""
    package = Path(dataagent_core.__file__).parent
    inside = package / "_shipped" / "packages"
    return inside if inside.is_dir() else package.parents[2] / "packages"


class BadPackage(Exception):
    """Why a package cannot be used."""


def load_packages(folders: Iterable[Path]) -> list[AgentSpec]:
    """The agents of all packages in some folders, by name."""
    found: dict[str, AgentSpec] = {}
    for folder in folders:
        for package in _packages_in(folder):
            try:
                found[package.name] = read_package(package)
            except BadPackage as problem:
                logger.warning("package %s is left out: %s", package, problem)
            except Exception:
                logger.exception("package %s is left out", package)
    return [found[name] for name in sorted(found)]


def _packages_in(folder: Path) -> Iterator[Path]:
    try:
        entries = sorted(folder.iterdir())
    except FileNotFoundError:
        return
    except OSError as error:
        logger.warning("packages in %s cannot be read: %s", folder, error.strerror)
        return
    yield from (each for each in entries if each.is_dir() and not each.name.startswith((".", "_")))


def read_package(package: Path) -> AgentSpec:
    """The agent that a package's folder describes.

    Raises:
        BadPackage: it cannot be used; the message says why.
    """
    name = _name(package.name)
    header, prompt = _parts(_text(package / FILE))
    if not prompt:
        raise BadPackage(f"{FILE} has no prompt below its front matter")
    if header.get("name", name) != name:
        raise BadPackage("the name in its front matter is not that of its folder")
    tools = _names(header, "tools")
    skills = package / "skills"
    return AgentSpec(
        agent_id=name,
        name=name,
        description=_line(header, "description") or _first_line(prompt) or name,
        kind="package",
        system_prompt=prompt,
        model=_line(header, "model") or None,
        icon=_line(header, "icon") or "package",
        show_in_selector=_flag(header, "show_in_selector"),
        tools=WORKSPACE_TOOLS if tools is None else frozenset(tools),
        skills=(skills,) if skills.is_dir() else (),
        subagents=_names(header, "subagents") or (),
    )


def _name(folder: str) -> str:
    try:
        name = check_name(folder)
    except BadInput as error:
        raise BadPackage(error.message) from None
    if builtin_agent(name) is not None:
        raise BadPackage(f"there is a built-in agent {name!r}; give the folder another name")
    return name


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise BadPackage(f"it has no {FILE}") from None
    except OSError as error:
        raise BadPackage(f"{FILE} cannot be read: {error.strerror}") from None
    if len(content) > MAX_BYTES:
        raise BadPackage(f"{FILE} has more than {MAX_BYTES} bytes")
    try:
        text = content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise BadPackage(f"{FILE} is not UTF-8 text") from None
    if not is_storable(text):
        raise BadPackage(f"{FILE} has NUL characters")
    return text


def _parts(text: str) -> tuple[dict[str, Any], str]:
    """The front matter, empty if there is none, and the prompt below it."""
    found = _HEADER.match(text)
    if found is None:
        if text.startswith("---\n"):
            raise BadPackage("its front matter has no second line of ---")
        return {}, text.strip()
    if len(found[1]) > _MAX_HEADER:
        raise BadPackage(f"its front matter has more than {_MAX_HEADER} characters")
    if found[1].count("[") + found[1].count("{") > _MAX_BRACKETS:
        raise BadPackage(f"its front matter has more than {_MAX_BRACKETS} brackets")
    try:
        header: Any = yaml.safe_load(found[1])
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f" (line {mark.line + 2})" if mark is not None else ""
        raise BadPackage(f"its front matter is not YAML{where}") from None
    header = {} if header is None else header
    if not isinstance(header, dict):
        raise BadPackage("its front matter is not a list of fields such as 'description: …'")
    # YAML of unknown shape
    return _known(header), text[found.end() :].strip()  # pyright: ignore[reportUnknownArgumentType]


def _known(header: dict[Any, Any]) -> dict[str, Any]:
    unknown = [str(field)[:40] for field in header if field not in _FIELDS]
    if unknown:
        raise BadPackage(f"its front matter has unknown fields: {', '.join(unknown)}")
    return header


def _line(header: dict[str, Any], field: str) -> str:
    value = header.get(field)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise BadPackage(f"{field} in its front matter is not text")
    return " ".join(value.split())[:_MAX_DESCRIPTION]


def _flag(header: dict[str, Any], field: str) -> bool:
    value = header.get(field, True)
    if not isinstance(value, bool):
        raise BadPackage(f"{field} in its front matter is not true or false")
    return value


def _names(header: dict[str, Any], field: str) -> tuple[str, ...] | None:
    """The names in a list, or in text with commas; None if the field is not there."""
    value = header.get(field)
    if value is None:
        return None
    given: Any = value.split(",") if isinstance(value, str) else value
    names = cast("list[Any]", given) if isinstance(given, list) else None  # YAML of any shape
    if names is None or not all(isinstance(each, str) for each in names):
        raise BadPackage(f"{field} in its front matter is not a list of names")
    trimmed: list[str] = [each.strip() for each in names]
    return tuple(dict.fromkeys(each for each in trimmed if each))[:_MAX_LIST]


def _first_line(prompt: str) -> str:
    """The first line that is not a heading."""
    lines = (line.strip() for line in prompt.splitlines())
    text = next((line for line in lines if line and not line.startswith("#")), "")
    return text[:_MAX_DESCRIPTION]
