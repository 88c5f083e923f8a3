"""The keyboard of a question: it takes no key before typing has paused.

A question appears under the hands of a person who may be typing their next message. So keys that
are pressed before it appears, and until nothing was pressed for a moment, go to the next prompt;
Ctrl-C works at once, and a lone Esc when the pause is over. Above: `terminal.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from typing import Final

from prompt_toolkit.input import Input
from prompt_toolkit.input.typeahead import get_typeahead, store_typeahead
from prompt_toolkit.key_binding import KeyPress
from prompt_toolkit.keys import Keys

PAUSE_SECONDS: Final = 0.75
_NOT_TYPED: Final = frozenset(
    {
        Keys.ControlC,
        Keys.CPRResponse,
        Keys.Ignore,
        Keys.SIGINT,
        Keys.Vt100MouseEvent,
        Keys.WindowsMouseEvent,
    }
)


class GuardedInput(Input):
    """A keyboard behind a guard. Leaving the block gives the next prompt what was typed for it."""

    def __init__(self, keyboard: Input, pause_seconds: float = PAUSE_SECONDS) -> None:
        self._keyboard = keyboard
        self._pause_seconds = pause_seconds
        self._is_open = False
        self._held: list[KeyPress] = []  # for the next prompt
        self._escape: list[KeyPress] = []  # to be read when the guard opens
        self._timer: asyncio.TimerHandle | None = None
        self._on_keys: Callable[[], None] | None = None
        self._on_open: Callable[[], None] | None = None

    def __enter__(self) -> GuardedInput:
        self.guard()
        return self

    def __exit__(self, *_: object) -> None:
        if self._timer is not None:
            self._timer.cancel()
        store_typeahead(self._keyboard, [*self._held, *get_typeahead(self)])

    @property
    def is_open(self) -> bool:
        """Whether keys reach the question."""
        return self._is_open

    def guard(self) -> None:
        """Hold keys back until typing has paused in what reads next; a pause of 0 holds none."""
        self._is_open = not self._pause_seconds
        if not self._is_open:
            self._held += get_typeahead(self)

    def when_open(self, call: Callable[[], None]) -> None:
        """Call this once keys reach the question."""
        self._on_open = call

    def _wait(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(self._pause_seconds, self._open)

    def _open(self) -> None:
        """Let keys through, unless one was pressed while the event loop was busy."""
        held = len(self._held)
        if self._on_keys is not None:
            self._on_keys()
        if len(self._held) > held:
            return
        self._is_open = True
        keys = [each.key for each in self._held[-2:]]
        if keys[-1:] == [Keys.Escape] and keys[:-1] != [Keys.Escape]:
            self._escape = [self._held.pop()]
        if self._on_open is not None:
            self._on_open()
        if self._escape and self._on_keys is not None:
            self._on_keys()

    def _filter_keys(self, keys: list[KeyPress]) -> list[KeyPress]:
        """The keys that reach the question now."""
        if self._is_open:
            escape, self._escape = self._escape, []
            return [*escape, *keys]
        typed = [key for key in keys if key.key not in _NOT_TYPED]
        if typed:
            self._held += typed
            self._wait()
        return [key for key in keys if key.key in _NOT_TYPED]

    # -- as prompt_toolkit asks ------------------------------------------------------------------

    def read_keys(self) -> list[KeyPress]:
        """The keys that were pressed and reach the question."""
        return self._filter_keys(self._keyboard.read_keys())

    def flush_keys(self) -> list[KeyPress]:
        """The rest of a sequence that did not go on."""
        return self._filter_keys(self._keyboard.flush_keys())

    @contextmanager
    def _attach(self, on_keys: Callable[[], None]) -> Generator[None]:
        before, self._on_keys = self._on_keys, on_keys
        if not self._is_open:
            self._wait()
        try:
            with self._keyboard.attach(on_keys):
                yield
        finally:
            self._on_keys = before

    def attach(self, input_ready_callback: Callable[[], None]) -> AbstractContextManager[None]:
        """Call back when there are keys."""
        return self._attach(input_ready_callback)

    def detach(self) -> AbstractContextManager[None]:
        """Call nobody back for a while."""
        return self._keyboard.detach()

    def typeahead_hash(self) -> str:
        """What tells keys typed ahead to a question from those to a prompt."""
        return f"question-{self._keyboard.typeahead_hash()}"

    def fileno(self) -> int:
        """The keyboard's."""
        return self._keyboard.fileno()

    @property
    def closed(self) -> bool:
        """Whether the terminal is gone."""
        return self._keyboard.closed

    def raw_mode(self) -> AbstractContextManager[None]:
        """Keys one by one."""
        return self._keyboard.raw_mode()

    def cooked_mode(self) -> AbstractContextManager[None]:
        """Keys by lines."""
        return self._keyboard.cooked_mode()
