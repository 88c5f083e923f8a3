"""Reads folders of skills from disk. Blocking; run in a worker thread.

A skill is a folder with a SKILL.md. One that cannot be used is listed with its reason and left out.
Links that lead out are not followed (`workspace/jail.py`). In the repository the shipped skills are
`skills/custom/`, and Anthropic's where their repository is checked out as `skills/anthropic/`; a
wheel has a copy of `skills/custom/` in `_shipped/skills`. `DATAAGENT_SKILLS_DIRS` names others.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Final

import dataagent_core
from dataagent_core.errors import OutsideWorkspace
from dataagent_core.skills.skill import (
    MAX_NAME,
    MAX_SKILL_BYTES,
    SKILL_FILE,
    BadSkill,
    SkillEntry,
    SkillProblem,
    SkillSource,
    SkillText,
    parse_skill,
)
from dataagent_core.workspace import files as disk
from dataagent_core.workspace.jail import Jail, walk


@dataclass(frozen=True, slots=True)
class SkillFolder:
    """A directory of skills, and its source."""

    source: SkillSource
    directory: Path


def skill_folders(custom: Sequence[str]) -> list[SkillFolder]:
    """Ours and the operator's, in the order in which they replace each other."""
    shipped = shipped_skills()
    anthropic = shipped.parent / "anthropic" / "skills"
    return [
        *([SkillFolder("shipped", anthropic)] if anthropic.is_dir() else []),
        SkillFolder("shipped", shipped),
        *(SkillFolder("custom", Path(folder).expanduser()) for folder in custom),
    ]


def shipped_skills() -> Path:
    """The folder with our own skills: of the wheel if this is one, else of the repository."""
    package = Path(dataagent_core.__file__).parent
    inside = package / "_shipped" / "skills"
    return inside if inside.is_dir() else package.parents[2] / "skills" / "custom"


_MAX_FILES: Final = 50

StatKey = tuple[int, ...]
"""State of a file or folder: inode, size, links and time; empty if it is missing."""


@dataclass(frozen=True, slots=True)
class RootStamp:
    """State of a root: itself, and the SKILL.md of each folder in it."""

    root: StatKey = ()
    files: tuple[tuple[str, StatKey], ...] = ()


@dataclass(frozen=True, slots=True)
class SkillRoot:
    """Where skills are: a folder inside a jail, and how an agent and a reader call it."""

    jail: Jail
    inside: str
    """The folder's path in the jail; "" for the jail itself."""
    source: SkillSource
    location: str
    """The folder as an agent sees it, without a slash at the end."""
    limit: int

    @property
    def path(self) -> Path:
        """The folder on this machine."""
        return self.jail.root / self.inside

    def of(self, *steps: str) -> str:
        """A path in the jail."""
        return "/".join(("", *filter(None, (self.inside, *steps))))


@dataclass(frozen=True, slots=True)
class RootContent:
    """The skills of a root, and the folders that cannot be used."""

    entries: tuple[SkillEntry, ...] = ()
    problems: tuple[SkillProblem, ...] = ()
    stamp: RootStamp = field(default_factory=RootStamp, compare=False)


def read_root(root: SkillRoot) -> RootContent:
    """The skills in a place by name, and what was left out; an empty one if it is not there."""
    stamp = stamp_of(root)
    entries: list[SkillEntry] = []
    problems: list[SkillProblem] = []
    for name, key in stamp.files:
        if not key:  # a folder for something else
            continue
        try:
            if len(entries) >= root.limit:
                raise BadSkill(f"there are {root.limit} skills already, the most there may be")
            entries.append(_entry(root, name))
        except BadSkill as bad:
            problems.append(SkillProblem(root.source, _shown(name), str(bad)))
    return RootContent(tuple(entries), tuple(problems), stamp)


def _shown(name: str) -> str:
    """A folder's SKILL.md in a message; names on disk may be any bytes."""
    safe = name.encode(errors="backslashreplace").decode()
    return f"{safe[:MAX_NAME]}/{SKILL_FILE}"


def stamp_of(root: SkillRoot) -> RootStamp:
    """The current state of a root, of at most twice as many folders as it may have skills."""
    with suppress(OSError, OutsideWorkspace), root.jail.directory(root.of()) as directory:
        key = _stat_key(os.fstat(directory))
        with os.scandir(directory) as entries:
            names = sorted(entry.name for entry in entries if not entry.name.startswith("."))
        folder = str(root.path)
        return RootStamp(
            key, tuple((name, _file(folder, name)) for name in names[: 2 * root.limit])
        )
    return RootStamp()


def is_unchanged(root: SkillRoot, stamp: RootStamp) -> bool:
    """Whether the root has the same state; opens no file."""
    folder = str(root.path)
    try:
        if _stat_key(os.stat(folder)) != stamp.root:
            return False
    except OSError:
        return stamp.root == ()
    return all(_file(folder, name) == key for name, key in stamp.files)


def _file(folder: str, name: str) -> StatKey:
    """A link to a SKILL.md counts as one: reading it says what it is."""
    try:
        return _stat_key(os.lstat(f"{folder}/{name}/{SKILL_FILE}"))
    except OSError:
        return ()


def _stat_key(status: os.stat_result) -> StatKey:
    return status.st_ino, status.st_size, status.st_nlink, status.st_mtime_ns


def read_skill(root: SkillRoot, name: str) -> SkillText:
    """A skill with its instructions and the names of its files, as they are now.

    Raises:
        BadSkill: it is not there, or cannot be used.
    """
    content = _content(root, name)
    document = parse_skill(content, folder=name)
    entry = _make_entry(root, name, document.description, document.tools)
    files = tuple(islice(_files(root, name), _MAX_FILES + 1))
    return SkillText(
        entry,
        document.instructions,
        files[:_MAX_FILES],
        content.decode(),
        has_more_files=len(files) > _MAX_FILES,
    )


def _entry(root: SkillRoot, name: str) -> SkillEntry:
    document = parse_skill(_content(root, name), folder=name)
    return _make_entry(root, name, document.description, document.tools)


def _make_entry(root: SkillRoot, name: str, description: str, tools: tuple[str, ...]) -> SkillEntry:
    return SkillEntry(
        name=name,
        description=description,
        path=root.path / name,
        source=root.source,
        location=f"{root.location}/{name}",
        tools=tools,
    )


def _content(root: SkillRoot, name: str) -> bytes:
    try:
        return disk.read_whole(root.jail, root.of(name, SKILL_FILE), limit=MAX_SKILL_BYTES)
    except disk.FileTooLarge as error:
        raise BadSkill(
            f"it has {error.size} bytes; at most {MAX_SKILL_BYTES} are read. Move parts of it "
            "into other files of the folder"
        ) from error
    except OutsideWorkspace as error:
        raise BadSkill("it is a link that leads out of the folder of skills") from error
    except (OSError, ValueError) as error:
        raise BadSkill("it cannot be read") from error


def _files(root: SkillRoot, name: str) -> Iterator[str]:
    """The skill's other files."""
    with suppress(OSError, OutsideWorkspace), root.jail.directory(root.of(name)) as directory:
        for steps, names, _ in walk(directory):
            for each in names:
                path = "/".join((*steps, each))
                if path != SKILL_FILE and not each.startswith("."):
                    yield path
