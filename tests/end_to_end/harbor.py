"""Runs the `dataagent-harbor` program against a server of a test."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from tests.end_to_end.server import KEY, Server
from tests.programs import quick


async def harbor(server: Server, *words: str, **environment: str) -> int:
    """Run a command of it to its end; its exit status."""
    program = await asyncio.create_subprocess_exec(
        quick("dataagent-harbor"),
        *(*words, "--url", server.url),
        env={"DATAAGENT_API_KEY": KEY, "PATH": "", **environment},
        stderr=asyncio.subprocess.DEVNULL,
    )
    return await program.wait()


def read(path: Path) -> dict[str, Any]:
    """A report it wrote."""
    return json.loads(path.read_text(encoding="utf-8"))
