"""The process that reads files: `python -m dataagent_core.data.files.worker`.

It lowers its own limits, takes one job from standard input and writes JSON lines to standard
output: `{"reading": 3}` before each file, then `{"tables": […], "left_out": […]}` or
`{"error": …}`.
"""

from __future__ import annotations

import dataclasses
import json
import math
import resource
import sys
import time
from pathlib import Path
from typing import Any

from dataagent_core.data.files.build import build
from dataagent_core.data.files.types import FileLimits, InputFile
from dataagent_core.errors import DataAgentError

_PROGRAM_BYTES = 1024 * 1024 * 1024
"""Address space that the libraries and their threads reserve without using it."""


def _lower_limits(limits: FileLimits) -> None:
    used = math.ceil(time.process_time())  # to start with; what counts is the load
    for what, value in (
        (resource.RLIMIT_AS, limits.memory_bytes + _PROGRAM_BYTES),
        (resource.RLIMIT_CPU, used + limits.cpu_seconds),
        (resource.RLIMIT_FSIZE, limits.max_database_bytes),
        (resource.RLIMIT_CORE, 0),
    ):
        _, hard = resource.getrlimit(what)
        lowered = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(what, (lowered, lowered))


def _send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def main() -> None:
    """Do the job on standard input."""
    job = json.load(sys.stdin)
    limits = FileLimits(**job["limits"])
    _lower_limits(limits)
    files = [InputFile(**one) for one in job["files"]]
    left_out: list[str] = []
    try:
        tables = build(
            files,
            Path(job["database"]),
            Path(job["scratch"]),
            limits,
            on_file=lambda number: _send({"reading": number}),
            on_bad=(lambda error: left_out.append(error.message)) if job["is_lenient"] else None,
        )
    except DataAgentError as error:
        _send({"error": {"code": error.code, "message": error.message}})
    else:
        shown = [dataclasses.asdict(table) for table in tables]
        _send({"tables": shown, "left_out": left_out})


if __name__ == "__main__":
    main()
