"""`dataagent-harbor`: runs a command and prints its errors to standard error."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from dataagent_client import ClientError
from dataagent_harbor.arguments import HarborOptions, build_parser
from dataagent_harbor.questions import BadQuestionSet

USAGE, UNREACHABLE, INTERRUPTED = 2, 3, 130
_RESUME_HINT = "\nhint: run the same command again to continue where it stopped."


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program and return its exit status."""
    options = build_parser().parse_args(argv, namespace=HarborOptions())
    options.api_key = options.api_key or os.environ.get("DATAAGENT_API_KEY")
    try:
        return asyncio.run(_command(options))
    except BadQuestionSet as error:
        return _print_error(f"error: {error}", USAGE)
    except ClientError as error:
        return _print_error(
            f"error: {error}\nhint: is the server running at {options.url}, and is the key right?",
            UNREACHABLE,
        )
    except OSError as error:
        results = _results_path(options)
        hint = _RESUME_HINT if results is not None and error.filename == str(results) else ""
        where = "" if error.filename is None else f"{error.filename}: "
        return _print_error(f"error: {where}{error.strerror or error}{hint}", USAGE)
    except KeyboardInterrupt:
        return _print_error(f"stopped{_RESUME_HINT if _results_path(options) else ''}", INTERRUPTED)


def _results_path(options: HarborOptions) -> Path | None:
    """The file to which results are written as they arrive; a load has none."""
    return options.transcripts if options.command == "run" else None


async def _command(options: HarborOptions) -> int:
    # each command imports only what it needs, to start quickly
    if options.command == "load":
        from dataagent_harbor.load.command import load

        return await load(options)
    from dataagent_harbor.run_command import run

    return await run(options)


def _print_error(text: str, code: int) -> int:
    sys.stderr.write(f"{text}\n")
    return code
