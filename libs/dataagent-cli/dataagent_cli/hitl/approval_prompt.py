"""The question on the screen: what would happen, the choices, and the keys that take them.

A small prompt_toolkit application that leaves nothing behind. It draws to the size the window has
now, so that it may be resized while it asks. What an answer means is decided in `terminal.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from prompt_toolkit.application import Application
from prompt_toolkit.application.current import get_app
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout import Layout, Window
from prompt_toolkit.layout.controls import FormattedTextControl
from prompt_toolkit.output import Output

from dataagent_cli.hitl.choices import ApprovalAnswer, ApprovalChoice, PromptInterrupted
from dataagent_cli.hitl.guarded_input import GuardedInput
from dataagent_cli.hitl.preview import Line, join_lines, preview, title, wrap_lines
from dataagent_cli.ui.clean import printable
from dataagent_cli.ui.describe import shorten
from dataagent_core.config.state import SessionState
from dataagent_core.hitl import ActionRequest

Binding = Callable[[KeyPressEvent], None]
_FEWEST_ROWS = 3
_KEYS = "arrows and Enter, a letter or a number · Esc {escape} · Shift-Tab: mode {mode}"
_GUARDED = "what you are typing goes to your next message; stop typing to answer"
_ESCAPE_SECONDS = 0.05


class ApprovalPrompt:
    """One question: the call, the choices, and which of them is marked."""

    def __init__(
        self,
        action: ActionRequest,
        choices: Sequence[ApprovalChoice],
        state: SessionState,
        note: str = "",
        *,
        escape: ApprovalAnswer = "stop",
    ) -> None:
        """`note` is said below the call: why it is asked again. `escape` is what Esc answers."""
        self._action = action
        self._choices = choices
        self._state = state
        self._note = note
        self._escape: ApprovalAnswer = escape
        self._keyboard: GuardedInput | None = None
        self._lines = preview(action)
        self._marked = 0
        self._first_row = 0
        self._page_rows = 1

    async def ask(self, keyboard: GuardedInput, screen: Output | None) -> ApprovalAnswer:
        """The answer that was chosen.

        Raises:
            Interrupted: Ctrl-C, or the terminal is gone.
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
        said: list[Line] = [[("bold", title(self._action))]]
        if self._action.description:
            said += [[("", line)] for line in printable(self._action.description).split("\n")]
        return wrap_lines(said, columns)

    def _page(self, rows: list[Line], columns: int, *, room: int) -> list[Line]:
        """The part of the call that has room, and which part it is."""
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
        said: list[Line] = []
        if self._note:
            said += wrap_lines(
                [[("bold", line)] for line in printable(self._note).split("\n")], columns
            )
        for number, choice in enumerate(self._choices):
            is_marked = number == self._marked
            mark, style = ("❯", "bold reverse") if is_marked else (" ", "")
            label = shorten(choice.label, columns - 5)
            said.append([(style, f"{mark} {choice.key}  {label}")])
        keys = _GUARDED
        if self._keyboard is None or self._keyboard.is_open:
            escape = "stops" if self._escape == "stop" else "goes back"
            keys = _KEYS.format(escape=escape, mode=self._state.mode)
        return [*said, [("italic", shorten(keys, columns))]]

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
