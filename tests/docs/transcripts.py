"""What a `console` block shows: commands after `$ `, and what they print. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tests.docs.pages import Block

_ANYTHING = "…"


@dataclass(frozen=True)
class Step:
    """One command and the lines that it should print; none says nothing about them."""

    place: str
    command: str
    expected: tuple[str, ...]

    @property
    def fails(self) -> bool:
        """Whether the page shows that the command fails."""
        return any(line.startswith("error: ") for line in self.expected)


def steps_of(block: Block) -> list[Step]:
    """The commands of a block. A command goes on while its lines end in `\\` or a quote is open."""
    if block.language == "bash":
        return [Step(block.place, block.text.rstrip(), ())]
    found: list[Step] = []
    lines = block.text.splitlines()
    at = 0
    while at < len(lines):
        assert lines[at].startswith("$ "), f"{block.place}: {lines[at]!r} belongs to no command"
        command, at = _command(lines, at)
        end = at
        while end < len(lines) and not lines[end].startswith("$ "):
            end += 1
        found.append(Step(block.place, command, tuple(lines[at:end])))
        at = end
    return found


def _command(lines: list[str], at: int) -> tuple[str, int]:
    """The command that begins at a line, and where what follows it begins."""
    command = lines[at].removeprefix("$ ")
    at += 1
    while at < len(lines) and (command.endswith("\\") or _is_open(command)):
        command += "\n" + lines[at]
        at += 1
    return command, at


def _is_open(command: str) -> bool:
    """Whether a quote was begun and not ended."""
    kept = re.sub(r"\\.", "", command)
    kept = re.sub(r"\"[^\"]*\"|'[^']*'", "", kept)
    kept = re.sub(r"(^|\s)#.*", "", kept)
    return '"' in kept or "'" in kept


def missing_line(step: Step, output: str) -> str | None:
    """The first expected line that is not in the output, after those before it; None if all are."""
    printed = iter(line.rstrip() for line in output.splitlines())
    for line in step.expected:
        if line.strip() in ("", _ANYTHING):
            continue
        pattern = re.compile(".*".join(map(re.escape, line.rstrip().split(_ANYTHING))))
        if not any(pattern.fullmatch(each) for each in printed):
            return line
    return None
