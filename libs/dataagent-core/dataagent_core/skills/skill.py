"""A skill as data: the parser of SKILL.md, limits, and the command `/skill-name task`.

Front matter between two lines of `---`, then the instructions. The front matter is YAML of which
only plain text, lists and objects are read: no tags, no anchors, no guessing of types, and little
of it. So nothing in it can call anything, grow, or nest without end.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, cast

import yaml

SkillSource = Literal["shipped", "custom", "package", "own"]
"""Whose it is: ours, the operator's, an agent package's, the user's. Later ones replace earlier."""

SKILL_FILE: Final = "SKILL.md"
MAX_SKILL_BYTES: Final = 64 * 1024
MAX_HEADER_CHARACTERS: Final = 8 * 1024
MAX_NAME: Final = 64
MAX_DESCRIPTION: Final = 1024
MAX_SHARED: Final = 200
"""How many skills one folder of an operator or a package may hold."""
MAX_OWN: Final = 50
"""How many skills a user may have."""


class BadSkill(Exception):
    """A SKILL.md that cannot be used; the text says why and what to change."""


@dataclass(frozen=True, slots=True)
class SkillEntry:
    """A skill that can be used. Its instructions are read when it is activated."""

    name: str
    """1 to 64 of a-z, 0-9 and single hyphens; the name of its folder."""
    description: str
    """What it does and when to use it, on one line, which the model always sees."""
    path: Path
    """The folder with its SKILL.md, on this machine. Not for messages."""
    source: SkillSource = "own"
    location: str = ""
    """The same folder as an agent sees it, without a slash at the end."""
    tools: tuple[str, ...] = ()
    """The tools it recommends. It grants none."""


@dataclass(frozen=True, slots=True)
class SkillProblem:
    """A SKILL.md that was left out, and why."""

    source: SkillSource
    path: str
    """Folder and file, from the folder of skills on."""
    reason: str


@dataclass(frozen=True, slots=True)
class SkillText:
    """A skill with all it says."""

    entry: SkillEntry
    instructions: str
    files: tuple[str, ...] = ()
    """Its other files, from its folder on; the first of them, if they are many."""
    text: str = ""
    """The whole SKILL.md as it was written."""
    has_more_files: bool = False
    """Whether it has more files than are listed."""


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
    """The content of a SKILL.md."""

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


_COMMAND: Final = re.compile(r"/(?=[0-9-]*[A-Za-z])([A-Za-z0-9]+(?:-[A-Za-z0-9]+)*)(?=\s|$)")


def split_command(message: str) -> tuple[str, str] | None:
    """The skill a message names first, and the task behind it; None if it names none.

    A path (`/tmp/x`) or a number is no skill, and a message that begins with a space is not looked
    at.
    """
    found = _COMMAND.match(message)
    if found is None or len(found[1]) > 64:
        return None
    return found[1].lower(), message[found.end() :].strip()
