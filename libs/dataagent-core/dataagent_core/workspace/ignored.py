"""What a search in a project leaves out: what its `.gitignore` files name, and what Git itself is.

Patterns are read as Git reads them, each file for its own folder and those below, the deepest one
first; a folder that is left out is not entered. Folders of packages and caches are left out even
where no file says so. A search that begins inside such a folder was asked for, and finds things
there. The files may be anybody's: they are read to a limit, and patterns that would take long to
match are passed over. Blocking. Above: `search.py`, `copies.py`. Below: `jail.py`, pathspec.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from contextlib import suppress
from typing import Final

from pathspec import GitIgnoreSpec

from dataagent_core.errors import DataAgentError
from dataagent_core.workspace.jail import Jail, Place, open_regular, split_path

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
_MAX_STARS: Final = 4
_STARS: Final = re.compile(r"\*+")
_FOLDER_END: Final = "ps_d"
"""pathspec's name for the slash after a folder that a pattern names."""
_NAMED_GROUP: Final = f"(?P<{_FOLDER_END}>"
_NEVER: Final = re.compile(r"(?!)")


class IgnoreRules:
    """What is left out in one folder."""

    def __init__(self, specs: tuple[tuple[_Patterns, str], ...] = ()) -> None:
        """`specs`, the deepest first, each with the folder's path from where it was found."""
        self._specs = specs

    def below(self, name: str, directory: int) -> IgnoreRules:
        """The rules in a folder of this one, which is open."""
        above = ((spec, f"{prefix}{name}/") for spec, prefix in self._specs)
        return IgnoreRules((*_patterns_in(directory), *above))

    def leave_out(self, name: str, *, is_folder: bool = False) -> bool:
        """Whether a file or folder here is left out."""
        if is_folder:
            if name in _ALWAYS:
                return True
            name = f"{name}/"
        for spec, prefix in self._specs:
            verdict = spec.judge(name, prefix)
            if verdict is not None:
                return verdict
        return False


class Kept:
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
        return [name for name in folders if not rules.leave_out(name, is_folder=True)]

    def has(self, steps: tuple[str, ...], name: str) -> bool:
        """Whether a file of a folder that was entered is kept."""
        return not self._rules[steps].leave_out(name)


def _rules_at(jail: Jail, path: str) -> IgnoreRules:
    """The rules in a folder; only its own if it is itself left out."""
    exclude = _patterns(_read_exclude(jail))
    with jail.directory("/") as root:
        rules = IgnoreRules((*_patterns_in(root), *((one, "") for one in exclude)))
    steps = split_path(path)
    for depth, name in enumerate(steps, 1):
        with jail.directory("/".join(steps[:depth])) as folder:
            is_asked_for = rules.leave_out(name, is_folder=True)
            rules = IgnoreRules() if is_asked_for else rules.below(name, folder)
    return rules


class _Patterns:
    """The patterns of one file."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._last_first: list[tuple[re.Pattern[str], bool, bool]] = []
        """Each pattern's expression, whether it is matched with the whole path, and its verdict."""
        for pattern in reversed(list(GitIgnoreSpec.from_lines(lines).patterns)):
            regex, verdict = getattr(pattern, "regex", None), pattern.include
            if regex is not None and verdict is not None:
                text = str(getattr(pattern, "pattern", "")).strip().rstrip("/")
                self._last_first.append((regex, "/" in text, verdict))
        self._by_name = _any([one.pattern for one, is_path, _ in self._last_first if not is_path])
        self._by_path = _any([one.pattern for one, is_path, _ in self._last_first if is_path])

    def judge(self, name: str, prefix: str) -> bool | None:
        """Whether the name in the folder is left out; None where no pattern speaks of it.

        Most names match nothing: that is found out at once, before Git's order is gone through. The
        folders above were judged before, so a pattern counts only if it matches the name itself.
        """
        path = f"{prefix}{name}"
        if self._by_name.match(name) is None and self._by_path.match(path) is None:
            return None
        for regex, is_path, verdict in self._last_first:
            found = regex.match(path if is_path else name)
            if found is not None and not _is_of_a_folder_above(found):
                return verdict
        return None


def _is_of_a_folder_above(found: re.Match[str]) -> bool:
    """Whether a pattern matched because it names a folder in which the path is."""
    if _FOLDER_END not in found.re.groupindex or found.end(_FOLDER_END) < 0:
        return False
    return found.end(_FOLDER_END) < len(found.string)


def _any(patterns: list[str]) -> re.Pattern[str]:
    if not patterns:
        return _NEVER
    return re.compile("|".join(f"(?:{each})" for each in patterns).replace(_NAMED_GROUP, "(?:"))


def _patterns_in(directory: int) -> tuple[tuple[_Patterns, str], ...]:
    """The patterns of an open folder's own file, if it has one."""
    text = b""
    with suppress(OSError), os.fdopen(open_regular(Place(directory, _FILE)), "rb") as file:
        text = file.read(_MAX_BYTES)
    return tuple((one, "") for one in _patterns(text))


def _read_exclude(jail: Jail) -> bytes:
    with suppress(OSError, DataAgentError), os.fdopen(jail.open_file(_EXCLUDE), "rb") as file:
        return file.read(_MAX_BYTES)
    return b""


def _patterns(text: bytes) -> list[_Patterns]:
    """None of it, or all that can be read and is quick to match."""
    lines = [line for line in text.decode(errors="replace").splitlines() if _is_usable(line)]
    return [_Patterns(lines)] if lines else []


def _is_usable(line: str) -> bool:
    if not line.strip() or line.startswith("#") or len(_STARS.findall(line)) > _MAX_STARS:
        return False
    try:
        GitIgnoreSpec.from_lines([line])
    except (ValueError, re.error):  # pathspec's own error is a ValueError
        return False
    return True
