"""Glob patterns and `.gitignore` rules, matched in bounded time whatever they are.

A pattern is split at its slashes. Each segment becomes a regular expression without backtracking
(atomic groups: the earliest match is used), and a path is matched with the set of positions it can
be at, so many `**` cost no more than many names. Patterns come from models, people and files in a
project.

A search in a project leaves out what its `.gitignore` files name, read as Git reads them: each
applies to its own folder and below, the deepest first, and an ignored folder is not entered.
Folders of packages and caches are left out even without a rule. A search that begins inside such a
folder finds things there. The ignore functions block, and read files up to a limit.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import bracex
from deepagents.backends.utils import InvalidGlobPatternError

from dataagent_core.errors import DataAgentError
from dataagent_core.workspace.jail import Jail, PathHandle, open_regular, split_path

_MAX_CHARACTERS: Final = 1000
_MAX_ALTERNATIVES: Final = 1000
ANY_DEPTH: Final = "**"
_WILD: Final = frozenset("*?[")
_CLASSES: Final = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "ascii": r"\x00-\x7f",
    "blank": r" \t",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": r"\x21-\x7e",
    "lower": "a-z",
    "print": r"\x20-\x7e",
    "punct": r"!-/:-@\[-`{-~",
    "space": r" \t\r\n\v\f",
    "upper": "A-Z",
    "word": "a-zA-Z0-9_",
    "xdigit": "A-Fa-f0-9",
}

Spend = Callable[[int], None]
"""Called with the number of comparisons of names and segments."""


class PathPattern:
    """The segments of a pattern, each for one name of a path; `**` is for any number of names."""

    def __init__(self, segments: Sequence[str], *, matches_dots: bool) -> None:
        """Without `matches_dots` a name that begins with a dot needs a dot in the pattern."""
        self._matches_dots = matches_dots
        self._segments = [
            None if each == ANY_DEPTH else compile_segments([each], matches_dots=matches_dots)
            for each in segments
        ]

    def matches(self, names: Sequence[str], spend: Spend) -> bool:
        """Whether the path matches; a last `**` needs at least one name."""
        here = self._with_skipped({0})
        for name in names:
            spend(len(here))
            here = self._with_skipped({to for at in here for to in self._next(at, name)})
            if not here:
                return False
        return len(self._segments) in here

    def _next(self, at: int, name: str) -> tuple[int, ...]:
        """Return the positions a name leads to."""
        if at == len(self._segments):
            return ()
        segment = self._segments[at]
        if segment is not None:
            return (at + 1,) if segment.fullmatch(name) else ()
        if name.startswith(".") and not self._matches_dots:
            return ()
        return (at, at + 1) if at + 1 == len(self._segments) else (at,)

    def _with_skipped(self, positions: set[int]) -> set[int]:
        """Return the positions, and those behind a `**` that matches no name."""
        for at in sorted(positions):
            after = at
            while after < len(self._segments) - 1 and self._segments[after] is None:
                after += 1
                positions.add(after)
        return positions


class IncludeGlob:
    """The pattern of the file tools, with alternatives in braces.

    Without a slash it is for the name of a file at any depth, otherwise for the path from where the
    search begins. The rules are those of `deepagents.backends.utils.compile_grep_include_glob`.
    """

    def __init__(self, pattern: str) -> None:
        """Raises:
        InvalidGlobPatternError: it leads out, is too long or has too many alternatives.
        """
        if ".." in pattern.replace("\\", "/").split("/"):
            raise InvalidGlobPatternError(f"Path traversal not allowed in glob pattern {pattern!r}")
        if len(pattern) > _MAX_CHARACTERS:
            raise InvalidGlobPatternError(
                f"A glob pattern has at most {_MAX_CHARACTERS} characters. Shorten it."
            )
        alternatives = _expand_braces(pattern.lstrip("/"))
        self._names: re.Pattern[str] | None = None
        self._paths: list[PathPattern] = []
        if "/" in pattern:
            self._paths = [
                PathPattern(segments, matches_dots=False)
                for each in alternatives
                if (segments := _segments(each))
            ]
        else:
            self._names = compile_segments(alternatives, matches_dots=False)

    def matches(self, relative: str, spend: Spend) -> bool:
        """Whether a file matches, by its path from the start of the search."""
        names = relative.split("/")
        if self._names is not None:
            spend(1)
            return self._names.fullmatch(names[-1]) is not None
        return any(each.matches(names, spend) for each in self._paths)


def compile_segments(segments: Iterable[str], *, matches_dots: bool) -> re.Pattern[str]:
    """Compile segments to one regular expression that hardly backtracks."""
    sources = [_segment_source(each, matches_dots=matches_dots) for each in segments]
    return re.compile("|".join(f"(?:{each})" for each in sources) or r"(?!)", re.DOTALL)


def _expand_braces(pattern: str) -> list[str]:
    """Return the pattern with each of its alternatives."""
    try:
        return bracex.expand(pattern, keep_escapes=True, limit=_MAX_ALTERNATIVES)
    except (bracex.ExpansionLimitException, RecursionError):
        raise InvalidGlobPatternError(
            f"A glob pattern has at most {_MAX_ALTERNATIVES} alternatives in braces."
        ) from None


def _segments(pattern: str) -> list[str]:
    """The pattern's segments; none if it is for folders alone, as a file's path has no slash last.

    A last `**/` is for whatever is in a folder, as `**` is.
    """
    segments = [each for each in pattern.split("/") if each]
    is_folder = pattern.endswith("/") and segments[-1:] != [ANY_DEPTH]
    return [] if is_folder else segments


def _segment_source(segment: str, *, matches_dots: bool) -> str:
    """The source of a regular expression for a name.

    Between two stars the earliest place of a part is the best one, as every part has a fixed
    length: so it is looked for once and never again.
    """
    first, *rest = _parts(segment)
    guard = "" if matches_dots or segment[:1] not in _WILD else r"(?!\.)"
    if not rest:
        return f"{guard}{first}"
    *between, last = rest
    return f"{guard}{first}{''.join(f'(?>.*?{part})' for part in between)}.*{last}"


def _parts(segment: str) -> list[str]:
    """Return the text between stars as regular expressions, one character each."""
    parts = [""]
    at = 0
    while at < len(segment):
        character = segment[at]
        at += 1
        if character == "*":
            if parts[-1] or len(parts) == 1:
                parts.append("")
        elif character == "?":
            parts[-1] += "."
        elif character == "[" and (end := _bracket_end(segment, at)):
            parts[-1] += _bracket_source(segment[at : end - 1])
            at = end
        else:
            if character == "\\":  # the next one is itself; the last one of a segment is nothing
                character = segment[at : at + 1]
                at += 1
            parts[-1] += re.escape(character)
    return parts


def _bracket_end(segment: str, start: int) -> int | None:
    """The position after the bracket that closes the one before `start`; None if none does."""
    at = start + (segment[start : start + 1] in ("!", "^"))
    at += segment[at : at + 1] == "]"  # first, it is a character like others
    while at < len(segment):
        if segment[at] == "]":
            return at + 1
        closed = segment.find(":]", at + 2) if segment.startswith("[:", at) else -1
        at = closed + 2 if closed >= 0 else at + (2 if segment[at] == "\\" else 1)
    return None


def _bracket_source(content: str) -> str:
    """A set of characters; one that holds none, as `[z-a]`, fits nothing."""
    is_negated = content[:1] in ("!", "^")
    at = int(is_negated)
    source = ""
    while at < len(content):
        closed = content.find(":]", at + 2) if content.startswith("[:", at) else -1
        if closed >= 0:
            source += _CLASSES.get(content[at + 2 : closed], "")
            at = closed + 2
            continue
        low, at = _bracket_character(content, at)
        if content[at : at + 1] == "-" and at + 1 < len(content):
            high, at = _bracket_character(content, at + 1)
            source += f"{re.escape(low)}-{re.escape(high)}" if low <= high else ""
        else:
            source += re.escape(low)
    if not source:
        return "." if is_negated else r"(?!)"
    return f"[{'^' if is_negated else ''}{source}]"


def _bracket_character(content: str, at: int) -> tuple[str, int]:
    """A character of a bracket and the position after it."""
    if content[at] == "\\" and at + 1 < len(content):
        at += 1
    return content[at], at + 1


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
    """The ignore rules of one folder."""

    def __init__(self, specs: tuple[tuple[_Patterns, str], ...] = ()) -> None:
        """`specs`, the deepest first, each with the folder's path from where it was found."""
        self._specs = specs

    def below(self, name: str, directory: int) -> IgnoreRules:
        """Return the rules of an open folder below this one."""
        above = ((spec, f"{prefix}{name}/") for spec, prefix in self._specs)
        return IgnoreRules((*_patterns_in(directory), *above))

    def is_ignored(self, name: str, *, is_folder: bool = False) -> bool:
        """Whether a file or folder here is ignored."""
        if is_folder and name in _ALWAYS:
            return True
        for spec, prefix in self._specs:
            verdict = spec.match(name, prefix, is_folder=is_folder)
            if verdict is not None:
                return verdict
        return False


