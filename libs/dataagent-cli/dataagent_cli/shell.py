"""`!COMMAND`: a command of the person's own, in their shell, beside the conversation.

Nobody is asked: they typed it. Its output is shown as it comes, Ctrl-C stops it and everything it
started, and its beginning and end go along with the next message, unless there is none.
"""

from __future__ import annotations

import asyncio
import codecs
import os
import signal
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING

from dataagent_cli.interrupts import Interrupts
from dataagent_cli.ui.clean import Cleaner
from dataagent_core.config.settings import environment
from dataagent_core.errors import BadInput

if TYPE_CHECKING:
    from dataagent_cli.streams import Streams

_USUAL = "/bin/sh"
_MOST_CHARACTERS = 8_000  # of an output that goes along
_PIECE = 65_536


async def run_command(command: str, streams: Streams) -> tuple[int, str]:
    """Run a command and show its output; its status, and the output to send along.

    Raises:
        BadInput: the shell cannot be started.
    """
    process = await _start(command)
    with Interrupts() as interrupts:
        stopping = asyncio.create_task(_stop_when(interrupts, process))
        try:
            output = await _show_output(process, streams)
            status = await process.wait()
        finally:
            stopping.cancel()
            _stop(process, signal.SIGKILL)
    return status, output


async def _start(command: str) -> asyncio.subprocess.Process:
    shell = environment().get("SHELL") or _USUAL
    try:
        return await asyncio.create_subprocess_exec(
            shell,
            "-c",
            command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:  # not there, or a NUL in the command
        raise BadInput(f"{shell} cannot run this: {error}.") from error


async def _show_output(process: asyncio.subprocess.Process, streams: Streams) -> str:
    """Write the output as it comes; its beginning and end."""
    head, tail, left_out = "", "", 0
    half = _MOST_CHARACTERS // 2
    async with aclosing(_read(process)) as pieces:
        async for text in pieces:
            streams.out.write(text)
            streams.out.flush()
            room = half - len(head)
            head, tail = head + text[:room], tail + text[room:]
            left_out += max(len(tail) - half, 0)
            tail = tail[-half:]
    if (head + tail) and not (head + tail).endswith("\n"):
        streams.out.write("\n")
    gap = f"\n[… {left_out} characters left out …]\n" if left_out else ""
    return f"{head}{gap}{tail}"


async def _read(process: asyncio.subprocess.Process) -> AsyncGenerator[str]:
    """The output as printable text; a piece may end inside a character or an escape sequence."""
    assert process.stdout is not None  # noqa: S101 it is a pipe
    decoder, cleaner = codecs.getincrementaldecoder("utf-8")("replace"), Cleaner()
    while piece := await process.stdout.read(_PIECE):
        yield cleaner.feed(decoder.decode(piece))
    yield cleaner.feed(decoder.decode(b"", final=True)) + cleaner.rest()


async def _stop_when(interrupts: Interrupts, process: asyncio.subprocess.Process) -> None:
    await interrupts.wait()
    _stop(process, signal.SIGINT)


def _stop(process: asyncio.subprocess.Process, how: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, how)


def attachment(command: str, status: int, output: str) -> str:
    """What goes along with the next message."""
    return f"<attached command={command!r} status={status}>\n{output.rstrip()}\n</attached>"
