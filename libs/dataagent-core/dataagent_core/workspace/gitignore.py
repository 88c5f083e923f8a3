"""What a search in a project leaves out: what its `.gitignore` files name, and what Git itself is.

Patterns are read as Git reads them, each file for its own folder and those below, the deepest one
first; a folder that is left out is not entered. Folders of packages and caches are left out even
where no file says so. A search that begins inside such a folder was asked for, and finds things
there. The files may be anybody's: they are read to a limit. Blocking. Above: `search.py`,
`snapshot.py`. Below: `jail.py`, `patterns.py`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from dataagent_core.errors import DataAgentError
from dataagent_core.workspace.jail import Jail, PathHandle, open_regular, split_path
from dataagent_core.workspace.patterns import ANY_DEPTH, PathPattern, compile_segments

GIT: Final = ".git"
_FILE: Final = ".gitignore"
_EXCLUDE: Final = f"/{GIT}/info/exclude"
_ALWAYS: Final = frozenset(
    {
        GIT,
        ".hg",
        ".svn",
        ".mypy_cache",
        ".pytest_cache",
        ".ruff_cache",
        ".tox",
        ".venv",
        "__pycache__",
        "node_modules",
    }
)
_MAX_BYTES: Final = 64 * 1024
_MAX_PATTERN: Final = 1000


class IgnoreRules:
    """What is left out in one folder."""

    def __init__(self, specs: tuple[tuple[_Patterns, str], ...] = ()) -> None:
        """`specs`, the deepest first, each with the folder's path from where it was found."""
        self._specs = specs

    def below(self, name: str, directory: int) -> IgnoreRules:
        """The rules in a folder of this one, which is open."""
        above = ((spec, f"{prefix}{name}/") for spec, prefix in self._specs)
        return IgnoreRules((*_patterns_in(directory), *above))

    def is_ignored(self, name: str, *, is_folder: bool = False) -> bool:
        """Whether a file or folder here is left out."""
        if is_folder and name in _ALWAYS:
            return True
        for spec, prefix in self._specs:
            verdict = spec.match(name, prefix, is_folder=is_folder)
            if verdict is not None:
                return verdict
        return False


class IgnoreFilter:
    """Follows a walk from one folder of a project down, and says what is not left out."""

    def __init__(self, jail: Jail, path: str) -> None:
        """Begin at the folder. Raises as `Jail.directory`."""
        self._start = _rules_at(jail, path)
        self._rules: dict[tuple[str, ...], IgnoreRules] = {}

    def enter(self, steps: tuple[str, ...], directory: int, folders: list[str]) -> list[str]:
        """As `jail.Enter`."""
        above = self._rules[steps[:-1]] if steps else None
        rules = self._start if above is None else above.below(steps[-1], directory)
        self._rules[steps] = rules
        return [name for name in folders if not rules.is_ignored(name, is_folder=True)]

    def has(self, steps: tuple[str, ...], name: str) -> bool:
        """Whether a file of a folder that was entered is kept."""
        return not self._rules[steps].is_ignored(name)


def _rules_at(jail: Jail, path: str) -> IgnoreRules:
    """The rules in a folder; only its own if it is itself left out."""
    exclude = _patterns(_read_exclude(jail))
    with jail.directory("/") as root:
        rules = IgnoreRules((*_patterns_in(root), *((one, "") for one in exclude)))
    steps = split_path(path)
    for depth, name in enumerate(steps, 1):
        with jail.directory("/".join(steps[:depth])) as folder:
            is_asked_for = rules.is_ignored(name, is_folder=True)
            rules = IgnoreRules() if is_asked_for else rules.below(name, folder)
    return rules


@dataclass(frozen=True, slots=True)
class _IgnorePattern:
    """A pattern of a file: what it is for, and what it says about that."""

    segments: tuple[str, ...]
    has_path: bool  # it is for the path from the file's folder, otherwise for a name at any depth
    is_for_folders: bool
    is_left_out: bool


class _Patterns:
    """The patterns of one file."""

    def __init__(self, lines: Iterable[_IgnorePattern]) -> None:
        self._last_first = [
            (line, PathPattern(line.segments, matches_dots=True)) for line in reversed(list(lines))
        ]
        last = {line.segments[-1] for line, _ in self._last_first}
        self._names = compile_segments(last - {ANY_DEPTH}, matches_dots=True)
        self._contents = [p for line, p in self._last_first if line.segments[-1] == ANY_DEPTH]
        self._with_contents: dict[str, bool] = {}  # by folder: whether one of these is for it

    def match(self, name: str, prefix: str, *, is_folder: bool) -> bool | None:
        """Whether the name in the folder is left out; None where no pattern speaks of it.

        Most names are the last of no pattern: that is found out at once, before Git's order is gone
        through. The folders above were judged before.
        """
        path = [*prefix.split("/")[:-1], name]
        if self._names.fullmatch(name) is None and not self._is_content(prefix, path):
            return None
        for line, pattern in self._last_first:
            if line.is_for_folders and not is_folder:
                continue
            if pattern.matches(path if line.has_path else [name], _spend_nothing):
                return line.is_left_out
        return None

    def _is_content(self, prefix: str, path: list[str]) -> bool:
        """Whether a pattern is for whatever is in the folder; so one name stands for all in it."""
        if not self._contents:
            return False
        if prefix not in self._with_contents:
            self._with_contents[prefix] = any(
                pattern.matches(path, _spend_nothing) for pattern in self._contents
            )
        return self._with_contents[prefix]


def _spend_nothing(_: int) -> None:
    """A search counts the entries it looks at, not the patterns that leave some out."""


def _line(text: str) -> _IgnorePattern | None:
    """A line as Git reads it; None if it says nothing, or is longer than any path needs."""
    text = _without_spaces(text)
    if not text or text.startswith("#") or len(text) > _MAX_PATTERN:
        return None
    is_left_out = not text.startswith("!")
    text = text if is_left_out else text[1:]
    is_for_folders = text.endswith("/")
    has_path = "/" in text.removesuffix("/")
    segments = tuple(each for each in text.split("/") if each)
    if not segments or segments[-1].endswith("\\"):  # a backslash with nothing to quote
        return None
    return _IgnorePattern(segments, has_path, is_for_folders, is_left_out)


def _without_spaces(text: str) -> str:
    """Without the spaces at the end, but with one that is quoted."""
    stripped = text.rstrip(" ")
    is_quoted = stripped.endswith("\\") and len(stripped) < len(text)
    return f"{stripped} " if is_quoted else stripped


def _patterns_in(directory: int) -> tuple[tuple[_Patterns, str], ...]:
    """The patterns of an open folder's own file, if it has one."""
    text = b""
    with suppress(OSError), os.fdopen(open_regular(PathHandle(directory, _FILE)), "rb") as file:
        text = file.read(_MAX_BYTES)
    return tuple((one, "") for one in _patterns(text))


def _read_exclude(jail: Jail) -> bytes:
    with suppress(OSError, DataAgentError), os.fdopen(jail.open_file(_EXCLUDE), "rb") as file:
        return file.read(_MAX_BYTES)
    return b""


def _patterns(text: bytes) -> list[_Patterns]:
    """None of it, or all that can be read."""
    lines = [_line(each) for each in text.decode(errors="replace").splitlines()]
    known = [line for line in lines if line is not None]
    return [_Patterns(known)] if known else []
