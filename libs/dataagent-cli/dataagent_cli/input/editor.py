"""A text in the person's own editor: `$VISUAL`, `$EDITOR`, else vi."""

from __future__ import annotations

import asyncio
import shlex
import tempfile
from contextlib import suppress
from pathlib import Path

from dataagent_cli.interrupts import interrupts_go_to_child
from dataagent_core.config.settings import environment
from dataagent_core.errors import BadInput

_USUAL = "vi"


async def edit_text(text: str, *, suffix: str = ".md") -> str:
    """The text as it is after the editor was left. Ctrl-C is the editor's until then.

    Raises:
        BadInput: there is no such editor, or what it left is no text: the text is as it was.
    """
    words = _editor()
    with tempfile.TemporaryDirectory(prefix="dataagent-") as folder:
        file = Path(folder) / f"message{suffix}"
        file.write_text(text, encoding="utf-8")
        code = await _edit([*words, str(file)])
        if code:
            raise BadInput(f"{words[0]} left with status {code}; the text is as it was.")
        try:
            return file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise BadInput(f"{words[0]} left no UTF-8 text; the text is as it was.") from error


def has_editor() -> bool:
    """Whether the person has named an editor."""
    return bool(_configured_editor())


def _configured_editor() -> str:
    return environment().get("VISUAL") or environment().get("EDITOR") or ""


def _editor() -> list[str]:
    try:
        return shlex.split(_configured_editor()) or [_USUAL]
    except ValueError as error:  # a quote that does not end
        raise BadInput(
            f"The editor {_configured_editor()!r} cannot be started: {error}.",
            details={"hint": "correct VISUAL or EDITOR."},
        ) from error


async def _edit(words: list[str]) -> int:
    with interrupts_go_to_child():
        try:
            process = await asyncio.create_subprocess_exec(*words)
        except OSError as error:
            raise BadInput(
                f"The editor {words[0]!r} cannot be started: {error.strerror}.",
                details={"hint": "set EDITOR to one that is there."},
            ) from error
        try:
            return await process.wait()
        except asyncio.CancelledError:  # nobody waits for the text: the terminal is needed again
            with suppress(ProcessLookupError):
                process.terminate()
            await process.wait()
            raise
