"""Text to the clipboard: through the desktop's own program, and through the terminal (OSC 52).

The terminal's way also works over ssh; a terminal that does not know it ignores it.
"""

from __future__ import annotations

import asyncio
import base64
import shutil
from typing import TYPE_CHECKING

from dataagent_core.config.settings import environment

if TYPE_CHECKING:
    from dataagent_cli.streams import Streams

_PROGRAMS = (
    ("WAYLAND_DISPLAY", ("wl-copy",)),
    ("DISPLAY", ("xclip", "-selection", "clipboard")),
    ("", ("pbcopy",)),
)
_MOST_BYTES = 100_000  # terminals drop longer ones
_PATIENCE_SECONDS = 5.0


async def copy(text: str, streams: Streams) -> str:
    """Copy the text; the words that say by which way."""
    data = text.encode()
    ways: list[str] = []
    for variable, words in _PROGRAMS:
        if (not variable or environment().get(variable)) and await _piped(words, data):
            ways.append(f"with {words[0]}")
            break
    if streams.err.isatty() and len(data) <= _MOST_BYTES:
        streams.err.write(_sequence(data))
        streams.err.flush()
        ways.append("through the terminal")
    return " and ".join(ways) or "nowhere: there is neither a clipboard program nor a terminal"


def _sequence(data: bytes) -> str:
    code = f"\x1b]52;c;{base64.b64encode(data).decode()}\x07"
    if environment().get("TMUX"):  # tmux passes on what is wrapped so
        inner = code.replace("\x1b", "\x1b\x1b")
        return f"\x1bPtmux;{inner}\x1b\\{code}"
    return code


async def _piped(words: tuple[str, ...], data: bytes) -> bool:
    if shutil.which(words[0]) is None:
        return False
    process = await asyncio.create_subprocess_exec(
        *words,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(_PATIENCE_SECONDS):
            await process.communicate(data)
    except TimeoutError:
        return False
    finally:
        if process.returncode is None:  # it hangs, or Ctrl-C came
            process.kill()
            await process.wait()
    return process.returncode == 0