class IgnoreFilter:
    """Follows a walk down a project, and says what is not ignored."""

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
        """Whether a file of an entered folder is not ignored."""
        return not self._rules[steps].is_ignored(name)


def _rules_at(jail: Jail, path: str) -> IgnoreRules:
    """Return the rules of a folder; only its own if it is itself ignored."""
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
    """A pattern of an ignore file."""

    segments: tuple[str, ...]
    has_path: bool  # it is for the path from the file's folder, otherwise for a name at any depth
    is_for_folders: bool
    is_left_out: bool


class _Patterns:
    """The patterns of one ignore file."""

    def __init__(self, lines: Iterable[_IgnorePattern]) -> None:
        self._last_first = [
            (line, PathPattern(line.segments, matches_dots=True)) for line in reversed(list(lines))
        ]
        last = {line.segments[-1] for line, _ in self._last_first}
        self._names = compile_segments(last - {ANY_DEPTH}, matches_dots=True)
        self._contents = [p for line, p in self._last_first if line.segments[-1] == ANY_DEPTH]
        self._with_contents: dict[str, bool] = {}  # by folder: whether one of these is for it

    def match(self, name: str, prefix: str, *, is_folder: bool) -> bool | None:
        """Whether the name is ignored; None if no pattern applies.

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
    """Parse a line as Git does; None if it is empty, or longer than any path needs."""
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
    """Strip spaces at the end, except a quoted one."""
    stripped = text.rstrip(" ")
    is_quoted = stripped.endswith("\\") and len(stripped) < len(text)
    return f"{stripped} " if is_quoted else stripped


def _patterns_in(directory: int) -> tuple[tuple[_Patterns, str], ...]:
    """Return the patterns of an open folder's own file, if it has one."""
    text = b""
    with suppress(OSError), os.fdopen(open_regular(PathHandle(directory, _FILE)), "rb") as file:
        text = file.read(_MAX_BYTES)
    return tuple((one, "") for one in _patterns(text))


def _read_exclude(jail: Jail) -> bytes:
    with suppress(OSError, DataAgentError), os.fdopen(jail.open_file(_EXCLUDE), "rb") as file:
        return file.read(_MAX_BYTES)
    return b""


def _patterns(text: bytes) -> list[_Patterns]:
    """Parse the patterns, all or none."""
    lines = [_line(each) for each in text.decode(errors="replace").splitlines()]
    known = [line for line in lines if line is not None]
    return [_Patterns(known)] if known else []
