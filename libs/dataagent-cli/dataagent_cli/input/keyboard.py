"""The prompt: history, completion, pasted paragraphs, keys, and the toolbar below it.

`Keyboard` reads messages; `TurnKeyListener` handles the keys while an answer is running, and stores
the rest for the next prompt. The terminal is in raw mode meanwhile, and restored afterwards.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from prompt_toolkit import PromptSession
from prompt_toolkit.application import run_in_terminal
from prompt_toolkit.application.current import set_app
from prompt_toolkit.completion import Completer
from prompt_toolkit.filters import Condition, is_searching
from prompt_toolkit.formatted_text import AnyFormattedText, StyleAndTextTuples
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.input import Input
from prompt_toolkit.input.typeahead import get_typeahead, store_typeahead
from prompt_toolkit.key_binding import KeyBindings, KeyPress, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.output import Output
from prompt_toolkit.utils import is_dumb_terminal

from dataagent_cli.early_prompt import EarlyPrompt
from dataagent_cli.ui.describe import shorten
from dataagent_core.config.state import SessionState

if TYPE_CHECKING:
    from dataagent_cli.conversation import Conversation
    from dataagent_core.config import Prices


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
    """Handles keys during a turn. Enter it inside a running event loop.

    Ctrl-C stops the answer (twice leaves), Esc stops it and gives the message back, Shift-Tab
    switches the mode, Ctrl-Z suspends the program; other keys are stored for the next prompt. A
    question asked meanwhile has the keys to itself. Stopping is a signal to ourselves, which
    `interrupts.py` handles.
    """

    def __init__(
        self, keyboard: Input, switch: Callable[[], None], early: EarlyPrompt | None = None
    ) -> None:
        """`switch` is called for Shift-Tab; `early` knows the terminal's earlier modes."""
        self._keyboard = keyboard
        self._early = early
        self._switch = switch
        self._buffered: list[KeyPress] = []
        self._earlier: list[KeyPress] = []  # pressed before the block, not handled yet
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
        """The text of the next prompt, if the answer was stopped: nothing is sent unseen."""
        if not self._is_stopped:
            return ""
        withdrawn = [message] if self._is_withdrawn else []
        typed = typed_text(self._buffered).strip()
        return "\n".join([*withdrawn, typed] if typed else withdrawn)

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
        """Handle the keys pressed right after the message was sent."""
        keys, self._earlier = self._earlier, []
        self._handle_keys(keys)

    def _read(self) -> None:
        if self._flush_timer is not None:
            self._flush_timer.cancel()
        self._handle_keys([*get_typeahead(self._keyboard), *self._keyboard.read_keys()])
        loop = asyncio.get_running_loop()
        self._flush_timer = loop.call_later(_ESCAPE_SECONDS, self._flush)

    def _flush(self) -> None:
        """Handle an Esc that no other key followed."""
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
                pass  # arrows and the like have no line to work on

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
        """Restore the terminal, and stop until the shell resumes the program."""
        self._leave_raw()
        suspend_process(self._early, signal.SIGSTOP)
        self._resume()

    def _resume(self) -> None:
        """Enter raw mode again, from the modes that the shell left."""
        self._leave_raw()
        self._enter_raw()


def suspend_process(early: EarlyPrompt | None, how: signal.Signals = signal.SIGTSTP) -> None:
    """Stop with the terminal restored, until the shell resumes the program."""
    if early is not None:
        early.restore_terminal()
    os.kill(os.getpid() if how == signal.SIGSTOP else 0, how)
    if early is not None:
        early.disable_echo()


def typed_text(keys: list[KeyPress]) -> str:
    """The text that the keys would have written."""
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


Toolbar = Callable[[int], StyleAndTextTuples]
"""The line below the prompt, for a number of columns."""

_TITLE_CELLS = 32
_SHORT_ID = 8
_MODES = {
    "manual": "manual: asks first",
    "auto": "AUTO: runs without asking",
    "plan": "PLAN: changes nothing",
}


def toolbar_of(
    conversation: Conversation, *, model: str = "", prices: Prices | None = None
) -> Toolbar:
    """The toolbar of a conversation: mode, model, agent, usage, session.

    `model` answers unless another was chosen.
    """

    def line(columns: int) -> StyleAndTextTuples:
        mode = _MODES[conversation.state.mode]
        who = [conversation.chosen_model or model, conversation.agent]
        rest = [*who, *_used(conversation, prices), _session(conversation)]
        text = " · ".join(part for part in rest if part)
        return [("bold", f" {mode} "), ("", f" {shorten(text, max(columns - len(mode) - 4, 0))}")]

    return line


def _session(conversation: Conversation) -> str:
    from dataagent_core.session.types import DEFAULT_TITLE  # heavy; loaded by now

    session = conversation.session
    if session is None:
        return "new conversation"
    named = session.title != DEFAULT_TITLE
    title = f" {shorten(session.title, _TITLE_CELLS)}" if named else ""
    return f"{session.session_id[:_SHORT_ID]}{title}"


def _used(conversation: Conversation, prices: Prices | None) -> list[str]:
    """The tokens of this conversation, and their cost where prices are set."""
    usage = conversation.state.token_usage
    total = usage.get("input_tokens", 0) + usage.get("output_tokens", 0)
    if not total:
        return []
    cost = [] if prices is None else [prices.shown(prices.cost_of(usage))]
    return [f"{total:,} tokens", *cost]


PROMPT = "❯ "
_PLAIN_PROMPT = "> "
_CONTINUED = "  "
_SUFFIX = ".md"
Binding = Callable[[KeyPressEvent], None]


class Keyboard:
    """Reads one message after another.

    Enter sends; Alt-Enter or Ctrl-J starts a new line; a paste of many lines stays one message. Esc
    twice on an empty line brings the last message back, Ctrl-G opens the line in the editor,
    Shift-Tab switches the mode.
    """

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
        """The next message without surrounding white space; a space before a slash stays.

        The line starts as `text`, to be edited.

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
        """A listener for the keys during a turn; None on a dumb terminal.

        `note` prints the mode that was switched to.
        """
        if is_dumb_terminal():
            return nullcontext()

        first = "message" if self._state.mode == "plan" else "request"  # a plan run stays one

        def switch() -> None:
            note(f"mode {self._state.switch()}, from the next {first} on")

        return TurnKeyListener(self._session.input, switch, self._early)

    async def print_above(self, say: Callable[[], None]) -> None:
        """Call `say`, which prints above the line that is being typed."""
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
        """Restore the terminal, and stop until the shell resumes the program."""
        run_in_terminal(partial(suspend_process, self._early))


def _begin_line(event: KeyPressEvent) -> None:
    event.current_buffer.insert_text("\n")


def _previous_entry(event: KeyPressEvent) -> None:
    event.current_buffer.history_backward()


def _open_editor(event: KeyPressEvent) -> None:
    event.current_buffer.open_in_editor()


def open_history(path: Path) -> History:
    """The history at `path`, private to its owner; in memory if the file cannot be used."""
    try:
        path.touch(mode=0o600)
        path.read_bytes()
    except OSError:
        return InMemoryHistory()
    return FileHistory(path)
