"""`dataagent-harbor`: which command it is, and what its errors mean to a person.

What is said to a person goes to standard error.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from dataagent_client import ClientError
from dataagent_harbor.arguments import Options, build_parser
from dataagent_harbor.questions import BadQuestionSet

USAGE, UNREACHABLE, INTERRUPTED = 2, 3, 130
_GOING_ON = "\nhint: the same command goes on where it stopped."


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program; its exit status."""
    options = build_parser().parse_args(argv, namespace=Options())
    options.api_key = options.api_key or os.environ.get("DATAAGENT_API_KEY")
    try:
        return asyncio.run(_command(options))
    except BadQuestionSet as error:
        return _told(f"error: {error}", USAGE)
    except ClientError as error:
        return _told(
            f"error: {error}\nhint: is the server running at {options.url}, and is the key right?",
            UNREACHABLE,
        )
    except OSError as error:
        kept = _kept(options)
        hint = _GOING_ON if kept is not None and error.filename == str(kept) else ""
        where = "" if error.filename is None else f"{error.filename}: "
        return _told(f"error: {where}{error.strerror or error}{hint}", USAGE)
    except KeyboardInterrupt:
        return _told(f"stopped{_GOING_ON if _kept(options) else ''}", INTERRUPTED)


def _kept(options: Options) -> Path | None:
    """The file that results are kept in as they come; a load has none."""
    return options.transcripts if options.command == "run" else None


async def _command(options: Options) -> int:
    """Only what the command needs is imported: each starts as quickly as it can."""
    if options.command == "load":
        from dataagent_harbor.load.command import load

        return await load(options)
    from dataagent_harbor.run_command import run

    return await run(options)


def _told(text: str, code: int) -> int:
    sys.stderr.write(f"{text}\n")
    return code
