"""Small questions between two messages: choosing from a list, and yes or no.

They are erased from the screen afterwards. Without a terminal nothing is chosen, and the answer is
no.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from prompt_toolkit.application import Application
from prompt_toolkit.application.current import get_app
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout import Layout, Window
from prompt_toolkit.layout.controls import FormattedTextControl
from prompt_toolkit.output import Output

from dataagent_cli.ui.tables import cut

_ROWS = 12
_KEYS = "↑ ↓ choose · Enter selects · Esc cancels"


class Dialogs:
    """Asks the person at the keyboard."""

    def __init__(
        self,
        *,
        is_interactive: bool = True,
        terminal_input: Input | None = None,
        terminal_output: Output | None = None,
    ) -> None:
        self.is_interactive = is_interactive
        self._input = terminal_input
        self._output = terminal_output

    async def pick(self, title: str, rows: Sequence[str]) -> int | None:
        """The index of the chosen row; None if none was chosen."""
        if not self.is_interactive or not rows:
            return None
        return await self._run(_List(title, rows))

    async def confirm(self, question: str) -> bool:
        """Whether the answer is yes."""
        if not self.is_interactive:
            return False
        return await self._run(_List(question, ["yes", "no"], letters={"y": 0, "n": 1})) == 0

    async def _run(self, question: _List) -> int | None:
        app: Application[int | None] = Application(
            layout=Layout(Window(FormattedTextControl(question.render), wrap_lines=False)),
            key_bindings=question.keys(),
            erase_when_done=True,
            input=self._input,
            output=self._output,
        )
        app.ttimeoutlen = 0.05
        try:
            return await app.run_async(handle_sigint=False)
        except (EOFError, KeyboardInterrupt):
            return None


class _List:
    """Rows, one of which is chosen: by arrows and Enter, or by a letter."""

    def __init__(
        self, title: str, rows: Sequence[str], *, letters: Mapping[str, int] | None = None
    ) -> None:
        self._title = title
        self._rows = rows
        self._letters = letters or {}
        self._at = 0

    def render(self) -> StyleAndTextTuples:
        """The rows around the chosen one."""
        first = max(0, min(self._at - _ROWS // 2, len(self._rows) - _ROWS))
        width = max(get_app().output.get_size().columns - 4, 8)
        lines: StyleAndTextTuples = [("bold", f"{self._title}\n")]
        for number in range(first, min(first + _ROWS, len(self._rows))):
            is_chosen = number == self._at
            sign = "❯" if is_chosen else " "
            text = cut(self._rows[number], width)
            lines.append(("reverse" if is_chosen else "", f"{sign} {text}\n"))
        return [*lines, ("", _KEYS)]

    def keys(self) -> KeyBindings:
        """The key bindings."""
        keys = KeyBindings()
        for name, step in {"up": -1, "c-p": -1, "down": 1, "c-n": 1, "tab": 1}.items():
            keys.add(name)(self._move_by(step))
        keys.add("enter")(self._take)
        for name in ("escape", "q", "c-c", "c-d"):
            keys.add(name)(_leave)
        for letter, row in self._letters.items():
            keys.add(letter)(_take_row(row))
        return keys

    def _take(self, event: KeyPressEvent) -> None:
        event.app.exit(result=self._at)

    def _move_by(self, step: int) -> Callable[[KeyPressEvent], None]:
        def move(_: KeyPressEvent) -> None:
            self._at = (self._at + step) % len(self._rows)

        return move


def _take_row(row: int) -> Callable[[KeyPressEvent], None]:
    def take(event: KeyPressEvent) -> None:
        event.app.exit(result=row)

    return take


def _leave(event: KeyPressEvent) -> None:
    event.app.exit(result=None)
