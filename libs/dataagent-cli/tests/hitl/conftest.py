"""Questions on a real prompt_toolkit application, with a piped keyboard and a screen of a size."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Collection
from typing import Any

import pyte
import pytest
from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.input.base import PipeInput
from prompt_toolkit.output.vt100 import Vt100_Output

from dataagent_cli.hitl import TerminalHITLHandler
from dataagent_core.config import SessionState
from dataagent_core.hitl import ALL_DECISIONS, ActionRequest, Decision, DecisionType
from tests.waiting import WAIT_SECONDS


class Drawn(io.StringIO):
    """A terminal's screen; whoever waits is told of each change."""

    def __init__(self, columns: int, rows: int) -> None:
        super().__init__()
        self.size = Size(rows=rows, columns=columns)
        self._screen = pyte.Screen(columns, rows)
        self._stream = pyte.Stream(self._screen)
        self._changed = asyncio.Event()

    def write(self, text: str) -> int:
        self._stream.feed(text.replace("\n", "\r\n"))
        return len(text)

    def flush(self) -> None:
        self._changed.set()

    def resize(self, columns: int, rows: int) -> None:
        self.size = Size(rows=rows, columns=columns)
        self._screen.resize(rows, columns)

    @property
    def text(self) -> str:
        return "\n".join(line.rstrip() for line in self._screen.display).rstrip()

    async def until(self, wanted: str) -> str:
        """The screen, once it shows a text."""
        async with asyncio.timeout(WAIT_SECONDS):
            while wanted not in self.text:
                self._changed.clear()
                await self._changed.wait()
        return self.text


class PromptDriver:
    """A person at a terminal who is asked one thing after another."""

    def __init__(self, keys: PipeInput, screen: Drawn, *, pause_seconds: float = 0) -> None:
        self.keys, self.screen = keys, screen
        self.state = SessionState()
        self.notes: list[str] = []
        self.handler = TerminalHITLHandler(
            self.state,
            is_interactive=True,
            allow=("safe_*",),
            note=self.notes.append,
            terminal_input=keys,
            terminal_output=Vt100_Output(screen, lambda: screen.size, enable_cpr=False),
            pause_seconds=pause_seconds,
        )

    def ask(
        self, action: ActionRequest, allowed: Collection[DecisionType] = ALL_DECISIONS
    ) -> asyncio.Task[Decision]:
        return asyncio.create_task(self.handler.request_approval(action, "session", allowed))

    async def answer(self, keys: str, action: ActionRequest, **more: Any) -> Decision:
        """The decision that keys typed beforehand lead to."""
        self.keys.send_text(keys)
        async with asyncio.timeout(WAIT_SECONDS):
            return await self.ask(action, **more)


@pytest.fixture
async def driver(monkeypatch: pytest.MonkeyPatch) -> Any:
    for name in ("VISUAL", "EDITOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    with create_pipe_input() as keys:
        yield PromptDriver(keys, Drawn(80, 24))
