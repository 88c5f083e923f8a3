"""The process that reads a document: `python -m dataagent_core.documents.worker`.

It lowers its own limits and priority, takes one job from standard input and writes JSON lines to
standard output: `{"at": …}` before a part, `{"text": …}` for text, then `{"end": {…}}` or
`{"error": {…}}`. The library for a kind is imported when it is needed.
"""

from __future__ import annotations

import json
import logging
import math
import os
import resource
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dataagent_core.data.files.types import InputFile
from dataagent_core.documents.kinds import Kind, kind_of, open_content
from dataagent_core.documents.output import DocumentOutput, ReadLimits
from dataagent_core.errors import BadFile, DataAgentError, LimitReached

_NICENESS = 10
_MAX_WRITTEN = 256 * 1024 * 1024
_CONVERTER_TIMES = 4
"""How much more address space a converter may map than a reader of ours."""


def _lower_limits(limits: ReadLimits) -> None:
    os.nice(_NICENESS)
    seconds = math.ceil(limits.timeout_seconds)
    memory = limits.memory_bytes
    for what, soft, hard in (
        (resource.RLIMIT_AS, memory, memory * _CONVERTER_TIMES),
        (resource.RLIMIT_CPU, seconds, seconds + 1),
        (resource.RLIMIT_FSIZE, _MAX_WRITTEN, _MAX_WRITTEN),
        (resource.RLIMIT_CORE, 0, 0),
    ):
        _, most = resource.getrlimit(what)
        if most == resource.RLIM_INFINITY:
            most = hard
        resource.setrlimit(what, (min(soft, most), min(hard, most)))


def _say(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def _read(job: dict[str, Any], output: DocumentOutput) -> None:
    file = InputFile(job["name"], job["path"], job["byte_size"])
    content = Path(file.path).read_bytes()
    kind: Kind = "html" if job["is_page"] else kind_of(content, output)
    match kind:
        case "text" | "csv" | "json":
            from dataagent_core.documents.plain import read_plain

            read_plain(file, output, kind)
        case "html":
            from dataagent_core.documents.web import read_web

            read_web(content, output, base_url=job["base_url"], charset=job["charset"])
        case "old_word" | "old_slides":
            from dataagent_core.documents.legacy import read_old

            read_old(content, kind, output, Path(job["scratch"]), path=job["programs"])
        case "parquet":
            output.what, output.has_rows = "Parquet table", True
        case _:
            _read_office(kind, content, output)


def _read_office(kind: Kind, content: bytes, output: DocumentOutput) -> None:
    """Read the kinds that a library reads from bytes."""
    match kind:
        case "pdf":
            from dataagent_core.documents.pdf import read_pdf

            read_pdf(open_content(content), output)
        case "word":
            from dataagent_core.documents.word import read_word

            read_word(open_content(content), output)
        case "slides":
            from dataagent_core.documents.slides import read_slides

            read_slides(open_content(content), output)
        case _:
            from dataagent_core.documents.workbook import read_workbook

            read_workbook(open_content(content), output)


def _failure(name: str, error: BaseException) -> DataAgentError:
    """Return a library's error in our words, without its own."""
    if isinstance(error, DataAgentError):
        return error
    if isinstance(error, MemoryError):
        return LimitReached(f"'{name}' needs more memory than reading a file may use. Split it.")
    if isinstance(error, RecursionError):
        return BadFile(f"'{name}' is nested too deeply to be read.")
    return BadFile(
        f"'{name}' is broken, or not what its name says ({type(error).__name__}). Save it again."
    )


def work(job: dict[str, Any], say: Callable[[dict[str, Any]], None]) -> None:
    """Read the job's document and write the result; every failure is written too."""
    output = DocumentOutput(job["name"], ReadLimits(**job["limits"]), say, start=job["start"])
    try:
        _read(job, output)
    except BaseException as error:  # a library in Rust may panic, which is no Exception
        failure = _failure(job["name"], error)
        output.flush()
        say({"error": {"code": failure.code, "message": failure.message}})
        return
    output.flush()
    about = {"what": output.what, "notes": output.notes, "cuts": output.cuts}
    say({"end": {**about, "has_rows": output.has_rows}})


def main() -> None:
    """Do the job on standard input."""
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    job = json.load(sys.stdin)
    _lower_limits(ReadLimits(**job["limits"]))
    work(job, _say)


if __name__ == "__main__":
    main()
