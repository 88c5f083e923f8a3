"""Keys while an answer is under way.

Ctrl-C stops it (twice leaves), Esc stops it and takes the message back, Shift-Tab switches the
mode, Ctrl-Z puts the program to sleep; everything else is kept for the next prompt. The terminal is
in raw mode for as long as this lasts and as it was afterwards, whatever happens; a question that is
asked meanwhile has the keys to itself. Stopping is a signal to ourselves: what it means is decided
where signals are caught (`interrupts.py`). Above: `keyboard.py`.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, suppress

from prompt_toolkit.input import Input
from prompt_toolkit.input.typeahead import get_typeahead, store_typeahead
from prompt_toolkit.key_binding import KeyPress
from prompt_toolkit.keys import Keys

from dataagent_cli.early_prompt import EarlyPrompt

_ESCAPE_SECONDS = 0.05
_BUFFERED_KEYS = frozenset(
    {
        Keys.ControlD,
        Keys.ControlH,
        Keys.ControlI,
        Keys.ControlJ,
        Keys.ControlL,
        Keys.ControlM,
        Keys.ControlU,
        Keys.ControlW,
        Keys.BracketedPaste,
        Keys.Escape,
    }
)


class TurnKeyListener:
    """Takes the keys for as long as the block lasts. Enter it inside a running event loop."""

    def __init__(
        self, keyboard: Input, switch: Callable[[], None], early: EarlyPrompt | None = None
    ) -> None:
        """`switch` is called for Shift-Tab; `early` knows how the terminal was before."""
        self._keyboard = keyboard
        self._early = early
        self._switch = switch
        self._buffered: list[KeyPress] = []
        self._earlier: list[KeyPress] = []  # pressed before the block began, not heard yet
        self._earlier_timer: asyncio.TimerHandle | None = None
        self._is_stopped = False
        self._is_withdrawn = False
        self._block = ExitStack()
        self._raw: AbstractContextManager[None] | None = None
        self._flush_timer: asyncio.TimerHandle | None = None

    def __enter__(self) -> TurnKeyListener:
        self._earlier = get_typeahead(self._keyboard)
        loop = asyncio.get_running_loop()
        self._earlier_timer = loop.call_later(_ESCAPE_SECONDS, self._read_earlier)
        self._block.enter_context(self._keyboard.attach(self._read))
        self._block.callback(self._leave_raw)
        self._enter_raw()
        self._catch("SIGTSTP", self._suspend)
        self._catch("SIGCONT", self._resume)
        return self

    def __exit__(self, *_: object) -> None:
        for timer in (self._flush_timer, self._earlier_timer):
            if timer is not None:
                timer.cancel()
        self._buffered[:0] = self._earlier
        self._buffered += get_typeahead(self._keyboard)  # typed under a question, for this line
        self._block.close()
        harmless = [
            key for key in self._buffered if key.key is Keys.ControlL
        ]  # sends nothing unseen
        store_typeahead(self._keyboard, harmless if self._is_stopped else self._buffered)

    def text_after(self, message: str) -> str:
        """What stands in the next prompt, if the answer was stopped: nothing is sent unseen."""
        if not self._is_stopped:
            return ""
        said = [message] if self._is_withdrawn else []
        typed = typed_text(self._buffered).strip()
        return "\n".join([*said, typed] if typed else said)

    def _catch(self, name: str, act: Callable[[], None]) -> None:
        number = getattr(signal, name, None)
        if number is None:
            return
        loop = asyncio.get_running_loop()
        with suppress(NotImplementedError, ValueError, RuntimeError):  # no signals here
            loop.add_signal_handler(number, act)
            self._block.callback(loop.remove_signal_handler, number)

    # -- keys -----------------------------------------------------------------------------------

    def _read_earlier(self) -> None:
        """What was pressed right after the message was sent counts as well."""
        keys, self._earlier = self._earlier, []
        self._handle_keys(keys)

    def _read(self) -> None:
        if self._flush_timer is not None:
            self._flush_timer.cancel()
        self._handle_keys([*get_typeahead(self._keyboard), *self._keyboard.read_keys()])
        loop = asyncio.get_running_loop()
        self._flush_timer = loop.call_later(_ESCAPE_SECONDS, self._flush)

    def _flush(self) -> None:
        """An Esc that nothing came after is one."""
        self._handle_keys(self._keyboard.flush_keys())

    def _handle_keys(self, keys: list[KeyPress]) -> None:
        for at, key in enumerate(keys):
            is_alone = at == len(keys) - 1 and (at == 0 or keys[at - 1].key is not Keys.Escape)
            self._handle_key(key, is_alone=is_alone)

    def _handle_key(self, key: KeyPress, *, is_alone: bool) -> None:
        match key.key:
            case Keys.ControlC:
                self._stop()
            case Keys.Escape if is_alone:
                self._withdraw()
            case Keys.BackTab:
                self._switch()
            case Keys.ControlZ:
                os.kill(0, signal.SIGTSTP)
            case name if name in _BUFFERED_KEYS or len(name) == 1:
                self._buffered.append(key)
            case _:
                pass  # arrows and the like mean nothing to a line that is not there yet

    def _stop(self) -> None:
        self._is_stopped = True
        signal.raise_signal(signal.SIGINT)

    def _withdraw(self) -> None:
        if not self._is_stopped:
            self._is_withdrawn = True
            self._stop()

    # -- the terminal ---------------------------------------------------------------------------

    def _enter_raw(self) -> None:
        self._raw = self._keyboard.raw_mode()
        self._raw.__enter__()

    def _leave_raw(self) -> None:
        raw, self._raw = self._raw, None
        if raw is not None:
            raw.__exit__(None, None, None)

    def _suspend(self) -> None:
        """Give the terminal back, and stop until the shell says to go on."""
        self._leave_raw()
        suspend_process(self._early, signal.SIGSTOP)
        self._resume()

    def _resume(self) -> None:
        """Take the terminal as the shell left it."""
        self._leave_raw()
        self._enter_raw()


def suspend_process(early: EarlyPrompt | None, how: signal.Signals = signal.SIGTSTP) -> None:
    """Stop, with the terminal as it was before us, until the shell says to go on."""
    if early is not None:
        early.restore_terminal()
    os.kill(os.getpid() if how == signal.SIGSTOP else 0, how)
    if early is not None:
        early.disable_echo()


def typed_text(keys: list[KeyPress]) -> str:
    """What the keys would have written. Pure."""
    text = ""
    for key in keys:
        if key.key is Keys.ControlH:
            text = text[:-1]
        elif key.key in (Keys.ControlM, Keys.ControlJ):
            text += "\n"
        elif key.key is Keys.ControlU:
            text = text.rpartition("\n")[1]
        elif key.key is Keys.BracketedPaste or len(key.key) == 1:
            text += key.data.replace("\r\n", "\n").replace("\r", "\n")
    return text
