"""Every block of every page does what the page says.

A page is followed from top to bottom by somebody with a fresh home and one running server. What a
page shows below a command is what the command printed.
"""

from __future__ import annotations

import ast
import json
import shlex
import subprocess
import tomllib
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.docs.conftest import DocsServer
from tests.docs.pages import Block, blocks, blocks_of
from tests.docs.transcripts import Step, missing_line, steps_of
from tests.programs import programs

_RUN = ("console", "bash", "python")
_SHOWN = {"text", "ini", "nginx", "markdown", "sql"}
"""Not code that a page asks to be run: what is seen, and files that other programs read."""
_CHECKED = {"json", "yaml", "toml"}
_END = "-- end of step --"
_PROGRAM = "program_of_the_page.py"
_SECONDS = 300
_FIRST = {"README.md", "docs/tutorials/integrator.md"}
"""Pages that are followed in the first tier, too."""
PAGES = sorted({block.page for block in blocks() if block.language in _RUN and not block.not_run})


def test_every_block_says_its_language() -> None:
    known = {*_RUN, *_SHOWN, *_CHECKED}
    strange = [f"{each.place} {each.language!r}" for each in blocks() if each.language not in known]
    assert strange == []


@pytest.mark.parametrize(
    "page",
    [page if page in _FIRST else pytest.param(page, marks=pytest.mark.slow) for page in PAGES],
)
def test_a_page_can_be_followed(page: str, docs_server: DocsServer, place: Path) -> None:
    steps = _steps_of_page(page, place)
    outputs = _follow(steps, docs_server, place)
    for step, (status, output) in zip(steps, outputs, strict=True):
        told = f"{step.place}: $ {step.command}\nexit status {status}\n{output}"
        assert (status != 0) == step.fails, told
        missing = missing_line(step, output)
        assert missing is None, f"the page says {missing!r}, but\n{told}"


def _steps_of_page(page: str, place: Path) -> list[Step]:
    """What a reader does, in order. The Python of a page is one program, at its first block."""
    found: list[Step] = []
    mine = [block for block in blocks_of(page) if not block.not_run]
    programs = [block for block in mine if block.language == "python"]
    for block in mine:
        if block.language in ("console", "bash"):
            found += steps_of(block)
        elif block is next(iter(programs), None):
            (place / _PROGRAM).write_text(
                "\n".join(each.text for each in programs), encoding="utf-8"
            )
            found.append(Step(block.place, f"python {_PROGRAM}", tuple(_printed(mine))))
    return found


def _printed(of_page: list[Block]) -> Iterator[str]:
    """What the Python of a page prints: the `text` that stands right below its blocks."""
    for block, after in pairwise(of_page):
        if (block.language, after.language) == ("python", "text") and after.line <= block.end + 2:
            yield from after.text.splitlines()


def _follow(steps: list[Step], docs_server: DocsServer, place: Path) -> list[tuple[int, str]]:
    """Run the steps in one shell; the exit status and the output of each."""
    if (program := place / _PROGRAM).exists():
        program.write_text(docs_server.here(program.read_text(encoding="utf-8")), encoding="utf-8")
    (place / ".venv").mkdir()
    (place / ".venv/bin").symlink_to(programs().folder)
    parts = [
        f"{{\n{docs_server.here(step.command)}\n}} 2>&1\nprintf '%s %s\\n' {shlex.quote(_END)} $?"
        for step in steps
    ]
    ran = subprocess.run(
        ["bash", "-c", "\n".join(parts)],
        cwd=place,
        env=docs_server.environment(place.parent / "home"),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    assert ran.stderr == ""
    return _outputs(ran.stdout)


def _outputs(text: str) -> list[tuple[int, str]]:
    found: list[tuple[int, str]] = []
    while text:
        output, _, rest = text.partition(f"{_END} ")
        status, _, text = rest.partition("\n")
        found.append((int(status), output))
    return found


@pytest.mark.parametrize(
    "block", [b for b in blocks() if b.language in _CHECKED], ids=lambda b: b.place
)
def test_a_file_that_is_shown_can_be_read(block: Block) -> None:
    read: dict[str, Any] = {"json": json.loads, "yaml": yaml.safe_load, "toml": tomllib.loads}
    assert read[block.language](block.text)


@pytest.mark.parametrize(
    "block", [b for b in blocks() if b.language == "python" and b.not_run], ids=lambda b: b.place
)
def test_a_program_that_is_not_run_is_python(block: Block) -> None:
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    assert compile(block.text, block.place, "exec", flags=flags | ast.PyCF_ONLY_AST)


def test_a_block_that_is_not_run_has_a_reason() -> None:
    reasons = [each.not_run for each in blocks() if each.not_run is not None]
    assert reasons, "nothing is marked, so the mark is not found any more"
    assert [reason for reason in reasons if len(reason) < 15] == []
