"""The line a person types: history, completion, pasted paragraphs, and the keys.

Enter sends; Alt-Enter or Ctrl-J begins a new line; a paste of many lines stays one message. Esc
twice on an empty line brings the last message back, Ctrl-G opens the line in `$EDITOR`, Shift-Tab
switches the mode. What is typed while an answer is under way is in `turn_keys.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial

from prompt_toolkit import PromptSession
from prompt_toolkit.application import run_in_terminal
from prompt_toolkit.application.current import set_app
from prompt_toolkit.completion import Completer
from prompt_toolkit.filters import Condition, is_searching
from prompt_toolkit.formatted_text import AnyFormattedText
from prompt_toolkit.history import History
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.output import Output
from prompt_toolkit.utils import is_dumb_terminal

from dataagent_cli.early_prompt import EarlyPrompt
from dataagent_cli.input.toolbar import Toolbar
from dataagent_cli.input.turn_keys import TurnKeyListener, suspend_process
from dataagent_core.config.state import SessionState

PROMPT = "❯ "
_PLAIN_PROMPT = "> "
_CONTINUED = "  "
_SUFFIX = ".md"
Binding = Callable[[KeyPressEvent], None]


class Keyboard:
    """Reads one message after another."""

    def __init__(
        self,
        history: History,
        completer: Completer,
        *,
        state: SessionState | None = None,
        toolbar: Toolbar | None = None,
        early: EarlyPrompt | None = None,
        terminal_input: Input | None = None,
        terminal_output: Output | None = None,
    ) -> None:
        """Shift-Tab switches the mode of `state`; `toolbar` stands below the line.

        What was typed at the `early` prompt stands in the first line.
        """
        self._early = early
        self._state = state or SessionState()
        self._toolbar = toolbar
        self._session: PromptSession[str] = PromptSession(
            PROMPT,
            history=history,
            completer=completer,
            complete_while_typing=True,
            enable_history_search=False,
            multiline=True,
            prompt_continuation=_CONTINUED,
            bottom_toolbar=None if toolbar is None else self._bar,
            key_bindings=self._keys(),
            tempfile_suffix=_SUFFIX,
            input=terminal_input,
            output=terminal_output,
        )
        if "utf" not in self._session.output.encoding().lower():
            self._session.message = _PLAIN_PROMPT

    async def read(self, text: str = "") -> str:
        """The next message, without white space around it; a space before a slash stays.

        `text` stands there already, to be edited.

        Raises:
            EOFError: Ctrl-D, or the terminal is gone.
            KeyboardInterrupt: Ctrl-C.
        """
        if self._early is not None:
            self._early.feed(self._session.input)
        typed = await self._session.prompt_async(default=text)
        message = typed.strip()
        is_text = typed[:1].isspace() and message.startswith("/")  # and neither command nor skill
        return f" {message}" if is_text else message

    def listen_during_turn(
        self, note: Callable[[str], None]
    ) -> AbstractContextManager[TurnKeyListener | None]:
        """Takes the keys while an answer is under way; nothing where there are no single keys.

        `note` says which mode was switched to.
        """
        if is_dumb_terminal():
            return nullcontext()

        first = "message" if self._state.mode == "plan" else "request"  # a plan stays one

        def switch() -> None:
            note(f"mode {self._state.switch()}, from the next {first} on")

        return TurnKeyListener(self._session.input, switch, self._early)

    async def print_above(self, say: Callable[[], None]) -> None:
        """Say something now, above the line if one is being typed."""
        app = self._session.app
        if not app.is_running:
            say()
            return
        with set_app(app):
            await run_in_terminal(say)

    def _bar(self) -> AnyFormattedText:
        columns = self._session.output.get_size().columns
        return [] if self._toolbar is None else self._toolbar(columns)

    def _keys(self) -> KeyBindings:
        is_empty = Condition(lambda: not self._session.default_buffer.text)
        keys = KeyBindings()
        bound: dict[tuple[str, ...], Binding] = {
            ("enter",): lambda event: event.current_buffer.validate_and_handle(),
            ("escape", "enter"): _begin_line,
            ("c-j",): _begin_line,
            ("s-tab",): lambda _: self._switch(),
            ("c-z",): lambda _: self._suspend(),
        }
        for names, binding in bound.items():
            keys.add(*names, filter=~is_searching)(binding)
        keys.add("escape", "escape", filter=is_empty)(_previous_entry)
        keys.add("c-g", filter=~is_searching)(_open_editor)
        return keys

    def _switch(self) -> None:
        self._state.switch()

    def _suspend(self) -> None:
        """Give the terminal back as it was, and stop until the shell says to go on."""
        run_in_terminal(partial(suspend_process, self._early))


def _begin_line(event: KeyPressEvent) -> None:
    event.current_buffer.insert_text("\n")


def _previous_entry(event: KeyPressEvent) -> None:
    event.current_buffer.history_backward()


def _open_editor(event: KeyPressEvent) -> None:
    event.current_buffer.open_in_editor()
