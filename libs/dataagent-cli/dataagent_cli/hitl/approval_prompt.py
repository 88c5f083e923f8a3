"""The approval prompt: the call, the choices, and the keys that choose.

It appears while the user may be typing the next message. So keys that are pressed before it
appears, and until typing has paused, go to the next prompt; Ctrl-C works at once, and a lone Esc
when the pause is over. It is drawn to the current size of the window, and erased afterwards.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Final

from prompt_toolkit.application import Application
from prompt_toolkit.application.current import get_app
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.input import Input
from prompt_toolkit.input.typeahead import get_typeahead, store_typeahead
from prompt_toolkit.key_binding import KeyBindings, KeyPress, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout import Layout, Window
from prompt_toolkit.layout.controls import FormattedTextControl
from prompt_toolkit.output import Output

from dataagent_cli.hitl.call_preview import Line, join_lines, preview, title, wrap_lines
from dataagent_cli.hitl.choices import ApprovalAnswer, ApprovalChoice, PromptInterrupted
from dataagent_cli.hitl.typed_answers import LineReader
from dataagent_cli.ui.clean import printable
from dataagent_cli.ui.describe import shorten
from dataagent_core.config.state import SessionState
from dataagent_core.hitl import ActionRequest

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
    """A keyboard that holds keys back; leaving the block gives them to the next prompt."""

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
        """Hold keys back until typing has paused; a pause of 0 holds none back."""
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
        """The keys of a sequence that ended early."""
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
        """Stop calling back for a while."""
        return self._keyboard.detach()

    def typeahead_hash(self) -> str:
        """A name of its own, so that keys typed ahead of a question do not reach a prompt."""
        return f"question-{self._keyboard.typeahead_hash()}"

    def fileno(self) -> int:
        """The keyboard's file descriptor."""
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


Binding = Callable[[KeyPressEvent], None]
_FEWEST_ROWS = 3
_KEYS = "arrows and Enter, a letter or a number · Esc {escape} · Shift-Tab: mode {mode}"
_GUARDED = "keys go to your next message; stop typing to answer"
_ESCAPE_SECONDS = 0.05


