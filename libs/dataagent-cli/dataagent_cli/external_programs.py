"""Runs other programs: shell commands of the user, clipboard programs, and an editor."""

from __future__ import annotations

import asyncio
import base64
import codecs
import os
import shlex
import shutil
import signal
import tempfile
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from dataagent_cli.interrupts import Interrupts, interrupts_go_to_child
from dataagent_cli.ui.clean import Cleaner
from dataagent_core.config.settings import environment
from dataagent_core.errors import BadInput

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
    """Copy the text by a desktop program and by the terminal (OSC 52); say which worked."""
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
    return " and ".join(ways) or "nowhere: no clipboard program and no terminal"


def _sequence(data: bytes) -> str:
    code = f"\x1b]52;c;{base64.b64encode(data).decode()}\x07"
    if environment().get("TMUX"):  # the form that tmux passes on
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
        if process.returncode is None:  # it hangs, or Ctrl-C was pressed
            process.kill()
            await process.wait()
    return process.returncode == 0


_DEFAULT_SHELL = "/bin/sh"
_MOST_CHARACTERS = 8_000  # of an attached output
_PIECE = 65_536


async def run_command(command: str, streams: Streams) -> tuple[int, str]:
    """Run a shell command and show its output; return its status and the output to attach.

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
    shell = environment().get("SHELL") or _DEFAULT_SHELL
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
    except (OSError, ValueError) as error:  # no such shell, or a NUL in the command
        raise BadInput(f"{shell} cannot run this: {error}.") from error


async def _show_output(process: asyncio.subprocess.Process, streams: Streams) -> str:
    """Write the output as it comes; return its beginning and end."""
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
    """A command's output as it is attached to the next message."""
    return f"<attached command={command!r} status={status}>\n{output.rstrip()}\n</attached>"


_DEFAULT_EDITOR = "vi"


async def edit_text(text: str, *, suffix: str = ".md") -> str:
    """The text after editing in `$VISUAL`, `$EDITOR` or vi; Ctrl-C is the editor's meanwhile.

    Raises:
        BadInput: the editor cannot be started, failed, or did not write text.
    """
    words = _editor()
    with tempfile.TemporaryDirectory(prefix="dataagent-") as folder:
        file = Path(folder) / f"message{suffix}"
        file.write_text(text, encoding="utf-8")
        code = await _edit([*words, str(file)])
        if code:
            raise BadInput(f"{words[0]} ended with status {code}; the text is unchanged.")
        try:
            return file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise BadInput(f"{words[0]} wrote no UTF-8 text; the text is unchanged.") from error


def has_editor() -> bool:
    """Whether an editor is configured."""
    return bool(_configured_editor())


def _configured_editor() -> str:
    return environment().get("VISUAL") or environment().get("EDITOR") or ""


def _editor() -> list[str]:
    try:
        return shlex.split(_configured_editor()) or [_DEFAULT_EDITOR]
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
                details={"hint": "set EDITOR to an installed editor."},
            ) from error
        try:
            return await process.wait()
        except asyncio.CancelledError:  # the terminal is needed again
            with suppress(ProcessLookupError):
                process.terminate()
            await process.wait()
            raise
