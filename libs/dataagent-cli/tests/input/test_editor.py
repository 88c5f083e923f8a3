"""The person's own editor: what it does with Ctrl-C, and what it may leave behind."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from dataagent_cli.external_programs import edit_text
from dataagent_cli.interrupts import Interrupts
from dataagent_core.errors import BadInput
from tests.waiting import WAIT_SECONDS


class Editor:
    """A script that stands for an editor."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._path = folder / "editor"
        monkeypatch.delenv("VISUAL", raising=False)
        monkeypatch.setenv("EDITOR", str(self._path))

    def does(self, script: str) -> None:
        self._path.write_text(f"#!/bin/sh\n{script}\n")
        self._path.chmod(0o755)


@pytest.fixture
def editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Editor:
    return Editor(tmp_path, monkeypatch)


@pytest.fixture
def interrupted() -> Iterator[list[int]]:
    """The interrupts that nobody caught."""
    seen: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: seen.append(number))
    yield seen
    signal.signal(signal.SIGINT, before)


PRESSES_CTRL_C = "kill -INT $PPID; kill -INT $PPID; printf typed > $1"


async def test_ctrl_c_in_the_editor_is_the_editors(editor: Editor, interrupted: list[int]) -> None:
    editor.does(PRESSES_CTRL_C)
    assert await edit_text("before") == "typed"
    assert interrupted == []


async def test_ctrl_c_in_the_editor_stops_no_run(editor: Editor) -> None:
    editor.does(PRESSES_CTRL_C)
    with Interrupts() as interrupts:
        assert await edit_text("before") == "typed"
        assert not interrupts.is_interrupted
        os.kill(os.getpid(), signal.SIGINT)
        async with asyncio.timeout(WAIT_SECONDS):
            await interrupts.wait()


async def test_an_editor_ends_with_whoever_waits_for_it(editor: Editor, tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    os.mkfifo(begun)
    editor.does(f"echo $$ > {begun}; exec sleep 600")
    editing = asyncio.create_task(edit_text("before"))
    async with asyncio.timeout(WAIT_SECONDS):
        process = int(await asyncio.to_thread(begun.read_text))
        editing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await editing
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


@pytest.mark.parametrize("script", ["rm $1", "printf '\\377' > $1", "exit 3"])
async def test_what_is_no_text_is_refused(editor: Editor, script: str) -> None:
    editor.does(script)
    with pytest.raises(BadInput, match="the text is unchanged"):
        await edit_text("before")


async def test_a_setting_that_is_no_command_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISUAL", "vim 'half")
    with pytest.raises(BadInput, match="cannot be started: No closing quotation"):
        await edit_text("before")
