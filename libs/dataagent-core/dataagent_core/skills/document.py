"""A SKILL.md, from its text to its parts. Pure.

Front matter between two lines of `---`, then the instructions. The front matter is YAML of which
only plain text, lists and objects are read: no tags, no anchors, no guessing of types, little of
it. So nothing in it can call anything, grow, or nest without end. Above: `reading.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, cast

import yaml

from dataagent_core.skills.types import (
    MAX_DESCRIPTION,
    MAX_HEADER_CHARACTERS,
    MAX_NAME,
    MAX_SKILL_BYTES,
    BadSkill,
)

NAME: Final = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_BEGIN: Final = re.compile(r"---[ \t]*\n")
_END: Final = re.compile(r"^---[ \t]*$", re.MULTILINE)
_UNPRINTABLE: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_MAX_EVENTS: Final = 500
_MAX_DEPTH: Final = 5
_MAX_BRACKETS: Final = 50
_MAX_TOOLS: Final = 50


@dataclass(frozen=True, slots=True)
class SkillDocument:
    """What a SKILL.md says."""

    name: str
    description: str
    tools: tuple[str, ...]
    instructions: str


def parse_skill(content: bytes, *, folder: str) -> SkillDocument:
    """Read a SKILL.md that lies in a folder of this name.

    Raises:
        BadSkill: it cannot be used.
    """
    header, instructions = _parts(_text(content))
    fields = _fields(header)
    if not instructions.strip():
        raise BadSkill("it has no instructions below the front matter")
    return SkillDocument(
        name=_name(fields.get("name"), folder),
        description=_description(fields.get("description")),
        tools=_tools(fields.get("allowed-tools")),
        instructions=instructions.strip(),
    )


def is_skill_name(name: str) -> bool:
    """Whether a skill can have this name."""
    return len(name) <= MAX_NAME and NAME.fullmatch(name) is not None


def _text(content: bytes) -> str:
    if len(content) > MAX_SKILL_BYTES:
        raise BadSkill(f"it has {len(content)} bytes; at most {MAX_SKILL_BYTES} are read")
    try:
        text = content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise BadSkill("it is not UTF-8 text") from None
    if _UNPRINTABLE.search(text):
        raise BadSkill("it has control characters")
    return text


def _parts(text: str) -> tuple[str, str]:
    begin = _BEGIN.match(text)
    if begin is None:
        raise BadSkill("it does not begin with front matter: a line of ---")
    end = _END.search(text, begin.end())
    if end is None:
        raise BadSkill("its front matter has no end: a second line of ---")
    header = text[begin.end() : end.start()]
    if len(header) > MAX_HEADER_CHARACTERS:
        raise BadSkill(f"its front matter has more than {MAX_HEADER_CHARACTERS} characters")
    return header, text[end.end() :]


def _fields(header: str) -> dict[str, Any]:
    try:
        _check_shape(header)
        # knows only text, lists and objects
        fields: Any = yaml.load(header, Loader=yaml.BaseLoader)  # noqa: S506
    except yaml.MarkedYAMLError as error:
        line = 2 + (error.problem_mark.line if error.problem_mark else 0)
        raise BadSkill(
            f"its front matter is not YAML (line {line}); put quotes around text with ': ' or '#'"
        ) from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise BadSkill("its front matter is not YAML") from error
    if not isinstance(fields, dict):
        raise BadSkill("its front matter is not a list of fields such as 'name: …'")
    return fields  # pyright: ignore[reportUnknownVariableType] YAML of unknown shape


def _check_shape(header: str) -> None:
    """Refuse what could grow, nest or call: looked at as a stream, before anything is built."""
    if header.count("[") + header.count("{") > _MAX_BRACKETS:  # each costs the scanner all others
        raise BadSkill("its front matter is too long or too deep: it has too many brackets")
    depth = 0
    parse = cast("Callable[..., Iterator[Any]]", cast(Any, yaml).parse)  # PyYAML has no types
    for count, event in enumerate(parse(header, Loader=yaml.BaseLoader)):
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise BadSkill("its front matter has anchors or aliases, which are not read")
        if getattr(event, "tag", None):
            raise BadSkill("its front matter has tags, which are not read")
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > _MAX_DEPTH or count > _MAX_EVENTS:
            raise BadSkill("its front matter is too long or too deep")


def _name(value: object, folder: str) -> str:
    if not isinstance(value, str) or not value:
        raise BadSkill("its front matter has no name")
    if not is_skill_name(value):
        raise BadSkill(
            f"its name {value[:80]!r} is not made of a-z, 0-9 and single hyphens, at most "
            f"{MAX_NAME} of them"
        )
    if value != folder:
        raise BadSkill(f"its name {value!r} is not that of its folder, {folder[:80]!r}")
    return value


def _description(value: object) -> str:
    text = " ".join(value.split()) if isinstance(value, str) else ""
    if not text:
        raise BadSkill("its front matter has no description, which says when to use it")
    if len(text) > MAX_DESCRIPTION:
        raise BadSkill(
            f"its description has {len(text)} characters; at most {MAX_DESCRIPTION} are always "
            "shown, so the rest belongs into the instructions"
        )
    return text


def _tools(value: object) -> tuple[str, ...]:
    """`allowed-tools`, as the specification writes it or as a list; anything else is none."""
    if isinstance(value, str):
        value = re.split(r"[\s,]+", value)
    if not isinstance(value, list):
        return ()
    names: list[Any] = value  # pyright: ignore[reportUnknownVariableType] YAML of unknown shape
    return tuple(name for name in names[:_MAX_TOOLS] if isinstance(name, str) and name)
