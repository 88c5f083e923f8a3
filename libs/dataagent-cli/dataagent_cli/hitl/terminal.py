"""Asks the person at the keyboard: approve, reject, or approve everything from now on.

A small full-width prompt_toolkit application that leaves nothing behind on the screen. Where there
is nobody to ask, the answer is no. What the decision does to the run is core's business.
"""

from __future__ import annotations

import asyncio

from prompt_toolkit.application import Application
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout import HSplit, Layout, Window
from prompt_toolkit.layout.controls import FormattedTextControl
from prompt_toolkit.output import Output

from dataagent_cli.hitl.choices import CHOICES, Answer
from dataagent_cli.ui.clean import one_line, printable
from dataagent_cli.ui.describe import full_args
from dataagent_core.config.state import SessionState
from dataagent_core.hitl import ActionRequest, Decision

NOBODY = "Nobody is at the terminal to approve this call."
_ARGS_ROWS = 20


class Interrupted(Exception):
    """Ctrl-C was pressed instead of an answer."""


class TerminalHITLHandler:
    """The terminal's `HITLHandler`. "Approve all" is kept in the conversation's state."""

    def __init__(
        self,
        state: SessionState,
        *,
        is_interactive: bool,
        terminal_input: Input | None = None,
        terminal_output: Output | None = None,
    ) -> None:
        self._state = state
        self._is_interactive = is_interactive
        self._input = terminal_input
        self._output = terminal_output
        self._asking = asyncio.Lock()

    async def request_approval(self, action_request: ActionRequest, session_id: str) -> Decision:
        """The person's decision; one question at a time, however many are waiting.

        Raises:
            Interrupted: Ctrl-C instead of an answer.
        """
        del session_id  # one terminal, one conversation
        async with self._asking:
            if self._state.auto_approve:
                return Decision("approve")
            if not self._is_interactive:
                return Decision("reject", NOBODY)
            return self._decision(await self._ask(action_request))

    def _decision(self, answer: Answer) -> Decision:
        if answer == "reject":
            return Decision("reject", "Rejected at the terminal.")
        if answer == "approve_all":
            self._state.auto_approve = True
        return Decision("approve")

    async def _ask(self, action: ActionRequest) -> Answer:
        question = _Question(action)
        app: Application[Answer] = Application(
            layout=Layout(HSplit(question.windows())),
            key_bindings=question.keys(),
            erase_when_done=True,
            input=self._input,
            output=self._output,
        )
        try:
            return await app.run_async(handle_sigint=False)
        except EOFError:  # the terminal was closed
            raise Interrupted from None


class _Question:
    """One question on the screen: the call, the choices, and which of them is marked."""

    def __init__(self, action: ActionRequest) -> None:
        self._action = action
        self._marked = 0
        self._first_row = 0

    def windows(self) -> list[Window]:
        """The call above, the choices below."""
        call = FormattedTextControl(self._call)
        choices = FormattedTextControl(self._choices, focusable=True, show_cursor=False)
        return [
            Window(call, wrap_lines=True, dont_extend_height=True),
            Window(choices, height=len(CHOICES) + 1, always_hide_cursor=True),
        ]

    def _call(self) -> StyleAndTextTuples:
        rows = full_args(self._action.args)
        shown = rows[self._first_row : self._first_row + _ARGS_ROWS]
        parts: StyleAndTextTuples = [("bold", f"{one_line(self._action.name)}\n")]
        if self._action.description:
            parts.append(("", f"{printable(self._action.description)}\n"))
        parts.extend(("", f"  {row}\n") for row in shown)
        if len(rows) > _ARGS_ROWS:
            span = f"lines {self._first_row + 1}-{self._first_row + len(shown)} of {len(rows)}"
            parts.append(("italic", f"  {span} (Page Up, Page Down)\n"))
        return parts

    def _choices(self) -> StyleAndTextTuples:
        parts: StyleAndTextTuples = []
        for number, choice in enumerate(CHOICES):
            is_marked = number == self._marked
            mark, style = ("❯", "bold reverse") if is_marked else (" ", "")
            parts.append((style, f"{mark} {choice.label} ({choice.key})"))
            parts.append(("", "\n"))
        parts.append(("italic", "arrow keys and Enter, or a letter; Esc rejects, Ctrl-C stops"))
        return parts

    def keys(self) -> KeyBindings:
        """Arrow keys, Enter, letters, Esc and Ctrl-C."""
        keys = KeyBindings()
        for name, step in (("up", -1), ("left", -1), ("down", 1), ("right", 1), ("tab", 1)):
            keys.add(name)(self._mover(step))
        for name, rows in (("pageup", -_ARGS_ROWS), ("pagedown", _ARGS_ROWS)):
            keys.add(name)(self._scroller(rows))
        for choice in CHOICES:
            keys.add(choice.key)(_leaver(choice.answer))
        keys.add("escape", eager=True)(_leaver("reject"))

        @keys.add("enter")
        def _(event: KeyPressEvent) -> None:  # pyright: ignore[reportUnusedFunction] a binding
            event.app.exit(result=CHOICES[self._marked].answer)

        @keys.add("c-c")
        def _(event: KeyPressEvent) -> None:  # pyright: ignore[reportUnusedFunction] a binding
            event.app.exit(exception=Interrupted())

        return keys

    def _mover(self, step: int):
        def move(_: KeyPressEvent) -> None:
            self._marked = (self._marked + step) % len(CHOICES)

        return move

    def _scroller(self, rows: int):
        def scroll(_: KeyPressEvent) -> None:
            last = max(len(full_args(self._action.args)) - _ARGS_ROWS, 0)
            self._first_row = min(max(self._first_row + rows, 0), last)

        return scroll


def _leaver(answer: Answer):
    def leave(event: KeyPressEvent) -> None:
        event.app.exit(result=answer)

    return leave
