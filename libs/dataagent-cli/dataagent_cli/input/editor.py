"""A text in the person's own editor: `$VISUAL`, `$EDITOR`, else vi."""

from __future__ import annotations

import asyncio
import shlex
import tempfile
from pathlib import Path

from dataagent_core.config.settings import environment
from dataagent_core.errors import BadInput

_USUAL = "vi"


async def edited(text: str, *, suffix: str = ".md") -> str:
    """The text as it is after the editor was left.

    Raises:
        BadInput: there is no such editor, or it left with an error: the text is as it was.
    """
    words = shlex.split(environment().get("VISUAL") or environment().get("EDITOR") or _USUAL)
    with tempfile.TemporaryDirectory(prefix="dataagent-") as folder:
        file = Path(folder) / f"message{suffix}"
        file.write_text(text, encoding="utf-8")
        code = await _edit([*words, str(file)])
        if code:
            raise BadInput(f"{words[0]} left with status {code}; the text is as it was.")
        return file.read_text(encoding="utf-8")


async def _edit(words: list[str]) -> int:
    try:
        process = await asyncio.create_subprocess_exec(*words)
    except OSError as error:
        raise BadInput(
            f"The editor {words[0]!r} cannot be started: {error.strerror}.",
            details={"hint": "set EDITOR to one that is there."},
        ) from error
    return await process.wait()
