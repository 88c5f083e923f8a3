"""Reads documents: bytes in, text out, whatever the bytes do.

Each document is read in a process of its own (`worker.py`) without environment, with little memory
and time and at low priority; its process group is killed at the deadline or when the caller is
cancelled. A user's documents are read one after another, and few at once in all.

`processes.ProcessPool` is not used here: it unpickles what its worker returns, which after a
hostile file could be anything, and a call that ends early returns nothing, where a document's text
up to that point is wanted.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import logging
import os
import signal
import sys
import tempfile
from asyncio.subprocess import PIPE, Process
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import Any
from weakref import WeakValueDictionary

from dataagent_core.documents.output import Document, ReadLimits
from dataagent_core.errors import BadFile, DataAgentError, LimitReached, Unavailable
from dataagent_core.workspace.workers import run_to_completion

_logger = logging.getLogger(__name__)
_PROGRAMS = "/usr/local/bin:/usr/bin:/bin"
_OLE = bytes.fromhex("D0CF11E0A1B11AE1")
_MOST_SAID = 16 * 1024 * 1024
_AT_ONCE = 2
_GRACE_SECONDS = 2.0
"""Time on the clock beyond the limit, which a busy machine needs to give a process its share."""


@dataclass(frozen=True, slots=True)
class DocumentSource:
    """A document to read. A page has an address and a charset."""

    name: str
    content: bytes
    is_page: bool = False
    base_url: str | None = None
    charset: str | None = None


class DocumentReader:
    """Reads documents. Create one per process and event loop."""

    def __init__(
        self,
        limits: ReadLimits | None = None,
        *,
        at_once: int = _AT_ONCE,
        programs: str = _PROGRAMS,
    ) -> None:
        """Converters are searched along `programs`, as in PATH."""
        self.limits = limits or ReadLimits()
        self._at_once = at_once
        self._programs = programs
        self._places = asyncio.Semaphore(at_once)
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def fresh(self) -> DocumentReader:
        """Return a reader with the same limits, for another event loop."""
        return DocumentReader(self.limits, at_once=self._at_once, programs=self._programs)

    async def read(self, source: DocumentSource, *, user_id: str = "", start: int = 1) -> Document:
        """Return the document's text, from the page, row or line `start` on.

        Raises:
            BadFile: it is broken, encrypted, or of no kind that can be read.
            LimitReached: it is too large, or reading it takes more than allowed.
            Unavailable: the process that reads could not be started.
        """
        if len(source.content) > self.limits.max_bytes:
            raise LimitReached(
                f"'{source.name}' has {len(source.content):,} bytes; {self.limits.max_bytes:,} can "
                "be read as text. Split it."
            )
        turn = self._turns.setdefault(user_id, asyncio.Lock())
        async with turn, self._places:
            return await self._read(source, start)

    async def _read(self, source: DocumentSource, start: int) -> Document:
        with ExitStack() as stack:
            descriptor = stack.enter_context(_spool(source.content))
            job = {
                "name": source.name,
                "path": f"/dev/fd/{descriptor}",
                "byte_size": len(source.content),
                "is_page": source.is_page,
                "base_url": source.base_url,
                "charset": source.charset,
                "start": start,
                "limits": dataclasses.asdict(self.limits),
                "programs": self._programs,
                "scratch": "",
            }
            if source.content.startswith(_OLE):  # a converter needs a place for its files
                job["scratch"] = stack.enter_context(
                    tempfile.TemporaryDirectory(prefix="dataagent-", ignore_cleanup_errors=True)
                )
            said = await self._run(job, descriptor)
        return _outcome(source.name, said, self.limits)

    async def _run(self, job: dict[str, Any], descriptor: int) -> _ProcessOutput:
        process = await _start(descriptor)
        output, errors = bytearray(), bytearray()
        is_late = False
        work = asyncio.gather(
            _send_job(process, json.dumps(job).encode()),
            _collect(process.stdout, output),
            _collect(process.stderr, errors),
            process.wait(),
        )
        try:
            async with asyncio.timeout(self.limits.timeout_seconds + _GRACE_SECONDS):
                await work
        except TimeoutError:
            is_late = True
        finally:
            await run_to_completion(_kill_group(process))
        return _ProcessOutput(bytes(output), bytes(errors), process.returncode or 0, is_late)


@dataclass(frozen=True, slots=True)
class _ProcessOutput:
    """A process's output and exit."""

    output: bytes
    errors: bytes
    returncode: int
    is_late: bool


@contextmanager
def _spool(content: bytes) -> Generator[int]:
    """Write the content to a file without a name."""
    with tempfile.TemporaryFile(prefix="dataagent-") as file:
        file.write(content)
        file.flush()
        yield file.fileno()


async def _start(descriptor: int) -> Process:
    try:
        return await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",
            "-S",
            "-m",
            "dataagent_core.documents.worker",
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            pass_fds=[descriptor],
            env={"PYTHONPATH": os.pathsep.join(sys.path), "PYTHONUTF8": "1"},
            cwd="/",
            start_new_session=True,
        )
    except OSError as error:
        raise Unavailable("The process that reads files did not start.") from error


async def _send_job(process: Process, job: bytes) -> None:
    if process.stdin is None:
        return
    with suppress(BrokenPipeError, ConnectionResetError):
        process.stdin.write(job)
        await process.stdin.drain()
        process.stdin.close()


async def _collect(stream: asyncio.StreamReader | None, into: bytearray) -> None:
    while stream is not None and (chunk := await stream.read(65536)):
        if len(into) < _MOST_SAID:
            into += chunk


async def _kill_group(process: Process) -> None:
    """Kill the process group and reap its leader."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()


def _outcome(name: str, said: _ProcessOutput, limits: ReadLimits) -> Document:
    whole = said.output[: said.output.rfind(b"\n") + 1]  # it may have ended in mid-line
    lines = [json.loads(line) for line in whole.splitlines() if line.endswith(b"}")]
    text = "".join(line["text"] for line in lines if "text" in line)
    last: dict[str, Any] = lines[-1] if lines else {}
    if "end" in last:
        end = last["end"]
        return Document(end["what"], text, tuple(end["cuts"]), tuple(end["notes"]), end["has_rows"])
    if "error" in last and not text:
        raise _error(last["error"])
    if "error" in last:
        return Document("A file that could be read in part", text, (last["error"]["message"],))
    why = _crash_error(name, said, limits)
    if not text:
        raise why
    places = [line["at"] for line in lines if "at" in line]
    where = f" It was at {places[-1]}." if places else ""
    return Document("A file that could be read in part", text, (f"{why.message}{where}",))


def _crash_error(name: str, said: _ProcessOutput, limits: ReadLimits) -> DataAgentError:
    """Return why the process ended without a result."""
    _logger.warning(
        "Reading a document ended with %s: %s",
        said.returncode,
        said.errors[-1000:].decode(errors="replace"),
    )
    if said.is_late or said.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return LimitReached(
            f"'{name}' takes longer to read than the {limits.timeout_seconds:g} seconds that are "
            "allowed, and reading was stopped. Split it, or save it in a simpler form."
        )
    if said.returncode > 0 and b"MemoryError" not in said.errors:
        return BadFile(f"'{name}' cannot be read. Save it again.")
    return LimitReached(
        f"'{name}' cannot be read within the memory that is allowed: it is broken, or too much. "
        "Split it, or save it in a simpler form."
    )


def _error(values: dict[str, str]) -> DataAgentError:
    kind = LimitReached if values["code"] == LimitReached.code else BadFile
    return kind(values["message"])
