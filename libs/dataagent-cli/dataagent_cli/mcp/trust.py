"""Which project files may start MCP servers: those the user has agreed to.

The data directory stores the file's path and a hash of its content, so that a changed file is asked
about again.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from dataagent_cli.ui.clean import one_line
from dataagent_core.config.private_files import write_private

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prompt_toolkit import PromptSession
    from prompt_toolkit.input import Input
    from prompt_toolkit.output import Output

    from dataagent_cli.mcp.servers import Confirm
    from dataagent_cli.streams import Streams
    from dataagent_core.mcp.types import ServerSpec


_SHOWN = 200


class Trust:
    """The files and contents that the user agreed to."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def is_trusted(self, file: Path, content: bytes) -> bool:
        """Whether the user has agreed to this file with this content."""
        return self._load().get(str(file.resolve())) == _hash(content)

    def trust(self, file: Path, content: bytes) -> None:
        """Store that the user agreed."""
        agreed = {**self._load(), str(file.resolve()): _hash(content)}
        write_private(self._path, json.dumps(agreed, indent=2))

    def _load(self) -> dict[str, str]:
        try:
            found: Any = json.loads(self._path.read_text(encoding="utf-8"))
        except (OSError, ValueError):  # missing or damaged: nothing is agreed to
            return {}
        if not isinstance(found, dict):
            return {}
        entries = cast("dict[str, object]", found)  # JSON objects have text keys
        return {name: str(value) for name, value in entries.items()}


def question(file: Path, servers: Iterable[ServerSpec]) -> str:
    """The servers that the file would start or connect to, for the user to read."""
    lines = [f"  {one_line(each.name)}: {_target(each)}" for each in servers]
    head = f"{one_line(str(file))} starts programs on this machine or connects to servers:"
    return "\n".join([head, *lines])


def _target(spec: ServerSpec) -> str:
    line = _shorten(spec.url or " ".join([spec.command or "", *spec.args]))
    if not spec.read_only_tools:
        return line
    return f"{line} (never asks: {_shorten(', '.join(spec.read_only_tools))})"


def _shorten(text: str) -> str:
    line = one_line(text)
    return line if len(line) <= _SHOWN else f"{line[: _SHOWN - 1]}…"


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


_PROMPT = "Trust it? You are asked again when the file changes. [y/N] "


def confirm_prompt(
    streams: Streams, *, terminal_input: Input | None = None, terminal_output: Output | None = None
) -> Confirm:
    """A function that asks on standard error; anything but yes means no."""

    async def ask(text: str) -> bool:
        from prompt_toolkit import PromptSession

        streams.say(text)
        session: PromptSession[str] = PromptSession(
            input=terminal_input,
            output=terminal_output or streams.questions(),
        )
        try:
            answer = await session.prompt_async(
                _PROMPT, handle_sigint=False, reserve_space_for_menu=0
            )
        except (KeyboardInterrupt, EOFError):
            return False
        return answer.strip().lower() in ("y", "yes")

    return ask
