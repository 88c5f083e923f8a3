"""The pages of the documentation and the fenced blocks in them. Pure but for reading the files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from scripts.tree import ROOT, project_files

_FENCE = re.compile(r"^(?P<indent> *)(?P<fence>```+)(?P<language>[\w-]*)\s*$")
_NOT_RUN = re.compile(r"<!-- not run: (?P<reason>.+?) -->")
_READ_BY_MODELS = ("skills/", "packages/")
_NOT_GUIDES = {"CHANGELOG.md"}


@dataclass(frozen=True)
class Block:
    """A fenced block: where it begins, its language, its text; why it is not run, if so."""

    page: str
    line: int
    language: str
    text: str
    not_run: str | None

    @property
    def end(self) -> int:
        """The line of its closing fence."""
        return self.line + len(self.text.splitlines()) + 1

    @property
    def place(self) -> str:
        """For a person who looks for it."""
        return f"{self.page}:{self.line}"


@cache
def pages() -> dict[str, str]:
    """Every page by its path: the site's, and those among the code."""
    found: dict[str, str] = {}
    for path in project_files():
        name = path.relative_to(ROOT).as_posix()
        is_page = path.suffix == ".md" and not name.startswith(_READ_BY_MODELS)
        if is_page and name not in _NOT_GUIDES:
            found[name] = path.read_text(encoding="utf-8")
    return found


@cache
def blocks() -> tuple[Block, ...]:
    """Every block of every page."""
    return tuple(block for name, text in pages().items() for block in _blocks(name, text))


def blocks_of(page: str) -> list[Block]:
    """The blocks of one page, from top to bottom."""
    return [block for block in blocks() if block.page == page]


def prose(text: str) -> str:
    """A page without its blocks."""
    kept: list[str] = []
    fence = ""
    for line in text.splitlines():
        if fence:
            fence = "" if line.strip() == fence else fence
        elif opened := _FENCE.match(line):
            fence = opened["fence"]
        else:
            kept.append(line)
    return "\n".join(kept)


def _blocks(page: str, text: str) -> Iterator[Block]:
    lines = text.splitlines()
    at = 0
    while at < len(lines):
        opened = _FENCE.match(lines[at])
        if opened is None:
            at += 1
            continue
        end = at + 1
        while end < len(lines) and lines[end].strip() != opened["fence"]:
            end += 1
        inside = [line.removeprefix(opened["indent"]) for line in lines[at + 1 : end]]
        mark = _NOT_RUN.search(lines[at - 1]) if at else None
        reason = mark["reason"] if mark else None
        yield Block(page, at + 1, opened["language"], "\n".join(inside) + "\n", reason)
        at = end + 1