class ApprovalPrompt:
    """One question: the call, the choices, and the marked one."""

    def __init__(
        self,
        action: ActionRequest,
        choices: Sequence[ApprovalChoice],
        state: SessionState,
        question: str,
        *,
        escape: ApprovalAnswer = "stop",
    ) -> None:
        """`question` stands between the call and the choices; `escape` is what Esc answers."""
        self._action = action
        self._choices = choices
        self._state = state
        self._question = question
        self._escape: ApprovalAnswer = escape
        self._keyboard: GuardedInput | None = None
        self._lines = preview(action)
        self._marked = 0
        self._first_row = 0
        self._page_rows = 1

    async def ask(self, keyboard: GuardedInput, screen: Output | None) -> ApprovalAnswer:
        """The answer that was chosen.

        Raises:
            PromptInterrupted: Ctrl-C, or the terminal is gone.
        """
        control = FormattedTextControl(self._render, focusable=True, show_cursor=False)
        app: Application[ApprovalAnswer] = Application(
            layout=Layout(Window(control, always_hide_cursor=True, dont_extend_height=True)),
            key_bindings=self._keys(),
            erase_when_done=True,
            input=keyboard,
            output=screen,
        )
        app.ttimeoutlen = _ESCAPE_SECONDS
        self._keyboard = keyboard
        keyboard.when_open(app.invalidate)
        try:
            return await app.run_async(handle_sigint=False)
        except EOFError:
            raise PromptInterrupted from None

    def _render(self) -> StyleAndTextTuples:
        size = get_app().output.get_size()
        columns = max(size.columns - 1, 1)
        head, foot = self._head(columns), self._foot(columns)
        rows = wrap_lines(self._lines, max(columns - 2, 1))
        shown = self._page(rows, columns, room=size.rows - len(head) - len(foot) - 1)
        return join_lines([*head, *shown, *foot])[:-1]

    def _head(self, columns: int) -> list[Line]:
        lines: list[Line] = [[("bold", title(self._action))]]
        if self._action.description:
            lines += [[("", line)] for line in printable(self._action.description).split("\n")]
        return wrap_lines(lines, columns)

    def _page(self, rows: list[Line], columns: int, *, room: int) -> list[Line]:
        """The part of the call that fits, and which part it is."""
        room = max(room, _FEWEST_ROWS)
        if len(rows) <= room:
            self._first_row = 0
            return [[("", "  "), *row] for row in rows]
        room -= 1
        self._page_rows = room
        self._first_row = min(max(self._first_row, 0), len(rows) - room)
        last = self._first_row + room
        where = f"rows {self._first_row + 1}-{last} of {len(rows)} (Page Up, Page Down)"
        shown: list[Line] = [[("", "  "), *row] for row in rows[self._first_row : last]]
        return [*shown, [("italic", f"  {shorten(where, columns - 2)}")]]

    def _foot(self, columns: int) -> list[Line]:
        question: list[Line] = [[("bold", line)] for line in printable(self._question).split("\n")]
        lines = wrap_lines(question, columns)
        for number, choice in enumerate(self._choices):
            is_marked = number == self._marked
            mark, style = ("❯", "bold reverse") if is_marked else (" ", "")
            label = shorten(choice.label, columns - 5)
            lines.append([(style, f"{mark} {choice.key}  {label}")])
        keys = _GUARDED
        if self._keyboard is None or self._keyboard.is_open:
            escape = "stops" if self._escape == "stop" else "goes back"
            keys = _KEYS.format(escape=escape, mode=self._state.mode)
        return [*lines, [("italic", shorten(keys, columns))]]

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()
        for name, step in (("up", -1), ("left", -1), ("down", 1), ("right", 1)):
            keys.add(name)(self._move_by(step))
        for name, pages in (("pageup", -1), ("pagedown", 1)):
            keys.add(name)(self._scroll_by(pages))
        for number, choice in enumerate(self._choices):
            keys.add(choice.key)(_exit_with(choice.answer))
            keys.add(str(number + 1))(_exit_with(choice.answer))
        bound: dict[str, Binding] = {
            "enter": lambda event: event.app.exit(result=self._choices[self._marked].answer),
            "escape": _exit_with(self._escape),
            "s-tab": self._switch,
            "c-c": lambda event: event.app.exit(exception=PromptInterrupted()),
            "c-z": lambda event: event.app.suspend_to_background(),
        }
        if any(each.answer == "reject" for each in self._choices):
            bound["tab"] = _exit_with("reject")
        for name, binding in bound.items():
            keys.add(name)(binding)
        return keys

    def _switch(self, _: KeyPressEvent) -> None:
        self._state.switch()

    def _move_by(self, step: int) -> Binding:
        def move(_: KeyPressEvent) -> None:
            self._marked = (self._marked + step) % len(self._choices)

        return move

    def _scroll_by(self, pages: int) -> Binding:
        def scroll(_: KeyPressEvent) -> None:
            self._first_row += pages * self._page_rows

        return scroll


def _exit_with(answer: ApprovalAnswer) -> Binding:
    return lambda event: event.app.exit(result=answer)


async def ask_in_text(
    action: ActionRequest,
    choices: Sequence[ApprovalChoice],
    lines: LineReader,
    note: Callable[[str], None],
    question: str,
    *,
    escape: ApprovalAnswer = "stop",
) -> ApprovalAnswer:
    """The approval prompt where nothing can be drawn: text above, the answer in a line.

    An answer is a choice's letter, number or name; `escape` stands for none.

    Raises:
        PromptInterrupted: Ctrl-C.
    """
    call = ["".join(text for _, text in line) for line in preview(action)]
    listed = [f"{number}. {each.label} ({each.key})" for number, each in enumerate(choices, 1)]
    said = [title(action), printable(action.description), *(f"  {line}" for line in call), question]
    note("\n".join(line for line in [*said, *listed] if line))
    known: dict[str, ApprovalAnswer] = {}
    for number, each in enumerate(choices, 1):
        known |= {each.key: each.answer, str(number): each.answer, each.answer: each.answer}
    while True:
        typed = await lines.read(f"answer [{'/'.join(each.key for each in choices)}]: ")
        if typed is None:
            return escape
        if (answer := known.get(typed.strip().lower())) is not None:
            return answer
