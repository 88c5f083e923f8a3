"""`dataagent-harbor`: which command it is, and what its errors mean to a person.

What is said to a person goes to standard error.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence

from dataagent_client import ClientError
from dataagent_harbor.arguments import Options, build_parser
from dataagent_harbor.questions import BadQuestionSet

USAGE, UNREACHABLE, INTERRUPTED = 2, 3, 130


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
        return _told(f"error: {error.filename}: {error.strerror}", USAGE)
    except KeyboardInterrupt:
        is_kept = options.command == "run" and options.transcripts is not None
        hint = "\nhint: the same command goes on where it stopped." if is_kept else ""
        return _told(f"stopped{hint}", INTERRUPTED)


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
